/* tests/unit/xchg.c - lists of ranks, and the judgement of exchange records, in tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/xchg/record.h"
#include "runtime/xchg/xchg.h"

static void lists_of_ranks(void **state)
{
    static const struct {
        const char *text;
        int n, first, last;
    } cases[] = {
        {"0", 1, 0, 0},          {"0,1,2,3", 4, 0, 3}, {"4-7", 4, 4, 7},   {"0-1,8-9", 4, 0, 9},
        {"9,2", 2, 2, 9},        {"0-1023", 1024, 0, 1023},
        {"", -1, 0, 0},          {NULL, -1, 0, 0},     {"a", -1, 0, 0},    {"1,", 1, 1, 1},
        {",1", -1, 0, 0},        {"3-1", -1, 0, 0},    {"1,1", -1, 0, 0},  {"-1", -1, 0, 0},
        {"0-1024", -1, 0, 0},    {"1 2", -1, 0, 0},    {"0-", -1, 0, 0},
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
static void other_mnt_ns(pipc__record_t *r) { r->mnt_ns++; }
static void other_backend(pipc__record_t *r) { r->backend++; }
static void other_staging(pipc__record_t *r) { r->staging_bytes *= 2; }
static void other_digest(pipc__record_t *r) { r->digest ^= 1; }

static const struct {
    void (*inject)(pipc__record_t *r);
    pipc_status_t status;
    const char *words;
} faults[] = {
    {no_fault, PIPC_OK, NULL},
    {not_a_record, PIPC_ERR_MISMATCH, "rank 2 sent something that is no pcie-ipc record"},
    {newer, PIPC_ERR_MISMATCH, "rank 2 speaks record version 2"},
    {longer, PIPC_ERR_MISMATCH, "install the same pcie-ipc"},
    {failed, PIPC_ERR_CUDA, "rank 2 on n1: cuMemAlloc: out of memory"},
    {endless_reason, PIPC_ERR_NOMEM, "rank 2 on n1: xxx"},
    {other_host, PIPC_ERR_UNSUPPORTED, "ranks 0 and 2 are on different nodes (n1, n2)"},
    {other_boot, PIPC_ERR_UNSUPPORTED, "--per-node"},
    {other_pid_ns, PIPC_ERR_UNREACHABLE, "different PID namespaces"},
    {other_mnt_ns, PIPC_OK, NULL}, /* segments need no common mount */
    {other_backend, PIPC_ERR_MISMATCH, "different backends"},
    {other_staging, PIPC_ERR_MISMATCH, "different staging sizes"},
    {other_digest, PIPC_ERR_MISMATCH, "different plan tables or options"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(records_are_judged),
        cmocka_unit_test(a_failed_rank_is_named_before_places_are_compared),
        cmocka_unit_test(facts_are_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
