/* tests/unit/comm_fails.c - what fails on one rank alone ends the creation on every rank, and each
 * hears of the cause
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
    size_t staging; /* asked for on that rank alone */
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
    c.staging_bytes = rank == f->rank ? f->staging : 0;
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
        {.name = "first hidden",
         .rank = 2,
         .blind = first_is_hidden,
         .status = PIPC_ERR_UNREACHABLE},
        {.name = "first hidden, late",
         .rank = 2,
         .late_ms = 200,
         .blind = first_is_hidden,
         .status = PIPC_ERR_UNREACHABLE,
         .words = "rank 2 (process"},
        {.name = "first hidden, late, first",
         .rank = 1,
         .late_ms = 200,
         .blind = first_is_hidden,
         .status = PIPC_ERR_UNREACHABLE,
         .words = "rank 1 (process"},
        {.name = "last hidden, late",
         .rank = 0,
         .late_ms = 200,
         .blind = last_is_hidden,
         .status = PIPC_ERR_UNREACHABLE,
         .words = "rank 0 (process"},
    };

    (void)state;
    MUST_FAIL(faults);
}

static void too_few_descriptors_are_nobody_s_end(void **state)
{
    static const fault_t faults[] = {
        {.name = "none left",
         .rank = 2,
         .late_ms = 200,
         .befall = none_is_left,
         .status = PIPC_ERR_SYSTEM,
         .words = "Too many open files",
         .never = "not there"},
        {.name = "none left, first",
         .rank = 0,
         .late_ms = 200,
         .befall = none_is_left,
         .status = PIPC_ERR_SYSTEM,
         .words = "Too many open files",
         .never = "not there"},
        {.name = "one left",
         .rank = 2,
         .late_ms = 200,
         .befall = one_is_left,
         .status = PIPC_ERR_SYSTEM,
         .words = "Too many open files",
         .never = "has ended"},
        {.name = "one left, in time",
         .rank = 2,
         .befall = one_is_left,
         .status = PIPC_ERR_SYSTEM,
         .words = "Too many open files",
         .never = "not there"},
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
static void no_early(void)
{
    setenv("PCIE_IPC_EARLY", "bogus", 1);
}
static void no_plan(void)
{
    setenv("PCIE_IPC_PLAN", "bogus", 1);
}

static void what_one_rank_is_asked_for_in_vain_all_hear(void **state)
{
    static const fault_t faults[] = {
        {.name = "path",
         .rank = 1,
         .befall = no_path,
         .status = PIPC_ERR_INVALID,
         .words = "PCIE_IPC_PATH=bogus"},
        {.name = "nodes",
         .rank = 0,
         .befall = no_nodes,
         .status = PIPC_ERR_INVALID,
         .words = "PCIE_IPC_NODES=bogus"},
        {.name = "sms",
         .rank = 2,
         .befall = no_number,
         .status = PIPC_ERR_INVALID,
         .words = "PCIE_IPC_SMS=bogus"},
        {.name = "early",
         .rank = 1,
         .befall = no_early,
         .status = PIPC_ERR_INVALID,
         .words = "PCIE_IPC_EARLY=bogus"},
        {.name = "plan",
         .rank = 2,
         .befall = no_plan,
         .status = PIPC_ERR_INVALID,
         .words = "bogus"},
    };

    (void)state;
    MUST_FAIL(faults);
}

static void memory_that_can_not_be_is_refused(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2 + 1, ((size_t)1 << 40) + 1};
    fault_t f = {
        .name = "staging", .rank = 1, .status = PIPC_ERR_INVALID, .words = "staging_bytes"};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        f.staging = sizes[i];
        must_fail(&f, 1);
    }
}

static int populate_error;

/* libc's own, for the libraries in this program. */
int madvise(void *at, size_t bytes, int advice)
{
    if (advice == 23 && populate_error) { /* MADV_POPULATE_WRITE */
        errno = populate_error;
        return -1;
    }
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static void no_memory(void)
{
    populate_error = ENOMEM;
}

static void pages_that_are_not_to_be_had_are_no_memory(void **state)
{
    static const fault_t faults[] = {
        {.name = "no pages",
         .rank = 1,
         .befall = no_memory,
         .status = PIPC_ERR_NOMEM,
         .words = "no memory for the staging"},
    };

    (void)state;
    MUST_FAIL(faults);
}

static void no_large_files(void)
{
    struct rlimit l = {1 << 20, 1 << 20};

    setrlimit(RLIMIT_FSIZE, &l);
}

static void a_limit_of_files_is_named(void **state)
{
    static const fault_t faults[] = {
        {.name = "files of 1 MB",
         .rank = 1,
         .befall = no_large_files,
         .status = PIPC_ERR_SYSTEM,
         .words = "ulimit -f"},
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
        cmocka_unit_test(pages_that_are_not_to_be_had_are_no_memory),
        cmocka_unit_test(a_limit_of_files_is_named),
        cmocka_unit_test(memory_that_can_not_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
