/* base/ask.c - see ask.h
 *
 *   parent ---- fork ---- child: ask, write records, a byte to say that it is all
 *     |    <--- pipe ----
 */
#include "runtime/base/ask.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASK_FD 3     /* the only open file of the child's, but for 0 to 2 */
#define FDS_MAX 1024 /* closed one by one where the kernel has no close_range() */

static int64_t now_msec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool pipc__ask_put(int fd, const void *record, size_t size)
{
    return write(fd, record, size) == (ssize_t)size; /* < PIPE_BUF: whole */
}

/* Read until the end, the deadline, or @cap bytes; how many. */
static size_t collect(int fd, int64_t deadline, char *to, size_t cap)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t have = 0;

    while (have < cap) {
        int64_t left = deadline - now_msec();
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t n = ready > 0 ? read(fd, to + have, cap - have) : 0;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

/* End the child. One that the driver holds can't be waited for: init gets it in the end. */
static void reap(pid_t child)
{
    struct timespec pause = {0, 10 * 1000 * 1000};

    kill(child, SIGKILL);
    for (int i = 0; i < 20 && waitpid(child, NULL, WNOHANG) == 0; i++)
        nanosleep(&pause, NULL);
}

/* A child that is left behind must have nothing open that others wait for: a lock stays taken, and
 * who reads our output never sees its end. */
static bool keep_only(int fd)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        (fd != ASK_FD && dup2(fd, ASK_FD) < 0))
        return false;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, ASK_FD + 1, ~0u, 0) == 0)
        return true;
#endif
    for (int other = ASK_FD + 1; other < FDS_MAX; other++)
        close(other);
    return true;
}

int pipc__ask_some(pipc__ask_t *ask, void *arg, int timeout_msec, void *records, size_t size,
                   int max, bool *all)
{
    size_t cap = size * (size_t)max + 2, have = 0; /* one more than all shows what is too much */
    char *text = malloc(cap);
    int fd[2];

    *all = false;
    if (!text || pipe2(fd, O_CLOEXEC)) {
        free(text);
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(!keep_only(fd[1]) || !ask(arg, ASK_FD) || !pipc__ask_put(ASK_FD, "", 1));
    }
    close(fd[1]);
    if (child > 0) {
        have = collect(fd[0], now_msec() + timeout_msec, text, cap);
        reap(child);
    }
    close(fd[0]);
    *all = have % size == 1 && have < cap;
    have = have / size < (size_t)max ? have / size : (size_t)max;
    memcpy(records, text, have * size);
    free(text);
    return (int)have;
}

int pipc__ask(pipc__ask_t *ask, void *arg, int timeout_msec, void *records, size_t size, int max)
{
    bool all;
    int n = pipc__ask_some(ask, arg, timeout_msec, records, size, max, &all);

    return all ? n : -1;
}

bool pipc__ask_open(const char *library, const char *const names[], int n, int needed,
                    void *functions[])
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    bool good = handle != NULL;

    for (int i = 0; i < n; i++) {
        functions[i] = handle ? dlsym(handle, names[i]) : NULL;
        good &= i >= needed || functions[i];
    }
    return good;
}
