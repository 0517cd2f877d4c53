/* tests/unit/xchg.c - lists of ranks, and the judgement of exchange records, in tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/xchg/place.h"
#include "runtime/xchg/record.h"
#include "runtime/xchg/wire.h"
#include "runtime/xchg/xchg.h"

static void lists_of_ranks(void **state)
{
    static const struct {
        const char *text;
        int n, first, last;
    } cases[] = {
        {"0", 1, 0, 0},          {"0,1,2,3", 4, 0, 3}, {"4-7", 4, 4, 7},   {"0-1,8-9", 4, 0, 9},
        {"9,2", 2, 2, 9},        {"0-16383", 16384, 0, 16383},
        {"", -1, 0, 0},          {NULL, -1, 0, 0},     {"a", -1, 0, 0},    {"1,", 1, 1, 1},
        {",1", -1, 0, 0},        {"3-1", -1, 0, 0},    {"1,1", -1, 0, 0},  {"-1", -1, 0, 0},
        {"0-16384", -1, 0, 0},    {"1 2", -1, 0, 0},    {"0-", -1, 0, 0},
        {"99999999999", -1, 0, 0}, {"0-2147483647", -1, 0, 0},
    };
    int rank[PIPC__GROUP_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int n = pipc__parse_ranks(cases[i].text, rank);
        if (n != cases[i].n)
            fail_msg("\"%s\": %d", cases[i].text, n);
        if (n > 0) {
            assert_int_equal(rank[0], cases[i].first);
            assert_int_equal(rank[n - 1], cases[i].last);
        }
    }
}

/* One fault each in the record of rank 2 of 3; what rank 2's record should have been is rank 0's. */
static void no_fault(pipc__record_t *r) { (void)r; }
static void not_a_record(pipc__record_t *r) { memset(r, 0x20, sizeof(*r)); }
static void newer(pipc__record_t *r) { r->version++; }
static void longer(pipc__record_t *r) { r->bytes += 8; }
static void failed(pipc__record_t *r)
{
    r->status = PIPC_ERR_CUDA;
    strcpy(r->reason, "cuMemAlloc: out of memory");
}
static void endless_reason(pipc__record_t *r)
{
    r->status = PIPC_ERR_NOMEM;
    memset(r->reason, 'x', sizeof(r->reason)); /* not ended: must not be read beyond */
}
static void other_host(pipc__record_t *r) { strcpy(r->host, "n2"); }
static void other_boot(pipc__record_t *r) { r->boot_id[0] ^= 1; }
static void other_pid_ns(pipc__record_t *r) { r->pid_ns++; }
static void other_user_ns(pipc__record_t *r) { r->user_ns++; }
static void other_mnt_ns(pipc__record_t *r) { r->mnt_ns++; }
static void other_backend(pipc__record_t *r) { r->backend++; }
static void other_staging(pipc__record_t *r) { r->staging_bytes *= 2; }
static void other_digest(pipc__record_t *r) { r->digest ^= 1; }
static void other_path(pipc__record_t *r) { r->path = 2; }
static void other_split(pipc__record_t *r) { r->split = 1; }

static const struct {
    void (*inject)(pipc__record_t *r);
    pipc_status_t status;
    const char *words;
} faults[] = {
    {no_fault, PIPC_OK, NULL},
    {not_a_record, PIPC_ERR_MISMATCH, "rank 2 sent something that is no pcie-ipc record"},
    {newer, PIPC_ERR_MISMATCH, "rank 2 speaks record version"},
    {longer, PIPC_ERR_MISMATCH, "install the same pcie-ipc"},
    {failed, PIPC_ERR_CUDA, "rank 2 on n1: cuMemAlloc: out of memory"},
    {endless_reason, PIPC_ERR_NOMEM, "rank 2 on n1: xxx"},
    {other_host, PIPC_ERR_UNSUPPORTED, "ranks 0 and 2 are on different nodes (n1, n2)"},
    {other_boot, PIPC_ERR_UNSUPPORTED, "is for the ranks of one"},
    {other_pid_ns, PIPC_ERR_UNREACHABLE, "different PID namespaces"},
    {other_user_ns, PIPC_ERR_UNREACHABLE, "different user namespaces"},
    {other_mnt_ns, PIPC_OK, NULL}, /* segments need no common mount */
    {other_backend, PIPC_ERR_MISMATCH, "different backends"},
    {other_staging, PIPC_ERR_MISMATCH, "different staging sizes"},
    {other_digest, PIPC_ERR_MISMATCH, "different plans or numbers"},
    {other_path, PIPC_ERR_MISMATCH, "different paths (PCIE_IPC_PATH)"},
    {other_split, PIPC_ERR_MISMATCH, "what a node is (PCIE_IPC_NODES)"},
};

static void records_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        pipc__record_t recs[3];
        pipc__error_t err = {PIPC_OK, ""};
        memset(recs, 0, sizeof(recs));
        for (int r = 0; r < 3; r++) {
            pipc__record_fill(&recs[r], r, 3);
            strcpy(recs[r].host, "n1");
            recs[r].staging_bytes = 4096;
        }
        faults[i].inject(&recs[2]);
        pipc_status_t st = pipc__records_judge(recs, 3, &err);
        if (st != faults[i].status || (st && !strstr(err.text, faults[i].words)))
            fail_msg("fault %zu: %d, \"%s\"", i, st, err.text);
    }
}

static void a_failed_rank_is_named_before_places_are_compared(void **state)
{
    pipc__record_t recs[2];
    pipc__error_t err;

    (void)state;
    memset(recs, 0, sizeof(recs));
    pipc__record_fill(&recs[0], 0, 2);
    pipc__record_fill(&recs[1], 1, 2);
    other_host(&recs[1]);
    failed(&recs[1]);
    assert_int_equal(pipc__records_judge(recs, 2, &err), PIPC_ERR_CUDA);
}

static void facts_are_filled(void **state)
{
    pipc__record_t r = {0};

    (void)state;
    pipc__record_fill(&r, 3, 8);
    assert_int_equal(r.bytes, sizeof(r));
    assert_int_equal(r.rank, 3);
    assert_true(r.pid > 0);
    assert_true(r.host[0]);
    assert_int_equal(strlen(r.boot_id), 36);
    assert_true(r.pid_ns);
    assert_int_equal(r.minor, -1);
}

/* --- who this process is ---------------------------------------------------------------------- */

static void tasks_of_nodes(void **state)
{
    static const struct {
        const char *list;
        int node, tasks;
    } cases[] = {
        {"4", 0, 4},        {"4", 1, -1},      {"4(x2),3", 0, 4},  {"4(x2),3", 1, 4},
        {"4(x2),3", 2, 3},  {"4(x2),3", 3, -1}, {"4(x2),3", -1, -1}, {"1,2,3", 1, 2},
        {"", 0, -1},        {NULL, 0, -1},     {"x", 0, -1},       {"4(x", 0, -1},
        {"4(x2", 0, -1},    {"4(x2)3", 2, -1}, {"4 ", 0, -1},      {"99999999999", 0, -1},
        {"4(x0),5", 0, 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (pipc__tasks_of_node(cases[i].list, cases[i].node) != cases[i].tasks)
            fail_msg("\"%s\", node %d: %d", cases[i].list, cases[i].node,
                     pipc__tasks_of_node(cases[i].list, cases[i].node));
}

/* An environment is "NAME=VALUE NAME=VALUE ...". */
static const char *lookup(void *arg, const char *name)
{
    static char value[8][64];
    static int next;
    size_t n = strlen(name);

    for (const char *p = arg; p && *p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (!strncmp(p, name, n) && p[n] == '=') {
            char *v = value[next++ % 8];
            snprintf(v, sizeof(value[0]), "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
            return v;
        }
    return NULL;
}

#define STEP "SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=1 "
#define EIGHT STEP "SLURM_STEP_TASKS_PER_NODE=4(x2) "
#define NODE PIPC__SCOPE_NODE
#define JOB PIPC__SCOPE_JOB

static const struct place_case {
    const char *env;
    pipc__scope_t scope;
    bool single;
    pipc_status_t status;
    int size, self, job_size, job_rank;
    const char *words;
} place_cases[] = {
    /* nobody started it: alone, but the socket has no numbers */
    {"", NODE, true, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "PCIE_IPC_LOCAL_RANK"},
    /* a batch script, and what it starts without srun: SLURM_PROCID and SLURM_LOCALID say nothing */
    {"SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=8 SLURM_NODEID=0", NODE, true,
     PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "PCIE_IPC_LOCAL_RANK"},
    {"SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=8", NODE, true,
     PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "PCIE_IPC_LOCAL_RANK"},
    /* the plugin's numbers */
    {EIGHT "PCIE_IPC_LOCAL_RANK=2 PCIE_IPC_LOCAL_SIZE=4", NODE, false, PIPC_OK, 4, 2, 8, 5, ""},
    {EIGHT "PCIE_IPC_LOCAL_RANK=2 PCIE_IPC_LOCAL_SIZE=4", JOB, false, PIPC_ERR_UNSUPPORTED, 0, 0, 0, 0,
     "8 ranks, 4 of them on this node"},
    {"PCIE_IPC_LOCAL_RANK=2 PCIE_IPC_LOCAL_SIZE=4", JOB, false, PIPC_OK, 4, 2, 4, 2, ""},
    /* Slurm's own, in a step */
    {EIGHT, NODE, false, PIPC_OK, 4, 1, 8, 5, ""},
    {STEP "SLURM_STEP_TASKS_PER_NODE=1,7", NODE, false, PIPC_OK, 7, 1, 8, 5, ""},
    {STEP, NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "PCIE_IPC_LOCAL_SIZE"},
    /* the job's SLURM_NTASKS is not the step's */
    {"SLURM_STEP_ID=1 SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2 PCIE_IPC_LOCAL_RANK=1 "
     "PCIE_IPC_LOCAL_SIZE=2", JOB, false, PIPC_OK, 2, 1, 2, 1, ""},
    /* numbers that are none */
    {"PCIE_IPC_LOCAL_RANK=4 PCIE_IPC_LOCAL_SIZE=4", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "no such rank"},
    {"PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=0", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "no such rank"},
    {"PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=99999", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "at most 16384"},
    {"PCIE_IPC_LOCAL_RANK=-1 PCIE_IPC_LOCAL_SIZE=4", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "PCIE_IPC_LOCAL_RANK=\"-1\""},
    {"PCIE_IPC_LOCAL_RANK=1x PCIE_IPC_LOCAL_SIZE=4", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "PCIE_IPC_LOCAL_RANK=\"1x\""},
    /* what is no number is not untold: each rank would be alone */
    {"PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=4x", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "PCIE_IPC_LOCAL_SIZE=\"4x\""},
    {"PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=four", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "four"},
    {"PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=99999999999", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0,
     0, "99999999999"},
    {"OMPI_COMM_WORLD_SIZE=four", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "four"},
    {"PCIE_IPC_LOCAL_RANK= PCIE_IPC_LOCAL_SIZE=", NODE, true, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "not known"},
    /* nor is a second rank alone */
    {"PCIE_IPC_LOCAL_RANK=1", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "not known"},
    {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_LOCALID=1", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "not known"},
    {EIGHT "PCIE_IPC_LOCAL_RANK=2 PCIE_IPC_LOCAL_SIZE=12", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0,
     "not this step's"},
    /* mpirun inside a step of one task: each would be alone */
    {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 PCIE_IPC_LOCAL_RANK=0 PCIE_IPC_LOCAL_SIZE=1 "
     "OMPI_COMM_WORLD_SIZE=4", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "another launcher"},
    {"OMPI_COMM_WORLD_SIZE=4", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "not known"},
    {"PMI_SIZE=2", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "not known"},
    {"OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=x", NODE, true, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "not known"},
    /* PMIx of who knows whom, that does not say how many */
    {"PMIX_NAMESPACE=x", NODE, false, PIPC_ERR_EXCHANGE, 0, 0, 0, 0, "not known"},
    /* both kinds of PMI set, as some plugins do */
    {EIGHT "PMI_SIZE=8 PMIX_NAMESPACE=x", NODE, false, PIPC_OK, 4, 1, 8, 5, ""},
};

static void places_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(place_cases) / sizeof(place_cases[0]); i++) {
        const struct place_case *k = &place_cases[i];
        pipc__error_t err = {PIPC_OK, ""};
        pipc__group_t g = {0};
        pipc__place_t p;
        pipc__place_read(&p, lookup, (void *)(uintptr_t)k->env);
        pipc_status_t st = pipc__place_group(&p, k->scope, &g, &err);
        if (pipc__place_single(&p) != k->single || st != k->status || !strstr(err.text, k->words))
            fail_msg("%s: single %d, %d %s", k->env, pipc__place_single(&p), st, err.text);
        if (g.size != k->size || g.self != k->self || g.job_size != k->job_size ||
            g.job_rank != k->job_rank)
            fail_msg("%s: %d of %d, %d of %d", k->env, g.self, g.size, g.job_rank, g.job_size);
    }
}

/* Which device a rank of a benchmark takes. */
static void numbers_on_a_node(void **state)
{
    static const struct {
        const char *env;
        int local;
    } cases[] = {
        {"", 0},
        {EIGHT, 1},
        {EIGHT "PCIE_IPC_LOCAL_RANK=2 PCIE_IPC_LOCAL_SIZE=4", 2},
        /* mpirun in a batch script, in a step of one task, and outside of Slurm */
        {"SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_LOCALID=0 OMPI_COMM_WORLD_SIZE=4 "
         "OMPI_COMM_WORLD_LOCAL_RANK=3", 3},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 PCIE_IPC_LOCAL_RANK=0 "
         "PCIE_IPC_LOCAL_SIZE=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=3", 3},
        {"PMI_SIZE=2 MPI_LOCALRANKID=1", 1},
        /* srun under an mpirun of one rank */
        {EIGHT "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0", 1},
        /* both kinds of PMI set by Slurm */
        {EIGHT "PMI_SIZE=8 PMIX_NAMESPACE=x", 1},
        {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=x", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__place_t p;
        pipc__place_read(&p, lookup, (void *)(uintptr_t)cases[i].env);
        if (pipc__place_local(&p) != cases[i].local)
            fail_msg("%s: %d", cases[i].env, pipc__place_local(&p));
    }
}

static void an_empty_directory_is_none(void **state)
{
    static char with[] = "PCIE_IPC_DIR=/x", without[] = "PCIE_IPC_DIR=";
    pipc__place_t p;

    (void)state;
    pipc__place_read(&p, lookup, with);
    assert_string_equal(p.dir, "/x");
    pipc__place_read(&p, lookup, without);
    assert_null(p.dir);
}

/* --- what goes over the socket ----------------------------------------------------------------- */

static void answers_are_judged(void **state)
{
    const pipc__answer_t good = {PIPC__WIRE_MAGIC, sizeof(good), PIPC__WIRE_VERSION, 0, ""};
    pipc__error_t err;
    pipc__answer_t a = good;

    (void)state;
    assert_int_equal(pipc__answer_judge(&a, &err), PIPC_OK);
    a.magic++;
    assert_int_equal(pipc__answer_judge(&a, &err), PIPC_ERR_MISMATCH);
    a = good, a.version++;
    assert_int_equal(pipc__answer_judge(&a, &err), PIPC_ERR_MISMATCH);
    a = good, a.bytes--;
    assert_int_equal(pipc__answer_judge(&a, &err), PIPC_ERR_MISMATCH);
    a = good, a.status = PIPC_ERR_PEER_LOST;
    memset(a.reason, 'x', sizeof(a.reason)); /* not ended: must not be read beyond */
    assert_int_equal(pipc__answer_judge(&a, &err), PIPC_ERR_PEER_LOST);
    assert_int_equal(strlen(err.text), sizeof(a.reason) - 1);
}

static void hellos_of_another_exchange_are_refused(void **state)
{
    const pipc__hello_t own = {PIPC__WIRE_MAGIC, sizeof(own), PIPC__WIRE_VERSION, 1, 2, 0, 4, 8, 99, 70};
    pipc__error_t err;
    pipc__hello_t h = own;

    (void)state;
    h.local_rank = 3;
    h.job_rank = 11;
    assert_int_equal(pipc__hello_judge(&h, &own, &err), PIPC_OK);
    h.number = 3;
    assert_int_equal(pipc__hello_judge(&h, &own, &err), PIPC_ERR_MISMATCH);
    assert_non_null(strstr(err.text, "rank 11 (process 99) came for exchange 1.3"));
    h = own, h.magic = 0;
    assert_int_equal(pipc__hello_judge(&h, &own, &err), PIPC_ERR_INVALID);
    h = own, h.bytes++;
    assert_int_equal(pipc__hello_judge(&h, &own, &err), PIPC_ERR_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(records_are_judged),
        cmocka_unit_test(a_failed_rank_is_named_before_places_are_compared),
        cmocka_unit_test(facts_are_filled),
        cmocka_unit_test(tasks_of_nodes),
        cmocka_unit_test(places_are_judged),
        cmocka_unit_test(numbers_on_a_node),
        cmocka_unit_test(an_empty_directory_is_none),
        cmocka_unit_test(answers_are_judged),
        cmocka_unit_test(hellos_of_another_exchange_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
