/* tools/p2p/workers.c - see p2p.h. A process that has started CUDA can't fork ones that use it, and
 * one that hangs in the driver can only be killed: so the parent never starts CUDA.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/tools/p2p/p2p.h"

#define LIST_SEC 30 /* to start CUDA and look at the GPUs */

static void pause_msec(int msec)
{
    const struct timespec t = {0, msec * 1000000L};

    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool p2p_give_up(p2p_shared_t *s, const pipc__error_t *err)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&s->over, &none, 1))
        s->err = *err;
    return false;
}

bool p2p_meet(p2p_shared_t *s)
{
    int mine = atomic_load(&s->generation);

    if (atomic_fetch_add(&s->arrived, 1) + 1 == s->nworkers) {
        atomic_store(&s->arrived, 0);
        atomic_fetch_add(&s->generation, 1);
    }
    for (int i = 0; atomic_load(&s->generation) == mine && !atomic_load(&s->over); i++)
        if (i > 1000)
            pause_msec(1);
    return !atomic_load(&s->over);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool reap(pid_t *pid, int n, bool *died)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        int status = 0;
        if (pid[i] <= 0)
            continue;
        pid_t got = waitpid(pid[i], &status, WNOHANG);
        if (got == pid[i]) {
            pid[i] = 0;
            *died |= !WIFEXITED(status) || WEXITSTATUS(status);
        }
        any |= pid[i] > 0;
    }
    return any;
}

/* Wait for them all, at most @seconds; those that are left are killed. A process in the middle of a
 * driver call may not die at once, and nobody waits for it. */
static void wait_for_all(p2p_shared_t *s, pid_t *pid, int n, int seconds)
{
    double end = now() + seconds;
    bool died = false;
    pipc__error_t why;

    while (reap(pid, n, &died) && now() < end && !atomic_load(&s->over)) {
        if (died) {
            pipc__fail(&why, PIPC_ERR_PEER_LOST, "a worker process ended before its time");
            p2p_give_up(s, &why);
        }
        pause_msec(2);
    }
    if (now() >= end) {
        pipc__fail(
            &why, PIPC_ERR_SYSTEM,
            "not done within %d seconds; give more with --timeout, and look for Xid lines in "
            "the kernel's log",
            seconds);
        p2p_give_up(s, &why);
    }
    for (int k = 0; k < 500 && reap(pid, n, &died); k++) {
        if (k == 100)
            for (int i = 0; i < n; i++)
                if (pid[i] > 0)
                    kill(pid[i], SIGKILL);
        pause_msec(2);
    }
}

static void list_in_child(p2p_shared_t *s)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (p2p_list(s, &err))
        p2p_give_up(s, &err);
    _exit(0);
}

static pid_t start(p2p_shared_t *s, int worker)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    if (worker < 0)
        list_in_child(s);
    p2p_measure(s, worker);
    _exit(0);
}

static pipc_status_t list(p2p_shared_t *s, pipc__error_t *err)
{
    pid_t pid = start(s, -1);

    if (pid < 0)
        return pipc__fail_errno(err, "no process to look at the GPUs");
    wait_for_all(s, &pid, 1, LIST_SEC);
    if (!atomic_load(&s->over))
        return PIPC_OK;
    return pipc__fail(err, s->err.status, "%s", s->err.text);
}

static void measure(p2p_shared_t *s)
{
    pid_t pid[P2P_GPUS_MAX] = {0};
    pipc__error_t why;

    s->nworkers = s->wants.ipc ? s->n : 1;
    atomic_store(&s->from, -1);
    for (int w = 0; w < s->nworkers; w++) {
        pid[w] = start(s, w);
        if (pid[w] < 0) {
            pipc__fail_errno(&why, "no process for GPU %s", s->gpu[w].bdf);
            p2p_give_up(s, &why);
            break;
        }
    }
    wait_for_all(s, pid, s->nworkers, s->wants.timeout_sec);
    int from = atomic_load(&s->from), to = atomic_load(&s->to);
    /* Where it stopped is where it hung. */
    if (!atomic_load(&s->finished) && from >= 0 && s->pair[from][to].state == PIPC__PATH_UNTESTED)
        s->pair[from][to].state = PIPC__PATH_TIMED_OUT;
}

pipc_status_t p2p_run(p2p_shared_t **shared, const p2p_wants_t *wants, pipc__error_t *err)
{
    p2p_shared_t *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    *shared = NULL;
    if (s == MAP_FAILED)
        return pipc__fail_errno(err, "no memory for the results");
    s->wants = *wants;
    pipc_status_t st = list(s, err);
    if (!st && s->n < 2)
        st = pipc__fail(
            err, PIPC_ERR_NOT_FOUND,
            "one GPU makes no pair; is CUDA_VISIBLE_DEVICES or the device cgroup narrow?");
    if (st) {
        p2p_release(s);
        return st;
    }
    measure(s);
    *shared = s;
    return PIPC_OK;
}

void p2p_release(p2p_shared_t *s)
{
    if (s)
        munmap(s, sizeof(*s));
}
