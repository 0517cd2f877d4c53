/* comm/create.c - how ranks become a communicator.
 *
 *     own page, own staging ----> record --exchange--> everybody's records --judge-->
 *     map pages, start watchdog, probe paths, shape, plans, map staging --vote--> communicator
 *
 * That is for the ranks of a node. Where a group may be on several nodes, they are found before,
 * and vote after it: see rails.h.
 *
 * Whatever fails before the exchange travels in the record, whatever fails after it in the vote, so
 * that all ranks succeed or all fail and none waits for one that gave up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/comm/build.h"
#include "runtime/comm/child.h"
#include "runtime/comm/plans.h"
#include "runtime/comm/ranges.h"
#include "runtime/comm/report.h"

/* Over several nodes, where NCCL's sizes are left to the program: are there others? Asked before
 * anything is made, for rails over many nodes take their time and would be taken down again. One
 * rank that has some is enough: what they are all agree on, or fail. */
static pipc_status_t ask_for_work(pipc__making_t *b, pipc__error_t *err)
{
    bool work = pipc__making_has_work(b);
    pipc_status_t st = pipc__rails_any(b->ops, b->xchg, b->group.size, &work, err);

    if (st || work)
        return st;
    return pipc__fail(
        err, PIPC_LEFT,
        "over several nodes every size is NCCL's, unless a table or PCIE_IPC_PLAN says "
        "otherwise");
}

/* Which ranks are on the own node. The same status on every rank. */
static pipc_status_t find_node(pipc__making_t *b, pipc__error_t *err)
{
    const pipc__nodes_t *nodes = &b->comm->rails.nodes;
    pipc__card_t card;

    b->n = b->group.size;
    b->self = b->group.self;
    if (!b->by_cards)
        return PIPC_OK;
    if (b->group.job_size > b->group.size)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "a communicator has at most %d ranks, the job has "
                          "%d; make one a node (scope node, or --per-node)",
                          PIPC__GROUP_MAX, b->group.job_size);
    pipc__card_from(
        &card, &b->mine,
        pipc__environment(pipc__making_on_gpu(b) ? "NCCL_IB_HCA" : "UCX_NET_DEVICES"));
    pipc_status_t st = PIPC_OK;
    if (b->group.one_node)
        st = pipc__rails_compare(b->ops, b->xchg, b->group.size, &b->mine, err);
    if (!st)
        st = pipc__rails_find(&b->comm->rails, b->ops, b->xchg, &b->group, &card, err);
    if (st)
        return st;
    b->n = nodes->local_size;
    b->self = nodes->local_rank;
    if (!pipc__rails_needed(&b->comm->rails))
        return PIPC_OK;
    if (b->comm->rails.split && !b->group.self)
        pipc__log(PIPC__LOG_INFO, "PCIE_IPC_NODES: each %u ranks of a host are taken as a node",
                  b->comm->rails.split);
    st = b->comm->leaves ? ask_for_work(b, err) : PIPC_OK;
    return st ? st : pipc__rails_engine(&b->comm->rails, b->mine.backend, err);
}

/* Everybody's records on the own node. */
static pipc_status_t exchange_and_judge(pipc__making_t *b, pipc__error_t *err)
{
    const pipc__nodes_t *nodes = &b->comm->rails.nodes;
    pipc_status_t st;

    b->all = calloc((size_t)b->n, sizeof(*b->all));
    if (!b->all)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d records", b->n);
    if (!b->by_cards)
        st = b->ops->exchange(b->xchg, &b->mine, sizeof(b->mine), b->all, err);
    else
        st = b->ops->pick(b->xchg, &b->mine, sizeof(b->mine), sizeof(b->mine),
                          nodes->member + nodes->first[nodes->self], b->n, true, b->all, err);
    return st ? st : pipc__records_judge(b->all, b->n, err);
}

static void end_exchange(pipc__making_t *b)
{
    b->ops->close(b->xchg);
    b->xchg = NULL;
}

/* From the record to the vote of all nodes. @made, with its text in @own: what was asked for. */
static pipc_status_t build_from(pipc__making_t *b, pipc_status_t made, pipc__error_t *own,
                                pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;

    pipc__making_note(b, made, own);
    pipc_status_t st = find_node(b, err);
    if (st)
        return made ? pipc__fail(err, made, "%s", own->text) : st;
    if (!made)
        made = pipc__making_own(b, own);
    pipc__making_note(b, made, own);
    st = exchange_and_judge(b, err);
    bool judged = !st; /* by all ranks of the node alike */
    bool spans = pipc__rails_needed(&c->rails);
    if (made)
        st = pipc__fail(err, made, "%s", own->text);
    if (spans)
        st = pipc__rails_connect(&c->rails, b->ops, b->xchg, &b->address, st, err);
    else
        end_exchange(b); /* before anything can fail slowly: see xchg.h */
    c->rank = b->group.self;
    c->size = b->group.size;
    c->local_rank = b->self;
    c->local_size = b->n;
    if (judged)
        st = pipc__making_node(b, st, err);
    if (spans)
        st = pipc__making_nodes(b, st, err);
    return st;
}

/* @asked: what is wrong with what was asked for. */
static pipc_status_t build(pipc__making_t *b, const pipc__error_t *asked, pipc__error_t *err)
{
    pipc__error_t own = {PIPC_OK, ""};
    pipc_status_t st = b->ops->open(&b->xchg, &b->config.want, &b->group, err);

    if (st)
        return asked->status ? pipc__fail(err, asked->status, "%s", asked->text) : st;
    b->comm->leaves = b->config.asked.leave_nccl;
    b->by_cards = !b->group.one_node || b->config.split;
    pipc_status_t made = pipc__making_choose(b, &own);
    if (asked->status)
        made = pipc__fail(&own, asked->status, "%s", asked->text);
    pipc__making_introduce(b);
    st = build_from(b, made, &own, err);
    if (b->xchg)
        end_exchange(b);
    return st;
}

/* What create made so far, without waiting for anybody. */
static void discard(pipc_comm_t *c)
{
    pipc__nccl_close(c->nccl, false);
    if (c->exec)
        c->exec->ops->destroy(c->exec);
    pipc__control_destroy(c->ctl);
    pthread_mutex_destroy(&c->lock);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        pipc__plan_free(c->plan[k]);
    pipc__rails_free(&c->rails);
    free(c);
}

/* One rank tells for all. */
static void begin_report(const pipc__making_t *b)
{
    pipc_comm_t *c = b->comm;

    c->reports = !c->rank && pipc__report_begin();
    if (!c->why_nccl)
        c->why_nccl = b->kind == PIPC__ALGO_NCCL ? "it was asked for" : "the table says so";
    if (c->reports && strcmp(c->table_from, "shipped") && strcmp(c->table_from, "asked for"))
        pipc__report_table(c->table_from);
}

static pipc_status_t create(pipc_comm_t **comm, const pipc_comm_config_t *config,
                            const pipc__xchg_ops_t *xchg, pipc__error_t *err)
{
    pipc__making_t b = {.ops = xchg, .group = {.self = -1}};
    pipc__error_t asked = {PIPC_OK, ""};

    *comm = NULL;
    pipc__log_begin();
    pipc__warn_of_plugin();
    pipc_status_t st = pipc__config_take(&b.config, config, pipc__environment, &asked);
    if (st && !b.config.meets)
        return pipc__fail(err, st, "%s", asked.text);
    b.comm = calloc(1, sizeof(*b.comm));
    if (!b.comm)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a communicator");
    pthread_mutex_init(&b.comm->lock, NULL);
    pipc__child_born(b.comm);
    st = build(&b, &asked, err);
    b.comm->recs = b.all;
    if (!st && b.comm->leaves && pipc__choose_leaves_all(b.comm)) {
        st = pipc__fail(err, PIPC_LEFT, "the table (%s) gives every size to NCCL",
                        b.comm->table_from);
        pipc_comm_destroy(b.comm);
        return st;
    }
    if (st) {
        free(b.all);
        discard(b.comm);
        return st;
    }
    begin_report(&b);
    *comm = b.comm;
    return PIPC_OK;
}

pipc_status_t pipc__comm_create(pipc_comm_t **comm, const pipc_comm_config_t *config,
                                const pipc__xchg_ops_t *xchg, pipc__error_t *err)
{
    pipc__ranges_open();
    pipc__range_begin(PIPC__RANGE_CREATE, 0);
    pipc_status_t st = create(comm, config, xchg, err);
    pipc__range_end();
    return st;
}

pipc_status_t pipc_comm_create(pipc_comm_t **comm, const pipc_comm_config_t *config)
{
    pipc__error_t err;

    if (!comm) {
        pipc__fail(&err, PIPC_ERR_INVALID, "pipc_comm_create: comm is NULL");
        return pipc__comm_report(&err);
    }
    if (!pipc__comm_create(comm, config, &pipc__xchg_auto, &err))
        return PIPC_OK;
    return pipc__comm_report(&err);
}
