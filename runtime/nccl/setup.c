/* nccl/setup.c - see setup.h
 *
 *     hello  --allgather-->  judge  -->  pipc_comm_create(), which exchanges by the same allgather,
 *                                        probes, and votes
 *
 * The allgather is NCCL's, on a stream of our own, so this works wherever the program's
 * communicator does: under srun, torchrun, mpirun, in containers. NCCL orders it behind what the
 * program has enqueued on that communicator.
 */
#include "runtime/nccl/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/nccl/device.h"
#include "runtime/nccl/hello.h"
#include "runtime/nccl/ours.h"
#include "runtime/nccl/retire.h"
#include "runtime/nccl/say.h"
#include "runtime/nccl/staging.h"

#define NODE_MAX 16     /* ranks that pipc_comm_create() takes of a node */
#define RANKS_MAX 16384 /* and of all */
#define WHY 512

/* For the report. */
static const char on_nodes[] = "several nodes, whose sizes are all NCCL's";

typedef struct exchange {
    pipc__side_t *side;
    pipc__visit_t visit;
    int rank, size;
    bool spans;   /* several nodes */
    char *memory; /* reached by NCCL; size * cap bytes */
    size_t cap;
} exchange_t;

static void rest(void)
{
    const struct timespec pause = {0, 20000};

    nanosleep(&pause, NULL);
}

typedef ncclResult_t (*question_t)(ncclComm_t, int *);

/* NCCL's answer to what waits for nobody; ncclInvalidUsage where an abort has taken the
 * communicator away. */
static ncclResult_t ask(pipc__side_t *s, question_t question, int *answer)
{
    if (!pipc__side_enter(s))
        return ncclInvalidUsage;
    ncclResult_t rc = question(s->comm, answer);
    pipc__side_leave(s);
    return rc;
}

static ncclResult_t state_of(pipc__side_t *s)
{
    ncclResult_t async = ncclSuccess, rc = ask(s, s->real->CommGetAsyncError, &async);

    return rc ? rc : async;
}

/* Until NCCL's communicator, which may be a non-blocking one, is through with its last call. */
static ncclResult_t settle(pipc__side_t *s)
{
    ncclResult_t state;

    while ((state = state_of(s)) == ncclInProgress)
        rest();
    return state;
}

static ncclResult_t wait_for_stream(exchange_t *x)
{
    for (;;) {
        int running = pipc__device_query(&x->visit);
        if (running <= 0)
            return running ? ncclUnhandledCudaError : ncclSuccess;
        ncclResult_t state = state_of(x->side);
        if (state && state != ncclInProgress)
            return state;
        rest();
    }
}

static bool grow(exchange_t *x, size_t bytes)
{
    if (bytes <= x->cap)
        return true;
    pipc__device_host_free(x->memory);
    x->memory = pipc__device_host_alloc((size_t)x->size * bytes);
    x->cap = x->memory ? bytes : 0;
    return x->memory;
}

/* pipc_callbacks_t.allgather; @all NULL: what comes is left in the memory that NCCL reaches */
static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    exchange_t *x = ctx;
    const pipc__real_t *real = x->side->real;

    if (!grow(x, bytes))
        return -1;
    char *own = x->memory + (size_t)x->rank * bytes;
    memcpy(own, mine, bytes);
    if (!pipc__side_enter(x->side))
        return -1;
    ncclResult_t rc =
        real->AllGather(own, x->memory, bytes, ncclUint8, x->side->comm, x->visit.stream);
    pipc__side_leave(x->side);
    if (rc == ncclInProgress)
        rc = settle(x->side);
    if (!rc)
        rc = wait_for_stream(x);
    if (!rc && all)
        memcpy(all, x->memory, (size_t)x->size * bytes);
    return rc;
}

/* What a rank can be sure of before it hears of the others. */
static const char *check_own(size_t *staging)
{
    const char *why;

    *staging = 0;
    if (!pipc__ours(&why))
        return why;
    *staging = pipc__staging_take();
    return NULL;
}

static bool begins(const char *variable, const char *with)
{
    const char *value = secure_getenv(variable);

    return value && *value && !strncmp(value, with, strlen(with));
}

/* Ranks of one host are taken as nodes, for tests. That all are of one mind in this
 * pipc_comm_create() sees to. */
static bool is_split(void)
{
    return begins("PCIE_IPC_NODES", "split");
}

static bool meet(exchange_t *x, char why[WHY])
{
    pipc__hello_t mine;
    size_t own;
    uint64_t agreed = 0;

    const char *failed = check_own(&own);
    pipc__hello_fill(&mine, own, failed);
    /* No memory of our own for them: of thousands of ranks they are megabytes, and a rank that had
     * none could not say so any more. */
    int rc = allgather(x, &mine, sizeof(mine), NULL);
    const pipc__hello_t *all = (const void *)x->memory;
    bool good = !rc && pipc__hello_judge(all, x->size, &agreed, why, WHY);
    if (rc)
        snprintf(why, WHY, "ncclAllGather by which its ranks were to meet failed (%d)", rc);
    x->side->staging = good ? (size_t)agreed : 0;
    x->spans = good && (pipc__hello_spans(all, x->size) || is_split());
    x->side->shared = good && pipc__hello_shares(all, x->size, x->rank);
    pipc__staging_return(own - x->side->staging);
    return good;
}

/* Returns whether that is worth a line: what the table wants is none. */
static bool create(exchange_t *x, char why[WHY], bool *made)
{
    pipc_callbacks_t calls = PIPC_CALLBACKS_INIT;
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    const char *text;
    const pipc__ours_t *ours = pipc__ours(&text);

    calls.rank = x->rank;
    calls.size = x->size;
    calls.allgather = allgather;
    calls.ctx = x;
    config.backend = pipc__device_backend;
    config.exchange = PIPC_EXCHANGE_CALLBACKS;
    config.callbacks = &calls;
    config.staging_bytes = x->side->staging;
    config.leave_nccl = 1;
    pipc_status_t st = ours->comm_create(&x->side->ours, &config);
    *made = !st;
    if (!st)
        return true;
    snprintf(why, WHY, "%s", ours->last_error());
    pipc__staging_return(x->side->staging);
    x->side->staging = 0;
    if (st == PIPC_LEFT)
        x->side->why = x->spans ? on_nodes : "the table says so";
    return st != PIPC_LEFT;
}

/* True: there is something to be said, @why. */
static bool set_up(exchange_t *x, char why[WHY], bool *made)
{
    const char *text;
    int ordinal = 0;

    if (ask(x->side, x->side->real->CommCuDevice, &ordinal)) {
        snprintf(why, WHY, "ncclCommCuDevice failed");
        return true;
    }
    if (!pipc__device_enter(&x->visit, ordinal, &text)) {
        snprintf(why, WHY, "%s", text);
        return true;
    }
    bool say = !meet(x, why) || create(x, why, made);
    pipc__device_host_free(x->memory);
    pipc__device_leave(&x->visit);
    return say;
}

static void tell(const exchange_t *x, bool say, bool made, const char *why)
{
    if (x->rank)
        return;
    if (made && pipc__is_verbose())
        pipc__say(x->spans
                      ? "AllReduce of an NCCL communicator of %d ranks on several nodes is "
                        "ours, with %zu MB of staging"
                      : "AllReduce of an NCCL communicator of %d ranks is ours, with %zu MB of "
                        "staging",
                  x->size, x->side->staging >> 20);
    else if (!made && say)
        pipc__say_once("NCCL does all of a communicator of %d ranks: %s", x->size, why);
    else if (!made && x->spans && pipc__is_verbose())
        pipc__say_once(
            "NCCL does all of a communicator of %d ranks on several nodes: no table and no "
            "PCIE_IPC_PLAN gives pcie-ipc a size",
            x->size);
    else if (!made && pipc__is_verbose())
        pipc__say_once("NCCL does all of a communicator of %d ranks, as the table says", x->size);
}

/* What all ranks see alike needs no exchange. */
static bool is_of_our_size(exchange_t *x)
{
    const pipc__real_t *real = x->side->real;

    return real->AllGather && real->CommCount && real->CommUserRank && real->CommCuDevice &&
           !ask(x->side, real->CommCount, &x->size) &&
           !ask(x->side, real->CommUserRank, &x->rank) && x->size > 1 && x->size <= RANKS_MAX;
}

/* More ranks than a node has are on several, where all sizes are NCCL's unless a table or a plan
 * was asked for. Where none was they are not even asked: to wait for thousands of ranks, one of
 * which may have lost the preload, must be worth it. The environment is the same on every rank. */
static bool is_worth_asking(exchange_t *x)
{
    x->spans = x->size > NODE_MAX;
    if (!x->spans || begins("PCIE_IPC_TABLE", "") || begins("PCIE_IPC_PLAN", ""))
        return true;
    x->side->why = on_nodes;
    return false;
}

bool pipc__setup(pipc__side_t *s)
{
    exchange_t x = {.side = s};
    char why[WHY] = "";
    bool made = false;

    if (!settle(s) && is_of_our_size(&x)) {
        bool say = is_worth_asking(&x) && set_up(&x, why, &made);
        if (!pipc__side_is_gone(s))
            tell(&x, say, made, why);
    }
    if (made)
        pipc__retire_expect(s);
    pthread_mutex_lock(&s->gate); /* what was given up meanwhile stays so */
    bool good = !s->stop;
    atomic_store(&s->state, made && good ? PIPC__SIDE_SERVED : PIPC__SIDE_FORWARDED);
    pthread_mutex_unlock(&s->gate);
    return good;
}
