/* prolog/guard.c - see guard.h */
#include "prolog/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20   /* how often an end is looked for that no pipe tells of */
#define FDS_MAX 1024 /* closed one by one where the kernel has no close_range() */
#define KEEP_FDS 4   /* 0, 1, 2 and the record's */

/* ---- the child ----------------------------------------------------------------------------- */

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    for (int fd = first; fd < FDS_MAX; fd++)
        close(fd);
}

/* What is run, and where the two streams go that are read. */
typedef struct program {
    const char *path;
    char *const *argv, *const *environment;
    int record_fd; /* its standard output, or one of its own */
} program_t;

/* Never returns. Between fork() and execve(), in a program without threads. */
static void child(const program_t *p, int record, int said)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* slurmd ends its prolog: then this ends too */
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* pipes() made both ends larger than 3, so that none is overwritten here. */
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(said, 2) < 0 ||
        dup2(record, p->record_fd) < 0 || chdir("/"))
        _exit(126);
    close_from(p->record_fd > 2 ? p->record_fd + 1 : 3);
    execve(p->path, p->argv, p->environment);
    dprintf(2, "%s: %s\n", p->path, strerror(errno));
    _exit(127);
}

/* ---- the parent ---------------------------------------------------------------------------- */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

typedef struct stream {
    int fd; /* -1: at its end */
    char *buf;
    size_t cap, have;
} stream_t;

/* Take what is there, without waiting; what does not fit is read and dropped, so that nobody blocks
 * on a full pipe. */
static void drain(stream_t *s)
{
    char rest[512];
    ssize_t n = 1;

    while (s->fd >= 0 && n > 0) {
        size_t room = s->cap - 1 - s->have;
        n = room > 0 ? read(s->fd, s->buf + s->have, room) : read(s->fd, rest, sizeof(rest));
        if (n > 0 && room > 0)
            s->have += (size_t)n;
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n == 0 || (n < 0 && errno != EAGAIN)) {
            close(s->fd);
            s->fd = -1;
        }
    }
    s->buf[s->have] = '\0';
}

/* Has it ended? It stays a zombie, so that its number, and its group's, are still its own. */
static bool ended(pid_t pid, siginfo_t *how)
{
    how->si_pid = 0;
    return waitid(P_PID, (id_t)pid, how, WEXITED | WNOHANG | WNOWAIT) == 0 && how->si_pid == pid;
}

static void judge_end(const siginfo_t *how, pipc__guard_t *out)
{
    out->clean = how->si_code == CLD_EXITED && how->si_status == 0;
    out->why[0] = '\0';
    if (out->clean)
        return;
    if (how->si_code == CLD_EXITED)
        snprintf(out->why, sizeof(out->why), "ended with status %d", how->si_status);
    else
        snprintf(out->why, sizeof(out->why), "was killed by signal %d", how->si_status);
}

/* Read both streams until the program has ended or the deadline is there. */
static void attend(pid_t pid, stream_t s[2], long deadline, pipc__guard_t *out)
{
    siginfo_t how;

    for (;;) {
        struct pollfd fds[2] = {{s[0].fd, POLLIN, 0}, {s[1].fd, POLLIN, 0}};
        long left = deadline - now_ms();
        if (left <= 0)
            break;
        /* With both pipes at their end the program's own is a matter of a moment. */
        int tick = s[0].fd < 0 && s[1].fd < 0 ? 1 : TICK_MS;
        poll(fds, 2, left < tick ? (int)left : tick);
        bool over = ended(pid, &how);
        drain(&s[0]);
        drain(&s[1]);
        if (over) {
            judge_end(&how, out);
            return;
        }
    }
}

/* Two pipes; all ends above 3, none inherited by what is executed, reading ends without waiting. */
static bool pipes(int record[2], int said[2])
{
    int *const ends[] = {&record[0], &record[1], &said[0], &said[1]};

    if (pipe2(record, O_CLOEXEC) || pipe2(said, O_CLOEXEC))
        return false;
    for (int i = 0; i < 4; i++) {
        int high = fcntl(*ends[i], F_DUPFD_CLOEXEC, KEEP_FDS);
        if (high < 0)
            return false;
        close(*ends[i]);
        *ends[i] = high;
    }
    return fcntl(record[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(said[0], F_SETFL, O_NONBLOCK) == 0;
}

/* @s[0] gets the record, @s[1] what is said. */
static void run(const program_t *p, int deadline_ms, stream_t s[2], pipc__guard_t *out)
{
    long deadline = now_ms() + deadline_ms;
    int record[2], said[2];
    pid_t pid;

    if (!pipes(record, said) || (pid = fork()) < 0) {
        snprintf(out->why, sizeof(out->why), "could not be started: %s", strerror(errno));
        return;
    }
    if (pid == 0)
        child(p, record[1], said[1]);
    close(record[1]);
    close(said[1]);
    s[0].fd = record[0];
    s[1].fd = said[0];
    snprintf(out->why, sizeof(out->why), "gave no answer in %d.%d s", deadline_ms / 1000,
             deadline_ms % 1000 / 100);
    attend(pid, s, deadline, out);
    /* Children that it left behind go too. Nothing is waited for: a process that sleeps in a driver
     * takes its SIGKILL when it wakes, and then it is init's. */
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, WNOHANG);
    for (int i = 0; i < 2; i++)
        if (s[i].fd >= 0)
            close(s[i].fd);
}

void pipc__guard_run(const char *path, char *const argv[], int deadline_ms, pipc__guard_t *out)
{
    static char locale[] = "LC_ALL=C";
    char *const environment[] = {locale, NULL};
    const program_t p = {path, argv, environment, PIPC__GUARD_RECORD_FD};

    memset(out, 0, sizeof(*out));
    stream_t s[2] = {{-1, out->record, sizeof(out->record), 0},
                     {-1, out->said, sizeof(out->said), 0}};
    run(&p, deadline_ms, s, out);
}

size_t pipc__guard_read(const char *path, char *const argv[], char *const environment[],
                        int deadline_ms, char *buf, size_t cap, pipc__guard_t *out)
{
    const program_t p = {path, argv, environment, 1};

    memset(out, 0, sizeof(*out));
    buf[0] = '\0';
    stream_t s[2] = {{-1, buf, cap, 0}, {-1, out->said, sizeof(out->said), 0}};
    run(&p, deadline_ms, s, out);
    return s[0].have;
}
