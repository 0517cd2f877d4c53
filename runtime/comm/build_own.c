/* comm/build_own.c - the own rank of a communicator that is being created: what it wants, and what
 * it has. See build.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/hash.h"
#include "runtime/comm/build.h"
#include "runtime/comm/tables.h"
#include "runtime/comm/way.h"

#define DEFAULT_STAGING_CPU ((size_t)8 << 20)
#define DEFAULT_STAGING_CUDA ((size_t)64 << 20)

_Static_assert(sizeof(pipc__segment_handle_t) == sizeof(((pipc__record_t *)0)->control),
               "the record carries the control handle as it is");
_Static_assert(PIPC__RECORD_HANDLE == PIPC__HANDLE_MAX, "the record carries any executor's handle");

/* --- choices ------------------------------------------------------------------------------ */

static pipc_status_t choose_exec(pipc__making_t *b, pipc__error_t *err)
{
    switch (b->config.asked.backend) {
#ifdef HAVE_CUDA
    case PIPC_BACKEND_CUDA:
        b->exec = &pipc__exec_cuda;
        break;
#else
    case PIPC_BACKEND_CUDA:
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "this pcie-ipc was built without CUDA; configure "
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
        return pipc__fail(err, PIPC_ERR_INVALID, "backend %d does not exist",
                          (int)b->config.asked.backend);
    }
    return PIPC_OK;
}

static pipc_status_t choose_kind(pipc__making_t *b, pipc__error_t *err)
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
    return pipc__fail(err, PIPC_ERR_INVALID, "no plan is called \"%.100s\"; use one of %s", plan,
                      names);
}

pipc_status_t pipc__making_choose(pipc__making_t *b, pipc__error_t *err)
{
    pipc_status_t st = choose_exec(b, err);

    if (!b->config.asked.staging_bytes)
        b->config.asked.staging_bytes =
            pipc__making_on_gpu(b) ? DEFAULT_STAGING_CUDA : DEFAULT_STAGING_CPU;
    return st ? st : choose_kind(b, err);
}

bool pipc__making_has_work(const pipc__making_t *b)
{
    pipc__wish_t wish = pipc__making_wish(b);

    return pipc__choose_has_work(b->comm, &wish, &b->mine);
}

/* --- before the exchange --------------------------------------------------------------------- */

pipc_status_t pipc__making_own(pipc__making_t *b, pipc__error_t *err)
{
    pipc__segment_handle_t control;
    pipc__exec_place_t place;
    pipc_comm_t *c = b->comm;

    if (b->n > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "a communicator has at most %d ranks on a node, "
                          "and there are %d; start fewer (--ntasks-per-node)",
                          PIPC__RANKS_MAX, b->n);
    pipc_status_t st = pipc__control_create(&c->ctl, &control, err);
    if (st)
        return st;
    memcpy(b->mine.control, &control, sizeof(control));
    st = b->exec->create(&c->exec, c->ctl, b->config.asked.staging_bytes, b->mine.memory, &place,
                         err);
    if (st)
        return st;
    c->exec->plain = b->config.plain;
    snprintf(b->mine.bdf, sizeof(b->mine.bdf), "%s", place.bdf);
    snprintf(b->mine.uuid, sizeof(b->mine.uuid), "%s", place.uuid);
    b->mine.nvlinks = place.nvlinks;
    b->mine.width = pipc__tables_width(place.bdf, NULL);
    pipc__tables_machine(b->mine.gpu, b->mine.driver, place.gpu, NULL);
    pipc__way_find(b->mine.way, place.bdf, NULL, pipc__environment);
    return pipc__rails_open(&c->rails, pipc__exec_rail_sum, &b->address, err);
}

void pipc__making_note(pipc__making_t *b, pipc_status_t st, const pipc__error_t *err)
{
    pipc__record_t *m = &b->mine;

    m->status = (uint32_t)st;
    if (st)
        snprintf(m->reason, sizeof(m->reason), "%.*s", (int)sizeof(m->reason) - 1, err->text);
}

void pipc__making_introduce(pipc__making_t *b)
{
    pipc__record_t *m = &b->mine;

    pipc__record_fill(m, b->group.job_rank, b->group.job_size);
    m->backend = pipc__making_on_gpu(b) ? PIPC_BACKEND_CUDA : PIPC_BACKEND_CPU;
    m->staging_bytes = b->config.asked.staging_bytes;
    m->path = b->config.asked.path;
    m->split = b->config.split;
    m->digest = pipc__hash(PIPC__HASH_INIT, &b->kind, sizeof(b->kind));
    m->digest = pipc__hash(m->digest, &b->config.asked.sms, sizeof(b->config.asked.sms));
    m->digest =
        pipc__hash(m->digest, &b->config.asked.leave_nccl, sizeof(b->config.asked.leave_nccl));
}
