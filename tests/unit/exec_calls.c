/* tests/unit/exec_calls.c - see exec_calls.h */
#include "tests/unit/exec_calls.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"
#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "tests/unit/values.h"

#define POISON 0xa5
#define GUARD 64 /* bytes before and behind each buffer */
#define BATCH_MAX 32

/* --- host memory ----------------------------------------------------------------------------- */

static void host_begin(int rank)
{
    (void)rank;
}

static char *host_alloc(size_t bytes)
{
    char *p = malloc(bytes);

    if (!p)
        abort();
    return p;
}

static void host_free(char *p)
{
    free(p);
}

static void host_put(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void host_get(void *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void *host_stream(unsigned int call)
{
    (void)call;
    return NULL;
}

const exec_memory_t exec_memory_host = {host_begin, host_alloc, host_free,
                                        host_put,   host_get,   host_stream};

/* --- verified calls -------------------------------------------------------------------------- */

/* One call, its buffers with guards around:  | GUARD | skew | data | GUARD |  */
typedef struct test_call {
    pipc__exec_call_t k;
    size_t block;              /* bytes of count elements */
    size_t in_bytes, out_bytes; /* one block, or one a rank */
    size_t in_skew, out_skew;
    bool in_place; /* in and out are parts of the same allocation */
    char *in, *out; /* where the allocations begin; in is NULL in place */
} test_call_t;

static size_t whole(size_t bytes)
{
    return GUARD + bytes + 2 * GUARD; /* a skew is less than a guard */
}

static size_t larger(const test_call_t *c)
{
    return c->in_bytes > c->out_bytes ? c->in_bytes : c->out_bytes;
}

/* Protocol and blocks of a call. */
static void choose(test_call_t *c, const exec_job_t *job, int n, unsigned int call)
{
    static const int blocks[] = {0, 132, 3, 64, 1, 17};
    pipc__ll_wiring_t w;

    if (job->blocks)
        c->k.blocks = blocks[call / 2 % 6];
    if (job->ll && (job->ll == 1 || call % 5 < 3) && c->block <= pipc__ll_bytes_max(n) &&
        pipc__ll_wire(&w, c->k.plan, 0))
        c->k.proto = PIPC__PROTO_LL;
    else if (job->ll128 && (job->ll128 == 1 || call % 3) && c->block <= pipc__ll128_bytes_max(n) &&
             pipc__ll_wire(&w, c->k.plan, 0))
        c->k.proto = PIPC__PROTO_LL128;
    else if (job->push && (job->push == 1 || call % 11 < 6) && pipc__ll_wire(&w, c->k.plan, 0))
        c->k.proto = PIPC__PROTO_PUSH;
    else if (job->ce && (job->ce == 1 || call % 7 < 4) && pipc__ll_wire(&w, c->k.plan, 0))
        c->k.proto = PIPC__PROTO_CE;
}

static test_call_t pick(const rank_exec_t *re, const exec_job_t *job, int n, unsigned int call)
{
    static const size_t skews[] = {0, 4,  0,  1, 8, 2,
                                   0, 12, 16, 6, 3}; /* 16 and less: 16-byte accesses */
    test_call_t c = {.in_place = call / 5 % 2};
    int plan = job->plan < 0 ? (int)(call / 2 % (unsigned int)re->nplans) : job->plan;
    bool even = call / 7 % 2; /* every other time all is aligned */

    c.k = (pipc__exec_call_t){
        .plan = re->plans[plan],
        .count = job->counts[call % (unsigned int)job->ncounts],
        .dtype = (pipc_dtype_t)(call % PIPC_DTYPE_COUNT),
        .op = (pipc_redop_t)((call + call / PIPC_DTYPE_COUNT) % PIPC_REDOP_COUNT),
        .stream = job->memory->stream(call),
        .number = call + 1,
    };
    c.block = c.k.count * pipc_dtype_bytes(c.k.dtype);
    c.in_bytes = c.block * (c.k.plan->collective == PIPC__REDUCE_SCATTER ? (size_t)n : 1);
    c.out_bytes = c.block * (c.k.plan->collective == PIPC__ALLGATHER ? (size_t)n : 1);
    c.out_skew = even ? 0 : skews[call % 11];
    c.in_skew = even ? 0 : c.in_place ? c.out_skew : skews[call / 3 % 11];
    choose(&c, job, n, call);
    return c;
}

/* In place the smaller buffer is the own rank's block of the larger one. */
static void make_buffers(test_call_t *c, const exec_memory_t *memory, int rank)
{
    size_t out = c->in_place ? larger(c) : c->out_bytes, in = c->in_place ? out : c->in_bytes;
    size_t in_at = c->in_bytes < in ? (size_t)rank * c->block : 0;
    size_t out_at = c->out_bytes < out ? (size_t)rank * c->block : 0;
    char *image = malloc(whole(larger(c)));

    memset(image, POISON, whole(larger(c)));
    c->out = memory->alloc(whole(out));
    c->in = c->in_place ? NULL : memory->alloc(whole(in));
    if (!c->in_place)
        memory->put(c->out, image, whole(out));
    test_fill(image + GUARD + c->in_skew + in_at, c->in_bytes / pipc_dtype_bytes(c->k.dtype),
              c->k.dtype, c->k.op, rank, (unsigned int)c->k.number);
    memory->put(c->in_place ? c->out : c->in, image, whole(in));
    c->k.recv = c->out + GUARD + c->out_skew + out_at;
    c->k.send = (c->in_place ? c->out : c->in) + GUARD + c->in_skew + in_at;
    free(image);
}

static void tell_wrong(const test_call_t *c, int rank, size_t i)
{
    static const char *const names[] = {"", " reduce-scatter", " all-gather"};

    fprintf(stderr, "# rank %d, call %d, %s%s%s, %s of %zu %s, skew %zu and %zu, %s: element %zu\n",
            rank, (int)c->k.number, c->k.plan->name, names[c->k.plan->collective],
            c->k.proto == PIPC__PROTO_LL      ? " by ll"
            : c->k.proto == PIPC__PROTO_LL128 ? " by ll128"
            : c->k.proto == PIPC__PROTO_PUSH  ? " by push"
            : c->k.proto == PIPC__PROTO_CE    ? " by ce"
                                              : "",
            pipc_redop_string(c->k.op), c->k.count, pipc_dtype_string(c->k.dtype), c->in_skew,
            c->out_skew, c->in_place ? "in place" : "out of place", i);
}

/* A ring that goes round in another order than 0 1 2 .. rounds in another order, too. */
test_order_t exec_order(const pipc__plan_t *plan)
{
    const pipc__op_t *op = &plan->program[0][0].ops[0];

    if (!strcmp(plan->name, "one-shot") || !strcmp(plan->name, "two-shot"))
        return TEST_DIRECT;
    if (!strcmp(plan->name, "ring") && op->kind == PIPC__COPY && op->dst.rank == 1)
        return TEST_RING;
    return TEST_ANY;
}

/* The first element that is not rank r's input, for every rank r. */
static size_t gathered_wrong(const test_call_t *c, const char *result, int n)
{
    size_t count = c->k.count * (size_t)n, elem = pipc_dtype_bytes(c->k.dtype);
    char *want = malloc(c->out_bytes + 1);
    size_t i = 0;

    for (int r = 0; r < n; r++)
        test_fill(want + (size_t)r * c->block, c->k.count, c->k.dtype, c->k.op, r,
                  (unsigned int)c->k.number);
    while (i < count && !memcmp(result + i * elem, want + i * elem, elem))
        i++;
    free(want);
    return i;
}

/* @expected: a negative control, which is silent when it finds what it seeks. */
static int check_values(const test_call_t *c, const char *result, int rank, int n, bool expected)
{
    const pipc__plan_t *plan = c->k.plan;
    bool gather = plan->collective == PIPC__ALLGATHER;
    size_t first = plan->collective == PIPC__REDUCE_SCATTER ? (size_t)rank * c->k.count : 0;
    size_t wrong = gather ? gathered_wrong(c, result, n)
                          : test_wrong(result, first, c->k.count, c->k.dtype, c->k.op, n,
                                       (unsigned int)c->k.number, exec_order(plan));

    if (wrong == c->k.count * (gather ? (size_t)n : 1))
        return 0;
    if (!expected)
        tell_wrong(c, rank, wrong);
    return EXEC_WRONG;
}

/* One rank computes what the values must be, in turns; @hash, of all results that a rank has, tells
 * whether the others have the same. Of a scattered result each has its own part. */
static int check_buffers(const test_call_t *c, const exec_memory_t *memory, int rank, int n,
                         bool expected, uint64_t *hash)
{
    size_t bytes = whole(c->in_place ? larger(c) : c->out_bytes);
    size_t at = (size_t)((char *)c->k.recv - c->out);
    size_t from = c->in_place ? GUARD + c->out_skew : at; /* in place the rest is input */
    size_t to = c->in_place ? from + larger(c) : at + c->out_bytes;
    bool scattered = c->k.plan->collective == PIPC__REDUCE_SCATTER;
    char *image = malloc(bytes);
    int bad = 0;

    memory->get(image, c->out, bytes);
    if (!scattered)
        *hash = pipc__hash(*hash, image + at, c->out_bytes);
    if (scattered || c->k.number % (unsigned int)n == (unsigned int)rank)
        bad = check_values(c, image + at, rank, n, expected);
    for (size_t i = 0; i < bytes; i++)
        if ((i < from || i >= to) && image[i] != (char)POISON)
            bad |= EXEC_BEYOND;
    free(image);
    return bad;
}

static void free_buffers(test_call_t *c, const exec_memory_t *memory)
{
    memory->free(c->out);
    if (c->in)
        memory->free(c->in);
}

static bool is_control(const exec_job_t *job)
{
    return job->drop_step >= 0 || job->one_area || job->no_scrub || job->drop_ce;
}

/* The calls of a batch follow each other as fast as they can: a slot that is used again too early
 * shows only so. */
static int one_batch(rank_exec_t *re, const exec_job_t *job, int rank, int n, unsigned int first,
                     unsigned int ncalls, uint64_t *hash)
{
    test_call_t call[BATCH_MAX];
    pipc__error_t err;
    int bad = 0;

    for (unsigned int i = 0; i < ncalls; i++) {
        call[i] = pick(re, job, n, first + i);
        make_buffers(&call[i], job->memory, rank);
    }
    for (unsigned int i = 0; !bad && i < ncalls; i++)
        if (re->exec->ops->run(re->exec, &call[i].k, &err))
            bad = EXEC_FAILED;
    if (!bad && re->exec->ops->drain(re->exec, &err))
        bad = EXEC_FAILED;
    if (bad)
        fprintf(stderr, "# rank %d: %s\n", rank, err.text);
    for (unsigned int i = 0; i < ncalls; i++) {
        if (!(bad & EXEC_FAILED))
            bad |= check_buffers(&call[i], job->memory, rank, n,
                                 is_control(job), hash);
        free_buffers(&call[i], job->memory);
    }
    return bad;
}

/* A result must be the same bits on every rank. */
static int compare_ranks(rank_exec_t *re, int n, uint64_t hash, bool expected)
{
    uint64_t all[PIPC__RANKS_MAX];
    pipc__error_t err;
    int bad = 0;

    if (pipc__control_gather(re->ctl, &hash, sizeof(hash), all, &err))
        return EXEC_FAILED;
    for (int r = 0; r < n; r++)
        bad |= all[r] == all[0] ? 0 : EXEC_WRONG;
    if (bad && !expected)
        fprintf(stderr, "# the results differ between the ranks\n");
    return bad;
}

int exec_calls(rank_exec_t *re, const exec_job_t *job, int rank, int n, unsigned int first,
               unsigned int ncalls)
{
    unsigned int batch = job->batch < BATCH_MAX ? (unsigned int)job->batch : BATCH_MAX;
    uint64_t hash = PIPC__HASH_INIT;
    int bad = 0;

    for (unsigned int i = 0; i < ncalls && !(bad & EXEC_FAILED); i += batch)
        bad |=
            one_batch(re, job, rank, n, first + i, ncalls - i < batch ? ncalls - i : batch, &hash);
    if (!(bad & EXEC_FAILED))
        bad |= compare_ranks(re, n, hash, is_control(job));
    return bad;
}

static void perturb(const exec_job_t *job)
{
#ifdef PIPC_PERTURB
    pipc__perturb = (pipc__perturb_t){.max_usec = job->max_usec,
                                      .drop_stage = job->drop_stage,
                                      .drop_step = job->drop_step,
                                      .one_area = job->one_area,
                                      .no_scrub = job->no_scrub,
                                      .drop_ce = job->drop_ce,
                                      .calls = job->first,
                                      .seed = 42};
#else
    (void)job;
#endif
}

int exec_job_body(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    rank_exec_t re;

    perturb(job);
    job->memory->begin(rank);
    rank_exec_open(&re, job->ops, job->staging_bytes, job->plans, all, rank);
    int bad = exec_calls(&re, job, rank, ranks_size(all), 0, (unsigned int)job->calls);
    if (!(bad & EXEC_FAILED))
        rank_exec_close(&re);
    return bad;
}

/* --- peers that die, abort, come late -------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void exec_free_after_loss(rank_exec_t *re)
{
    pipc__error_t ignored;

    re->exec->ops->drain(re->exec, &ignored);
    re->exec->ops->disconnect(re->exec);
    re->exec->ops->destroy(re->exec);
    pipc__control_destroy(re->ctl);
    for (int k = 0; k < re->nplans; k++)
        pipc__plan_free(re->plans[k]);
}

static int check_text(const exec_loss_t *loss, const pipc__error_t *err)
{
    char who[32];

    snprintf(who, sizeof(who), "rank %d (process ", loss->victim);
    if (!strncmp(err->text, who, strlen(who)) && strstr(err->text, "call 3") &&
        strstr(err->text, "step ") && strstr(err->text, "waiting for rank "))
        return 0;
    fprintf(stderr, "# %s\n", err->text);
    return 3;
}

static int third_call(rank_exec_t *re, const exec_loss_t *loss)
{
    const exec_memory_t *m = loss->job.memory;
    char *x = m->alloc(400), *y = m->alloc(400);
    pipc__error_t err = {PIPC_OK, ""}, again = {PIPC_OK, ""};
    pipc__exec_call_t k = {.plan = re->plans[0], .send = x, .recv = y, .count = 100,
                           .dtype = PIPC_F32, .op = PIPC_SUM, .stream = m->stream(2), .number = 3,
                           .proto = loss->job.ll      ? PIPC__PROTO_LL
                                    : loss->job.ll128 ? PIPC__PROTO_LL128
                                    : loss->job.push  ? PIPC__PROTO_PUSH
                                    : loss->job.ce    ? PIPC__PROTO_CE
                                                      : PIPC__PROTO_SIMPLE};
    double start = seconds();
    pipc_status_t st = re->exec->ops->run(re->exec, &k, &err);
    int bad = 0;

    while (!st && seconds() - start < 6) { /* an executor that only enqueues tells it later */
        usleep(1000);
        st = re->exec->ops->poll(re->exec, &err);
    }
    if (st != (loss->aborts ? PIPC_ERR_ABORTED : PIPC_ERR_PEER_LOST) || seconds() - start > 5)
        bad = 2;
    if (!bad)
        bad = check_text(loss, &err);
    if (re->exec->ops->run(re->exec, &k, &again) != st) /* dead for ever */
        bad = 4;
    exec_free_after_loss(re);
    m->free(x);
    m->free(y);
    return bad;
}

int exec_loss_body(ranks_t *all, int rank, void *arg)
{
    const exec_loss_t *loss = arg;
    int n = ranks_size(all);
    rank_exec_t re;

    loss->job.memory->begin(rank);
    rank_exec_open(&re, loss->job.ops, loss->job.staging_bytes, loss->job.plans, all, rank);
    if (exec_calls(&re, &loss->job, rank, n, 6, 2))
        return 1;
    ranks_gather(all, rank, NULL, 0, NULL); /* nobody is still in call 2 */
    if (loss->late_msec) {
        if (rank == loss->victim)
            usleep(loss->late_msec * 1000);
        int bad = exec_calls(&re, &loss->job, rank, n, 8, 3);
        rank_exec_close(&re);
        return bad;
    }
    if (rank != loss->victim)
        return third_call(&re, loss);
    usleep(200 * 1000); /* the others wait by now */
    if (!loss->aborts)
        _exit(9);
    pipc__control_abort(re.ctl, PIPC_ERR_ABORTED, rank);
    return 0;
}

/* --- negative controls ----------------------------------------------------------------------- */

#define TRIES 4

/* Delays are random, and on a busy machine ranks may come one after the other: what goes right is
 * tried again. */
static int drop_one(exec_job_t *job, const pipc__plan_t *plan, int stage, int step, int nranks,
                    int limit)
{
    int rc = 0;

    job->drop_stage = stage;
    job->drop_step = step;
    for (int i = 0; i < TRIES && !rc; i++)
        rc = ranks_run(nranks, exec_job_body, job, limit);
    if (rc != EXEC_WRONG)
        fprintf(stderr, "# %s without the wait of stage %d, step %d: %d and not %d\n", plan->name,
                stage, step, rc, EXEC_WRONG);
    return rc == EXEC_WRONG;
}

/* The ranks' programs differ: a step is tried when it is a wait on any of them. */
static bool waits_at(const pipc__plan_t *p, int stage, int step)
{
    for (int r = 0; r < p->nranks; r++)
        if (step < p->program[r][stage].nops &&
            p->program[r][stage].ops[step].kind == PIPC__WAIT)
            return true;
    return false;
}

static int longest(const pipc__plan_t *p, int stage)
{
    int most = 0;

    for (int r = 0; r < p->nranks; r++)
        most = p->program[r][stage].nops > most ? p->program[r][stage].nops : most;
    return most;
}

static void remove_op(pipc__program_t *from, int step)
{
    memmove(&from->ops[step], &from->ops[step + 1],
            (size_t)(--from->nops - step) * sizeof(from->ops[0]));
}

static void remove_signal(pipc__plan_t *p, int rank, const pipc__op_t *wait)
{
    for (int s = 0; s < p->nstages; s++)
        for (int i = 0; i < p->program[wait->peer][s].nops; i++) {
            const pipc__op_t *op = &p->program[wait->peer][s].ops[i];
            if (op->kind == PIPC__SIGNAL && op->peer == rank && op->flag == wait->flag &&
                op->dst.place == wait->dst.place) {
                remove_op(&p->program[wait->peer][s], i);
                return;
            }
        }
}

/* Is the plan right without this wait, since others imply it? The checker knows: what it passes, no
 * run can show wrong. */
static bool is_implied(rank_plans_t plans, int plan, int nranks, int stage, int step)
{
    pipc__plan_t *p = rank_plan_make(plans, plan, nranks);
    const pipc__check_call_t calls[] = {{p, 4, 1, false}, {p, 4, 1, true}};
    pipc__error_t err;

    for (int r = 0; r < nranks; r++) {
        pipc__program_t *program = &p->program[r][stage];
        if (step >= program->nops || program->ops[step].kind != PIPC__WAIT)
            continue;
        pipc__op_t wait = program->ops[step];
        remove_op(program, step);
        remove_signal(p, r, &wait);
    }
    bool implied = !pipc__plan_check(calls, 2, PIPC__BUFFERS, &err);
    pipc__plan_free(p);
    return implied;
}

int exec_drop_each_wait(exec_job_t job, int nranks, int limit)
{
    bool all_wrong = true;
    int tried = 0;

    for (job.plan = 0; job.plan < rank_plans_count(job.plans); job.plan++) {
        pipc__plan_t *p = rank_plan_make(job.plans, job.plan, nranks);
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; i < longest(p, s); i++) {
                if (!waits_at(p, s, i) || is_implied(job.plans, job.plan, nranks, s, i))
                    continue;
                all_wrong &= drop_one(&job, p, s, i, nranks, limit);
                tried++;
            }
        pipc__plan_free(p);
    }
    return all_wrong ? tried : -1;
}
