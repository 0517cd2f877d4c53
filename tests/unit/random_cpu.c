/* tests/unit/random_cpu.c - random calls on the CPU executor, all verified, and two controls: a
 * rank that gives something else than the others think, and one that stops.
 *
 *     random_cpu --ranks 4 --calls 1000000 --seed 7      as random.h says, without end by default
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"

#define MOST ((size_t)64 << 10)
#define ARENA ((size_t)4 << 20)

static char *arena[2];

static void open_cpu(int rank, size_t bytes)
{
    (void)rank;
    for (int i = 0; i < 2; i++)
        if (!(arena[i] = aligned_alloc(4096, bytes)))
            abort();
}

static void close_cpu(void)
{
    free(arena[0]);
    free(arena[1]);
}

static char *arena_of(bool output)
{
    return arena[output];
}

static void *no_stream(int which)
{
    (void)which;
    return NULL;
}

static char *at(uint64_t address)
{
    return (char *)(uintptr_t)address;
}

static void fill_one(const random_buffers_t *b, uint64_t rank)
{
    uint64_t elem = random_bytes_of(b->dtype);

    memset(at(b->out_from), RANDOM_POISON, b->out_end - b->out_from);
    memset(at(b->in_from), RANDOM_POISON, b->in_end - b->in_from);
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t bits = random_input(b->dtype, b->op, b->key, rank, i);
        memcpy(at(b->in) + i * elem, &bits, elem);
    }
}

static void fill(const random_buffers_t *b, int n, int rank)
{
    for (int i = 0; i < n; i++)
        fill_one(&b[i], (uint64_t)rank);
}

static void tell(random_verdict_t *v, uint64_t call, uint64_t byte)
{
    uint64_t here = call << 40 | byte;

    v->wrong++;
    v->first = here < v->first ? here : v->first;
}

static void check_one(const random_buffers_t *b, uint64_t call, int rank, int nranks,
                      random_verdict_t *v)
{
    uint64_t elem = random_bytes_of(b->dtype), end = b->out + b->count * elem;

    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t got = 0, given = 0;
        memcpy(&got, at(b->out) + i * elem, elem);
        memcpy(&given, at(b->in) + i * elem, elem);
        v->digest += random_mix(got ^ random_mix(call << 40 | i));
        if (!random_right(b, nranks, i, got) ||
            (b->in != b->out &&
             !random_same(b->dtype, given,
                          random_input(b->dtype, b->op, b->key, (uint64_t)rank, i))))
            tell(v, call, b->out - b->out_from + i * elem);
    }
    for (uint64_t byte = b->out_from; byte < b->out_end; byte++)
        if ((byte < b->out || byte >= end) && *at(byte) != (char)RANDOM_POISON)
            tell(v, call, byte - b->out_from);
}

static void check(const random_buffers_t *b, int n, int rank, int nranks, random_verdict_t *v)
{
    for (int i = 0; i < n; i++)
        check_one(&b[i], (uint64_t)i, rank, nranks, v);
}

static const random_device_t cpu = {.backend = PIPC_BACKEND_CPU,
                                    .most_bytes = MOST,
                                    .arena_bytes = ARENA,
                                    .batches = 40,
                                    .open = open_cpu,
                                    .arena = arena_of,
                                    .stream = no_stream,
                                    .fill = fill,
                                    .check = check,
                                    .close = close_cpu};

/* The rank that stops finds itself hanging. The other one finds that, too, or hears of it first. */
static bool a_stop_is_seen(random_options_t o)
{
    int exits[2];

    o.stop = 1;
    o.patience = 0.5;
    return !ranks_run_each(2, random_body, &o, 300, exits) && exits[1] == 3 &&
           (exits[0] == 2 || exits[0] == 3);
}

int main(int argc, char **argv)
{
    random_options_t o = {.device = &cpu, .seed = 1, .calls = 3000, .seconds = 10, .patience = 60};
    o.spoil = o.stop = -1;
    random_options_t spoilt = o;
    int ranks = 2;

    if (argc > 1) {
        o.calls = 0;
        o.seconds = 0;
        return random_parse(&o, &ranks, argc, argv)
                   ? ranks_run(ranks, random_body, &o, RANDOM_LIMIT)
                   : 2;
    }
    printf("1..5\n");
    for (int n = 2; n <= 4; n++)
        printf("%sok %d - random calls of %d ranks\n",
               ranks_run(n, random_body, &o, 300) ? "not " : "", n - 1, n);
    spoilt.spoil = 1;
    printf("%sok 4 - a wrong input of one rank is seen\n",
           ranks_run(2, random_body, &spoilt, 300) == 1 ? "" : "not ");
    printf("%sok 5 - a rank that stops is seen as a hang\n", a_stop_is_seen(o) ? "" : "not ");
    return 0;
}
