/* tools/tune/candidates.c - see tune.h
 *
 * More blocks than the executor's budget (PCIE_IPC_SMS) are cut to it: numbers that come to the
 * same are one candidate.
 */
#include "runtime/comm/comm.h"
#include "runtime/tools/tune/tune.h"

#define MIDDLE ((size_t)64 << 10)
#define LARGE ((size_t)256 << 10)

/* What is tried of each protocol: numbers of blocks (0: all of the budget; -1: no more of them),
 * and from which size on. */
static const struct {
    int blocks[5];
    size_t from_bytes;
} tried[PIPC__PROTOS] = {
    [PIPC__PROTO_SIMPLE] = {{0, 8, 16, 32, -1}, 0},
    [PIPC__PROTO_LL] = {{0, 8, 16, 32, -1}, 0},
    [PIPC__PROTO_PUSH] = {{0, 16, 32, 64, -1}, LARGE},
    [PIPC__PROTO_CE] = {{0, 8, 16, -1}, LARGE},
    [PIPC__PROTO_LL128] = {{0, 16, 32, 64, -1}, MIDDLE},
};

static void add(tune_candidate_t *list, int *n, tune_candidate_t c)
{
    if (*n < TUNE_CANDIDATES_MAX)
        list[(*n)++] = c;
}

/* Blocks that a call gets which asks for @blocks. */
static int given(const tune_t *t, int blocks)
{
    int most = t->bench.comm->most_blocks;

    return blocks && blocks < most ? blocks : most;
}

static bool is_new(const tune_t *t, const int *blocks, int i)
{
    int k = 0;

    while (k < i && given(t, blocks[k]) != given(t, blocks[i]))
        k++;
    return k == i;
}

static bool hopeless(const tune_t *t, size_t bytes, bool in_graph, pipc__choice_t choice)
{
    size_t sizes[PIPC__TABLE_ROWS];
    int at = 0;

    while (at < PIPC__TABLE_ROWS - 1 && (sizes[at] = tune_size(t, at)) && sizes[at] < bytes)
        at++;
    return pipc__time_hopeless(t->times, t->ntimes, sizes, at, in_graph, choice);
}

static void add_own(const tune_t *t, size_t bytes, bool in_graph, int algo, pipc__proto_t proto,
                    tune_candidate_t *list, int *n)
{
    const int *blocks = tried[proto].blocks;

    if (bytes < tried[proto].from_bytes)
        return;
    for (int i = 0; blocks[i] >= 0; i++) {
        pipc__choice_t c = {algo, proto, blocks[i]};
        if (is_new(t, blocks, i) && pipc__comm_can(t->bench.comm, c, bytes, in_graph) &&
            !hopeless(t, bytes, in_graph, c))
            add(list, n, (tune_candidate_t){c, BENCH_OWN, ""});
    }
}

int tune_candidates(const tune_t *t, size_t bytes, bool in_graph,
                    tune_candidate_t list[TUNE_CANDIDATES_MAX])
{
    const bench_peer_t *peer = t->bench.options.peer;
    int n = 0;

    for (int v = 0; peer && v < peer->variants(); v++)
        if (peer->usable(v))
            add(list, &n,
                (tune_candidate_t){
                    {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, v, v ? peer->variant(v) : ""});
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        for (int p = 0; t->plan[k] && p < PIPC__PROTOS; p++)
            if (p == PIPC__PROTO_SIMPLE || k == PIPC__ONE_SHOT)
                add_own(t, bytes, in_graph, k, (pipc__proto_t)p, list, &n);
    return n;
}

/* Between GPUs NCCL carries the sums, and knows best how: there nodes-lean is nodes. */
pipc_status_t tune_prepare(tune_t *t, pipc__error_t *err)
{
    pipc_comm_t *comm = t->bench.comm;

    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        pipc_status_t st = pipc__comm_prepare(comm, &one, err);
        if (st == PIPC_ERR_PEER_LOST || st == PIPC_ERR_ABORTED)
            return st;
        t->plan[k] = !st && !(k == PIPC__NODES_LEAN && t->bench.device.stream);
    }
    return PIPC_OK;
}
