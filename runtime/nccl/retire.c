/* nccl/retire.c - see retire.h */
#include "runtime/nccl/retire.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/nccl/old_glibc.h"
#include "runtime/nccl/staging.h"

bool pipc__retire_is_dead(const pipc__side_t *side)
{
    pipc_status_t async = PIPC_OK;

    return side->ours && pipc__ours(NULL)->comm_async_error(side->ours, &async) == PIPC_OK && async;
}

void pipc__retire_abort(pipc__side_t *side)
{
    int pending = 1;

    if (!side->ours)
        return;
    if (pipc__ours(NULL)->comm_pending(side->ours, &pending) || pending)
        pipc__ours(NULL)->comm_abort(side->ours);
}

/* Of communicators with several ranks in this process: ranks whose end has not come. */
static _Atomic int expected;

void pipc__retire_expect(pipc__side_t *side)
{
    if (side->shared && !atomic_exchange(&side->expected, true))
        atomic_fetch_add(&expected, 1);
}

bool pipc__retire_may_wait(pipc__side_t *side)
{
    return !atomic_exchange(&side->expected, false) || atomic_fetch_sub(&expected, 1) == 1;
}

static void nap(void)
{
    const struct timespec t = {0, 1000000};

    nanosleep(&t, NULL);
}

/* An abort reaches what is pending as long as ours is there, so that comes to its end before. */
static void drain(pipc__side_t *side)
{
    int pending = 1;

    while (!pipc__side_is_gone(side) && !pipc__retire_is_dead(side) &&
           !pipc__ours(NULL)->comm_pending(side->ours, &pending) && pending)
        nap();
}

void pipc__retire_together(pipc__side_t *side)
{
    pipc__retire_may_wait(side); /* it is no longer expected, however it came here */
    if (side->ours) {
        drain(side);
        pthread_mutex_lock(&side->gate);
        pipc_comm_t *ours = side->ours;
        side->ours = NULL;
        pthread_mutex_unlock(&side->gate);
        pipc__ours(NULL)->comm_destroy(ours);
        pipc__staging_return(side->staging);
    }
    atomic_store(&side->released, true);
}

/* --- by a thread ----------------------------------------------------------------------------- */

typedef struct job {
    pipc__side_t *side;
    bool last;
} job_t;

#define LEAVE_MSEC 3000 /* a rail's last words take a second at most, a late rank any time */

/* Threads that are at it, in the lower half, and of which process: a child of a fork has none. */
static _Atomic uint64_t working;

static uint32_t threads_of(uint64_t word)
{
    return word >> 32 == (uint32_t)getpid() ? (uint32_t)word : 0;
}

static void count(int more)
{
    uint64_t word = atomic_load(&working), next;

    do {
        next = (uint64_t)(uint32_t)getpid() << 32 | (threads_of(word) + (uint32_t)more);
    } while (!atomic_compare_exchange_weak(&working, &word, next));
}

/* What a process that ends takes away, a thread that still uses it falls over: UCX ends the process
 * with SIGABRT when one of its workers is closed after its library's destructor. As a function of
 * atexit() this is before any destructor; as a destructor of ours it would be after UCX's. */
static void let_them_end(void)
{
    for (int i = 0; i < LEAVE_MSEC && threads_of(atomic_load(&working)); i++)
        nap();
}

static void count_thread(void)
{
    static _Atomic bool registered;

    if (!atomic_exchange(&registered, true))
        atexit(let_them_end);
    count(1);
}

/* A call that is on its way in another thread holds the entry. None is where the communicator was
 * finalized, and there the program may hold it to destroy it, waiting for nobody. */
static void *work(void *arg)
{
    job_t job = *(job_t *)arg;

    free(arg);
    while (job.last && atomic_load_explicit(&job.side->users, memory_order_acquire) > 1)
        nap();
    pipc__retire_together(job.side);
    if (job.last)
        pipc__side_free(job.side);
    else
        pipc__side_drop(job.side);
    count(-1);
    return NULL;
}

/* pthread_create() by name: in an old C library it is in libpthread, which a program that uses NCCL
 * has loaded. Signals are the program's. */
static bool start(void *(*body)(void *), void *arg)
{
    int (*create)(unsigned long *, const void *, void *(*)(void *), void *) =
        (__typeof__(create))dlsym(RTLD_DEFAULT, "pthread_create");
    int (*detach)(unsigned long) = (__typeof__(detach))dlsym(RTLD_DEFAULT, "pthread_detach");
    unsigned long thread;
    sigset_t all, before;

    if (!create || !detach)
        return false;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int rc = create(&thread, NULL, body, arg);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !rc && !detach(thread);
}

/* Without a thread it stays until the process ends, which leaves nothing behind. */
void pipc__retire_behind(pipc__side_t *side, bool last)
{
    job_t *job = malloc(sizeof(*job));

    if (!last)
        atomic_fetch_add(&side->users, 1); /* the thread's */
    if (job) {
        *job = (job_t){side, last};
        count_thread();
        if (start(work, job))
            return;
        count(-1);
        free(job);
    }
    if (!last)
        pipc__side_drop(side);
    atomic_store(&side->released, true);
}

bool pipc__retire_wait(pipc__side_t *side)
{
    while (!side->released && !pipc__side_is_gone(side))
        nap();
    return side->released;
}
