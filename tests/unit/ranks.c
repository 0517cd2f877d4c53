/* tests/unit/ranks.c - see ranks.h */
#include "tests/unit/ranks.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/plan/plan.h"

struct ranks {
    int n;
    _Atomic int arrived, generation;
    int pid[PIPC__RANKS_MAX];
    unsigned char data[PIPC__RANKS_MAX][1024];
};

static void meet(ranks_t *all)
{
    int generation = all->generation;

    if (atomic_fetch_add(&all->arrived, 1) + 1 == all->n) {
        all->arrived = 0;
        all->generation = generation + 1;
    }
    while (all->generation == generation)
        sched_yield();
}

void ranks_gather(ranks_t *all, int rank, const void *mine, size_t bytes, void *out)
{
    if (bytes)
        memcpy(all->data[rank], mine, bytes);
    all->pid[rank] = getpid();
    meet(all);
    for (int r = 0; bytes && r < all->n; r++)
        memcpy((char *)out + (size_t)r * bytes, all->data[r], bytes);
    meet(all); /* nobody overwrites what another one still reads */
}

int ranks_size(const ranks_t *all)
{
    return all->n;
}

int ranks_pid(const ranks_t *all, int rank)
{
    return all->pid[rank];
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* These alone: the caller may have other children. */
static int reap(const pid_t *pid, int n, int seconds, int *exits)
{
    double end = now() + seconds;
    bool running[PIPC__RANKS_MAX];
    int left = n;

    for (int r = 0; r < n; r++)
        running[r] = true;
    while (left && now() < end) {
        for (int r = 0; r < n; r++) {
            int status;
            if (!running[r] || waitpid(pid[r], &status, WNOHANG) != pid[r])
                continue;
            exits[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            running[r] = false;
            left--;
        }
        if (left)
            usleep(1000);
    }
    if (!left)
        return 0;
    fprintf(stderr, "# ranks: %d of %d still ran after %d s\n", left, n, seconds);
    for (int r = 0; r < n; r++)
        if (running[r]) {
            kill(pid[r], SIGKILL);
            waitpid(pid[r], NULL, 0);
        }
    return 255;
}

int ranks_run_each(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg, int seconds,
                   int *exits)
{
    pid_t pid[PIPC__RANKS_MAX];
    ranks_t *all =
        mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        abort();
    all->n = n;
    fflush(NULL);
    for (int r = 0; r < n; r++) {
        exits[r] = 255;
        pid[r] = fork();
        if (pid[r] < 0)
            abort();
        if (!pid[r]) {
            int rc = body(all, r, arg);
            fflush(stderr);
            _exit(rc);
        }
    }
    int rc = reap(pid, n, seconds, exits);
    munmap(all, sizeof(*all));
    return rc;
}

int ranks_join(const char *file, int rank, int n, int (*body)(ranks_t *all, int rank, void *arg),
               void *arg)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ranks_t *all;

    if (fd < 0 || ftruncate(fd, sizeof(*all)))
        abort();
    all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        abort();
    all->n = n; /* all write the same */
    return body(all, rank, arg);
}

int ranks_run(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg, int seconds)
{
    int exits[PIPC__RANKS_MAX];
    int rc = ranks_run_each(n, body, arg, seconds, exits);

    for (int r = 0; !rc && r < n; r++)
        rc = exits[r];
    return rc;
}

/* --- threads as ranks ------------------------------------------------------------------------ */

typedef struct thread_rank {
    pthread_t thread;
    ranks_t *all;
    int rank, rc;
    int (*body)(ranks_t *all, int rank, void *arg);
    void *arg;
} thread_rank_t;

static void *thread_main(void *arg)
{
    thread_rank_t *t = arg;

    t->rc = t->body(t->all, t->rank, t->arg);
    return NULL;
}

int ranks_run_threads(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg)
{
    thread_rank_t t[PIPC__RANKS_MAX];
    ranks_t *all = calloc(1, sizeof(*all));
    int rc = 0;

    if (!all)
        abort();
    all->n = n;
    for (int r = 0; r < n; r++) {
        t[r] = (thread_rank_t){.all = all, .rank = r, .body = body, .arg = arg};
        if (pthread_create(&t[r].thread, NULL, thread_main, &t[r]))
            abort();
    }
    for (int r = 0; r < n; r++) {
        pthread_join(t[r].thread, NULL);
        rc = rc ? rc : t[r].rc;
    }
    free(all);
    return rc;
}
