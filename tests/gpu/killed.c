/* tests/gpu/killed.c - how soon a rank knows that its peer was killed, kernels of both under way
 *
 *     killed                 two ranks, a GPU each; TAP
 *     killed --within MSEC   fails where it took longer; without, any time before the test ends is
 * good
 *
 * Says whether the GPUs are shared through MPS; tests/gpu/mps.t runs it there. Skipped with fewer
 * than two GPUs.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/comm/comm.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/ranks.h"

#define BYTES ((size_t)16 << 20)
#define CALLS 200
#define KILL_AT 100
#define MPS_ENABLED ((CUdevice_attribute)133) /* CUDA 12.3 */

typedef struct shared {
    double killed; /* seconds, as now() */
    double known;
    int mps; /* -1: the driver does not say */
} shared_t;

typedef struct meeting {
    ranks_t *all;
    int rank;
} meeting_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return 0;
}

static int create(pipc_comm_t **comm, meeting_t *m)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, 2, allgather, m};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc__error_t err;

    c.backend = PIPC_BACKEND_CUDA;
    c.plan = "two-shot";
    c.callbacks = &calls;
    if (!pipc__comm_create(comm, &c, &pipc__xchg_auto, &err))
        return 0;
    fprintf(stderr, "# rank %d: %s\n", m->rank, err.text);
    return 1;
}

/* Rank 0 hears of it while its stream is full of calls that can't end. */
static int survive(pipc_comm_t *comm, shared_t *s)
{
    const struct timespec pause = {0, 100000};
    pipc_status_t async = PIPC_OK;

    while (!async) {
        if (pipc_comm_async_error(comm, &async))
            return 3;
        nanosleep(&pause, NULL);
    }
    s->known = now();
    fprintf(stderr, "# rank 0: %s\n", pipc_last_error());
    return async == PIPC_ERR_PEER_LOST && strstr(pipc_last_error(), "rank 1 (process ") ? 0 : 4;
}

/* After that its GPU takes other work. */
static void use_gpu(char *x)
{
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 1, BYTES, gpu_streams[1]);
    MUST(StreamSynchronize, gpu_streams[1]);
}

static int body(ranks_t *all, int rank, void *arg)
{
    meeting_t m = {all, rank};
    shared_t *s = arg;
    pipc_status_t st = PIPC_OK;
    pipc_comm_t *comm;
    CUdevice device;

    exec_memory_gpu.begin(rank);
    MUST(CtxGetDevice, &device);
    if (!rank && gpu->DeviceGetAttribute(&s->mps, MPS_ENABLED, device))
        s->mps = -1;
    char *x = exec_memory_gpu.alloc(BYTES), *y = exec_memory_gpu.alloc(BYTES);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 0, BYTES, gpu_streams[0]);
    if (create(&comm, &m))
        return 2;
    for (int i = 0; !st && i < CALLS; i++) {
        if (rank == 1 && i == KILL_AT) {
            s->killed = now();
            raise(SIGKILL);
        }
        st = pipc_allreduce(comm, x, y, BYTES / 4, PIPC_F32, PIPC_SUM, gpu_streams[0]);
    }
    int bad = survive(comm, s);
    pipc_comm_destroy(comm);
    use_gpu(x);
    return bad;
}

int main(int argc, char **argv)
{
    double within = argc == 3 && !strcmp(argv[1], "--within") ? atof(argv[2]) : 1e9;
    char why[PIPC__ERROR_MAX];
    int exits[2], n = gpu_count(why);

    if (n < 2) {
        printf("1..0 # SKIP %s\n", n ? "one GPU" : why);
        return 0;
    }
    shared_t *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return 1;
    int late = ranks_run_each(2, body, s, 60, exits);
    double msec = 1e3 * (s->known - s->killed);
    bool good = !late && exits[0] == 0 && exits[1] == 128 + SIGKILL && msec <= within;
    printf("# MPS: %s\n", s->mps < 0 ? "the driver does not say" : s->mps ? "yes" : "no");
    printf("# rank 0 knew after %.1f ms (exits %d and %d)\n", msec, exits[0], exits[1]);
    printf("%sok 1 - a peer that is killed is named, and the GPU goes on\n1..1\n",
           good ? "" : "not ");
    return !good;
}
