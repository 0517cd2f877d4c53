/* nccl/setup.h - a communicator of ours beside the program's, over the same ranks.
 *
 * At the PIPC__SETUP_CALL-th call that could be ours: all ranks count the same calls, so all come
 * here at the same one. Not in ncclCommInit*(): a program makes many communicators and uses few,
 * and a non-blocking one is not ready there. The first call is left to NCCL, as many communicators
 * do one barrier and no more.
 */
#ifndef PIPC_NCCL_SETUP_H
#define PIPC_NCCL_SETUP_H

#include "runtime/nccl/side.h"

#define PIPC__SETUP_CALL 2

/* Set @side up, by the thread that holds it and is in the call. Collective, through NCCL's own
 * communicator; waits for the other ranks without limit, unless the communicator fails or is
 * aborted. After it @side is served or, on all ranks, forwarded for good, with a line that says
 * why. False: another thread has aborted the communicator, and NCCL's must not be used any more. */
bool pipc__setup(pipc__side_t *side);

#endif
