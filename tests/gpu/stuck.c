/* tests/gpu/stuck.c - see stuck.h */
#include "tests/gpu/stuck.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/gpu/gpu.h"
#include "tests/gpu/timing.h"

#define MB ((size_t)1 << 20)
#define SMALL (2 * MB) /* the least staging */

typedef struct stuck {
    pipc__proto_t proto;
    rank_plans_t plans;
    fate_t fate;
} stuck_t;

pipc_status_t stuck_call(rank_exec_t *re, pipc__proto_t proto, char *x, char *y,
                         unsigned int number, pipc__error_t *err)
{
    pipc__exec_call_t k = {.plan = re->plans[0],
                           .send = x,
                           .recv = y,
                           .count = 8 * MB,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .number = number,
                           .proto = proto,
                           .blocks = 16};

    return re->exec->ops->run(re->exec, &k, err);
}

/* What rank 1 does after its first call. */
static pipc_status_t meet_fate(rank_exec_t *re, const stuck_t *s, char *x, char *y,
                               pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (s->fate == DIES_IDLE || s->fate == COMES_LATE)
        usleep(500000); /* the others wait by now */
    if (s->fate == DIES_IDLE)
        raise(SIGKILL);
    for (unsigned int call = 2; !st && call <= 3; call++)
        st = stuck_call(re, s->proto, x, y, call, err);
    if (s->fate == DIES_AT_WORK)
        raise(SIGKILL);
    if (s->fate == ABORTS)
        pipc__control_abort(re->ctl, PIPC_ERR_ABORTED, 1);
    return st;
}

static int judge(const stuck_t *s, int rank, pipc_status_t st, const pipc__error_t *err,
                 double took)
{
    pipc_status_t want = s->fate == COMES_LATE ? PIPC_OK
                         : s->fate == ABORTS   ? PIPC_ERR_ABORTED
                                               : PIPC_ERR_PEER_LOST;

    fprintf(stderr, "# rank %d after %.3f s: %s\n", rank, took, st ? err->text : "well");
    if (st != want || took > 5)
        return 3;
    return st && strncmp(err->text, "rank 1 (process ", 16) ? 4 : 0;
}

/* What the others have enqueued waits for what never comes. The program's own stream and destroy
 * must come to their end. */
static int body(ranks_t *all, int rank, void *arg)
{
    const stuck_t *s = arg;
    pipc__error_t err = {PIPC_OK, ""};
    rank_exec_t re;

    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, SMALL, s->plans, all, rank);
    char *x = exec_memory_gpu.alloc(32 * MB), *y = exec_memory_gpu.alloc(32 * MB);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 0, 32 * MB, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    pipc_status_t st = stuck_call(&re, s->proto, x, y, 1, &err);
    ranks_gather(all, rank, NULL, 0, NULL);
    double start = timing_now();
    /* One more than a rank 1 that ends has made: it may be through with its own when it does. */
    unsigned int last = s->fate == COMES_LATE ? 3 : 4;
    for (unsigned int call = 2; !st && rank != 1 && call <= last; call++)
        st = stuck_call(&re, s->proto, x, y, call, &err);
    if (!st && rank == 1)
        st = meet_fate(&re, s, x, y, &err);
    MUST(StreamSynchronize, gpu_streams[0]);
    if (!st)
        st = re.exec->ops->drain(re.exec, &err);
    if (st)
        exec_free_after_loss(&re);
    else
        rank_exec_close(&re);
    double took = timing_now() - start;
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 1, 32 * MB, gpu_streams[1]); /* all is well */
    MUST(StreamSynchronize, gpu_streams[1]);
    return judge(s, rank, st, &err, took);
}

void stuck_run(pipc__proto_t proto, rank_plans_t plans, fate_t fate, int turns)
{
    bool dies = fate == DIES_IDLE || fate == DIES_AT_WORK;
    stuck_t s = {proto, plans, fate};
    int exits[PIPC__RANKS_MAX];
    int n = gpu_ranks();

    for (int turn = 0; turn < turns; turn++) {
        assert_int_equal(ranks_run_each(n, body, &s, 60, exits), 0);
        for (int r = 0; r < n; r++)
            assert_int_equal(exits[r], dies && r == 1 ? 128 + SIGKILL : 0);
    }
}
