/* exec/control.h - what the ranks of a communicator share besides data: a page each, in which peers
 * ring a doorbell, leave an abort word, and gather small host data (barriers, votes, timings).
 *
 *     own page                        a peer's page (mapped)
 *     abort     <---- written by any rank, by the own watchdog, read by kernels on the GPU
 *     doorbell  <---- rung by peers after they set a flag or published a gather
 *     gather[2] ----> read by all peers when sequence says so
 *
 * Late is not dead: every wait lasts as long as the peers live. A peer whose process ends is
 * noticed by the watchdog thread (pidfd), which sets the own abort word and rings the own doorbell.
 */
#ifndef PIPC_EXEC_CONTROL_H
#define PIPC_EXEC_CONTROL_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/exec/segment.h"
#include "runtime/plan/plan.h"

#define PIPC__GATHER_MAX 1024 /* bytes a rank in one gather */
#define PIPC__CAUSE_MAX 200   /* bytes that hold what pipc__control_cause() says */
#define PIPC__WHY_MAX 160     /* bytes of what a rank says of its abort, the final 0 included */

/* Flags that streams of the own GPU wait for, one of each kind for each other rank (kernels/ce.h).
 * A wait in a GPU's front end knows nothing of the abort word and can't be taken back: release.h
 * ends it, by a store. */
typedef enum pipc__front {
    PIPC__FRONT_FREE,   /* rank r has summed what was sent to it */
    PIPC__FRONT_LANDED, /* what rank r sent is in host memory */
    PIPC__FRONTS
} pipc__front_t;

/* Abort word: 0, or (status << 32 | rank that was lost or that aborted). First writer wins. */
#define PIPC__ABORT_WORD(status, rank) ((uint64_t)(status) << 32 | (uint32_t)(rank))

typedef struct pipc__page {
    _Alignas(128) _Atomic uint64_t abort;
    _Alignas(128) _Atomic uint32_t doorbell;
    _Atomic uint32_t asleep;                /* the owner sleeps on the doorbell, or is about to */
    _Alignas(128) _Atomic uint64_t leaving; /* in destroy: number of its last gather; 0: not yet */
    cpu_set_t cores;         /* where the owner may run, as it was when the page was made */
    char why[PIPC__WHY_MAX]; /* written before any abort word that names the owner; "" else */
    _Alignas(128) _Atomic uint64_t gathered; /* sequence number of the newest data in gather[] */
    uint8_t gather[2][PIPC__GATHER_MAX];
    _Alignas(128) uint64_t stalled_round,
        stalled_step; /* where a kernel gave up; step + 1, 0: none */
    struct {
        _Alignas(64) uint64_t value;
    } front[PIPC__FRONTS][PIPC__RANKS_MAX]; /* written by the own GPU, by peers' and by release.c */
    /* Whose reason is in told[], PIPC__TOLD(rank); 0: nobody's. Written by a peer before it sets
     * the abort word here. */
    _Alignas(128) _Atomic uint32_t teller;
    char told[PIPC__WHY_MAX];
    _Atomic uint32_t mapped; /* by so many peers */
} pipc__page_t;

#define PIPC__TELLING 1u
#define PIPC__TOLD(rank) ((uint32_t)(rank) + 2)

/* A peer, for messages. */
typedef struct pipc__peer_name {
    int rank; /* in the communicator */
    int pid;
    char host[64];
} pipc__peer_name_t;

typedef struct pipc__control pipc__control_t;

/* Make the own page; @handle travels in the exchange record. */
pipc_status_t pipc__control_create(pipc__control_t **ctl, pipc__segment_handle_t *handle,
                                   pipc__error_t *err);

/* Map the peers' pages and start the watchdog. handles[size] and names[size] are copied. Where one
 * can't be mapped the others are, so that pipc__control_give_up() reaches them; a rank whose page
 * was not reached hears of it in the gather that it waits in. */
pipc_status_t pipc__control_connect(pipc__control_t *ctl, int rank, int size,
                                    const pipc__segment_handle_t *handles,
                                    const pipc__peer_name_t *names, pipc__error_t *err);

/* Collective: every rank gives @bytes (<= PIPC__GATHER_MAX, the same on all), all[size * bytes]
 * gets everybody's in rank order. With 0 bytes a barrier. Fails only when a peer is lost or aborts.
 */
pipc_status_t pipc__control_gather(pipc__control_t *ctl, const void *mine, size_t bytes, void *all,
                                   pipc__error_t *err);

/* Wait until ready(arg), without limit: spin or yield briefly, then sleep on the doorbell; the one
 * who makes ready(arg) true must ring it. PIPC_ERR_PEER_LOST or PIPC_ERR_ABORTED when the abort
 * word was set and ready(arg) still does not hold. */
pipc_status_t pipc__control_wait(pipc__control_t *ctl, bool (*ready)(void *arg), void *arg);

/* Wake @rank if it sleeps: after every store that it may wait for. */
void pipc__control_ring(pipc__control_t *ctl, int rank);

/* Set the abort word of every rank that is mapped, to the own one where that is set already. From
 * any thread. In each page the first writer wins. */
void pipc__control_abort(pipc__control_t *ctl, pipc_status_t status, int rank);

/* The same with the own rank, which says why: "rank 12 on n3 is lost". Once; for a loss that no
 * other rank of the node could see. */
void pipc__control_abort_why(pipc__control_t *ctl, pipc_status_t status, const char *why);

/* The same for a rank that could not connect. What it says is in its page, so it stays until those
 * who can have mapped that: a second at most, for one of them may be late, or dead. */
void pipc__control_give_up(pipc__control_t *ctl, pipc_status_t status, const char *why);

/* Take over what ended a peer whose page is mapped, even if it could not tell. Waits do so until
 * all ranks have met. */
void pipc__control_heed(pipc__control_t *ctl);

/* What the own abort word comes from: what was said of it, else "rank 3 (process 4711 on n1) has
 * ended", or that it has aborted the communicator; in a buffer of the caller's; returns it. */
const char *pipc__control_cause(const pipc__control_t *ctl, char *buf, size_t cap);

/* The number in the communicator of rank @rank, as names had it. */
int pipc__control_number(const pipc__control_t *ctl, int rank);

/* The own abort word: PIPC_OK, PIPC_ERR_PEER_LOST, PIPC_ERR_ABORTED; *rank (may be NULL) gets who.
 */
pipc_status_t pipc__control_state(const pipc__control_t *ctl, int *rank);

/* "rank 3 (process 4711 on n1)" in a buffer of the caller's; returns it. */
const char *pipc__control_name(const pipc__control_t *ctl, int rank, char *buf, size_t cap);

/* The own page, for executors that let a device read the abort word. */
pipc__page_t *pipc__control_page(pipc__control_t *ctl);

/* Rank @rank's, once connected. */
pipc__page_t *pipc__control_page_of(pipc__control_t *ctl, int rank);

/* Say that the next gather is the last one, so that this rank's end is no loss to its peers once it
 * is in there. Called between the last wait on data and that barrier. A peer that ends before it is
 * in the barrier is a loss also to a rank that waits there. */
void pipc__control_leave(pipc__control_t *ctl);

void pipc__control_destroy(pipc__control_t *ctl); /* NULL is allowed */

/* The same in a forked child: what is there is the parent's, and goes on. */
void pipc__control_abandon(pipc__control_t *ctl);

#endif
