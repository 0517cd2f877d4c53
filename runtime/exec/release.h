/* exec/release.h - a thread that ends what streams of a GPU wait for when the communicator is dead.
 *
 * A stream that waits for a value in memory (cuStreamWaitValue64) looks at no abort word, and the
 * wait can't be taken back: somebody must write the value. It can be no peer, who may have died,
 * and no call of the program's, which may be waiting for the GPU just then.
 */
#ifndef PIPC_EXEC_RELEASE_H
#define PIPC_EXEC_RELEASE_H

#include "runtime/base/error.h"
#include "runtime/exec/control.h"

/* What the flags are set to: more than any of them comes to. Waits compare by the sign of the
 * difference, so it must not be more than half of all numbers ahead, as UINT64_MAX is. */
#define PIPC__RELEASED ((uint64_t)1 << 62)

typedef struct pipc__release pipc__release_t;

/* Start the thread: once the own abort word is set, it sees that it is set on every rank, and then
 * sets the front flags of the own page, again and again, since GPUs of peers may still write them.
 * In this order: a stream that is let go writes nonsense into peers' memory, and who looks for
 * errors before using a result must find one there. @ctl is connected and outlives it. */
pipc_status_t pipc__release_start(pipc__release_t **release, pipc__control_t *ctl, int rank,
                                  pipc__error_t *err);

void pipc__release_stop(pipc__release_t *release); /* joins the thread; NULL is allowed */

#endif
