/* sim/cut.c - see cut.h */
#include "runtime/sim/cut.h"

#include <string.h>

/* A reduce-scatter or all-gather call counts the elements of one rank's block. */
static int pieces(const pipc__plan_t *plan)
{
    return plan->collective == PIPC__ALLREDUCE ? plan->nchunks : plan->nchunks / plan->nranks;
}

static void cut_round(const pipc__sim_call_t *call, size_t count, size_t slot,
                      size_t bytes[PIPC__CHUNKS_MAX])
{
    int n = pieces(call->plan);
    pipc__split_t s = call->plan->nrails ? pipc__rail_split(count, call->elem_bytes, n, slot)
                                         : pipc__split(count, call->elem_bytes, n, 1);
    size_t at;

    for (int c = 0; c < call->plan->nchunks; c++)
        bytes[c] = pipc__split_part(s, count, c % n, 0, &at) * call->elem_bytes;
}

pipc_status_t pipc__cut(pipc__cut_t *cut, const pipc__sim_call_t *call, pipc__error_t *err)
{
    const pipc__plan_t *p = call->plan;
    size_t area = call->staging_bytes / PIPC__BUFFERS / 4096 * 4096;
    int slots = p->nrails ? PIPC__SLOTS_MAX : p->nslots > 0 ? p->nslots : 1;
    size_t slot = pipc__lane_slot_bytes(area, slots, 1);
    size_t most = pipc__round_elems(slot, call->elem_bytes, pieces(p), 1);

    memset(cut, 0, sizeof(*cut));
    if (!most)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "staging of %zu bytes is too small for plan %s with %d ranks; give %d or "
                          "more",
                          call->staging_bytes, p->name, p->nranks, PIPC__BUFFERS * slots * 4096);
    if (!call->count)
        return PIPC_OK;
    cut->rounds = (call->count - 1) / most + 1;
    cut_round(call, most, slot, cut->bytes[0]);
    cut_round(call, call->count - (size_t)(cut->rounds - 1) * most, slot, cut->bytes[1]);
    return PIPC_OK;
}

size_t pipc__cut_message(const pipc__sim_call_t *call)
{
    size_t block = call->count * call->elem_bytes;

    return call->plan->collective == PIPC__ALLREDUCE ? block : block * (size_t)call->plan->nranks;
}

size_t pipc__cut_buffers(const pipc__sim_call_t *call)
{
    size_t block = call->count * call->elem_bytes;

    return call->plan->collective == PIPC__ALLREDUCE ? 2 * block : block + pipc__cut_message(call);
}

static bool moves(const pipc__op_t *op)
{
    return op->kind == PIPC__COPY || op->kind == PIPC__REDUCE;
}

/* Slots of @rank that are written in a round, each counted with its largest chunk. */
static void add_slots(const pipc__plan_t *p, const pipc__program_t *prog, const size_t *bytes,
                      size_t slots[PIPC__RANKS_MAX][2][PIPC__SLOTS_MAX])
{
    (void)p;
    for (int i = 0; i < prog->nops; i++) {
        const pipc__op_t *op = &prog->ops[i];
        if (!moves(op) || (op->dst.place != PIPC__SLOT && op->dst.place != PIPC__HOST))
            continue;
        size_t *slot = &slots[op->dst.rank][op->dst.place == PIPC__HOST][op->dst.slot];
        if (bytes[op->chunk] > *slot)
            *slot = bytes[op->chunk];
    }
}

double pipc__cut_working_set(const pipc__cut_t *cut, const pipc__sim_call_t *call)
{
    size_t slots[PIPC__RANKS_MAX][2][PIPC__SLOTS_MAX] = {0}, most = 0;
    const pipc__plan_t *p = call->plan;

    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            add_slots(p, &p->program[r][s], cut->bytes[cut->rounds < 2], slots);
    for (int r = 0; r < p->nranks; r++) {
        size_t sum = 0;
        for (int i = 0; i < 2 * PIPC__SLOTS_MAX; i++)
            sum += slots[r][i / PIPC__SLOTS_MAX][i % PIPC__SLOTS_MAX];
        most = sum > most ? sum : most;
    }
    return (double)pipc__cut_buffers(call) + PIPC__BUFFERS * (double)most;
}

/* ---- what an op uses ------------------------------------------------------------------------- */

typedef struct hops {
    pipc__hop_t *at;
    int n;
} hops_t;

static void use(hops_t *h, int resource, int times, double weight)
{
    for (int i = 0; i < h->n; i++)
        if (h->at[i].resource == resource) {
            h->at[i].times += times;
            h->at[i].weight += weight;
            return;
        }
    h->at[h->n++] = (pipc__hop_t){resource, times, weight};
}

static void use_path(hops_t *h, const pipc__fabric_t *f, const pipc__sim_path_t *path)
{
    for (int i = 0; i < path->nhops; i++) {
        const pipc__hop_t *hop = &f->hops[path->first + i];
        use(h, hop->resource, hop->times, hop->weight);
    }
}

int pipc__op_hops(const pipc__fabric_t *f, const pipc__op_t *op, int rank, pipc__hop_t *hops)
{
    hops_t h = {hops, 0};
    int to = op->dst.rank;

    for (int i = 0; i < op->nsrc; i++) {
        if (op->src[i].place == PIPC__HOST) {
            use_path(&h, f, &f->from_host[rank]);
            continue;
        }
        use(&h, f->memory[op->src[i].rank], 1, 1);
        if (op->src[i].rank != rank)
            use_path(&h, f, &f->push[op->src[i].rank][rank]);
    }
    if (op->dst.place == PIPC__HOST) {
        use_path(&h, f, &f->to_host[rank][to]);
    } else {
        use(&h, f->memory[to], 1, 1);
        if (to != rank)
            use_path(&h, f, &f->push[rank][to]);
    }
    use(&h, f->engine[rank], 0, 0);
    return h.n;
}

double pipc__signal_time(const pipc__fabric_t *f, const pipc__op_t *op, int rank)
{
    if (op->peer == rank)
        return f->exec.local_usec * 1e-6;
    if (op->dst.place == PIPC__HOST)
        return (f->exec.step_usec + f->to_host[rank][op->peer].usec) * 1e-6;
    return (f->exec.step_usec + f->push[rank][op->peer].usec) * 1e-6;
}
