/* tools/bench/fold.c - see fold.h */
#include "runtime/tools/bench/fold.h"

#include <string.h>

#define MOST 64 /* values of a fold between nodes */

/* Between nodes values go through the memory that calls take: a GPU's kernels reach no stack. */
static struct {
    const bench_device_t *device;
    void *values; /* MOST of 8 bytes, on the device */
} on;

pipc_status_t bench_fold_open(pipc_comm_t *c, const bench_device_t *device, pipc__error_t *err)
{
    if (!pipc__rails_needed(&c->rails))
        return PIPC_OK;
    on.device = device;
    on.values = device->alloc(MOST * sizeof(uint64_t), err);
    return on.values ? PIPC_OK : err->status;
}

void bench_fold_close(void)
{
    if (on.values)
        on.device->release(on.values);
    on.values = NULL;
}

/* Over all nodes, in place. The last error is the call's. */
static pipc_status_t over_nodes(pipc_comm_t *c, void *values, size_t n, pipc_dtype_t dtype,
                                pipc_redop_t op, pipc__error_t *err)
{
    if (!pipc__rails_needed(&c->rails))
        return PIPC_OK;
    pipc_status_t st = on.device->write(on.values, values, n * pipc_dtype_bytes(dtype), err);
    if (st)
        return st;
    st = pipc_allreduce(c, on.values, on.values, n, dtype, op, on.device->stream);
    if (st)
        return pipc__fail(err, st, "%s", pipc_last_error());
    return on.device->read(values, on.values, n * pipc_dtype_bytes(dtype), err);
}

pipc_status_t bench_meet(pipc_comm_t *c, pipc__error_t *err)
{
    uint32_t here = 1;
    pipc_status_t st = over_nodes(c, &here, 1, PIPC_U32, PIPC_MAX, err);

    return st ? st : pipc__control_gather(c->ctl, NULL, 0, NULL, err);
}

static pipc_status_t greatest_some(pipc_comm_t *c, double *values, int n, pipc__error_t *err)
{
    double all[PIPC__RANKS_MAX * MOST];
    pipc_status_t st = pipc__control_gather(c->ctl, values, (size_t)n * sizeof(double), all, err);

    for (int i = 0; !st && i < n; i++)
        for (int r = 0; r < c->local_size; r++)
            if (all[r * n + i] > values[i])
                values[i] = all[r * n + i];
    return st ? st : over_nodes(c, values, (size_t)n, PIPC_F64, PIPC_MAX, err);
}

pipc_status_t bench_greatest(pipc_comm_t *c, double *values, int n, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int at = 0; !st && at < n; at += MOST)
        st = greatest_some(c, values + at, n - at < MOST ? n - at : MOST, err);
    return st;
}

pipc_status_t bench_sum(pipc_comm_t *c, uint64_t mine, uint64_t *sum, pipc__error_t *err)
{
    uint64_t all[PIPC__RANKS_MAX], here = 0;
    pipc_status_t st = pipc__control_gather(c->ctl, &mine, sizeof(mine), all, err);

    for (int r = 0; !st && r < c->local_size; r++)
        here += all[r];
    /* Every rank of a node has the node's sum: its first one gives it. */
    *sum = c->local_rank ? 0 : here;
    if (!pipc__rails_needed(&c->rails))
        *sum = here;
    if (!st)
        st = over_nodes(c, sum, 1, PIPC_U64, PIPC_SUM, err);
    if (*sum < here)
        *sum = here;
    return st;
}

/* Among the ranks of the node, whose values all are in all[]. */
static bool differs_here(const pipc_comm_t *c, const uint64_t *all, int n, int i)
{
    int r = 1;

    while (r < c->local_size && all[r * n + i] == all[i])
        r++;
    return r < c->local_size;
}

pipc_status_t bench_compare(pipc_comm_t *c, const uint64_t *value, int n, bool *differs,
                            pipc__error_t *err)
{
    uint64_t all[PIPC__RANKS_MAX * MOST], least[MOST], most[MOST];
    pipc_status_t st = pipc__control_gather(c->ctl, value, (size_t)n * sizeof(*value), all, err);

    memcpy(least, value, (size_t)n * sizeof(*value));
    memcpy(most, value, (size_t)n * sizeof(*value));
    if (!st)
        st = over_nodes(c, least, (size_t)n, PIPC_U64, PIPC_MIN, err);
    if (!st)
        st = over_nodes(c, most, (size_t)n, PIPC_U64, PIPC_MAX, err);
    for (int i = 0; !st && i < n; i++)
        differs[i] = differs_here(c, all, n, i) || least[i] != value[i] || most[i] != value[i];
    return st;
}

/* A sum of which all but one are zeros. Each node's first rank gives what its node has. */
pipc_status_t bench_give(pipc_comm_t *c, void *data, size_t bytes, pipc__error_t *err)
{
    uint64_t word[MOST] = {0}, all[PIPC__RANKS_MAX * MOST];
    size_t n = (bytes + sizeof(*word) - 1) / sizeof(*word);

    if (c->rank == 0)
        memcpy(word, data, bytes);
    pipc_status_t st = pipc__control_gather(c->ctl, word, n * sizeof(*word), all, err);
    for (size_t i = 0; !st && i < n; i++)
        for (int r = 0; r < c->local_size; r++)
            word[i] |= all[(size_t)r * n + i];
    if (pipc__rails_needed(&c->rails) && c->local_rank)
        memset(word, 0, sizeof(word));
    if (!st)
        st = over_nodes(c, word, n, PIPC_U64, PIPC_SUM, err);
    if (!st)
        memcpy(data, word, bytes);
    return st;
}

pipc_status_t bench_mean_rails(pipc_comm_t *c, const pipc__rail_times_t *mine, bench_rails_t *mean,
                               pipc__error_t *err)
{
    uint64_t of[4] = {mine->calls, mine->nsec, mine->busy_nsec, mine->wait_nsec};
    pipc_status_t st = PIPC_OK;

    *mean = (bench_rails_t){0, 0, 0};
    if (!pipc__rails_needed(&c->rails))
        return PIPC_OK;
    for (int i = 0; !st && i < 4; i++)
        st = bench_sum(c, of[i], &of[i], err);
    if (st || !of[0])
        return st;
    double calls = (double)of[0] * 1e3;
    *mean = (bench_rails_t){.inter_usec = (double)of[3] / calls,
                            .intra_usec = (double)(of[1] - of[3]) / calls,
                            .busy_usec = (double)of[2] / calls};
    return PIPC_OK;
}
