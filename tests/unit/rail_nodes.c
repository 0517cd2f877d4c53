/* tests/unit/rail_nodes.c - see rail_nodes.h */
#include "tests/unit/rail_nodes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/exec/reduce.h"

void rail_sum(void *to, const void *from, size_t count, pipc_dtype_t dtype, pipc_redop_t op)
{
    const pipc__reduction_t how = {
        .dtype = dtype, .op = op == PIPC_AVG ? PIPC_SUM : op, .nranks = 1, .nsrc = 2};
    const void *const src[] = {to, from};

    pipc__reduce(&how, to, src, count);
}

static void must(pipc_status_t st, const pipc__error_t *err)
{
    if (!st)
        return;
    fprintf(stderr, "# rail: %s\n", err->text);
    _exit(99);
}

pipc__rail_t *rail_join(ranks_t *all, int rank)
{
    static pipc__rail_address_t mine, theirs[64];
    const pipc__rail_address_t *peers[64];
    const char *names[64];
    static char text[64][32], wire[64][1024];
    pipc__error_t err;
    pipc__rail_t *rail;

    must(pipc__rail_ucx.open(&rail, &mine, 0, rail_sum, &err), &err);
    if (mine.bytes > sizeof(wire[0]) - sizeof(mine.bytes))
        _exit(98); /* a gather takes that much */
    ranks_gather(all, rank, &mine, sizeof(wire[0]), wire);
    for (int r = 0; r < ranks_size(all); r++) {
        memcpy(&theirs[r], wire[r], sizeof(wire[r]));
        snprintf(text[r], sizeof(text[r]), "rank %d on n%d", r, r);
        peers[r] = &theirs[r];
        names[r] = text[r];
    }
    must(pipc__rail_ucx.connect(rail, rank, ranks_size(all), peers, names, &err), &err);
    return rail;
}

pipc_status_t rail_wait(pipc__rail_t *rail, int id, pipc__error_t *err)
{
    bool done = false;
    pipc_status_t st = pipc__rail_ucx.poll(rail, id, &done, err);

    for (int idle = 0; !st && !done; idle++) {
        if (idle > 20)
            pipc__rail_ucx.rest(rail, 1000);
        st = pipc__rail_ucx.poll(rail, id, &done, err);
    }
    return st;
}

pipc_status_t rail_job(pipc__rail_t *rail, void *data, size_t count, pipc_dtype_t dtype,
                       pipc_redop_t op, pipc__error_t *err)
{
    const pipc__rail_job_t job = {data, count, dtype, op, 0};
    int id;
    pipc_status_t st = pipc__rail_ucx.start(rail, &job, &id, err);

    return st ? st : rail_wait(rail, id, err);
}

double rail_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
