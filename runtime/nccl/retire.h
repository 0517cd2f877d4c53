/* nccl/retire.h - how what is ours of a communicator ends.
 */
#ifndef PIPC_NCCL_RETIRE_H
#define PIPC_NCCL_RETIRE_H

#include "runtime/nccl/ours.h"
#include "runtime/nccl/side.h"

/* @side is served from now on. */
void pipc__retire_expect(pipc__side_t *side);

/* May the end of @side, which comes once, wait for the other ranks? Where they are threads of this
 * process, one thread may end them one after the other, as nccl-tests does: then only the last end
 * in this process waits, and with it the process for what is behind. */
bool pipc__retire_may_wait(pipc__side_t *side);

/* Release what is ours of @side, which the caller holds, together with the other ranks: waits for
 * them, as ncclCommDestroy() may. */
void pipc__retire_together(pipc__side_t *side);

/* The same by a thread of our own, waiting for nobody here; side->released tells when it is done.
 * With @last the entry is out of the table, and is freed as well. */
void pipc__retire_behind(pipc__side_t *side, bool last);

/* Wait until that thread is done. False: @side was given up before, and it goes on alone. */
bool pipc__retire_wait(pipc__side_t *side);

/* With the gate held, which keeps ours there: end what is ours of @side at once. Calls that
 * have not come to their end fail on every rank. Where all have, nothing is to be ended and no rank
 * hears of it: a program that aborts its communicators when it is through with them (PyTorch does)
 * must not fail others that are a little behind. */
void pipc__retire_abort(pipc__side_t *side);

/* Has it failed? */
bool pipc__retire_is_dead(const pipc__side_t *side);

#endif
