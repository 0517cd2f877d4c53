/* tools/tune/candidates.c - see tune.h
 *
 * More blocks than the executor's budget (PCIE_IPC_SMS) are cut to it: several of these are then
 * the same, which costs time and nothing else.
 */
#include "runtime/comm/comm.h"
#include "runtime/tools/tune/tune.h"

static const int blocks[] = {0, 8, 16, 32, PIPC__BLOCKS_MAX}; /* 0: the default; the last: all */

static void add(tune_candidate_t *list, int *n, tune_candidate_t c)
{
    if (*n < TUNE_CANDIDATES_MAX)
        list[(*n)++] = c;
}

static void add_own(const tune_t *t, tune_candidate_t *list, int *n, int algo, pipc__proto_t proto)
{
    bool on_gpu = t->bench.device.stream;

    for (size_t i = 0; i < (on_gpu ? sizeof(blocks) / sizeof(blocks[0]) : 1); i++)
        add(list, n, (tune_candidate_t){{algo, proto, blocks[i]}, BENCH_OWN, ""});
}

int tune_candidates(const tune_t *t, size_t bytes, tune_candidate_t list[TUNE_CANDIDATES_MAX])
{
    const bench_peer_t *peer = t->bench.options.peer;
    bool on_gpu = t->bench.device.stream;
    int n = 0;

    for (int v = 0; peer && v < peer->variants(); v++)
        if (peer->usable(v))
            add(list, &n,
                (tune_candidate_t){
                    {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, v, v ? peer->variant(v) : ""});
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        if (t->plan[k])
            add_own(t, list, &n, k, PIPC__PROTO_SIMPLE);
    if (on_gpu && t->plan[PIPC__ONE_SHOT] && t->bench.comm->size > 1 &&
        bytes <= pipc__ll_bytes_max(t->bench.comm->size))
        add_own(t, list, &n, PIPC__ONE_SHOT, PIPC__PROTO_LL);
    return n;
}

pipc_status_t tune_prepare(tune_t *t, pipc__error_t *err)
{
    pipc_comm_t *comm = t->bench.comm;

    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        pipc_status_t st = pipc__comm_prepare(comm, &one, err);
        if (st == PIPC_ERR_PEER_LOST || st == PIPC_ERR_ABORTED)
            return st;
        t->plan[k] = !st;
    }
    return PIPC_OK;
}
