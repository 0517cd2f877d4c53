/* exec/cpu.c - the CPU executor: ranks of one node over shared memory.
 *
 * One lane a rank, run by the calling thread. A rank's segment has two halves, for the two places
 * that a plan tells apart, though here both are the same kind of memory:
 *
 *     | flags 0 | flags 1 | area 0: slots | area 1: slots | flags 0 | flags 1 | area 0 | area 1 |
 *     '--------- PIPC__SLOT: stands for device memory ----'------------ PIPC__HOST -------------'
 *       each flag in a cache line of its own
 *
 * Peers write slots and flags, the owner reads them. A flag holds the number of the last round that
 * was signalled; 64 bits, so that a flag which a plan leaves unused for long never looks like one
 * from the future. Round g uses flags g mod 2, as it uses area g mod 2: in another plan a flag may
 * be another rank's, whose signal of the next round must not be overtaken by the last one of this
 * one. Pages that no plan touches cost nothing; those that one does are there before its first
 * call.
 *
 * However large an area is, slots have at most SLOT_BYTES_MAX: what is pushed is still in a cache
 * when it is summed, and a large message takes many rounds in the same few hundred kilobytes.
 *
 * Stages take turns on the thread: each runs until it meets a flag that has not come, and when all
 * stand at one, the thread sleeps until any of them comes. A stage has a round of its own: what
 * keeps it from running ahead is what keeps it on a GPU, the plan's own signals and waits.
 *
 * With jobs of a rail on their way the thread goes on with them between the steps of its stages,
 * and sleeps by the rail when it must wait (cpu_rail.h).
 */
#include "runtime/exec/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/exec/copy.h"
#include "runtime/exec/cpu_exec.h"
#include "runtime/exec/perturb.h"

/* Measured with 1 MB of second-level cache a core, 2 and 4 ranks: half of it costs more meetings of
 * the ranks, twice as much begins to leave that cache (doc/measurements.md). */
#define SLOT_BYTES_MAX ((size_t)128 << 10)

_Static_assert(sizeof(pipc__segment_handle_t) <= PIPC__HANDLE_MAX, "handle fits the record");

static pipc__cpu_exec_t *self(pipc__exec_t *exec)
{
    return (pipc__cpu_exec_t *)(void *)exec;
}

/* Bytes of one of the areas of which a rank has PIPC__BUFFERS. */
static size_t area_bytes(size_t staging_bytes)
{
    return staging_bytes / PIPC__BUFFERS / 4096 * 4096;
}

static pipc_status_t create(pipc__exec_t **exec, pipc__control_t *ctl, size_t staging_bytes,
                            uint8_t handle[PIPC__HANDLE_MAX], pipc__exec_place_t *place,
                            pipc__error_t *err)
{
    pipc__cpu_exec_t *x = calloc(1, sizeof(*x));
    pipc__segment_handle_t h;

    *exec = NULL;
    memset(place, 0, sizeof(*place));
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the CPU executor");
    x->base.ops = &pipc__exec_cpu;
    x->base.ctl = ctl;
    x->staging_bytes = staging_bytes;
    x->area_bytes = area_bytes(staging_bytes);
    x->half_bytes = PIPC__CPU_FLAGS_BYTES + PIPC__BUFFERS * x->area_bytes;
    pipc_status_t st = pipc__segment_create(&x->own, 2 * x->half_bytes, &h, err);
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
    pipc__cpu_exec_t *x = self(exec);

    x->rank = rank;
    x->size = size;
    x->cache_bytes = PIPC__CACHE_BYTES(pipc__copy_cache_bytes());
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

/* --- staging ---------------------------------------------------------------------------------- */

/* Over rails a slot must not depend on how many the plan of this node has. */
size_t pipc__cpu_slot_bytes(const pipc__cpu_exec_t *x, const pipc__plan_t *plan)
{
    size_t area = plan->nrails ? area_bytes(x->rail.staging_bytes) : x->area_bytes;
    size_t room = pipc__lane_slot_bytes(area, plan->nrails ? PIPC__SLOTS_MAX : plan->nslots, 1);

    return room < SLOT_BYTES_MAX ? room : SLOT_BYTES_MAX;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* What was populated for a plan. Its ops name a slot many times over, and a call that finds all
 * pages there still looks at each of them. */
typedef struct populated {
    uint64_t slots[2][PIPC__RANKS_MAX]; /* a bit a slot; [1] in host memory */
    bool flags[2][PIPC__RANKS_MAX];
    bool short_of_memory;
} populated_t;

/* Have the pages and this process's ways to them made now. Where the kernel can't do that (EINVAL),
 * the first calls fault them in; where there is no memory, they would end by SIGBUS. */
static void populate(populated_t *done, char *at, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), skew = (uintptr_t)at % page;

    if (madvise(at - skew, bytes + skew, MADV_POPULATE_WRITE))
        done->short_of_memory |= errno == ENOMEM || errno == EFAULT;
}

_Static_assert(PIPC__SLOTS_MAX <= 64, "a slot is a bit of a word");

static void populate_slot(const pipc__cpu_exec_t *x, populated_t *done, pipc__ref_t ref,
                          size_t bytes)
{
    uint64_t *slots = &done->slots[ref.place == PIPC__HOST][ref.rank], bit = 1ull << ref.slot;

    if (!pipc__cpu_is_staged(ref) || *slots & bit)
        return;
    for (uint64_t area = 0; area < PIPC__BUFFERS; area++)
        populate(done, pipc__cpu_slot(x, ref, area, bytes), bytes);
    *slots |= bit;
}

static void populate_op(const pipc__cpu_exec_t *x, populated_t *done, const pipc__op_t *op,
                        size_t bytes)
{
    if (op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT) {
        int rank = op->kind == PIPC__SIGNAL ? op->peer : x->rank;
        bool *flags = &done->flags[op->dst.place == PIPC__HOST][rank];
        if (!*flags)
            populate(done, pipc__cpu_memory(x, rank, op->dst.place), PIPC__CPU_FLAGS_BYTES);
        *flags = true;
    }
    if (op->nsrc)
        populate_slot(x, done, op->dst, bytes);
    for (int i = 0; i < op->nsrc; i++)
        populate_slot(x, done, op->src[i], bytes);
}

bool pipc__cpu_is_on_rail(const pipc__cpu_exec_t *x, const pipc__plan_t *plan)
{
    for (int l = 0; l < plan->nrails; l++)
        if (pipc__rail_owner(plan->nrails, plan->nranks, l) == x->rank)
            return true;
    return false;
}

static pipc_status_t prepare(pipc__exec_t *exec, const pipc__plan_t *plan, pipc__error_t *err)
{
    const pipc__cpu_exec_t *x = self(exec);
    size_t bytes = pipc__cpu_slot_bytes(x, plan);
    populated_t done = {0};

    if (plan->nrails && (!x->rail.nranks || (!x->rail.rail && pipc__cpu_is_on_rail(x, plan))))
        return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s has rails, and this rank is on none",
                          plan->name);
    if (!bytes)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "staging of %zu bytes is too small for plan %s with %d "
                          "ranks; give %d or more",
                          plan->nrails ? x->rail.staging_bytes : x->staging_bytes, plan->name,
                          plan->nranks,
                          PIPC__BUFFERS * (plan->nrails ? PIPC__SLOTS_MAX : plan->nslots) * 4096);
    for (int i = 0; i < plan->nstages; i++)
        for (int step = 0; step < plan->program[x->rank][i].nops; step++)
            populate_op(x, &done, &plan->program[x->rank][i].ops[step], bytes);
    if (done.short_of_memory)
        return pipc__fail(err, PIPC_ERR_NOMEM,
                          "no memory for the staging of plan %s with %d ranks; "
                          "give less than %zu bytes",
                          plan->name, plan->nranks, x->staging_bytes);
    return PIPC_OK;
}

static void close_rail(pipc__cpu_exec_t *x)
{
    if (x->rail.rail)
        x->rail.ops->close(x->rail.rail);
    x->rail.rail = NULL;
}

/* Other nodes have no abort word of this one: what is in it goes over the rail. An engine keeps the
 * first reason, so one that failed by itself hears nothing new. */
static void tell_nodes(pipc__cpu_exec_t *x)
{
    pipc_status_t st = pipc__control_state(x->base.ctl, NULL);
    char cause[PIPC__CAUSE_MAX];

    if (st && x->rail.rail && x->rail.ops->tell)
        x->rail.ops->tell(x->rail.rail, st, pipc__control_cause(x->base.ctl, cause, sizeof(cause)));
}

static pipc_status_t run(pipc__exec_t *exec, const pipc__exec_call_t *call, pipc__error_t *err)
{
    pipc_status_t st = pipc__cpu_run(self(exec), call, err);

    if (st) {
        tell_nodes(self(exec));
        close_rail(self(exec));
    }
    return st;
}

/* A call that is through leaves nothing behind, but between calls nodes hear from each other here
 * alone. The rail stays: its close may take a second. */
static pipc_status_t poll(pipc__exec_t *exec, pipc__error_t *err)
{
    pipc__cpu_exec_t *x = self(exec);

    if (!x->rail.rail)
        return PIPC_OK;
    tell_nodes(x);
    pipc_status_t st = x->rail.ops->look ? x->rail.ops->look(x->rail.rail, err) : PIPC_OK;
    if (st)
        pipc__control_abort_why(x->base.ctl, st, err->text);
    return st;
}

static void set_rail(pipc__exec_t *exec, const pipc__exec_rail_t *rail)
{
    self(exec)->rail = *rail;
}

static void time_rail(pipc__exec_t *exec, pipc__rail_times_t *times)
{
    self(exec)->times = times;
}

static pipc_status_t nothing_pending(pipc__exec_t *exec, pipc__error_t *err)
{
    (void)exec;
    (void)err;
    return PIPC_OK; /* run() returns when all is done */
}

static void unmap_peers(pipc__cpu_exec_t *x)
{
    for (int r = 0; r < x->size; r++)
        pipc__segment_close(&x->seg[r]);
}

static void disconnect(pipc__exec_t *exec)
{
    close_rail(self(exec));
    unmap_peers(self(exec));
}

/* Its rail's connections are the parent's: closing one would tell the other end. */
static void abandon(pipc__exec_t *exec)
{
    unmap_peers(self(exec));
    pipc__segment_close(&self(exec)->own);
    free(exec);
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
    .set_rail = set_rail,
    .time_rail = time_rail,
    .prepare = prepare,
    .run = run,
    .poll = poll,
    .drain = nothing_pending,
    .disconnect = disconnect,
    .destroy = destroy,
    .abandon = abandon,
};
