/* plan/validate.c - the structure of a plan: ranges, owners, a signal for every wait. See check.h */
#include "runtime/plan/check.h"

#include <string.h>

/* Who signals each flag of each rank, and where; nothing when signaller is 0. */
typedef struct flag_use {
    int signals, signaller;
} flag_use_t;

static pipc_status_t bad(pipc__error_t *err, const pipc__plan_t *p, int rank, int step,
                         const char *what)
{
    return pipc__fail(err, PIPC_ERR_INVALID, "plan %s: rank %d, step %d: %s", p->name, rank, step,
                      what);
}

static const char *judge_ref(const pipc__plan_t *p, int rank, pipc__ref_t ref, bool is_dst)
{
    if (ref.rank >= p->nranks)
        return "names a rank that does not exist";
    if (ref.place > PIPC__OUTPUT)
        return "names a place that does not exist";
    if (ref.place == PIPC__SLOT && ref.slot >= p->nslots)
        return "names a slot that does not exist";
    if (ref.place != PIPC__SLOT && ref.rank != rank)
        return "touches another rank's user buffer";
    if (ref.place == PIPC__INPUT && is_dst)
        return "writes to an input";
    if (ref.place == PIPC__SLOT && !is_dst && ref.rank != rank)
        return "reads another rank's slot"; /* push plans only; a pull plan would signal its reader */
    return NULL;
}

static const char *judge_move(const pipc__plan_t *p, int rank, const pipc__op_t *op)
{
    const char *wrong = judge_ref(p, rank, op->dst, true);

    if (op->chunk >= p->nchunks)
        return "names a chunk that does not exist";
    if (op->nsrc < 1 || op->nsrc > PIPC__RANKS_MAX ||
        (op->nsrc == 1) != (op->kind == PIPC__COPY || p->nranks == 1))
        return "has a wrong number of sources";
    if (op->kind == PIPC__COPY && (op->pre || op->post))
        return "is a copy, and has a pre- or post-op";
    if (op->pre >> op->nsrc)
        return "has a pre-op for a source that it has not";
    for (int i = 0; !wrong && i < op->nsrc; i++)
        wrong = judge_ref(p, rank, op->src[i], false);
    return wrong;
}

static const char *judge_op(const pipc__plan_t *p, int rank, const pipc__op_t *op)
{
    switch (op->kind) {
    case PIPC__COPY:
    case PIPC__REDUCE:
        return judge_move(p, rank, op);
    case PIPC__SIGNAL:
    case PIPC__WAIT:
        if (op->peer >= p->nranks || op->peer == rank)
            return "signals or waits for a rank that is no peer";
        return op->flag < p->nflags ? NULL : "names a flag that does not exist";
    default:
        return "is no operation";
    }
}

static const char *judge_shape(const pipc__plan_t *p)
{
    if (p->nranks < 1 || p->nranks > PIPC__RANKS_MAX)
        return "number of ranks out of range";
    if (p->nchunks < 1 || p->nslots < 0 || p->nslots > PIPC__SLOTS_MAX || p->nflags < 0 ||
        p->nflags > PIPC__FLAGS_MAX)
        return "number of chunks, slots or flags out of range";
    return NULL;
}

static pipc_status_t match_flags(const pipc__plan_t *p,
                                 flag_use_t use[PIPC__RANKS_MAX][PIPC__FLAGS_MAX],
                                 pipc__error_t *err)
{
    for (int r = 0; r < p->nranks; r++) {
        for (int i = 0; i < p->program[r][0].nops; i++) {
            const pipc__op_t *op = &p->program[r][0].ops[i];
            if (op->kind != PIPC__WAIT)
                continue;
            const flag_use_t *u = &use[r][op->flag];
            if (!u->signals)
                return bad(err, p, r, i, "waits for a flag that nobody signals");
            if (u->signaller != op->peer)
                return bad(err, p, r, i, "waits for one peer on a flag that another one signals");
        }
    }
    return PIPC_OK;
}

pipc_status_t pipc__plan_validate(const pipc__plan_t *p, pipc__error_t *err)
{
    flag_use_t use[PIPC__RANKS_MAX][PIPC__FLAGS_MAX];
    const char *wrong = judge_shape(p);

    if (wrong)
        return pipc__fail(err, PIPC_ERR_INVALID, "plan %s: %s", p->name, wrong);
    memset(use, 0, sizeof(use));
    for (int r = 0; r < p->nranks; r++) {
        for (int i = 0; i < p->program[r][0].nops; i++) {
            const pipc__op_t *op = &p->program[r][0].ops[i];
            wrong = judge_op(p, r, op);
            if (wrong)
                return bad(err, p, r, i, wrong);
            if (op->kind != PIPC__SIGNAL)
                continue;
            flag_use_t *u = &use[op->peer][op->flag];
            u->signaller = r;
            if (u->signals++)
                return bad(err, p, r, i, "signals a flag that was signalled already in this round");
        }
    }
    return match_flags(p, use, err);
}
