/* tests/unit/comm_fails.c - what fails on one rank alone ends the creation on every rank, and each
 * hears of the cause
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/comm/comm.h"
#include "tests/unit/ranks.h"

#define RANKS 3

/* One rank has a fault, of which the others learn by no exchange. */
typedef struct fault {
    const char *name;
    int rank;                           /* that has it */
    int late_ms;                        /* it maps the others when they wait for it by then */
    void (*befall)(void);               /* before the creation */
    void (*blind)(pipc__record_t *all); /* what it is told by the exchange */
    pipc_status_t status;               /* of every rank; PIPC_OK: any error */
    const char *words;                  /* what the others say; NULL: anything but @never */
    const char *never;
} fault_t;

static int the_rank;
static const fault_t *the_fault;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    ranks_gather(ctx, the_rank, mine, bytes, all);
    if (the_rank != the_fault->rank || bytes != sizeof(pipc__record_t))
        return 0;
    usleep((useconds_t)the_fault->late_ms * 1000);
    if (the_fault->blind)
        the_fault->blind(all);
    return 0;
}

static int fail_together(ranks_t *all, int rank, void *arg)
{
    pipc_callbacks_t calls = {sizeof(calls), rank, ranks_size(all), allgather, all};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc__error_t err = {PIPC_OK, ""};
    const fault_t *f = arg;
    pipc_comm_t *comm;

    the_rank = rank;
    the_fault = f;
    c.backend = PIPC_BACKEND_CPU;
    c.callbacks = &calls;
    if (rank == f->rank && f->befall)
        f->befall();
    pipc_status_t st = pipc__comm_create(&comm, &c, &pipc__xchg_auto, &err);
    bool good = st && !comm && (!f->status || st == f->status) &&
                (!f->words || rank == f->rank || strstr(err.text, f->words)) &&
                (!f->never || !strstr(err.text, f->never));
    if (!good)
        fprintf(stderr, "# rank %d: %d %s\n", rank, st, st ? err.text : "created");
    ranks_gather(all, rank, NULL, 0, NULL); /* it goes on: no watchdog can help the others */
    return !good;
}

static void must_fail(const fault_t *faults, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fault_t f = faults[i];
        if (ranks_run(RANKS, fail_together, &f, 20))
            fail_msg("%s", f.name);
    }
}

#define MUST_FAIL(faults) must_fail(faults, sizeof(faults) / sizeof((faults)[0]))

/* --- a rank that can't map another one -------------------------------------------------------- */

static void blind_to(pipc__record_t *r)
{
    r->control[12] ^= 0x55; /* its descriptor */
}

static void first_is_hidden(pipc__record_t *all)
{
    blind_to(&all[0]);
}

static void last_is_hidden(pipc__record_t *all)
{
    blind_to(&all[RANKS - 1]);
}

/* So many descriptors may be opened from here on. */
static void leave_descriptors(int n)
{
    int next = dup(0);
    struct rlimit l = {(rlim_t)(next + n), (rlim_t)(next + n)};

    close(next);
    setrlimit(RLIMIT_NOFILE, &l);
}

/* 2 are the own memory; another rank takes one to be watched, and one more for a moment. */
static void none_is_left(void)
{
    leave_descriptors(2);
}
static void one_is_left(void)
{
    leave_descriptors(3);
}

static void who_waits_hears_of_a_rank_that_can_not_map_it(void **state)
{
    static const fault_t faults[] = {
        {"first hidden", 2, 0, NULL, first_is_hidden, PIPC_ERR_UNREACHABLE, NULL, NULL},
        {"first hidden, late", 2, 200, NULL, first_is_hidden, PIPC_ERR_UNREACHABLE,
         "rank 2 (process", NULL},
        {"first hidden, late, first", 1, 200, NULL, first_is_hidden, PIPC_ERR_UNREACHABLE,
         "rank 1 (process", NULL},
        {"last hidden, late", 0, 200, NULL, last_is_hidden, PIPC_ERR_UNREACHABLE, "rank 0 (process",
         NULL},
    };

    (void)state;
    MUST_FAIL(faults);
}

static void too_few_descriptors_are_nobody_s_end(void **state)
{
    static const fault_t faults[] = {
        {"none left", 2, 200, none_is_left, NULL, PIPC_ERR_SYSTEM, "Too many open files",
         "not there"},
        {"none left, first", 0, 200, none_is_left, NULL, PIPC_ERR_SYSTEM, "Too many open files",
         "not there"},
        {"one left", 2, 200, one_is_left, NULL, PIPC_ERR_SYSTEM, "Too many open files",
         "has ended"},
        {"one left, in time", 2, 0, one_is_left, NULL, PIPC_ERR_SYSTEM, "Too many open files",
         "not there"},
    };

    (void)state;
    MUST_FAIL(faults);
}

/* --- a rank that is asked for something else -------------------------------------------------- */

static void no_path(void)
{
    setenv("PCIE_IPC_PATH", "bogus", 1);
}
static void no_nodes(void)
{
    setenv("PCIE_IPC_NODES", "bogus", 1);
}
static void no_number(void)
{
    setenv("PCIE_IPC_SMS", "bogus", 1);
}
static void no_plan(void)
{
    setenv("PCIE_IPC_PLAN", "bogus", 1);
}

static void what_one_rank_is_asked_for_in_vain_all_hear(void **state)
{
    static const fault_t faults[] = {
        {"path", 1, 0, no_path, NULL, PIPC_ERR_INVALID, "PCIE_IPC_PATH=bogus", NULL},
        {"nodes", 0, 0, no_nodes, NULL, PIPC_ERR_INVALID, "PCIE_IPC_NODES=bogus", NULL},
        {"sms", 2, 0, no_number, NULL, PIPC_ERR_INVALID, "PCIE_IPC_SMS=bogus", NULL},
        {"plan", 2, 0, no_plan, NULL, PIPC_ERR_INVALID, "bogus", NULL},
    };

    (void)state;
    MUST_FAIL(faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_hears_of_a_rank_that_can_not_map_it),
        cmocka_unit_test(too_few_descriptors_are_nobody_s_end),
        cmocka_unit_test(what_one_rank_is_asked_for_in_vain_all_hear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
