/* exec/control.c - see control.h */
#include "runtime/exec/control.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/exec/watchdog.h"

struct pipc__control {
    int rank, size; /* size 0: not connected */
    int spins;      /* looks before a wait lets others have the core */
    int yields;     /* looks between turns of others, before it goes to sleep */
    uint64_t gathers;
    atomic_bool met;                      /* a gather succeeded: every rank has mapped every page */
    pipc__segment_t seg[PIPC__RANKS_MAX]; /* seg[rank] is the own one once connected */
    pipc__segment_t own;
    pipc__watched_t watched[PIPC__RANKS_MAX];
    pipc__peer_name_t name[PIPC__RANKS_MAX];
    pipc__watchdog_t *dog;
};

static pipc__page_t *page_in(const pipc__segment_t *seg)
{
    return (pipc__page_t *)(void *)(seg->base + PIPC__SEGMENT_HEAD);
}

static pipc__page_t *page_of(const pipc__control_t *ctl, int rank)
{
    return page_in(rank == ctl->rank ? &ctl->own : &ctl->seg[rank]);
}

pipc__page_t *pipc__control_page(pipc__control_t *ctl)
{
    return page_in(&ctl->own);
}

pipc__page_t *pipc__control_page_of(pipc__control_t *ctl, int rank)
{
    return page_of(ctl, rank);
}

pipc_status_t pipc__control_create(pipc__control_t **out, pipc__segment_handle_t *handle,
                                   pipc__error_t *err)
{
    pipc__control_t *ctl = calloc(1, sizeof(*ctl));

    *out = NULL;
    if (!ctl)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a communicator");
    pipc_status_t st = pipc__segment_create(&ctl->own, sizeof(pipc__page_t), handle, err);
    if (st) {
        free(ctl);
        return st;
    }
    cpu_set_t *cores = &page_in(&ctl->own)->cores;
    if (sched_getaffinity(0, sizeof(*cores), cores))
        memset(cores, 0xff, sizeof(*cores)); /* more cores than fit: enough for all ranks */
    *out = ctl;
    return PIPC_OK;
}

/* --- doorbell ------------------------------------------------------------------------------- */

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT, seen, most, NULL, 0);
}

static void ring_page(pipc__page_t *page)
{
    /* Pairs with wait_asleep(): either this load sees asleep, or the sleeper's second look sees
     * the store that the caller made before ringing. Both sides need sequential consistency; with
     * acquire and release alone both can miss. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load(&page->asleep))
        return;
    atomic_fetch_add(&page->doorbell, 1);
    syscall(SYS_futex, &page->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pipc__control_ring(pipc__control_t *ctl, int rank)
{
    ring_page(page_of(ctl, rank));
}

static bool aborted(const pipc__page_t *page)
{
    return atomic_load_explicit(&page->abort, memory_order_acquire) != 0;
}

static void set_abort(pipc__page_t *page, uint64_t word)
{
    uint64_t none = 0;

    if (atomic_compare_exchange_strong(&page->abort, &none, word))
        ring_page(page);
}

/* What rank @who said of its abort, as rank @of knows it, whose page is @page; "" when it is not
 * known there. Another process may have spoilt its end. */
static const char *told_of(const pipc__page_t *page, int of, int who)
{
    if (who == of)
        return page->why;
    return atomic_load(&page->teller) == PIPC__TOLD(who) ? page->told : "";
}

/* Tell @to what ended rank @of, whose page is @from, with the reason: the rank that gave it may
 * have no page any more, or none that @to's owner could map. The text comes first; one stays. */
static void hand_on(int of, const pipc__page_t *from, pipc__page_t *to)
{
    uint64_t word = atomic_load(&from->abort);
    const char *why = told_of(from, of, (int)(uint32_t)word);
    uint32_t none = 0;

    if (!word || aborted(to))
        return;
    if (*why && atomic_compare_exchange_strong(&to->teller, &none, PIPC__TELLING)) {
        snprintf(to->told, sizeof(to->told), "%.*s", PIPC__WHY_MAX - 1, why);
        atomic_store(&to->teller, PIPC__TOLD((uint32_t)word));
    }
    set_abort(to, word);
}

void pipc__control_heed(pipc__control_t *ctl)
{
    for (int r = 0; r < ctl->size; r++)
        if (r != ctl->rank && ctl->seg[r].base)
            hand_on(r, page_of(ctl, r), page_in(&ctl->own));
}

/* Until all have met, a peer that could not map this rank's page can't ring here when it gives up:
 * its own page is looked at instead, now and then. */
static void wait_asleep(pipc__control_t *ctl, bool (*ready)(void *arg), void *arg)
{
    static const struct timespec soon = {0, 10 * 1000 * 1000};
    pipc__page_t *page = page_in(&ctl->own);

    for (;;) {
        bool met = atomic_load_explicit(&ctl->met, memory_order_relaxed);
        uint32_t seen = atomic_load(&page->doorbell);
        if (!met)
            pipc__control_heed(ctl);
        atomic_fetch_add(&page->asleep, 1);
        atomic_thread_fence(memory_order_seq_cst);
        bool stop = ready(arg) || aborted(page);
        if (!stop)
            futex_wait(&page->doorbell, seen, met ? NULL : &soon);
        atomic_fetch_sub(&page->asleep, 1);
        if (stop)
            return;
    }
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Look a while. False when it is time to sleep. */
static bool poll_page(const pipc__control_t *ctl, const pipc__page_t *page,
                      bool (*ready)(void *arg), void *arg)
{
    for (int looks = 0; looks < ctl->spins + ctl->yields; looks++) {
        if (ready(arg) || aborted(page))
            return true;
        if (looks < ctl->spins)
            relax();
        else
            sched_yield();
    }
    return false;
}

pipc_status_t pipc__control_wait(pipc__control_t *ctl, bool (*ready)(void *arg), void *arg)
{
    pipc__page_t *page = page_in(&ctl->own);

    if (!poll_page(ctl, page, ready, arg))
        wait_asleep(ctl, ready, arg);
    /* What arrived counts, even if its sender has ended since. */
    return ready(arg) ? PIPC_OK : pipc__control_state(ctl, NULL);
}

/* --- abort and loss ------------------------------------------------------------------------- */

void pipc__control_abort(pipc__control_t *ctl, pipc_status_t status, int rank)
{
    pipc__page_t *own = page_in(&ctl->own);

    /* A cause that is known here already is the one to spread: giving up over rank 2's death must
     * not look to rank 3 as if this rank were the trouble. */
    set_abort(own, PIPC__ABORT_WORD(status, rank));
    for (int r = 0; r < ctl->size; r++)
        if (r != ctl->rank && ctl->seg[r].base)
            hand_on(ctl->rank, own, page_of(ctl, r));
}

void pipc__control_abort_why(pipc__control_t *ctl, pipc_status_t status, const char *why)
{
    pipc__page_t *own = page_in(&ctl->own);

    if (!own->why[0])
        snprintf(own->why, sizeof(own->why), "%s", why);
    pipc__control_abort(ctl, status, ctl->rank);
}

void pipc__control_give_up(pipc__control_t *ctl, pipc_status_t status, const char *why)
{
    static const struct timespec ms = {0, 1000 * 1000};
    pipc__page_t *own = page_in(&ctl->own);

    pipc__control_abort_why(ctl, status, why);
    for (int i = 0; i < 1000 && atomic_load(&own->mapped) + 1 < (uint32_t)ctl->size; i++)
        nanosleep(&ms, NULL);
}

const char *pipc__control_cause(const pipc__control_t *ctl, char *buf, size_t cap)
{
    char name[128];
    int who = ctl->rank;
    pipc_status_t st = pipc__control_state(ctl, &who);
    const char *why = told_of(page_in(&ctl->own), ctl->rank, who);

    if (!why[0] && who != ctl->rank && ctl->seg[who].base)
        why = page_of(ctl, who)->why;
    if (why[0])
        snprintf(buf, cap, "%.*s", PIPC__WHY_MAX - 1, why);
    else
        snprintf(buf, cap, "%s %s", pipc__control_name(ctl, who, name, sizeof(name)),
                 st == PIPC_ERR_PEER_LOST ? "has ended" : "aborted the communicator");
    return buf;
}

int pipc__control_number(const pipc__control_t *ctl, int rank)
{
    return ctl->name[rank].rank;
}

pipc_status_t pipc__control_state(const pipc__control_t *ctl, int *rank)
{
    uint64_t word = atomic_load_explicit(&page_in(&ctl->own)->abort, memory_order_acquire);
    uint32_t who = (uint32_t)word;

    if (!word)
        return PIPC_OK;
    /* Other processes write here, so it may be any number. */
    if (rank)
        *rank = who < (uint32_t)ctl->size ? (int)who : ctl->rank;
    return word >> 32 ? (pipc_status_t)(word >> 32) : PIPC_ERR_ABORTED;
}

/* The watchdog's thread: process of rank @i has ended. If @i had been told of an earlier loss or
 * abort, it ended over that: the first cause is the one to name, and @i's page still holds it. */
static void peer_gone(void *arg, int i)
{
    pipc__control_t *ctl = arg;
    uint64_t last = atomic_load(&page_of(ctl, i)->leaving);
    char name[128];

    if (last && atomic_load(&page_of(ctl, i)->gathered) >= last) {
        ring_page(page_in(&ctl->own)); /* which it may have had no time for */
        return;
    }
    hand_on(i, page_of(ctl, i), page_in(&ctl->own));
    set_abort(page_in(&ctl->own), PIPC__ABORT_WORD(PIPC_ERR_PEER_LOST, i));
    pipc__log(PIPC__LOG_INFO, "%s has ended; the communicator is dead",
              pipc__control_name(ctl, i, name, sizeof(name)));
}

const char *pipc__control_name(const pipc__control_t *ctl, int rank, char *buf, size_t cap)
{
    const pipc__peer_name_t *n = &ctl->name[rank];

    snprintf(buf, cap, "rank %d (process %d on %s)", n->rank, n->pid, n->host);
    return buf;
}

/* --- connect -------------------------------------------------------------------------------- */

/* Map one peer. The order matters: watch the process, map its segment, then see that the process
 * is still there. Only so do the watched process and the segment's owner have to be the same. */
static pipc_status_t connect_peer(pipc__control_t *ctl, int r, const pipc__segment_handle_t *handle,
                                  pipc__error_t *err)
{
    pipc__error_t why = {PIPC_OK, ""};
    char name[128];
    pipc_status_t st = pipc__watched_open(&ctl->watched[r], handle->pid, &why);

    if (!st)
        st = pipc__segment_open(&ctl->seg[r], handle, &why);
    if (!st && !pipc__watched_alive(&ctl->watched[r]))
        st = pipc__fail(&why, PIPC_ERR_PEER_LOST, "it has ended");
    if (ctl->seg[r].base)
        atomic_fetch_add(&page_of(ctl, r)->mapped, 1);
    if (!st)
        return PIPC_OK;
    return pipc__fail(err, st, "%s: %s", pipc__control_name(ctl, r, name, sizeof(name)), why.text);
}

/* Spin only where every rank can have a core of its own: a spinning rank that holds the core which
 * the awaited one needs makes both wait for the scheduler. With fewer cores a wait gives its core
 * to the next rank at once, which costs a tenth of a sleep and a wake-up. Where there are cores
 * enough it goes to sleep without that: two ranks that the scheduler has put on one core would
 * yield to each other for ever, while a wake-up goes to an idle core. The cores are those that the
 * ranks may use together, not those of the machine: a job may have some of them, or a rank one. */
static void choose_waits(pipc__control_t *ctl, int size)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int r = 0; r < size; r++)
        CPU_OR(&all, &all, &page_of(ctl, r)->cores);
    bool enough = CPU_COUNT(&all) >= size;
    ctl->spins = enough ? 4000 : 0;
    ctl->yields = enough ? 0 : 200; /* a few hundred microseconds */
}

pipc_status_t pipc__control_connect(pipc__control_t *ctl, int rank, int size,
                                    const pipc__segment_handle_t *handles,
                                    const pipc__peer_name_t *names, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    ctl->rank = rank;
    memcpy(ctl->name, names, (size_t)size * sizeof(*names));
    /* Those behind one that can't be mapped as well: they have to be told. */
    for (int r = 0; r < size; r++) {
        pipc_status_t one =
            r == rank ? PIPC_OK : connect_peer(ctl, r, &handles[r], st ? NULL : err);
        st = st ? st : one;
    }
    ctl->size = size;
    if (!st)
        choose_waits(ctl, size);
    if (!st && size > 1)
        st = pipc__watchdog_start(&ctl->dog, ctl->watched, size, peer_gone, ctl, err);
    return st;
}

void pipc__control_leave(pipc__control_t *ctl)
{
    atomic_store(&page_in(&ctl->own)->leaving, ctl->gathers + 1);
}

static void free_control(pipc__control_t *ctl)
{
    for (int r = 0; r < ctl->size; r++) {
        pipc__watched_close(&ctl->watched[r]);
        pipc__segment_close(&ctl->seg[r]);
    }
    pipc__segment_close(&ctl->own);
    free(ctl);
}

void pipc__control_destroy(pipc__control_t *ctl)
{
    if (!ctl)
        return;
    pipc__watchdog_stop(ctl->dog);
    free_control(ctl);
}

void pipc__control_abandon(pipc__control_t *ctl)
{
    pipc__watchdog_abandon(ctl->dog);
    free_control(ctl);
}

/* --- gather --------------------------------------------------------------------------------- */

struct gather_wait {
    const pipc__page_t *page;
    uint64_t sequence;
};

static bool gather_ready(void *arg)
{
    const struct gather_wait *w = arg;

    return atomic_load_explicit(&w->page->gathered, memory_order_acquire) >= w->sequence;
}

static pipc_status_t fail_gather(const pipc__control_t *ctl, pipc__error_t *err)
{
    char cause[PIPC__CAUSE_MAX];

    return pipc__fail(err, pipc__control_state(ctl, NULL), "%s while the ranks met",
                      pipc__control_cause(ctl, cause, sizeof(cause)));
}

/* Two buffers are enough: a rank publishes gather g + 2 only after it has seen everybody's g + 1,
 * and everybody published that after reading all of g. So one that has failed in a gather must not
 * go on to the next ones: it would write over what others still read of g. */
pipc_status_t pipc__control_gather(pipc__control_t *ctl, const void *mine, size_t bytes, void *all,
                                   pipc__error_t *err)
{
    uint64_t g = ++ctl->gathers;
    pipc__page_t *own = page_in(&ctl->own);

    if (bytes > PIPC__GATHER_MAX)
        return pipc__fail(err, PIPC_ERR_INTERNAL, "gather of %zu bytes", bytes);
    if (aborted(own))
        return fail_gather(ctl, err);
    if (bytes)
        memcpy(own->gather[g % 2], mine, bytes);
    atomic_store_explicit(&own->gathered, g, memory_order_release);
    for (int r = 0; r < ctl->size; r++)
        if (r != ctl->rank)
            pipc__control_ring(ctl, r);
    for (int r = 0; r < ctl->size; r++) {
        struct gather_wait w = {page_of(ctl, r), g};
        if (pipc__control_wait(ctl, gather_ready, &w))
            return fail_gather(ctl, err);
        if (bytes)
            memcpy((char *)all + (size_t)r * bytes, w.page->gather[g % 2], bytes);
    }
    atomic_store_explicit(&ctl->met, true, memory_order_relaxed);
    return PIPC_OK;
}
