/* prolog/job.c - see job.h */
#include "prolog/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prolog/job_id.h"
#include "prolog/looks.h"
#include "prolog/state.h"
#include "prolog/watch.h"

#define ENTRIES_MAX 8192
#define DAY 86400

/* ---- the folders --------------------------------------------------------------------------- */

/* Open @above/jobs; -1 after a failure. */
static int open_jobs(const char *above, uid_t owner, mode_t mode, pipc__error_t *err)
{
    char path[512];
    int dir, outer;

    if ((size_t)snprintf(path, sizeof(path), "%s/" PIPC__JOB_FOLDER, above) >= sizeof(path)) {
        pipc__fail(err, PIPC_ERR_INVALID, "%s: too long", above);
        return -1;
    }
    if (pipc__state_open(above, owner, &outer, err))
        return -1;
    close(outer);
    if (pipc__state_open(path, owner, &dir, err))
        return -1;
    fchmod(dir, mode);
    return dir;
}

static void file_of(uint32_t job, char out[PIPC__STATE_NAME_MAX])
{
    snprintf(out, PIPC__STATE_NAME_MAX, "%u.json", job);
}

typedef struct entry {
    uint32_t job;
    uid_t uid;
    int64_t time;
} entry_t;

/* A user's together, his oldest first. */
static int by_user(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* "JOB.json" and nothing else. */
static bool is_report(const char *name, uint32_t *job)
{
    char number[32], again[PIPC__STATE_NAME_MAX];

    snprintf(number, sizeof(number), "%.*s", (int)strcspn(name, "."), name);
    if (!pipc__job_id(number, job))
        return false;
    file_of(*job, again);
    return strcmp(again, name) == 0;
}

/* ctime: the owner of a file can set its other times, but this one to the present at most. */
static int list(int dir, entry_t *entries)
{
    int fd = dup(dir), n = 0;
    DIR *open = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    struct stat st;

    if (!open && fd >= 0)
        close(fd);
    if (!open)
        return 0;
    rewinddir(open);
    while (n < ENTRIES_MAX && (e = readdir(open)))
        if (is_report(e->d_name, &entries[n].job) &&
            fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            entries[n].uid = st.st_uid, entries[n++].time = st.st_ctime;
    closedir(open);
    return n;
}

/* The oldest of who has the most; @entries as by_user() has them, those that are gone of job 0. */
static entry_t *next_to_go(entry_t *entries, int n)
{
    entry_t *found = NULL;
    int most = 0;

    for (int i = 0, k; i < n; i = k) {
        entry_t *oldest = NULL;
        int has = 0;
        for (k = i; k < n && entries[k].uid == entries[i].uid; k++) {
            has += entries[k].job != 0;
            if (!oldest && entries[k].job != 0)
                oldest = &entries[k];
        }
        if (has > most) {
            most = has;
            found = oldest;
        }
    }
    return found;
}

static void remove_report(int dir, entry_t *e)
{
    char name[PIPC__STATE_NAME_MAX];

    file_of(e->job, name);
    unlinkat(dir, name, 0);
    e->job = 0;
}

void pipc__job_prune(int dir, int most, int64_t since)
{
    entry_t *entries = calloc(ENTRIES_MAX, sizeof(*entries)), *e;
    int n = entries ? list(dir, entries) : 0, left = n;

    if (n > 0)
        qsort(entries, (size_t)n, sizeof(*entries), by_user);
    for (int i = 0; i < n; i++)
        if (entries[i].time < since) {
            remove_report(dir, &entries[i]);
            left--;
        }
    for (; left > most && (e = next_to_go(entries, n)); left--)
        remove_report(dir, e);
    free(entries);
}

/* ---- before -------------------------------------------------------------------------------- */

/* The devices are those of the last check, if it was of this boot: to find them takes longer than
 * to read their counters. */
static pipc_status_t look_now(const pipc__job_place_t *place, pipc__counters_t *out,
                              pipc__error_t *err)
{
    pipc__looks_t looks = {.n = 0};
    int dir;
    pipc_status_t st = pipc__state_open(place->run, place->owner, &dir, err);
    bool known =
        !st && pipc__looks_read(dir, PIPC__LOOKS_REFERENCE, place->owner, place->sysroot, &looks);

    if (dir >= 0)
        close(dir);
    if (!known)
        return pipc__counters_find(place->sysroot, out, err);
    st = pipc__counters_copy(&looks.look[looks.n - 1], out, err);
    if (!st)
        pipc__counters_sample(out, place->sysroot);
    pipc__looks_free(&looks);
    return st;
}

pipc_status_t pipc__job_begin(const pipc__job_place_t *place, uint32_t job, pipc__error_t *err)
{
    char name[PIPC__STATE_NAME_MAX];
    pipc__counters_t now;
    int dir = open_jobs(place->run, place->owner, 0700, err);
    pipc_status_t st;

    if (dir < 0)
        return PIPC_ERR_SYSTEM;
    st = look_now(place, &now, err);
    file_of(job, name);
    if (!st)
        st = pipc__look_keep(dir, name, 0600, place->sysroot, &now, err);
    pipc__counters_free(&now);
    pipc__job_prune(dir, PIPC__JOB_STARTS, 0); /* of this boot; a job may run for months */
    close(dir);
    return st;
}

/* ---- after --------------------------------------------------------------------------------- */

/* The look before; false: none was kept. */
static bool read_begin(const pipc__job_place_t *place, uint32_t job, bool forget,
                       pipc__counters_t *out)
{
    char name[PIPC__STATE_NAME_MAX];
    pipc__looks_t looks;
    int dir = open_jobs(place->run, place->owner, 0700, NULL);

    memset(out, 0, sizeof(*out));
    if (dir < 0)
        return false;
    file_of(job, name);
    bool there = pipc__looks_read(dir, name, place->owner, place->sysroot, &looks);
    if (there) {
        *out = looks.look[0];
        looks.look[0].dev = NULL;
    }
    pipc__looks_free(&looks);
    if (forget)
        unlinkat(dir, name, 0);
    close(dir);
    return there;
}

/* By the uptime: clocks are set, and the record's times are those of the clock as it is now. */
static int64_t begin_ms(const pipc__counters_t *begin, int64_t now_ms)
{
    return now_ms - (int64_t)((pipc__uptime() - begin->uptime) * 1000);
}

static pipc_status_t find_out(const pipc__job_place_t *place, pipc__job_facts_t *facts,
                              pipc__error_t *err)
{
    pipc__counters_t before, after;
    bool known = read_begin(place, facts->job, true, &before);
    pipc_status_t st = known ? pipc__counters_copy(&before, &after, err)
                             : pipc__counters_find(place->sysroot, &after, err);

    if (!st) {
        pipc__counters_sample(&after, place->sysroot);
        facts->counting = after.counting;
        st = pipc__deltas(known ? &before : &after, &after, &facts->links, err);
    }
    facts->end_ms = pipc__now_ms();
    facts->start_ms = known ? begin_ms(&before, facts->end_ms) : -1;
    pipc__counters_free(&before);
    pipc__counters_free(&after);
    if (st || !known)
        return st;
    const pipc__window_t window = {facts->start_ms, facts->end_ms, false};
    return pipc__diary_read(place->state, place->owner, &window, &facts->changes, &facts->watched,
                            err);
}

/* Root's until it is whole: then it is given to its owner. */
static pipc_status_t write_report(int dir, const pipc__job_facts_t *facts, pipc__error_t *err)
{
    char name[PIPC__STATE_NAME_MAX];
    json_t *json = pipc__job_to_json(facts);
    char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    pipc_status_t st = PIPC_ERR_NOMEM;

    json_decref(json);
    file_of(facts->job, name);
    if (!text)
        pipc__fail(err, st, "%s: out of memory", name);
    else if (strlen(text) > PIPC__JOB_BYTES)
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s: larger than %d bytes", name, PIPC__JOB_BYTES);
    else
        st = pipc__state_write(dir, name, 0400, text, strlen(text), err);
    free(text);
    if (!st && fchownat(dir, name, facts->uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW))
        st = pipc__fail_errno(err, "%s: cannot be given to uid %u", name, facts->uid);
    return st;
}

pipc_status_t pipc__job_end(const pipc__job_place_t *place, uint32_t job, uid_t uid,
                            pipc__error_t *err)
{
    pipc__job_facts_t facts = {.job = job, .uid = uid};
    int dir = open_jobs(place->state, place->owner, 0711, err); /* nobody lists others' jobs */
    pipc_status_t st;

    if (dir < 0)
        return PIPC_ERR_SYSTEM;
    st = find_out(place, &facts, err);
    if (!st)
        st = write_report(dir, &facts, err);
    pipc__deltas_free(&facts.links);
    pipc__changes_free(&facts.changes);
    pipc__job_prune(dir, PIPC__JOB_REPORTS, time(NULL) - (int64_t)PIPC__JOB_DAYS * DAY);
    close(dir);
    return st;
}

/* ---- reading ------------------------------------------------------------------------------- */

static pipc_status_t parse(const char *name, const char *text, size_t n, json_t **out,
                           pipc__error_t *err)
{
    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    if (*out && json_integer_value(json_object_get(*out, "schema")) == 1)
        return PIPC_OK;
    json_decref(*out);
    *out = NULL;
    return pipc__fail(err, PIPC_ERR_INVALID, "%s: no report, or one of another version", name);
}

pipc_status_t pipc__job_read(const char *state, uint32_t job, json_t **out, pipc__error_t *err)
{
    char folder[512], name[PIPC__STATE_NAME_MAX], *text;
    pipc_status_t st = PIPC_ERR_NOT_FOUND;
    struct stat about;
    size_t n;

    *out = NULL;
    file_of(job, name);
    snprintf(folder, sizeof(folder), "%s/" PIPC__JOB_FOLDER, state);
    int dir = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstatat(dir, name, &about, AT_SYMLINK_NOFOLLOW))
        pipc__fail(err, st, "there is no report of job %u on this node", job);
    else if (!(st = pipc__state_read(dir, name, about.st_uid, PIPC__JOB_BYTES, &text, &n, err))) {
        st = parse(name, text, n, out, err);
        free(text);
    }
    if (dir >= 0)
        close(dir);
    return st;
}

static double number(const json_t *report, const char *key)
{
    return json_number_value(json_object_get(report, key));
}

pipc_status_t pipc__job_window(const pipc__job_place_t *place, uint32_t job, pipc__window_t *window,
                               pipc__error_t *err)
{
    pipc__counters_t begin;
    json_t *report;
    pipc_status_t st;

    if (read_begin(place, job, false, &begin)) {
        window->to_ms = pipc__now_ms();
        window->from_ms = begin_ms(&begin, window->to_ms);
        pipc__counters_free(&begin);
        return PIPC_OK;
    }
    st = pipc__job_read(place->state, job, &report, err);
    if (st)
        return st;
    if (!json_is_number(json_object_get(report, "start")) || number(report, "start") < 0 ||
        number(report, "end") < number(report, "start") || number(report, "end") > 1e12)
        st = pipc__fail(err, PIPC_ERR_NOT_FOUND, "job %u: its beginning is not known", job);
    window->from_ms = st ? 0 : (int64_t)(number(report, "start") * 1000);
    window->to_ms = st ? 0 : (int64_t)(number(report, "end") * 1000);
    json_decref(report);
    return st;
}
