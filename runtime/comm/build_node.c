/* comm/build_node.c - the ranks of a node become a communicator, or its part of one. See build.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/log.h"
#include "runtime/comm/build.h"
#include "runtime/comm/plans.h"

/* --- after the exchange ---------------------------------------------------------------------- */

/* The shape of all ranks, the table, and the plans that it names. */
static pipc_status_t make_plans(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;
    pipc__wish_t wish = pipc__making_wish(b);
    pipc__error_t why;
    char text[128];

    pipc__plans_shape(&c->shape, b->all, b->n, &why);
    c->exec->nvlink = c->shape.nvlink;
    pipc__rails_shape(&c->rails, &c->shape);
    if (why.status)
        pipc__log(PIPC__LOG_WARN, "taking all GPUs as equally near: %s", why.text);
    if (!own)
        pipc__paths_apply(&c->paths, &c->shape);
    pipc_status_t st = pipc__choose_table(c, &wish, b->all, own, err);
    if (st)
        return st;
    if (c->shape.nlevels)
        pipc__log(PIPC__LOG_INFO, "%d ranks in %s", c->shape.nranks,
                  pipc__plans_describe(&c->shape, text, sizeof(text)));
    return pipc__plans_make(c->plan, &c->table, &c->shape, err);
}

/* Blocks of a call, one a multiprocessor; known once the ranks' GPUs have been compared. */
static int budget(const pipc__making_t *b)
{
    const pipc__exec_t *x = b->comm->exec;
    int sms = b->config.asked.sms;

    if (!x->ops->blocks)
        return 0;
    int all = x->ops->blocks(x, true);
    return !sms ? x->ops->blocks(x, false) : sms < 0 || sms > all ? all : sms;
}

/* From here on the executor has the own end of the rail. The own staging is the least of all: where
 * two ranks of the job have other sizes, their cards were refused (pipc__cards_judge()). */
static void hand_over_rail(pipc__making_t *b)
{
    pipc__rails_t *r = &b->comm->rails;
    pipc__exec_rail_t rail = {r->ops, r->rail, b->group.size, b->config.asked.staging_bytes};

    if (!pipc__rails_needed(r))
        return;
    b->exec->set_rail(b->comm->exec, &rail);
    r->rail = NULL;
}

/* This rank could not map another one, with @st and its text in @err. A peer that has given up
 * takes its memory with it: then what that one says is the cause. */
static pipc_status_t name_cause(const pipc__making_t *b, pipc_status_t st, pipc__error_t *err)
{
    char cause[PIPC__CAUSE_MAX];
    int who = b->self;

    pipc__control_heed(b->comm->ctl);
    pipc_status_t dead = pipc__control_state(b->comm->ctl, &who);
    if (!dead || who == b->self)
        return st;
    return pipc__fail(err, dead, "%s", pipc__control_cause(b->comm->ctl, cause, sizeof(cause)));
}

/* @own, with its text in @err: what failed before, on this rank alone. */
static pipc_status_t map_peers(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc__segment_handle_t control[PIPC__RANKS_MAX];
    pipc__peer_name_t name[PIPC__RANKS_MAX];
    uint8_t memory[PIPC__RANKS_MAX][PIPC__HANDLE_MAX];
    pipc_comm_t *c = b->comm;
    pipc__error_t why;
    int n = b->n;

    for (int r = 0; r < n; r++) {
        const pipc__record_t *rec = &b->all[r];
        memcpy(&control[r], rec->control, sizeof(control[r]));
        memcpy(memory[r], rec->memory, sizeof(memory[r]));
        name[r] = (pipc__peer_name_t){.rank = rec->rank, .pid = rec->pid};
        snprintf(name[r].host, sizeof(name[r].host), "%.*s", (int)sizeof(rec->host) - 1, rec->host);
    }
    pipc_status_t st = pipc__control_connect(c->ctl, b->self, n, control, name, &why);
    b->can_vote = !st;
    if (!st && !own)
        st = c->exec->ops->connect(c->exec, b->self, n, (const uint8_t(*)[PIPC__HANDLE_MAX])memory,
                                   &why);
    if (own)
        st = own;
    else if (st)
        st = name_cause(b, pipc__fail(err, st, "%s", why.text), err);
    if (b->can_vote) /* collective: also where connect failed */
        st = pipc__paths_find(&c->paths, c->exec, b->all, b->self, n, st, pipc__environment, err);
    if (!st) {
        c->most_blocks = budget(b);
        hand_over_rail(b);
    }
    c->sms = b->config.asked.sms;
    if (b->can_vote) /* collective, too */
        st = make_plans(b, st, err);
    for (int k = 0; !st && k < PIPC__PLAN_KINDS; k++)
        if (c->plan[k])
            st = c->exec->ops->prepare(c->exec, c->plan[k], err);
    if (b->can_vote)
        st = pipc__choose_fit(c, st, err);
    return st;
}

/* A rank that could not even map the pages can't vote: its abort word, in its own page and in those
 * that it did map, ends the others' wait. */
static void give_up(const pipc__making_t *b, pipc_status_t own, const pipc__error_t *err)
{
    char name[128], why[128 + PIPC__ERROR_MAX];

    snprintf(why, sizeof(why), "%s: %s",
             pipc__control_name(b->comm->ctl, b->self, name, sizeof(name)), err->text);
    pipc__control_give_up(b->comm->ctl, own, why);
}

/* All or none. */
pipc_status_t pipc__making_vote(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    struct ballot {
        uint64_t digest;
        int32_t status;
        char reason[240];
    } mine = {.status = (int32_t)own}, all[PIPC__RANKS_MAX];
    pipc__error_t met;
    char name[128];

    if (!b->can_vote) {
        give_up(b, own, err);
        return own;
    }
    mine.digest = pipc__plans_digest(&b->comm->table, &b->comm->shape);
    if (own)
        snprintf(mine.reason, sizeof(mine.reason), "%.*s", (int)sizeof(mine.reason) - 1, err->text);
    pipc_status_t st = pipc__control_gather(b->comm->ctl, &mine, sizeof(mine), all, &met);
    if (own)
        return own;
    if (st)
        return pipc__fail(err, st, "%s", met.text);
    for (int r = 0; r < b->n; r++)
        if (all[r].status)
            return pipc__fail(err, (pipc_status_t)all[r].status, "%s: %.*s",
                              pipc__control_name(b->comm->ctl, r, name, sizeof(name)),
                              (int)sizeof(all[r].reason) - 1, all[r].reason);
    for (int r = 0; r < b->n; r++)
        if (all[r].digest != mine.digest)
            return pipc__fail(err, PIPC_ERR_INTERNAL, "%s came to other plans than this rank %d",
                              pipc__control_name(b->comm->ctl, r, name, sizeof(name)), b->self);
    return PIPC_OK;
}

pipc_status_t pipc__making_node(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc__wish_t wish = pipc__making_wish(b);
    pipc_status_t st = map_peers(b, own, err);

    if (b->can_vote)
        st = pipc__choose_fallback(b->comm, &wish, st, err);
    return pipc__making_vote(b, st, err);
}
