/* tests/gpu/early.c - see early.h */
#include "tests/gpu/early.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_module.h"
#include "runtime/exec/perturb.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/exec_calls.h"

#define STAGING ((size_t)64 << 20)
#define COUNT ((size_t)200001)
#define CALLS 6
#define LATE_NSEC 300000
#define BLOCKS 4 /* leave room for what may begin early */

/* tests/gpu/early_kernels.cu */
extern const pipc__fatbin_t pipc__early_kernels_code[];

typedef struct early {
    pipc__proto_t proto;
    bool drop; /* the wait; with delays alone */
} early_t;

#define NOT_HERE 77 /* no such protocol, or nothing begins early */

static CUfunction load_fill(void)
{
    CUmodule module;
    CUfunction fill;
    pipc__error_t err;

    if (pipc__cuda_load_module(gpu, &module, pipc__early_kernels_code, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        _Exit(1);
    }
    MUST(ModuleGetFunction, &fill, module, "early_fill");
    return fill;
}

/* The input is stale until the kernel before the call writes it. */
static int call_behind_fill(rank_exec_t *re, pipc__exec_call_t *k, CUfunction fill, float value)
{
    CUdeviceptr x = (CUdeviceptr)(uintptr_t)k->send;
    size_t count = k->count;
    uint64_t nsec = LATE_NSEC;
    void *params[] = {&x, &count, &value, &nsec};
    pipc__error_t err;

    MUST(MemsetD8Async, x, 0xbf, count * 4, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    MUST(LaunchKernel, fill, BLOCKS, 1, 1, 256, 1, 1, 0, gpu_streams[0], params, NULL);
    if (re->exec->ops->run(re->exec, k, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        return EXEC_FAILED;
    }
    MUST(StreamSynchronize, gpu_streams[0]);
    return 0;
}

static int body(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT};
    static float y[COUNT];
    const early_t *e = arg;
    int n = ranks_size(all), bad = 0;
    rank_exec_t re;

    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, STAGING, (rank_plans_t){&one, 1}, all, rank);
    pipc__exec_call_t k = {.plan = re.plans[0],
                           .send = exec_memory_gpu.alloc(COUNT * 4),
                           .recv = exec_memory_gpu.alloc(COUNT * 4),
                           .count = COUNT,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .proto = e->proto,
                           .blocks = 16};
    CUfunction fill = load_fill();
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)re.exec;
    bool here = re.exec->ops->can(re.exec, k.plan, e->proto, COUNT * 4, false) &&
                (x->begins_early || !e->drop);
#ifdef PIPC_PERTURB
    pipc__perturb = (pipc__perturb_t){.drop_step = e->drop ? PIPC__GRID_STEP : -1};
#endif
    for (int call = 1; here && bad != EXEC_FAILED && call <= CALLS; call++) {
        k.number = (uint64_t)call;
        int rc = call_behind_fill(&re, &k, fill, (float)(rank + call));
        exec_memory_gpu.get((char *)y, k.recv, sizeof(y));
        for (size_t i = 0; !rc && i < COUNT; i++)
            rc = y[i] == (float)(n * (n - 1) / 2 + n * call) ? 0 : EXEC_WRONG;
        bad = rc ? rc : bad; /* a wrong one leaves the others to be made: the peer makes them */
    }
    rank_exec_close(&re);
    return here ? bad : NOT_HERE;
}

static const pipc__proto_t protos[] = {PIPC__PROTO_SIMPLE, PIPC__PROTO_LL, PIPC__PROTO_LL128,
                                       PIPC__PROTO_PUSH, PIPC__PROTO_CE};

void calls_wait_for_what_comes_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
        early_t e = {protos[i], false};
        int rc = ranks_run(2, body, &e, 60);
        if (rc && rc != NOT_HERE)
            fail_msg("protocol %d: %d", (int)protos[i], rc);
    }
}

void the_wait_for_what_comes_before_is_needed(void **state)
{
    int missed = 0;

    (void)state;
    for (size_t i = 0; protos[i] != PIPC__PROTO_CE; i++) { /* whose launch never begins early */
        early_t e = {protos[i], true};
        int rc = ranks_run(2, body, &e, 60);
        if (rc != EXEC_WRONG && rc != NOT_HERE)
            fail_msg("protocol %d without the wait: %d", (int)protos[i], rc);
        missed += rc == EXEC_WRONG;
    }
    if (!missed)
        skip();
}
