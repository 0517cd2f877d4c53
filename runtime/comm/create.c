/* comm/create.c - how ranks become a communicator.
 *
 *     own page, own staging ----> record --exchange--> everybody's records --judge-->
 *     map pages, start watchdog, probe paths, shape, plans, map staging --vote--> communicator
 *
 * Whatever fails before the exchange travels in the record, whatever fails after it in the vote, so
 * that all ranks succeed or all fail and none waits for one that gave up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/comm/choose.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/paths.h"
#include "runtime/comm/plans.h"
#include "runtime/comm/ranges.h"
#include "runtime/comm/report.h"
#include "runtime/comm/request.h"
#include "runtime/comm/tables.h"
#include "runtime/comm/way.h"

#define DEFAULT_STAGING_CPU ((size_t)8 << 20)
#define DEFAULT_STAGING_CUDA ((size_t)64 << 20)

_Static_assert(sizeof(pipc__segment_handle_t) == sizeof(((pipc__record_t *)0)->control),
               "the record carries the control handle as it is");
_Static_assert(PIPC__RECORD_HANDLE == PIPC__HANDLE_MAX, "the record carries any executor's handle");

/* What create() carries from step to step. */
typedef struct build {
    pipc__config_t config;
    const pipc__exec_ops_t *exec; /* NULL: the choice failed */
    int kind;                     /* of the plan that is asked for, see pipc__wish_t */
    pipc__group_t group;
    pipc__record_t mine, *all; /* all[group.size] */
    pipc_comm_t *comm;
    bool can_vote; /* all control pages are mapped */
} build_t;

/* --- choices ------------------------------------------------------------------------------ */

static pipc_status_t choose_exec(build_t *b, pipc__error_t *err)
{
    switch (b->config.asked.backend) {
#ifdef HAVE_CUDA
    case PIPC_BACKEND_CUDA:
        b->exec = &pipc__exec_cuda;
        break;
#else
    case PIPC_BACKEND_CUDA:
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "this pcie-ipc was built without CUDA; configure "
                          "it with --with-cuda, or ask for the CPU backend");
#endif
    case PIPC_BACKEND_CPU:
        b->exec = &pipc__exec_cpu;
        break;
    case PIPC_BACKEND_AUTO:
        b->exec = &pipc__exec_cpu;
#ifdef HAVE_CUDA
        if (pipc__cuda_has_context())
            b->exec = &pipc__exec_cuda;
#endif
        break;
    default:
        return pipc__fail(err, PIPC_ERR_INVALID, "backend %d does not exist", (int)b->config.asked.backend);
    }
    return PIPC_OK;
}

static bool on_gpu(const build_t *b)
{
    return b->exec && b->exec != &pipc__exec_cpu;
}

static pipc_status_t choose_kind(build_t *b, pipc__error_t *err)
{
    const char *plan = b->config.asked.plan;
    char names[128] = "auto";

    b->kind = -1;
    if (!plan || !strcmp(plan, "auto"))
        return PIPC_OK;
    for (int k = 0; k < PIPC__ALGOS; k++) {
        const char *name = pipc__algo_name(k);
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, ", %s", name);
        if (!strcmp(plan, name))
            b->kind = k;
    }
    if (b->kind >= 0)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID, "no plan is called \"%.100s\"; use one of %s", plan, names);
}

static pipc_status_t choose(build_t *b, pipc__error_t *err)
{
    pipc_status_t st = choose_exec(b, err);

    if (!b->config.asked.staging_bytes)
        b->config.asked.staging_bytes = on_gpu(b) ? DEFAULT_STAGING_CUDA : DEFAULT_STAGING_CPU;
    return st ? st : choose_kind(b, err);
}

/* --- before the exchange --------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    return secure_getenv(name);
}

/* Everything of the own rank: page, staging, its place. */
static pipc_status_t make_own(build_t *b, pipc__error_t *err)
{
    pipc__segment_handle_t control;
    pipc__exec_place_t place;
    pipc_comm_t *c = b->comm;

    if (b->group.size > PIPC__RANKS_MAX || b->group.self < 0)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "a communicator has at most %d ranks, the job has "
                          "%d; make one a node (scope node, or --per-node)", PIPC__RANKS_MAX,
                          b->group.job_size);
    pipc_status_t st = choose(b, err);
    if (!st)
        st = pipc__control_create(&c->ctl, &control, err);
    if (st)
        return st;
    memcpy(b->mine.control, &control, sizeof(control));
    st = b->exec->create(&c->exec, c->ctl, b->config.asked.staging_bytes, b->mine.memory, &place, err);
    if (st)
        return st;
    snprintf(b->mine.bdf, sizeof(b->mine.bdf), "%s", place.bdf);
    snprintf(b->mine.uuid, sizeof(b->mine.uuid), "%s", place.uuid);
    b->mine.nvlink = place.nvlink;
    b->mine.width = pipc__tables_width(place.bdf, NULL);
    pipc__tables_machine(b->mine.gpu, b->mine.driver, place.gpu, NULL);
    pipc__way_find(b->mine.way, place.bdf, NULL, environment);
    return PIPC_OK;
}

static void fill_record(build_t *b, pipc_status_t st, const pipc__error_t *err)
{
    pipc__record_t *m = &b->mine;

    pipc__record_fill(m, b->group.job_rank, b->group.job_size);
    m->status = (uint32_t)st;
    if (st)
        snprintf(m->reason, sizeof(m->reason), "%.*s", (int)sizeof(m->reason) - 1, err->text);
    m->backend = on_gpu(b) ? PIPC_BACKEND_CUDA : PIPC_BACKEND_CPU;
    m->staging_bytes = b->config.asked.staging_bytes;
    m->path = b->config.asked.path;
    m->digest = pipc__hash(PIPC__HASH_INIT, &b->kind, sizeof(b->kind));
    m->digest = pipc__hash(m->digest, &b->config.asked.sms, sizeof(b->config.asked.sms));
    m->digest = pipc__hash(m->digest, &b->config.asked.leave_nccl, sizeof(b->config.asked.leave_nccl));
}

/* --- after the exchange ---------------------------------------------------------------------- */

static pipc__wish_t wish_of(const build_t *b)
{
    return (pipc__wish_t){b->kind, on_gpu(b), &b->config.asked, environment};
}

/* The shape of all ranks, the table, and the plans that it names. */
static pipc_status_t make_plans(build_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;
    pipc__wish_t wish = wish_of(b);
    pipc__error_t why;
    char text[128];

    pipc__plans_shape(&c->shape, b->all, b->group.size, &why);
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
static int budget(const build_t *b)
{
    const pipc__exec_t *x = b->comm->exec;
    int sms = b->config.asked.sms;

    if (!x->ops->blocks)
        return 0;
    int all = x->ops->blocks(x, true);
    return !sms ? x->ops->blocks(x, false) : sms < 0 || sms > all ? all : sms;
}

static pipc_status_t map_peers(build_t *b, pipc__error_t *err)
{
    pipc__segment_handle_t control[PIPC__RANKS_MAX];
    pipc__peer_name_t name[PIPC__RANKS_MAX];
    uint8_t memory[PIPC__RANKS_MAX][PIPC__HANDLE_MAX];
    pipc_comm_t *c = b->comm;
    int n = b->group.size;

    for (int r = 0; r < n; r++) {
        const pipc__record_t *rec = &b->all[r];
        memcpy(&control[r], rec->control, sizeof(control[r]));
        memcpy(memory[r], rec->memory, sizeof(memory[r]));
        name[r] = (pipc__peer_name_t){.rank = rec->rank, .pid = rec->pid};
        snprintf(name[r].host, sizeof(name[r].host), "%.*s", (int)sizeof(rec->host) - 1, rec->host);
    }
    pipc_status_t st = pipc__control_connect(c->ctl, b->group.self, n, control, name, err);
    b->can_vote = !st;
    if (!st)
        st = c->exec->ops->connect(c->exec, b->group.self, n,
                                   (const uint8_t(*)[PIPC__HANDLE_MAX])memory, err);
    if (b->can_vote) /* collective: also where connect failed */
        st = pipc__paths_find(&c->paths, c->exec, b->all, b->group.self, n, st, environment, err);
    if (!st)
        c->most_blocks = budget(b);
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

/* All or none. A rank that could not even map the pages can't vote: its abort word, in the pages
 * that it did map, ends the others' wait. */
static pipc_status_t vote(build_t *b, pipc_status_t own, pipc__error_t *err)
{
    struct ballot {
        uint64_t digest;
        int32_t status;
        char reason[240];
    } mine = {.status = (int32_t)own}, all[PIPC__RANKS_MAX];
    pipc__error_t met;
    char name[128];

    if (!b->can_vote) {
        pipc__control_abort(b->comm->ctl, own, b->group.self);
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
    for (int r = 0; r < b->group.size; r++)
        if (all[r].status)
            return pipc__fail(err, (pipc_status_t)all[r].status, "%s: %.*s",
                              pipc__control_name(b->comm->ctl, r, name, sizeof(name)),
                              (int)sizeof(all[r].reason) - 1, all[r].reason);
    for (int r = 0; r < b->group.size; r++)
        if (all[r].digest != mine.digest)
            return pipc__fail(err, PIPC_ERR_INTERNAL, "%s came to other plans than this rank %d",
                              pipc__control_name(b->comm->ctl, r, name, sizeof(name)), b->group.self);
    return PIPC_OK;
}

static pipc_status_t exchange_and_judge(build_t *b, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                                        pipc__error_t *err)
{
    b->all = calloc((size_t)b->group.size, sizeof(*b->all));
    if (!b->all)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d records", b->group.size);
    pipc_status_t st = ops->exchange(x, &b->mine, sizeof(b->mine), b->all, err);
    return st ? st : pipc__records_judge(b->all, b->group.size, err);
}

static pipc_status_t build(build_t *b, const pipc__xchg_ops_t *ops, pipc__error_t *err)
{
    pipc__xchg_t *x = NULL;
    pipc__error_t own = {PIPC_OK, ""};
    pipc_status_t st = ops->open(&x, &b->config.want, &b->group, err);

    if (st)
        return st;
    pipc_status_t made = make_own(b, &own);
    fill_record(b, made, &own);
    st = exchange_and_judge(b, ops, x, err);
    ops->close(x); /* before anything can fail slowly: see xchg.h */
    if (made)
        return pipc__fail(err, made, "%s", own.text);
    if (st)
        return st;
    b->comm->rank = b->group.self;
    b->comm->size = b->group.size;
    b->comm->leaves = b->config.asked.leave_nccl;
    st = map_peers(b, err);
    if (b->can_vote) {
        pipc__wish_t wish = wish_of(b);
        st = pipc__choose_fallback(b->comm, &wish, st, err);
    }
    return vote(b, st, err);
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
    free(c);
}

/* One rank tells for all. */
static void begin_report(const build_t *b)
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
    build_t b = {.group = {.self = -1}};

    *comm = NULL;
    pipc__log_begin();
    pipc__warn_of_plugin();
    pipc_status_t st = pipc__config_take(&b.config, config, environment, err);
    if (st)
        return st;
    b.comm = calloc(1, sizeof(*b.comm));
    if (!b.comm)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a communicator");
    pthread_mutex_init(&b.comm->lock, NULL);
    st = build(&b, xchg, err);
    b.comm->recs = b.all;
    if (!st && b.comm->leaves && pipc__choose_leaves_all(b.comm)) {
        st = pipc__fail(err, PIPC_LEFT, "the table (%s) gives every size to NCCL", b.comm->table_from);
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
