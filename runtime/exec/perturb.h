/* exec/perturb.h - test builds only: random delays before each push and signal and behind each wait,
 * stages of the CPU executor that give way at random, and one wait taken out, or one staging area
 * where there should be two. A protocol that survives the delays and fails without any one of its
 * waits is tested; a wait whose absence nothing notices is not, or is not needed.
 *
 * Without PIPC_PERTURB every hook is empty and the shipped objects hold nothing of this.
 */
#ifndef PIPC_EXEC_PERTURB_H
#define PIPC_EXEC_PERTURB_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/trace.h"

typedef struct pipc__perturb {
    uint32_t max_usec; /* delays are random, 0..max_usec */
    int32_t drop_step; /* step of a program whose WAIT is skipped, on every rank; -1: none */
    int32_t drop_stage; /* the stage that it belongs to */
    int32_t one_area;  /* all rounds use staging area 0: slots are reused too early */
    int32_t no_scrub;  /* LL: old packets stay, see kernels/ll.h */
    int32_t drop_ce;   /* CE: this wait is skipped, see kernels/ce.h */
    uint32_t rail_chunk; /* bytes of a chunk over nodes on GPUs, for many rounds; 0: as it is */
    uint64_t calls;    /* what a communicator's number of calls begins with */
    uint64_t seed;
    pipc__trace_sink_t trace; /* where the next launch writes what it does: see kernels/trace.cuh */
    /* The probe's pushes from one rank to another, -1: all of them. */
    int32_t probe_fault, probe_from, probe_to; /* fault: see kernels/probe.h */
    int32_t probe_late_msec; /* rank 1 comes so much later to each step of the probe */
} pipc__perturb_t;

#ifdef PIPC_PERTURB
extern pipc__perturb_t pipc__perturb;
void pipc__perturb_delay(void);
#define PIPC__DELAY() pipc__perturb_delay()
bool pipc__perturb_yields(void);
#define PIPC__YIELDS() pipc__perturb_yields()
#define PIPC__DROPPED(stage, step)                                                                 \
    ((step) == pipc__perturb.drop_step && (stage) == pipc__perturb.drop_stage)
#define PIPC__CACHE_BYTES(found) ((void)(found), (size_t)4096) /* messages exceed it */
#define PIPC__AREA(round) (pipc__perturb.one_area ? 0 : (round) % PIPC__BUFFERS)
#else
#define PIPC__DELAY() ((void)0)
#define PIPC__YIELDS() 0
#define PIPC__DROPPED(stage, step) 0
#define PIPC__CACHE_BYTES(found) (found)
#define PIPC__AREA(round) ((round) % PIPC__BUFFERS)
#endif

#endif
