/* exec/cpu.c - the CPU executor: ranks of one node over shared memory.
 *
 * One lane a rank, run by the calling thread. A rank's segment:
 *
 *     | flag 0 | flag 1 | ... (a cache line each) | area 0: slots | area 1: slots |
 *
 * Peers write slots and flags, the owner reads them. A flag holds the number of the last round that
 * its sender signalled; 64 bits, so that a flag which a plan leaves unused for long never looks
 * like one from the future.
 */
#include "runtime/exec/exec.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/exec/perturb.h"
#include "runtime/exec/reduce.h"

typedef struct flag {
    _Alignas(128) _Atomic uint64_t round;
} flag_t;

typedef struct cpu_exec {
    pipc__exec_t base;
    int rank, size;
    size_t area_bytes;
    uint64_t round; /* last round that was begun, counted over all calls */
    pipc__segment_t own, seg[PIPC__RANKS_MAX];
} cpu_exec_t;

_Static_assert(sizeof(pipc__segment_handle_t) <= PIPC__HANDLE_MAX, "handle fits the record");

static cpu_exec_t *self(pipc__exec_t *exec)
{
    return (cpu_exec_t *)(void *)exec;
}

static char *memory_of(const cpu_exec_t *x, int rank)
{
    return (rank == x->rank ? x->own.base : x->seg[rank].base) + PIPC__SEGMENT_HEAD;
}

static flag_t *flag_of(const cpu_exec_t *x, int rank, int flag)
{
    return (flag_t *)(void *)memory_of(x, rank) + flag;
}

static pipc_status_t create(pipc__exec_t **exec, pipc__control_t *ctl, size_t staging_bytes,
                            uint8_t handle[PIPC__HANDLE_MAX], pipc__exec_place_t *place,
                            pipc__error_t *err)
{
    cpu_exec_t *x = calloc(1, sizeof(*x));
    pipc__segment_handle_t h;

    *exec = NULL;
    memset(place, 0, sizeof(*place));
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the CPU executor");
    x->base.ops = &pipc__exec_cpu;
    x->base.ctl = ctl;
    x->area_bytes = staging_bytes / PIPC__BUFFERS / 4096 * 4096;
    pipc_status_t st = pipc__segment_create(
        &x->own, PIPC__FLAGS_MAX * sizeof(flag_t) + PIPC__BUFFERS * x->area_bytes, &h, err);
    if (st) {
        free(x);
        return st;
    }
    memset(handle, 0, PIPC__HANDLE_MAX);
    memcpy(handle, &h, sizeof(h));
    *exec = &x->base;
    return PIPC_OK;
}

static pipc_status_t connect_peers(pipc__exec_t *exec, int rank, int size,
                                   const uint8_t (*handles)[PIPC__HANDLE_MAX], pipc__error_t *err)
{
    cpu_exec_t *x = self(exec);

    x->rank = rank;
    x->size = size;
    for (int r = 0; r < size; r++) {
        pipc__segment_handle_t h;
        pipc__error_t why;
        char name[128];
        memcpy(&h, handles[r], sizeof(h));
        if (r != rank && pipc__segment_open(&x->seg[r], &h, &why))
            return pipc__fail(err, why.status, "staging of %s: %s",
                              pipc__control_name(x->base.ctl, r, name, sizeof(name)), why.text);
    }
    return PIPC_OK;
}

static pipc_status_t prepare(pipc__exec_t *exec, const pipc__plan_t *plan, pipc__error_t *err)
{
    const cpu_exec_t *x = self(exec);

    if (pipc__lane_slot_bytes(x->area_bytes, plan->nslots, 1))
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID, "staging of %zu bytes is too small for plan %s with %d "
                      "ranks; give %d or more", PIPC__BUFFERS * x->area_bytes, plan->name,
                      plan->nranks, PIPC__BUFFERS * plan->nslots * 4096);
}

/* One round of one call: what the ops below need to find their memory. */
typedef struct cpu_round {
    const pipc__exec_call_t *call;
    size_t first, count; /* the piece of the message, in elements */
    size_t elem_bytes, slot_bytes;
    pipc__split_t split;
} cpu_round_t;

/* Where @ref's part of @chunk begins, and its length in elements. */
static char *locate(const cpu_exec_t *x, const cpu_round_t *k, pipc__ref_t ref, int chunk, size_t *n)
{
    size_t at;

    *n = pipc__split_part(k->split, k->count, chunk, 0, &at);
    if (ref.place == PIPC__SLOT)
        return memory_of(x, ref.rank) + PIPC__FLAGS_MAX * sizeof(flag_t) +
               PIPC__AREA(x->round) * x->area_bytes + ref.slot * k->slot_bytes;
    const char *user = ref.place == PIPC__INPUT ? k->call->send : k->call->recv;
    uintptr_t where = (uintptr_t)user + (k->first + at) * k->elem_bytes;
    return (char *)where;
}

static void copy_or_reduce(const cpu_exec_t *x, const cpu_round_t *k, const pipc__op_t *op)
{
    const pipc__reduction_t how = {k->call->dtype, k->call->op, x->size,
                                   op->nsrc,       op->pre,     op->post};
    const void *src[PIPC__RANKS_MAX];
    size_t n;
    char *dst = locate(x, k, op->dst, op->chunk, &n);

    for (int i = 0; i < op->nsrc; i++)
        src[i] = locate(x, k, op->src[i], op->chunk, &n);
    if (!n)
        return;
    /* A reduction of one source is that of one rank: its pre- and post-op change nothing. */
    if (op->nsrc == 1 && dst != src[0])
        memcpy(dst, src[0], n * k->elem_bytes);
    else if (op->nsrc > 1)
        pipc__reduce(&how, dst, src, n);
}

typedef struct flag_wait {
    const flag_t *flag;
    uint64_t round;
} flag_wait_t;

static bool flag_ready(void *arg)
{
    const flag_wait_t *w = arg;

    return atomic_load_explicit(&w->flag->round, memory_order_acquire) >= w->round;
}

static pipc_status_t step(cpu_exec_t *x, const cpu_round_t *k, const pipc__op_t *op)
{
    flag_wait_t w;

    PIPC__DELAY();
    switch (op->kind) {
    case PIPC__SIGNAL:
        atomic_store_explicit(&flag_of(x, op->peer, op->flag)->round, x->round,
                              memory_order_release);
        pipc__control_ring(x->base.ctl, op->peer);
        return PIPC_OK;
    case PIPC__WAIT:
        w = (flag_wait_t){flag_of(x, x->rank, op->flag), x->round};
        return pipc__control_wait(x->base.ctl, flag_ready, &w);
    default:
        copy_or_reduce(x, k, op);
        return PIPC_OK;
    }
}

static pipc_status_t run_round(cpu_exec_t *x, const cpu_round_t *k, uint64_t number,
                               pipc__error_t *err)
{
    const pipc__plan_t *plan = k->call->plan;

    x->round++;
    for (int i = 0; i < plan->program[x->rank][0].nops; i++) {
        const pipc__op_t *op = &plan->program[x->rank][0].ops[i];
        if (op->kind == PIPC__WAIT && PIPC__DROPPED(i))
            continue;
        if (step(x, k, op))
            return pipc__exec_stalled(x->base.ctl, plan, x->rank, k->call->number, number, i, err);
    }
    return PIPC_OK;
}

static pipc_status_t run(pipc__exec_t *exec, const pipc__exec_call_t *call, pipc__error_t *err)
{
    cpu_exec_t *x = self(exec);
    cpu_round_t k = {.call = call, .elem_bytes = pipc_dtype_bytes(call->dtype)};
    pipc_status_t st = PIPC_OK;

    k.slot_bytes = pipc__lane_slot_bytes(x->area_bytes, call->plan->nslots, 1);
    size_t most = pipc__round_elems(k.slot_bytes, k.elem_bytes, call->plan->nchunks, 1);
    for (uint64_t i = 0; !st && k.first < call->count; i++) {
        k.count = call->count - k.first < most ? call->count - k.first : most;
        k.split = pipc__split(k.count, k.elem_bytes, call->plan->nchunks, 1);
        st = run_round(x, &k, i, err);
        k.first += k.count;
    }
    return st;
}

static pipc_status_t nothing_pending(pipc__exec_t *exec, pipc__error_t *err)
{
    (void)exec;
    (void)err;
    return PIPC_OK; /* run() returns when all is done */
}

static void disconnect(pipc__exec_t *exec)
{
    cpu_exec_t *x = self(exec);

    for (int r = 0; r < x->size; r++)
        pipc__segment_close(&x->seg[r]);
}

static void destroy(pipc__exec_t *exec)
{
    if (!exec)
        return;
    disconnect(exec);
    pipc__segment_close(&self(exec)->own);
    free(exec);
}

const pipc__exec_ops_t pipc__exec_cpu = {
    .name = "cpu",
    .create = create,
    .connect = connect_peers,
    .prepare = prepare,
    .run = run,
    .poll = nothing_pending,
    .drain = nothing_pending,
    .disconnect = disconnect,
    .destroy = destroy,
};
