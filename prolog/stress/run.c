/* prolog/stress/run.c - traffic in a thread of its own, links and rates beside it
 *
 * The thread of the copies may hang in the driver for ever. This one calls no driver, so that the
 * report comes in any case, and the process then ends without it.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "prolog/gpu_driver.h"
#include "prolog/stress/stress.h"

#define ROOT "/"
/* Seconds without anything moved: longer than a driver takes to start its GPUs. A test is not so
 * patient. */
#ifndef STRESS_HANG_S
#define STRESS_HANG_S 60
#endif

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

/* Once: a second one ends the program as it would any. */
static void listen(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

static void *copy(void *traffic)
{
    sigset_t all;

    sigfillset(&all); /* signals are the other thread's */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    stress_traffic_run(traffic, PIPC__GPU_DRIVER);
    return NULL;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until @when, a signal or the copies' end. */
static void sleep_until(const stress_run_t *run, double when)
{
    while (!stopped && !atomic_load(&run->traffic.ended)) {
        double left = when - now(), step = left < 0.02 ? left : 0.02;
        struct timespec t = {0, (long)(step * 1e9)};
        if (left <= 0)
            return;
        nanosleep(&t, NULL);
    }
}

/* ---- does anything move? ------------------------------------------------------------------- */

typedef struct pulse {
    uint64_t beat;
    double since;
} pulse_t;

static bool is_dead(const stress_run_t *run, pulse_t *p)
{
    uint64_t beat = atomic_load(&run->traffic.beat);
    double t = now();

    if (p->since == 0 || beat != p->beat)
        *p = (pulse_t){beat, t};
    return t - p->since > STRESS_HANG_S;
}

/* Wait for @flag or the end; false when all hangs. */
static bool wait_for(stress_run_t *run, const atomic_bool *flag)
{
    const struct timespec rest = {0, 10000000};
    pulse_t pulse = {0, 0};

    while (!atomic_load(flag) && !atomic_load(&run->traffic.ended)) {
        if (is_dead(run, &pulse))
            return false;
        nanosleep(&rest, NULL);
    }
    return true;
}

/* ---- once a second ------------------------------------------------------------------------- */

typedef struct tick {
    double at;
    uint64_t copies[STRESS_LANES_MAX];
} tick_t;

static tick_t take_tick(const stress_run_t *run)
{
    tick_t t = {.at = now()};

    for (int i = 0; i < run->traffic.lanes; i++)
        t.copies[i] = atomic_load(&run->traffic.lane[i].copies);
    return t;
}

/* The rates since the last tick; their sum, both ways. */
static double add_rates(stress_run_t *run, tick_t *last)
{
    tick_t t = take_tick(run);
    double sum = 0;

    for (int i = 0; i < run->traffic.lanes; i++) {
        double rate = (double)(t.copies[i] - last->copies[i]) *
                      (double)run->options->traffic.bytes / (t.at - last->at) * 1e-9;
        stress_series_add(&run->rate[i], rate);
        sum += 2 * rate;
    }
    *last = t;
    return sum;
}

static void watch(stress_run_t *run)
{
    const stress_options_t *o = run->options;
    double begin = now();
    tick_t last = take_tick(run);
    pulse_t pulse = {0, 0};

    is_dead(run, &pulse); /* begins to count */
    for (long s = 1; s <= o->seconds; s++) {
        sleep_until(run, begin + (double)s);
        run->seconds = now() - begin;
        run->hung = is_dead(run, &pulse);
        if (stopped || run->hung || atomic_load(&run->traffic.ended))
            break; /* a part of a second makes no rate */
        double gbps = add_rates(run, &last);
        if (s % o->interval == 0 && run->links.n > 0 && stress_links_look(&run->links, ROOT, NULL))
            snprintf(run->links.why, sizeof(run->links.why), "out of memory");
        stress_progress(run, gbps, stderr);
    }
    run->interrupted = stopped != 0;
    stress_progress_end(stderr);
}

/* ---- all ----------------------------------------------------------------------------------- */

/* What cannot be read is a note, and no reason to make no traffic. */
static void open_links(stress_run_t *run)
{
    pipc__error_t why = {PIPC_OK, ""};

    if (pipc__facts_sysfs(&run->facts, ROOT, PIPC__LOOK_ALL, &why) ||
        stress_links_open(&run->links, &run->facts, ROOT, &why))
        snprintf(run->links.why, sizeof(run->links.why), "%s", why.text);
}

pipc_status_t stress_run(const stress_options_t *options, stress_run_t *run, pipc__error_t *err)
{
    pthread_t thread;

    run->options = options;
    run->traffic.wants = &options->traffic;
    for (int i = 0; i < STRESS_LANES_MAX; i++)
        stress_series_start(&run->rate[i]);
    listen();
    open_links(run); /* before the traffic: counters of before it are the begin */
    if (pthread_create(&thread, NULL, copy, &run->traffic))
        return pipc__fail(err, PIPC_ERR_SYSTEM, "no thread can be started");
    pthread_detach(thread);
    run->hung = !wait_for(run, &run->traffic.ready);
    if (run->hung)
        return pipc__fail(err, PIPC_ERR_CUDA,
                          "the driver gives no answer; look for Xid lines in "
                          "the kernel's log");
    if (!atomic_load(&run->traffic.ready)) {
        *err = run->traffic.err;
        return err->status;
    }
    stress_links_keep(&run->links, &run->facts, &run->traffic);
    watch(run);
    atomic_store(&run->traffic.stop, true);
    if (!run->hung)
        run->hung = !wait_for(run, &run->traffic.ended);
    run->time = (int64_t)time(NULL);
    return PIPC_OK;
}
