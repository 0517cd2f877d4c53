/* plan/validate.c - the structure of a plan: ranges, owners, a signal for every wait. See check.h
 */
#include "runtime/plan/check.h"

#include <stdio.h>
#include <string.h>

#include "runtime/plan/text.h"

#define BY_RAIL PIPC__STAGES_MAX /* for a stage: a job of the rank's rail, when it has ended */

/* Who signals a flag, in which stage; nobody when signals is 0. */
typedef struct flag_use {
    uint8_t signals, rank, stage;
    bool awaited;
} flag_use_t;

typedef struct uses {
    flag_use_t of[2][PIPC__RANKS_MAX][PIPC__FLAGS_MAX]; /* in device and in host memory */
    int next[PIPC__RANKS_MAX];       /* [rail]: how many of its chunks were railed so far */
    int rail_stage[PIPC__RANKS_MAX]; /* [rail]: the stage that rails them, + 1; 0: not known yet */
} uses_t;

typedef struct where {
    const pipc__plan_t *plan;
    int rank, stage, step;
} where_t;

static const pipc__op_t *op_at(where_t w)
{
    return &w.plan->program[w.rank][w.stage].ops[w.step];
}

static pipc_status_t bad(pipc__error_t *err, where_t w, const char *what)
{
    char words[PIPC__OP_BRIEFLY], stage[24] = "";

    if (w.plan->nstages > 1)
        snprintf(stage, sizeof(stage), ", stage %d", w.stage);
    pipc__plan_op_text(op_at(w), w.rank, words, sizeof(words));
    return pipc__fail(err, PIPC_ERR_INVALID, "plan %s: rank %d%s, step %d (%s): %s", w.plan->name,
                      w.rank, stage, w.step, words, what);
}

static const char *judge_slot(const pipc__plan_t *p, int rank, pipc__ref_t ref, bool is_dst)
{
    if (ref.slot >= p->nslots)
        return "names a slot that does not exist";
    if (!is_dst && ref.rank != rank)
        return "reads another rank's slot"; /* push plans only; a pull plan would signal its reader
                                             */
    return NULL;
}

/* Reduce-scatter has an output, all-gather an input, for the chunks alone that the rank owns. */
static const char *judge_user(const pipc__plan_t *p, int rank, int chunk, pipc__ref_t ref,
                              bool is_dst)
{
    bool owns = pipc__owner(p->nranks, p->nchunks, chunk) == rank;

    if (ref.rank != rank)
        return "touches another rank's user buffer";
    if (ref.place == PIPC__INPUT && is_dst)
        return "writes to an input";
    if (ref.place == PIPC__INPUT && p->collective == PIPC__ALLGATHER && !owns)
        return "reads a chunk of its input that another rank owns";
    if (ref.place == PIPC__OUTPUT && p->collective == PIPC__REDUCE_SCATTER && !owns)
        return "touches a chunk of its output that another rank owns";
    return NULL;
}

static const char *judge_ref(const pipc__plan_t *p, int rank, int chunk, pipc__ref_t ref,
                             bool is_dst)
{
    if (ref.rank >= p->nranks)
        return "names a rank that does not exist";
    switch (ref.place) {
    case PIPC__SLOT:
    case PIPC__HOST:
        return judge_slot(p, rank, ref, is_dst);
    case PIPC__INPUT:
    case PIPC__OUTPUT:
        return judge_user(p, rank, chunk, ref, is_dst);
    default:
        return "names a place that does not exist";
    }
}

static const char *judge_move(const pipc__plan_t *p, int rank, const pipc__op_t *op)
{
    if (op->chunk >= p->nchunks)
        return "names a chunk that does not exist";
    if (op->nsrc < 1 || op->nsrc > PIPC__RANKS_MAX ||
        (op->nsrc == 1) != (op->kind == PIPC__COPY || p->nranks == 1))
        return "has a wrong number of sources";
    if (op->kind == PIPC__COPY && (op->pre || op->post))
        return "is a copy, and has a pre- or post-op";
    if (op->pre >> op->nsrc)
        return "has a pre-op for a source that it has not";
    const char *wrong = judge_ref(p, rank, op->chunk, op->dst, true);
    for (int i = 0; !wrong && i < op->nsrc; i++)
        wrong = judge_ref(p, rank, op->chunk, op->src[i], false);
    return wrong;
}

/* What is wrong with a RAIL wherever it stands. */
static const char *judge_rail(const pipc__plan_t *p, int rank, const pipc__op_t *op)
{
    if (!p->nrails)
        return "is for several nodes, in a plan of one";
    if (op->chunk >= p->nchunks)
        return "names a chunk that does not exist";
    if (pipc__rail_owner(p->nrails, p->nranks, pipc__rail_of(p->nrails, op->chunk)) != rank)
        return "is of a chunk whose rail another rank is on";
    if (op->peer != rank || op->flag >= p->nflags)
        return "names a flag that does not exist";
    if (op->nsrc != 1 || memcmp(&op->src[0], &op->dst, sizeof(op->dst)) != 0 || op->pre)
        return "is not in place";
    if (op->dst.place == PIPC__INPUT)
        return "writes to an input";
    if (op->dst.rank != rank)
        return "is in another rank's memory";
    return judge_ref(p, rank, op->chunk, op->dst, true);
}

static const char *judge_op(const pipc__plan_t *p, int rank, const pipc__op_t *op)
{
    switch (op->kind) {
    case PIPC__COPY:
    case PIPC__REDUCE:
        return judge_move(p, rank, op);
    case PIPC__SIGNAL:
    case PIPC__WAIT:
        if (op->peer >= p->nranks)
            return "signals or waits for a rank that is no peer";
        if (op->peer == rank && p->nstages == 1)
            return "waits for its own stage";
        if (op->dst.place != PIPC__SLOT && op->dst.place != PIPC__HOST)
            return "has its flag in no memory";
        return op->flag < p->nflags ? NULL : "names a flag that does not exist";
    case PIPC__RAIL:
        return judge_rail(p, rank, op);
    default:
        return "is no operation";
    }
}

static const char *judge_programs(const pipc__plan_t *p)
{
    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        for (int s = 0; s < PIPC__STAGES_MAX; s++) {
            const pipc__program_t *g = &p->program[r][s];
            if (g->nops < 0 || (g->nops && !g->ops))
                return "a program without ops";
            if (g->nops && (r >= p->nranks || s >= p->nstages))
                return "a program of a rank or stage that does not exist";
        }
    return NULL;
}

static const char *judge_shape(const pipc__plan_t *p)
{
    if (p->nranks < 1 || p->nranks > PIPC__RANKS_MAX)
        return "number of ranks out of range";
    if (p->nstages < 1 || p->nstages > PIPC__STAGES_MAX)
        return "number of stages out of range";
    if (p->nchunks < 1 || p->nchunks > PIPC__CHUNKS_MAX || p->nslots < 0 ||
        p->nslots > PIPC__SLOTS_MAX || p->nflags < 0 || p->nflags > PIPC__FLAGS_MAX)
        return "number of chunks, slots or flags out of range";
    if (!pipc__collective_name(p->collective))
        return "no such collective";
    if (p->collective != PIPC__ALLREDUCE && p->nchunks % p->nranks)
        return "number of chunks is no multiple of the number of ranks";
    if (p->nrails < 0 || p->nrails > p->nranks)
        return "number of rails out of range";
    if (p->nrails && p->collective != PIPC__ALLREDUCE)
        return "rails, and no all-reduce";
    if (p->nrails && p->nchunks % p->nrails)
        return "number of chunks is no multiple of the number of rails";
    return judge_programs(p);
}

/* Calls @judge for every op in every program, until one fails. */
static pipc_status_t each_op(const pipc__plan_t *p, uses_t *uses,
                             const char *(*judge)(where_t w, uses_t *uses), pipc__error_t *err)
{
    where_t w = {p, 0, 0, 0};

    for (w.rank = 0; w.rank < p->nranks; w.rank++)
        for (w.stage = 0; w.stage < p->nstages; w.stage++)
            for (w.step = 0; w.step < p->program[w.rank][w.stage].nops; w.step++) {
                const char *wrong = judge(w, uses);
                if (wrong)
                    return bad(err, w, wrong);
            }
    return PIPC_OK;
}

/* A rail takes its chunks in ascending order, one stage begins all its jobs: so every node,
 * whatever its plan, begins the same jobs in the same order. */
static const char *note_rail(where_t w, uses_t *uses)
{
    int chunk = op_at(w)->chunk, rail = pipc__rail_of(w.plan->nrails, chunk);
    int expected = rail + uses->next[rail] * w.plan->nrails, stage = uses->rail_stage[rail];

    if (stage && stage != w.stage + 1)
        return "is of a rail whose jobs another stage begins";
    if (chunk < expected)
        return "sums a chunk a second time over the nodes";
    if (chunk > expected)
        return "is before an earlier chunk of its rail: other nodes go in ascending order";
    uses->next[rail]++;
    uses->rail_stage[rail] = w.stage + 1;
    return NULL;
}

/* The op itself; a signal is noted, also that of a rail. */
static const char *judge_alone(where_t w, uses_t *uses)
{
    const pipc__op_t *op = op_at(w);
    const char *wrong = judge_op(w.plan, w.rank, op);
    bool rail = op->kind == PIPC__RAIL;

    if (!wrong && rail)
        wrong = note_rail(w, uses);
    if (wrong || (op->kind != PIPC__SIGNAL && !rail))
        return wrong;
    flag_use_t *u = &uses->of[!rail && op->dst.place == PIPC__HOST][op->peer][op->flag];
    if (u->signals)
        return "signals a flag that was signalled already in this round";
    *u = (flag_use_t){1, (uint8_t)w.rank, (uint8_t)(rail ? BY_RAIL : w.stage), false};
    return NULL;
}

static const char *judge_wait(where_t w, uses_t *uses)
{
    const pipc__op_t *op = op_at(w);
    bool host = op->dst.place == PIPC__HOST;

    if (op->kind != PIPC__WAIT)
        return NULL;
    flag_use_t *u = &uses->of[host][w.rank][op->flag];
    if (!u->signals && uses->of[!host][w.rank][op->flag].signals)
        return "waits in another memory than it is signalled in";
    if (!u->signals)
        return "waits for a flag that nobody signals";
    if (u->rank != op->peer)
        return "waits for one peer on a flag that another one signals";
    if (u->rank == w.rank && u->stage == w.stage)
        return "waits for its own stage";
    u->awaited = true;
    return NULL;
}

/* A call ends when its stages have ended: none may leave a job behind that still works on its data.
 */
static const char *judge_end_of_rail(where_t w, uses_t *uses)
{
    const pipc__op_t *op = op_at(w);

    if (op->kind == PIPC__RAIL && !uses->of[0][w.rank][op->flag].awaited)
        return "ends, and nobody waits for it";
    return NULL;
}

/* The first chunk that no node's sums would meet over; -1: all do. */
static int unrailed_chunk(const pipc__plan_t *p, const uses_t *uses)
{
    for (int c = 0; p->nrails && c < p->nchunks; c++)
        if (c / p->nrails >= uses->next[pipc__rail_of(p->nrails, c)])
            return c;
    return -1;
}

pipc_status_t pipc__plan_validate(const pipc__plan_t *p, pipc__error_t *err)
{
    uses_t uses;
    const char *wrong = judge_shape(p);

    if (wrong)
        return pipc__fail(err, PIPC_ERR_INVALID, "plan %s: %s", p->name, wrong);
    memset(&uses, 0, sizeof(uses));
    pipc_status_t st = each_op(p, &uses, judge_alone, err);
    if (!st)
        st = each_op(p, &uses, judge_wait, err);
    if (!st)
        st = each_op(p, &uses, judge_end_of_rail, err);
    if (!st && unrailed_chunk(p, &uses) >= 0)
        st = pipc__fail(err, PIPC_ERR_INVALID, "plan %s: no rail sums chunk %d over the nodes",
                        p->name, unrailed_chunk(p, &uses));
    return st;
}
