/* exec/cuda_probe.c - who really reaches whose staging: byte-verified, by kernels. See exec/probe.h
 *
 * That a handle opens says little: with ACS redirection or an IOMMU between, writes get lost, or
 * land elsewhere, and no error tells. So each pair pushes a pattern and a signal, as a plan does:
 *
 *     writer's GPU                       owner's GPU
 *       push, signal  ---- staging --->    wait for the signal, compare every word
 *     writer's host                      owner's host
 *       kernel ended in time?  --gather->  the clock for the check starts
 *
 * Late is not dead, so no clock runs before both ends are there: a push is timed from when its
 * block has started, a check from when its block has started and the push is known to be through.
 * A GPU that is busy with other work, or a rank that the scheduler holds back, costs time and no
 * pair. Checks wait on the GPU and not for the push to end, since signals that overtake their data
 * are just what is looked for.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_module.h"
#include "runtime/exec/perturb.h"
#include "runtime/exec/probe_kernels.h"

#define PAGE 4096
#define DATA_BYTES (64 << 10) /* of a pair; less where staging is small */
#define STUCK_MSEC 5000       /* for a kernel that has been told to end */

/* What every rank tells in each meeting. */
typedef struct ballot {
    int32_t status;
    char reason[240];
    uint16_t pushed;               /* bit q: the push to q of this step came to its end */
    uint8_t seen[PIPC__RANKS_MAX]; /* of each writer, so far; in the first meeting: opened */
    pipc__path_matrix_t known;     /* rank 0, first meeting */
} ballot_t;

_Static_assert(sizeof(ballot_t) <= PIPC__GATHER_MAX, "a ballot fits a gather");

typedef struct prober {
    pipc__cuda_exec_t *x;
    pipc__probe_t *p;
    pipc__probe_page_t *page;
    size_t page_bytes;
    bool registered;
    CUmodule module;
    CUfunction kernel;
    CUevent end; /* behind the last launch */
    pipc__probe_args_t args;
    int npush, njobs;
    int peer[PIPC__PROBE_JOBS]; /* the other rank of each job */
    double limit;               /* seconds */
    size_t slot_bytes;
    bool over; /* a meeting has told of a failure: no rank comes to another one */
    ballot_t mine, all[PIPC__RANKS_MAX];
} prober_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Often at first: a step of good pairs takes a few tens of microseconds. */
static void pause_briefly(int turn)
{
    const struct timespec t = {0, turn < 200 ? 0 : 50000};

    nanosleep(&t, NULL);
}

/* --- set-up ----------------------------------------------------------------------------------- */

static pipc_status_t make_page(prober_t *o, pipc__error_t *err)
{
    CUdeviceptr there = 0;

    o->page_bytes = (sizeof(*o->page) + PAGE - 1) / PAGE * PAGE;
    o->page = aligned_alloc(PAGE, o->page_bytes);
    if (!o->page)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the probe of paths");
    memset(o->page, 0, o->page_bytes);
    pipc_status_t st = PIPC__CUDA_TRY(o->x->cu, err, MemHostRegister, o->page, o->page_bytes,
                                      CU_MEMHOSTREGISTER_DEVICEMAP);
    o->registered = !st;
    if (!st)
        st = PIPC__CUDA_TRY(o->x->cu, err, MemHostGetDevicePointer, &there, o->page, 0);
    o->args.page = (pipc__probe_page_t *)there;
    o->args.abort = o->x->args.abort;
    return st;
}

static pipc_status_t load(prober_t *o, pipc__error_t *err)
{
    const pipc__cuda_t *cu = o->x->cu;
    pipc_status_t st = pipc__cuda_load_module(cu, &o->module, pipc__probe_code, err);

    if (!st)
        st = PIPC__CUDA_TRY(cu, err, ModuleGetFunction, &o->kernel, o->module, "pipc__probe");
    if (!st && cu->FuncLoad)
        st = PIPC__CUDA_TRY(cu, err, FuncLoad, o->kernel);
    if (!st)
        st = PIPC__CUDA_TRY(cu, err, EventCreate, &o->end, CU_EVENT_DISABLE_TIMING);
    return st;
}

static pipc_status_t begin(prober_t *o, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = o->x;
    size_t most = (x->layout.simple_bytes - PIPC__FLAGS_BYTES) / PIPC__RANKS_MAX / 128 * 128;

    o->slot_bytes = most < PIPC__PROBE_HEAD + DATA_BYTES ? most : PIPC__PROBE_HEAD + DATA_BYTES;
    o->limit = (o->p->limit_msec ? o->p->limit_msec : PIPC__PROBE_MSEC) * 1e-3;
    for (int r = 0; r < x->size; r++)
        o->mine.seen[r] = (uint8_t)pipc__cuda_open_peer(x, r);
    if (x->rank == 0)
        memcpy(o->mine.known, o->p->state, sizeof(o->mine.known));
    pipc_status_t st = make_page(o, err);
    return st ? st : load(o, err);
}

/* Staging as it was: nothing of ours stands where a plan, one day, looks for zeros. No peer writes
 * here any more, and none begins a call before all ranks have voted. */
static pipc_status_t clean(prober_t *o, pipc__error_t *err)
{
    const pipc__cuda_exec_t *x = o->x;
    size_t used = (size_t)x->size * o->slot_bytes;
    pipc_status_t st =
        PIPC__CUDA_TRY(x->cu, err, MemsetD8Async, x->own + x->layout.simple_bytes - used, 0, used, x->stream);

    return st ? st : PIPC__CUDA_TRY(x->cu, err, StreamSynchronize, x->stream);
}

/* A kernel that still runs may write the page and staging: then all of it is left to the process.
 */
static void end(prober_t *o)
{
    const pipc__cuda_t *cu = o->x->cu;

    if (o->x->stuck)
        return;
    if (o->end)
        cu->EventDestroy(o->end);
    if (o->module)
        cu->ModuleUnload(o->module);
    if (o->registered)
        cu->MemHostUnregister(o->page);
    free(o->page);
}

/* --- meetings --------------------------------------------------------------------------------- */

static pipc_status_t hear(prober_t *o, pipc_status_t own, pipc__error_t *err)
{
    pipc__control_t *ctl = o->x->base.ctl;
    pipc__error_t met;
    char name[128];
    pipc_status_t st = pipc__control_gather(ctl, &o->mine, sizeof(o->mine), o->all, &met);

    if (own)
        return own;
    if (st)
        return pipc__fail(err, st, "%s", met.text);
    for (int r = 0; r < o->x->size; r++)
        if (o->all[r].status)
            return pipc__fail(err, (pipc_status_t)o->all[r].status, "%s: %.*s",
                              pipc__control_name(ctl, r, name, sizeof(name)),
                              (int)sizeof(o->all[r].reason) - 1, o->all[r].reason);
    return PIPC_OK;
}

/* All ranks learn of each other's answers, and of the first rank that failed. A rank that fails
 * comes to the next meeting, whichever that is to the others, and after it nobody comes to one:
 * else the last meeting of some would be the first of what follows to the others. */
static pipc_status_t meet(prober_t *o, pipc_status_t own, pipc__error_t *err)
{
    if (o->over)
        return own;
    o->mine.status = (int32_t)own;
    if (own && err)
        memcpy(o->mine.reason, err->text, sizeof(o->mine.reason) - 1);
    pipc_status_t st = hear(o, own, err);
    o->over = st != PIPC_OK;
    return st;
}

/* What the first meeting brought: what is known, and who could not map what. */
static void take_opened(prober_t *o)
{
    pipc__probe_t *p = o->p;

    memcpy(p->state, o->all[0].known, sizeof(p->state));
    p->known = 0;
    for (int r = 0; r < p->n; r++)
        for (int q = 0; q < p->n; q++) {
            uint8_t opened = o->all[r].seen[q], *state = &p->state[r][q];
            if (opened != PIPC__PATH_GOOD)
                *state = opened;
            else if (r == q)
                *state = PIPC__PATH_GOOD;
            else
                p->known += *state != PIPC__PATH_UNTESTED;
        }
    memset(o->mine.seen, 0, sizeof(o->mine.seen));
}

static int merge(prober_t *o)
{
    pipc__path_matrix_t seen;

    for (int r = 0; r < o->p->n; r++)
        memcpy(seen[r], o->all[r].seen, sizeof(seen[r]));
    return pipc__probe_merge(o->p->state, o->p->n, seen);
}

/* --- a step ----------------------------------------------------------------------------------- */

static void add_job(prober_t *o, int from, int to)
{
    pipc__probe_job_t *job = &o->args.job[o->njobs];
    bool check = to == o->x->rank;

    *job = (pipc__probe_job_t){
        .slot = o->x->args.staging[to] + o->x->layout.simple_bytes - (size_t)(from + 1) * o->slot_bytes,
        .bytes = (uint32_t)(o->slot_bytes - PIPC__PROBE_HEAD),
        .seed = (o->args.token << 16 | (uint64_t)from << 8 | (uint64_t)to) * 0xd1342543de82ef95ull,
        .check = check,
    };
#ifdef PIPC_PERTURB
    const pipc__perturb_t *f = &pipc__perturb;
    if ((f->probe_from < 0 || f->probe_from == from) && (f->probe_to < 0 || f->probe_to == to))
        job->fault = (uint32_t)f->probe_fault;
#endif
    o->peer[o->njobs++] = check ? from : to;
}

/* Pushes first: see kernels/probe.h. */
static void list_jobs(prober_t *o, const uint16_t want[PIPC__RANKS_MAX])
{
    int self = o->x->rank;

    o->njobs = 0;
    for (int q = 0; q < o->p->n; q++)
        if (q != self && want[self] >> q & 1)
            add_job(o, self, q);
    o->npush = o->njobs;
    for (int r = 0; r < o->p->n; r++)
        if (r != self && want[r] >> self & 1)
            add_job(o, r, self);
}

static pipc_status_t launch(prober_t *o, pipc__error_t *err)
{
    const pipc__cuda_t *cu = o->x->cu;
    void *params[] = {&o->args};
    pipc_status_t st = PIPC_OK;

    if (o->njobs)
        st = PIPC__CUDA_TRY(cu, err, LaunchKernel, o->kernel, (unsigned int)o->njobs, 1, 1,
                            PIPC__PROBE_THREADS, 1, 1, 0, o->x->stream, params, NULL);
    return st ? st : PIPC__CUDA_TRY(cu, err, EventRecord, o->end, o->x->stream);
}

static bool has_token(const prober_t *o, const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == o->args.token;
}

/* Has job @i still time? *since is when it was seen to run, 0 before. */
static bool is_open(const prober_t *o, int i, double *since, double t)
{
    const pipc__probe_result_t *r = &o->page->job[i];

    if (has_token(o, &r->done))
        return false;
    if (!*since && has_token(o, &r->started))
        *since = t;
    return !*since || t - *since < o->limit;
}

static pipc_status_t look_at_peers(const prober_t *o, pipc__error_t *err)
{
    char name[128];
    int who = 0;
    pipc_status_t st = pipc__control_state(o->x->base.ctl, &who);

    return !st ? st
               : pipc__fail(err, st, "%s %s while paths between GPUs were probed",
                            pipc__control_name(o->x->base.ctl, who, name, sizeof(name)),
                            st == PIPC_ERR_PEER_LOST ? "has ended" : "gave up");
}

/* Wait until those of the jobs [first, end) whose bit of @mask is set are done, or late. */
static pipc_status_t wait_for_jobs(prober_t *o, int first, int behind, uint32_t mask,
                                   pipc__error_t *err)
{
    double since[PIPC__PROBE_JOBS] = {0};

    for (int turn = 0;; turn++) {
        /* First the event: when it is over, all that the jobs had to say stands in the page. */
        CUresult rc = o->x->cu->EventQuery(o->end);
        bool open = false;
        if (rc && rc != CUDA_ERROR_NOT_READY)
            return pipc__cuda_fail(o->x->cu, rc, err, "GPU %s failed while paths were probed",
                                   o->x->handle[o->x->rank].bdf);
        for (int i = first; i < behind; i++)
            if (mask >> i & 1)
                open |= is_open(o, i, &since[i], now());
        if (!open || rc == CUDA_SUCCESS)
            return PIPC_OK;
        if (look_at_peers(o, err))
            return err->status;
        pause_briefly(turn);
    }
}

/* Tell the checks that wait in vain to end, and see that all blocks did: their stream, staging and
 * page are used again. */
static pipc_status_t finish(prober_t *o, pipc__error_t *err)
{
    double start = now();
    CUresult rc;

    __atomic_store_n(&o->page->stop, o->args.token, __ATOMIC_RELEASE);
    for (int turn = 0; (rc = o->x->cu->EventQuery(o->end)) == CUDA_ERROR_NOT_READY; turn++) {
        if (now() - start > STUCK_MSEC * 1e-3) {
            o->x->stuck = true;
            return pipc__fail(
                err, PIPC_ERR_CUDA,
                "GPU %s hangs in writes to a peer's memory; look for Xid and AER lines "
                "in the kernel's log, and set PCIE_IPC_PATH=host",
                o->x->handle[o->x->rank].bdf);
        }
        pause_briefly(turn);
    }
    return rc ? pipc__cuda_fail(o->x->cu, rc, err, "GPU %s failed while paths were probed",
                                o->x->handle[o->x->rank].bdf)
              : PIPC_OK;
}

static void note_pushes(prober_t *o)
{
    o->mine.pushed = 0;
    for (int i = 0; i < o->npush; i++)
        if (has_token(o, &o->page->job[i].done))
            o->mine.pushed = (uint16_t)(o->mine.pushed | 1u << o->peer[i]);
}

static void note_checks(prober_t *o)
{
    for (int i = o->npush; i < o->njobs; i++) {
        const pipc__probe_result_t *r = &o->page->job[i];
        int from = o->peer[i];
        pipc__probe_seen_t seen = {.pushed = o->all[from].pushed >> o->x->rank & 1,
                                   .compared = has_token(o, &r->done)};
        seen.came = seen.compared && r->came;
        seen.wrong = seen.compared ? r->wrong : 0;
        o->mine.seen[from] = (uint8_t)pipc__probe_judge(&seen);
        if (o->mine.seen[from] == PIPC__PATH_TIMED_OUT && !o->p->limit_msec)
            o->limit = PIPC__PROBE_MSEC_SHORT * 1e-3;
    }
}

/* Checks whose push is through; the others have nothing to wait for. */
static uint32_t worth_waiting_for(const prober_t *o)
{
    uint32_t mask = 0;

    for (int i = o->npush; i < o->njobs; i++)
        if (o->all[o->peer[i]].pushed >> o->x->rank & 1)
            mask |= 1u << i;
    return mask;
}

/* Test builds: a rank that the scheduler held back. */
static void come_late(const prober_t *o)
{
#ifdef PIPC_PERTURB
    int msec = o->x->rank == 1 ? pipc__perturb.probe_late_msec : 0;
    const struct timespec t = {msec / 1000, msec % 1000 * 1000000L};
    nanosleep(&t, NULL);
#else
    (void)o;
#endif
}

/* Bit q of want[r]: r pushes to q. Collective; what is seen goes into the next meeting. A rank that
 * fails before the meeting still comes to it. */
static pipc_status_t run_step(prober_t *o, const uint16_t want[PIPC__RANKS_MAX], pipc__error_t *err)
{
    o->args.token++;
    list_jobs(o, want);
    come_late(o);
    pipc_status_t st = launch(o, err);
    bool launched = !st;
    if (!st)
        st = wait_for_jobs(o, 0, o->npush, ~0u, err);
    note_pushes(o);
    st = meet(o, st, err);
    if (!st)
        st = wait_for_jobs(o, o->npush, o->njobs, worth_waiting_for(o), err);
    pipc__error_t late = {PIPC_OK, ""};
    if (launched && finish(o, &late) && !st)
        st = pipc__fail(err, late.status, "%s", late.text);
    note_checks(o);
    return st;
}

/* --- the probe -------------------------------------------------------------------------------- */

/* What step @step has to test; returns how many pairs. The same on every rank. */
static int choose_pairs(const pipc__probe_t *p, int step, uint16_t want[PIPC__RANKS_MAX])
{
    int to[PIPC__RANKS_MAX], pairs = 0;

    pipc__probe_step(p->n, step, to);
    for (int r = 0; r < p->n; r++) {
        bool wanted = to[r] >= 0 && p->state[r][to[r]] == PIPC__PATH_UNTESTED;
        want[r] = (uint16_t)(wanted ? 1u << to[r] : 0);
        pairs += wanted;
    }
    return pairs;
}

static pipc_status_t probe_alone(prober_t *o, pipc__error_t *err)
{
    uint16_t want[PIPC__RANKS_MAX];
    pipc_status_t st = PIPC_OK;

    for (int step = 0; !st && step < pipc__probe_steps(o->p->n); step++)
        if (choose_pairs(o->p, step, want))
            st = run_step(o, want, err);
    st = meet(o, st, err);
    if (!st)
        merge(o);
    return st;
}

static pipc_status_t probe_all_at_once(prober_t *o, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;
    int turned = 1;

    while (!st && turned) {
        uint16_t want[PIPC__RANKS_MAX] = {0};
        pipc__probe_reach(o->p->state, o->p->n, want);
        if (!pipc__probe_good(o->p->state, o->p->n))
            break;
        memset(o->mine.seen, 0, sizeof(o->mine.seen));
        st = run_step(o, want, err);
        st = meet(o, st, err);
        turned = st ? 0 : merge(o);
    }
    return st;
}

pipc_status_t pipc__cuda_probe(pipc__exec_t *exec, pipc__probe_t *p, pipc_status_t own,
                               pipc__error_t *err)
{
    prober_t o = {.x = (pipc__cuda_exec_t *)(void *)exec, .p = p};
    double start = now();
    pipc_status_t st = own ? own : begin(&o, err);

    st = meet(&o, st, err);
    if (!st)
        take_opened(&o);
    if (!st)
        st = probe_alone(&o, err);
    if (!st)
        st = probe_all_at_once(&o, err);
    if (!st)
        st = clean(&o, err);
    end(&o);
    p->took_usec = (int)((now() - start) * 1e6);
    return st;
}
