/* prolog/verb_watch.c - look again and again, print what changes and record it; tell what was
 * recorded
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prolog/dips.h"
#include "prolog/job.h"
#include "prolog/job_id.h"
#include "prolog/looks.h"
#include "prolog/diary.h"
#include "prolog/snapshot.h"
#include "prolog/state.h"
#include "prolog/verbs.h"
#include "prolog/watch.h"
#include "runtime/base/config.h"

#define DAY_MS 86400000L
#define YEAR_MS (366 * DAY_MS)

enum { OPT_INTERVAL = 256, OPT_FOR, OPT_ONCE, OPT_SUMMARY, OPT_JOB, OPT_SYSROOT };

const pipc__cli_option_t pipc__watch_options[] = {
    {"interval", "TIME", "from look to look, as 500ms, 1s, 5m; 10s by default", OPT_INTERVAL},
    {"for", "TIME", "end after this time, as 24h; else with SIGINT or SIGTERM", OPT_FOR},
    {"once", NULL, "tell what changed since the last watch, and end", OPT_ONCE},
    {"summary", NULL, "look at nothing: sum up what was recorded, of --for to now", OPT_SUMMARY},
    {"job", "ID", "the same of the time of a job", OPT_JOB},
    {"sysroot", "DIR", "watch a captured machine, without a record", OPT_SYSROOT},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    long interval_ms, for_ms; /* for: 0 without end */
    bool once, summary;
    uint32_t job; /* 0: none */
    const char *sysroot;
} wants_t;

/* ---- options ------------------------------------------------------------------------------- */

/* "500ms", "10s", "10" (seconds), "5m", "24h", "7d" */
static bool parse_time(const char *text, long *ms)
{
    static const struct {
        const char *unit;
        long ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {"h", 3600000}, {"d", DAY_MS}};
    char *end;

    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || errno || n < 1 || *text < '0' || *text > '9')
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        *ms = n * units[i].ms;
        return n <= YEAR_MS / units[i].ms;
    }
    return false;
}

static int take_time(const char *option, const char *value, long least, long most, long *ms)
{
    if (!parse_time(value, ms) || *ms < least || *ms > most)
        return pipc__verb_usage(option, option[2] == 'i' ? "a time from 100ms to 1d, as 10s"
                                                         : "a time from 1s to 366d, as 24h");
    return PIPC__CLI_GO_ON;
}

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case OPT_INTERVAL:
        return take_time("--interval", value, 100, DAY_MS, &w->interval_ms);
    case OPT_FOR:
        return take_time("--for", value, 1000, YEAR_MS, &w->for_ms);
    case OPT_ONCE:
        w->once = true;
        break;
    case OPT_SUMMARY:
        w->summary = true;
        break;
    case OPT_JOB:
        if (!pipc__job_id(value, &w->job))
            return pipc__verb_usage("--job", "a job's number, as scontrol show job has it");
        break;
    default:
        w->sysroot = value;
        break;
    }
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__watch_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

/* ---- watching ------------------------------------------------------------------------------ */

typedef struct watching {
    pipc__diary_t record;
    bool records, any;
    pipc__changes_t seen; /* for the summary at the end, where there is no record to sum up */
} watching_t;

static void complain(const char *what)
{
    fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", what);
}

static void keep(watching_t *w, const pipc__change_t *c)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (!pipc__diary_add(&w->record, c, &err))
        return;
    complain(err.text);
    w->records = false;
}

static void tell(void *arg, const pipc__change_t *c)
{
    watching_t *w = arg;
    char line[400];

    puts(pipc__change_line(c, line, sizeof(line)));
    w->any = true;
    if (w->records)
        keep(w, c);
    else
        pipc__changes_add(&w->seen, c); /* those that find room */
}

static void mark(watching_t *w, pipc__change_kind_t kind, long interval_ms)
{
    pipc__change_t c = {.ms = pipc__now_ms(), .kind = kind, .from = (int)interval_ms};

    if (!w->records)
        return;
    keep(w, &c);
    pipc__diary_flush(&w->record);
}

static void begin_record(watching_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};

    w->records = pipc__diary_open(&w->record, PIPC__STATE_FOLDER, 0, &err) == PIPC_OK;
    if (!w->records)
        fprintf(stderr, PIPC__HEALTH_NAME ": nothing is recorded: %s%s\n", err.text,
                err.status == PIPC_ERR_NOT_FOUND ? ": a watch runs" : "");
}

/* Wait until the next look is due, or until @last, when the last one is (0: there is none); true: a
 * signal asks for the end. The signals are blocked and taken here, so that none comes between a
 * look and the wait. */
static bool wait_for_end(const sigset_t *ends, double *next, long interval_ms, double last)
{
    double now = pipc__uptime();

    *next += (double)interval_ms / 1000;
    if (last > 0 && *next > last)
        *next = last;
    if (*next < now)
        *next = now; /* the machine was stopped meanwhile */
    double left = *next - now;
    struct timespec wait = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    return sigtimedwait(ends, NULL, &wait) > 0;
}

static void print_cost(long looks, double seconds)
{
    struct rusage r;

    if (looks > 0 && getrusage(RUSAGE_SELF, &r) == 0)
        printf("%ld looks in %.0f s, %.2f ms of CPU each\n", looks, seconds,
               ((double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
                (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3) /
                   (double)looks);
}

static pipc_status_t look_on(watching_t *w, pipc__watch_t *watch, const wants_t *wants,
                             const sigset_t *ends, pipc__error_t *err)
{
    double start = pipc__uptime(), next = start;
    double last = wants->for_ms ? start + (double)wants->for_ms / 1000 : 0;
    pipc_status_t st = PIPC_OK;
    long looks = 0;

    while (!st && (last <= 0 || pipc__uptime() < last) &&
           !wait_for_end(ends, &next, wants->interval_ms, last)) {
        st = pipc__watch_look(watch, err);
        looks++;
        if (w->records && w->any)
            pipc__diary_flush(&w->record);
        w->any = false;
    }
    print_cost(looks, pipc__uptime() - start);
    return st;
}

static void print_summary(const pipc__changes_t *changes)
{
    pipc__dips_list_t dips;

    if (pipc__dips(changes, &dips))
        pipc__dips_print(&dips, stdout);
    else
        complain("out of memory");
    pipc__dips_free(&dips);
}

static pipc_status_t sum_up(const pipc__window_t *window, pipc__watched_t *watched,
                            pipc__error_t *err)
{
    pipc__changes_t changes;
    pipc_status_t st = pipc__diary_read(PIPC__STATE_FOLDER, 0, window, &changes, watched, err);

    if (!st)
        print_summary(&changes);
    pipc__changes_free(&changes);
    return st;
}

/* What the last watch of this boot ended with: what changed since then is told first. */
static bool recall(const char *root, pipc__counters_t *out)
{
    pipc__looks_t looks = {.n = 0};
    int dir;
    bool known = false;

    if (pipc__state_find(PIPC__RUN_FOLDER, 0, &dir, NULL))
        return false;
    if (pipc__looks_read(dir, PIPC__LOOKS_WATCH, 0, root, &looks))
        known = pipc__counters_copy(&looks.look[0], out, NULL) == PIPC_OK;
    pipc__looks_free(&looks);
    close(dir);
    return known;
}

static void remember(const char *root, const pipc__counters_t *last)
{
    pipc__error_t err = {PIPC_OK, ""};
    int dir;

    pipc_status_t st = pipc__state_open(PIPC__RUN_FOLDER, 0, &dir, &err);
    if (!st) {
        st = pipc__look_keep(dir, PIPC__LOOKS_WATCH, 0644, root, last, &err);
        close(dir);
    }
    if (st)
        complain(err.text);
}

static void end_on_signal(sigset_t *ends)
{
    sigemptyset(ends);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGTERM);
    sigprocmask(SIG_BLOCK, ends, NULL);
}

/* Begin, look on, end: what stands between START and STOP in the record was watched. */
static pipc_status_t run(watching_t *w, pipc__watch_t *watch, const wants_t *wants,
                         const char *root, pipc__error_t *err)
{
    pipc__counters_t kept = {.n = 0};
    bool known = w->records && recall(root, &kept);
    pipc_status_t st;
    sigset_t ends;

    end_on_signal(&ends);
    if (!wants->once)
        mark(w, PIPC__CHANGE_START, wants->interval_ms);
    st = pipc__watch_begin(watch, root, known ? &kept : NULL, tell, w, err);
    if (!st && !wants->once)
        st = look_on(w, watch, wants, &ends, err);
    pipc__watch_end(watch);
    if (!wants->once)
        mark(w, PIPC__CHANGE_STOP, 0);
    if (!st && w->records)
        remember(root, &watch->last);
    pipc__counters_free(&kept);
    pipc__counters_free(&watch->last);
    return st;
}

static pipc_status_t watch(const wants_t *wants, const char *root, pipc__error_t *err)
{
    watching_t w = {.record = {.dir = -1, .lock = -1, .changes = {.fd = -1}, .speeds = {.fd = -1}}};
    pipc__window_t window = {.from_ms = pipc__now_ms(), .speeds = true};
    pipc__watch_t watch;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!wants->sysroot)
        begin_record(&w);
    pipc_status_t st = run(&w, &watch, wants, root, err);
    window.to_ms = pipc__now_ms();
    if (!st && !wants->once && w.records)
        st = sum_up(&window, NULL, err);
    else if (!st && !wants->once)
        print_summary(&w.seen);
    pipc__diary_close(&w.record);
    pipc__changes_free(&w.seen);
    return st;
}

/* ---- what was recorded ---------------------------------------------------------------------- */

static pipc_status_t look_back(const wants_t *wants, const char *root, pipc__error_t *err)
{
    static const char *const words[] = {"not watched", "watched for a part of it", "watched"};
    const pipc__job_place_t here = {PIPC__RUN_FOLDER, PIPC__STATE_FOLDER, 0, root};
    pipc__window_t window = {.to_ms = pipc__now_ms(), .speeds = true};
    pipc__watched_t watched;
    char from[32], to[32];
    pipc_status_t st = PIPC_OK;

    window.from_ms = wants->for_ms ? window.to_ms - wants->for_ms : 0;
    if (wants->job)
        st = pipc__job_window(&here, wants->job, &window, err);
    if (!st)
        st = sum_up(&window, &watched, err);
    if (!st && window.from_ms > 0)
        printf("%s to %s: %s\n", pipc__time_text(window.from_ms, from),
               pipc__time_text(window.to_ms, to), words[watched]);
    return st;
}

int pipc__verb_watch(int argc, char **argv)
{
    wants_t w = {.interval_ms = 10000};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (w.once + w.summary + (w.job > 0) > 1)
        return pipc__verb_usage("--once, --summary and --job", "one of them at a time");
    if (w.for_ms && (w.once || w.job))
        return pipc__verb_usage("--for", "for a watch, or with --summary");
    if (w.sysroot && (w.summary || w.job))
        return pipc__verb_usage("--sysroot", "of a captured machine there is no record");
    umask(022);
    if (pipc__config_read(PIPC_CONFIG, 0, &config, &err))
        fprintf(stderr, PIPC__HEALTH_NAME ": %s; the defaults are used\n", err.text);
    pipc_status_t st = w.summary || w.job ? look_back(&w, config.sysroot, &err)
                                          : watch(&w, w.sysroot ? w.sysroot : config.sysroot, &err);
    if (st)
        complain(err.text);
    return pipc__cli_finish(&cli, st ? PIPC__EXIT_UNKNOWN : PIPC__EXIT_OK);
}
