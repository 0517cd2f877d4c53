/* exec/watchdog.c - see watchdog.h */
#include "runtime/exec/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/exec/fd.h"

#define POLL_MS 50 /* only where there are no pidfds */

struct pipc__watchdog {
    pthread_t thread;
    int stop_fd, n;
    const pipc__watched_t *watched;
    void (*gone)(void *arg, int i);
    void *arg;
    struct pollfd *fds; /* [n + 1]; the last is stop_fd */
    bool *done;         /* [n]; reported already */
};

typedef struct stat_line {
    char state;
    long threads;
    unsigned long long start;
} stat_line_t;

/* Of /proc/PID/stat (proc(5)); false with errno, ENOENT or ESRCH when the process is gone. The
 * command name may hold blanks and parentheses, so fields are counted behind the last one. */
static bool read_stat(int pid, stat_line_t *s)
{
    char buf[1024];

    if (!pipc__file_read(NULL, buf, sizeof(buf), NULL, "proc/%d/stat", pid))
        return false;
    char *p = strrchr(buf, ')');
    errno = EINVAL;
    return p && sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                              "%ld %*d %llu", &s->state, &s->threads, &s->start) == 3;
}

static bool is_gone(int error)
{
    return error == ENOENT || error == ESRCH;
}

/* Of this process there is too little: that says nothing of the other one. */
static bool is_scarce(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static pipc_status_t fail_open(int pid, pipc__error_t *err)
{
    if (is_gone(errno))
        return pipc__fail(err, PIPC_ERR_UNREACHABLE, "process %d is not there", pid);
    return pipc__fail(err, PIPC_ERR_SYSTEM, "process %d can't be watched: %s%s", pid,
                      strerror(errno), errno == EMFILE ? "; raise ulimit -n" : "");
}

pipc_status_t pipc__watched_open(pipc__watched_t *w, int pid, pipc__error_t *err)
{
    stat_line_t s;

    *w = (pipc__watched_t){.pid = 0, .pidfd = -1};
    errno = ENOENT;
    if (pid <= 0 || !read_stat(pid, &s))
        return fail_open(pid, err);
    w->start = s.start;
#ifdef SYS_pidfd_open
    w->pidfd = pipc__fd_keep((int)syscall(SYS_pidfd_open, pid, 0));
    if (w->pidfd < 0 && (errno == ESRCH || is_scarce(errno)))
        return fail_open(pid, err);
#endif
    w->pid = pid;
    return PIPC_OK;
}

/* Without pidfds: that it can't be read here (no descriptor is left) says nothing of it. A first
 * thread that has ended is a zombie as well, as long as others run; with none it waits for its
 * parent, which may never come. */
bool pipc__watched_alive(const pipc__watched_t *w)
{
    struct pollfd p = {w->pidfd, POLLIN, 0};
    stat_line_t s;

    if (w->pidfd >= 0)
        return poll(&p, 1, 0) <= 0;
    if (!read_stat(w->pid, &s))
        return !is_gone(errno);
    return s.start == w->start && !(strchr("ZX", s.state) && s.threads <= 1);
}

void pipc__watched_close(pipc__watched_t *w)
{
    if (w->pid && w->pidfd >= 0)
        close(w->pidfd);
    *w = (pipc__watched_t){.pid = 0, .pidfd = -1};
}

static void look(pipc__watchdog_t *dog)
{
    for (int i = 0; i < dog->n; i++) {
        if (dog->done[i] || pipc__watched_alive(&dog->watched[i]))
            continue;
        dog->done[i] = true;
        dog->fds[i].fd = -1; /* poll skips it from now on */
        dog->gone(dog->arg, i);
    }
}

static void *watch(void *arg)
{
    pipc__watchdog_t *dog = arg;
    int timeout = -1;

    for (int i = 0; i < dog->n; i++)
        if (!dog->done[i] && dog->watched[i].pidfd < 0)
            timeout = POLL_MS;
    for (;;) {
        int n = poll(dog->fds, (nfds_t)dog->n + 1, timeout);
        if (n < 0 && errno != EINTR)
            return NULL;
        if (dog->fds[dog->n].revents)
            return NULL;
        look(dog);
    }
}

static pipc_status_t start_thread(pipc__watchdog_t *dog, pipc__error_t *err)
{
    sigset_t all, old;

    /* The program's signals stay the program's: none is ever delivered to this thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&dog->thread, NULL, watch, dog);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return pipc__fail(err, PIPC_ERR_SYSTEM, "watchdog thread: %s", strerror(rc));
    pthread_setname_np(dog->thread, "pcie-ipc-watch");
    return PIPC_OK;
}

static void dog_free(pipc__watchdog_t *dog)
{
    if (dog->stop_fd >= 0)
        close(dog->stop_fd);
    free(dog->fds);
    free(dog->done);
    free(dog);
}

pipc_status_t pipc__watchdog_start(pipc__watchdog_t **out, const pipc__watched_t *watched, int n,
                                   void (*gone)(void *arg, int i), void *arg, pipc__error_t *err)
{
    pipc__watchdog_t *dog = calloc(1, sizeof(*dog));

    *out = NULL;
    if (!dog)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the watchdog");
    dog->watched = watched;
    dog->n = n;
    dog->gone = gone;
    dog->arg = arg;
    dog->stop_fd = pipc__fd_keep(eventfd(0, EFD_CLOEXEC));
    dog->fds = calloc((size_t)n + 1, sizeof(*dog->fds));
    dog->done = calloc((size_t)n + 1, sizeof(*dog->done));
    pipc_status_t st = PIPC_OK;
    if (dog->stop_fd < 0 || !dog->fds || !dog->done)
        st = pipc__fail_errno(err, "watchdog");
    for (int i = 0; !st && i < n; i++) {
        dog->fds[i] = (struct pollfd){watched[i].pid ? watched[i].pidfd : -1, POLLIN, 0};
        dog->done[i] = !watched[i].pid;
    }
    if (!st) {
        dog->fds[n] = (struct pollfd){dog->stop_fd, POLLIN, 0};
        st = start_thread(dog, err);
    }
    if (st)
        dog_free(dog);
    else
        *out = dog;
    return st;
}

void pipc__watchdog_abandon(pipc__watchdog_t *dog)
{
    if (dog)
        dog_free(dog);
}

void pipc__watchdog_stop(pipc__watchdog_t *dog)
{
    uint64_t one = 1;

    if (!dog)
        return;
    while (write(dog->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    pthread_join(dog->thread, NULL);
    dog_free(dog);
}
