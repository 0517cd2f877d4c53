/* exec/release.c - see release.h */
#include "runtime/exec/release.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_MSEC_MAX 50 /* between two rounds of stores, once streams had time to end */
/* Before the first one: kernels look at the abort word about once a millisecond, and tell whom they
 * wait for. Streams let go before that would bring them what looks like an end. */
#define REPORT_MSEC 5

struct pipc__release {
    pthread_t thread;
    pipc__control_t *ctl;
    int rank;
    atomic_bool stop;
};

static bool is_stopped(void *arg)
{
    pipc__release_t *r = arg;

    return atomic_load(&r->stop);
}

static void store_all(pipc__page_t *page)
{
    for (int kind = 0; kind < PIPC__FRONTS; kind++)
        for (int q = 0; q < PIPC__RANKS_MAX; q++)
            __atomic_store_n(&page->front[kind][q].value, PIPC__RELEASED, __ATOMIC_RELEASE);
}

static void pause_msec(long msec)
{
    const struct timespec pause = {0, msec * 1000000};

    nanosleep(&pause, NULL);
}

static void *watch(void *arg)
{
    pipc__release_t *r = arg;
    int who = r->rank;

    pipc__control_wait(r->ctl, is_stopped, r);
    if (is_stopped(r))
        return NULL;
    pipc_status_t st = pipc__control_state(r->ctl, &who);
    pipc__control_abort(r->ctl, st, who);
    pause_msec(REPORT_MSEC);
    for (long msec = 1; !is_stopped(r); msec += msec < PAUSE_MSEC_MAX) {
        store_all(pipc__control_page(r->ctl));
        pause_msec(msec);
    }
    return NULL;
}

pipc_status_t pipc__release_start(pipc__release_t **out, pipc__control_t *ctl, int rank,
                                  pipc__error_t *err)
{
    pipc__release_t *r = calloc(1, sizeof(*r));
    sigset_t all, old;

    *out = NULL;
    if (!r)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a thread");
    r->ctl = ctl;
    r->rank = rank;
    /* The program's signals stay the program's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&r->thread, NULL, watch, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        free(r);
        return pipc__fail(err, PIPC_ERR_SYSTEM, "thread that ends waits of the GPU: %s",
                          strerror(rc));
    }
    pthread_setname_np(r->thread, "pcie-ipc-free");
    *out = r;
    return PIPC_OK;
}

void pipc__release_stop(pipc__release_t *r)
{
    if (!r)
        return;
    atomic_store(&r->stop, true);
    pipc__control_ring(r->ctl, r->rank);
    pthread_join(r->thread, NULL);
    free(r);
}
