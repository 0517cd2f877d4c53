/* prolog/wake.c - which links are looked at, by a process that can be left behind; see wake.h
 *
 *   parent ---- fork ---- child: opens the driver, copies, reads; a record a link
 *     |    <--- pipe ----
 *
 * Nothing kills what sleeps in a driver, so the child is never waited for, and it has nothing of
 * ours open: a lock that it held would stay taken, a pipe keep its reader waiting.
 */
#include "prolog/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prolog/places.h"

#define VENDOR_NVIDIA 0x10de
#define LINKS_MAX 64
#define FDS_MAX 1024 /* closed one by one where the kernel has no close_range() */
#define PIPE_FD 3

const char *const pipc__wake_names[] = {"never", "nvml", "copy", NULL};

int pipc__wake_parse(const char *name)
{
    for (int i = 0; pipc__wake_names[i]; i++)
        if (strcmp(pipc__wake_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- which links --------------------------------------------------------------------------- */

static bool is_wanted(const pipc__wake_t *wake, const char *gpu)
{
    if (!wake->gpus)
        return true;
    for (const char *const *g = wake->gpus; *g; g++)
        if (strcmp(*g, gpu) == 0)
            return true;
    return false;
}

static bool is_noted(const pipc__findings_t *findings, const char *name)
{
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].code == PIPC__CODE_SPEED &&
            strcmp(findings->list[i].object, name) == 0)
            return true;
    return false;
}

static int choose(const pipc__wake_t *wake, const pipc__facts_t *facts,
                  const pipc__findings_t *findings, pipc__wake_link_t *links)
{
    int n = 0;

    for (int i = 0; i < facts->n && n < LINKS_MAX; i++) {
        const pipc__fact_t *f = &facts->dev[i];
        const pipc__fact_t *p = pipc__has_link(facts, f) ? &facts->dev[f->parent] : NULL;
        if (!f->gpu || f->vendor != VENDOR_NVIDIA || !is_wanted(wake, f->name) ||
            !is_noted(findings, f->name))
            continue;
        links[n] = (pipc__wake_link_t){.want_mts = pipc__link_wanted_mts(p, f), .mode = wake->mode};
        memcpy(links[n].gpu, f->name, sizeof(f->name));
        /* A port that says nothing of its link is as good as none. */
        if (p && p->link.mts >= 0)
            memcpy(links[n].port, p->name, sizeof(p->name));
        n++;
    }
    return n;
}

/* ---- the child ----------------------------------------------------------------------------- */

typedef struct record {
    int i; /* -1: that was all */
    pipc__wake_link_t link;
} record_t;

static void put(void *arg, int i, const pipc__wake_link_t *link)
{
    record_t r = {.i = i};

    (void)arg;
    if (link)
        r.link = *link;
    if (write(PIPE_FD, &r, sizeof(r)) != (ssize_t)sizeof(r)) /* < PIPE_BUF: whole */
        _exit(1);
}

static void keep_only(int fd)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        (fd != PIPE_FD && dup2(fd, PIPE_FD) < 0))
        _exit(1);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, PIPE_FD + 1, ~0u, 0) == 0)
        return;
#endif
    for (int other = PIPE_FD + 1; other < FDS_MAX; other++)
        close(other);
}

static void child(const pipc__wake_t *wake, pipc__wake_link_t *links, int n, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_only(fd);
    pipc__wake_look(wake, links, n, put, NULL);
    put(NULL, -1, NULL);
    _exit(0); /* no exit handlers of the driver's: they might wait */
}

/* ---- the parent ---------------------------------------------------------------------------- */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

/* Until the last record, the child's end or the deadline. */
static void collect(int fd, long deadline, pipc__wake_link_t *links, int n)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    record_t r;

    for (;;) {
        long left = deadline - now_ms();
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || read(fd, &r, sizeof(r)) != (ssize_t)sizeof(r) || r.i < 0 || r.i >= n)
            return;
        links[r.i] = r.link;
    }
}

/* The records tell what is known; a failure to start tells that nothing is. */
static void look(const pipc__wake_t *wake, pipc__wake_link_t *links, int n)
{
    long deadline = now_ms() + wake->deadline_ms;
    pipc__wake_link_t *copies = malloc(sizeof(*copies) * (size_t)n);
    int fd[2];
    pid_t pid;

    if (!copies || pipe2(fd, O_CLOEXEC)) {
        free(copies);
        return;
    }
    memcpy(copies, links, sizeof(*copies) * (size_t)n);
    pid = fork();
    if (pid == 0)
        child(wake, copies, n, fd[1]);
    close(fd[1]);
    if (pid > 0) {
        collect(fd[0], deadline, links, n);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG);
    }
    close(fd[0]);
    free(copies);
}

/* ---- the findings -------------------------------------------------------------------------- */

static pipc_status_t confirm(const pipc__wake_link_t *link, const char *why,
                             const pipc__limits_t *limits, pipc__findings_t *findings, int at,
                             pipc__error_t *err)
{
    pipc__finding_t f = findings->list[at];
    char is[24];

    f.code = PIPC__CODE_STAYS_SLOW;
    f.severity = limits->severity[f.code];
    snprintf(f.seen, sizeof(f.seen), "link stays at %s, %s", pipc__speed_text(link->mts[0], is),
             why);
    snprintf(f.remedy, sizeof(f.remedy), "%s", pipc__codes[f.code].remedy);
    if (f.severity == PIPC__OK)
        return PIPC_OK; /* the note says as much */
    pipc__findings_remove(findings, at);
    return pipc__findings_add(findings, &f, err);
}

static pipc_status_t apply(const pipc__wake_link_t *link, const pipc__facts_t *facts,
                           const pipc__limits_t *limits, pipc__findings_t *findings,
                           pipc__error_t *err)
{
    char why[96], should[24];
    pipc__wake_verdict_t verdict = pipc__wake_judge(link, facts->virtual_machine, why);
    size_t used;

    for (int i = 0; i < findings->n; i++) {
        pipc__finding_t *f = &findings->list[i];
        if (f->code != PIPC__CODE_SPEED || strcmp(f->object, link->gpu) != 0)
            continue;
        if (verdict == PIPC__WAKE_SLOW)
            return confirm(link, why, limits, findings, i, err);
        used = strlen(f->seen);
        if (verdict == PIPC__WAKE_FAST) {
            snprintf(f->seen + used, sizeof(f->seen) - used, " and reached %s %s",
                     pipc__speed_text(link->want_mts, should), why);
            f->expected[0] = '\0';
        } else {
            snprintf(f->seen + used, sizeof(f->seen) - used, " (%s)", why);
        }
        return PIPC_OK;
    }
    return PIPC_OK;
}

pipc_status_t pipc__wake(const pipc__wake_t *wake, const pipc__facts_t *facts,
                         const pipc__limits_t *limits, pipc__findings_t *findings,
                         pipc__error_t *err)
{
    pipc__wake_link_t links[LINKS_MAX];
    pipc_status_t st = PIPC_OK;
    int n = wake->mode == PIPC__WAKE_NEVER ? 0 : choose(wake, facts, findings, links);

    if (n > 0)
        look(wake, links, n);
    for (int i = 0; i < n && !st; i++)
        st = apply(&links[i], facts, limits, findings, err);
    return st;
}
