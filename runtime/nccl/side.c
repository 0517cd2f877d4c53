/* nccl/side.c - see side.h
 *
 * A lock for a few instructions a call: 20 ns where nobody else is in it. An entry that was found
 * is held, since ncclCommAbort() of a watchdog thread may take it away while another thread is in a
 * call.
 */
#include "runtime/nccl/side.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define BUCKETS 256
#define CLEAR_MSEC 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pipc__side_t *bucket[BUCKETS];

/* NCCL's communicators are large and lie far apart. */
static pipc__side_t **chain_of(ncclComm_t comm)
{
    uint64_t h = (uint64_t)(uintptr_t)comm * UINT64_C(0x9e3779b97f4a7c15);

    return &bucket[h >> 56];
}

static pipc__side_t **find(ncclComm_t comm)
{
    pipc__side_t **at = chain_of(comm);

    while (*at && (*at)->comm != comm)
        at = &(*at)->next;
    return at;
}

pipc__side_t *pipc__side_take(ncclComm_t comm)
{
    pthread_mutex_lock(&lock);
    pipc__side_t *side = *find(comm);
    if (side)
        side->users++;
    pthread_mutex_unlock(&lock);
    return side;
}

pipc__side_t *pipc__side_make(ncclComm_t comm, const pipc__real_t *real)
{
    pipc__side_t *made = calloc(1, sizeof(*made));

    pthread_mutex_lock(&lock);
    pipc__side_t **at = find(comm), *side = *at;
    if (!side && made) {
        made->comm = comm;
        made->real = real;
        pthread_mutex_init(&made->gate, NULL);
        side = *at = made;
        made = NULL;
    }
    if (side)
        side->users++;
    pthread_mutex_unlock(&lock);
    free(made);
    return side;
}

void pipc__side_drop(pipc__side_t *side)
{
    atomic_fetch_sub_explicit(&side->users, 1, memory_order_release);
}

pipc__side_t *pipc__side_remove(ncclComm_t comm)
{
    pthread_mutex_lock(&lock);
    pipc__side_t **at = find(comm), *side = *at;
    if (side) {
        *at = side->next;
        side->users++;
    }
    pthread_mutex_unlock(&lock);
    return side;
}

bool pipc__side_enter(pipc__side_t *side)
{
    pthread_mutex_lock(&side->gate);
    bool may = !side->stop;
    side->inside += may;
    pthread_mutex_unlock(&side->gate);
    return may;
}

void pipc__side_leave(pipc__side_t *side)
{
    side->inside--;
}

static void nap(void)
{
    const struct timespec pause = {0, 1000000};

    nanosleep(&pause, NULL);
}

void pipc__side_clear(const pipc__side_t *side)
{
    for (int i = 0; i < CLEAR_MSEC && side->inside; i++)
        nap();
}

bool pipc__side_is_gone(pipc__side_t *side)
{
    pthread_mutex_lock(&side->gate);
    bool gone = side->stop;
    pthread_mutex_unlock(&side->gate);
    return gone;
}

/* A program that destroys a communicator has no calls in it; one that aborts it may have one, which
 * the abort ends. */
void pipc__side_free(pipc__side_t *side)
{
    while (atomic_load_explicit(&side->users, memory_order_acquire) > 1)
        nap();
    pthread_mutex_destroy(&side->gate);
    free(side);
}
