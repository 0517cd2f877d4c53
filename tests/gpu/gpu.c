/* tests/gpu/gpu.c - see gpu.h */
#include "tests/gpu/gpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const pipc__cuda_t *gpu;
CUstream gpu_streams[2];
int gpu_found, gpu_sharers;
static CUstream copies; /* apart from the streams under test */

void gpu_must(CUresult rc, const char *what)
{
    pipc__error_t err;

    if (!rc)
        return;
    pipc__cuda_fail(gpu, rc, &err, "%s", what);
    fprintf(stderr, "# %s\n", err.text);
    _exit(101);
}

typedef struct answer {
    int count;
    char why[PIPC__ERROR_MAX];
} answer_t;

static void ask(int fd)
{
    answer_t a = {0, ""};
    pipc__error_t err;

    if (pipc__cuda_open(&gpu, &err))
        snprintf(a.why, sizeof(a.why), "%s", err.text);
    else if (gpu->DeviceGetCount(&a.count) || !a.count)
        snprintf(a.why, sizeof(a.why), "no GPU");
    _exit(write(fd, &a, sizeof(a)) != sizeof(a));
}

int gpu_count(char *why)
{
    answer_t a = {0, "the driver can't be asked"};
    int fd[2];

    if (pipe(fd))
        return 0;
    pid_t pid = fork();
    if (!pid)
        ask(fd[1]);
    close(fd[1]);
    if (pid < 0 || read(fd[0], &a, sizeof(a)) != sizeof(a))
        a.count = 0;
    close(fd[0]);
    waitpid(pid, NULL, 0);
    memcpy(why, a.why, sizeof(a.why));
    gpu_sharers = a.count == 1 && getenv("CUDA_MPS_PIPE_DIRECTORY") ? 2 : 1;
    return gpu_found = a.count * gpu_sharers;
}

int gpu_ranks(void)
{
    return gpu_found < PIPC__RANKS_MAX ? gpu_found : PIPC__RANKS_MAX;
}

/* NCCL refuses two ranks of one host on a GPU, so each is a host of its own to it. */
static void share(int rank)
{
    char host[16];

    snprintf(host, sizeof(host), "rank%d", rank);
    setenv("NCCL_HOSTID", host, 1);
}

static void begin(int rank)
{
    pipc__error_t err;
    CUcontext context;
    CUdevice device;
    int n;

    if (pipc__cuda_open(&gpu, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        _exit(101);
    }
    MUST(DeviceGetCount, &n);
    if (rank >= n)
        share(rank);
    MUST(DeviceGet, &device, rank % n);
    MUST(DevicePrimaryCtxRetain, &context, device);
    MUST(CtxSetCurrent, context);
    MUST(StreamCreate, &copies, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2; i++)
        MUST(StreamCreate, &gpu_streams[i], CU_STREAM_NON_BLOCKING);
}

static CUdeviceptr address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

static char *alloc(size_t bytes)
{
    CUdeviceptr p = 0;

    MUST(MemAlloc, &p, bytes);
    return (char *)(uintptr_t)p;
}

static void release(char *p)
{
    gpu->MemFree(address(p));
}

static void put(char *to, const void *from, size_t bytes)
{
    MUST(MemcpyHtoDAsync, address(to), from, bytes, copies);
    MUST(StreamSynchronize, copies);
}

static void get(void *to, const char *from, size_t bytes)
{
    MUST(MemcpyDtoHAsync, to, address(from), bytes, copies);
    MUST(StreamSynchronize, copies);
}

/* Mostly the stream of the call before, now and then the other one. */
static void *stream(unsigned int call)
{
    return gpu_streams[call / 3 % 2];
}

const exec_memory_t exec_memory_gpu = {begin, alloc, release, put, get, stream};
