/* tests/unit/exec_calls.h - what the tests of all executors share: sequences of verified calls, and
 * peers that die, abort or come late. The executor and the memory of user buffers are arguments.
 */
#ifndef TESTS_UNIT_EXEC_CALLS_H
#define TESTS_UNIT_EXEC_CALLS_H

#include <stdbool.h>

#include "tests/unit/rank_exec.h"
#include "tests/unit/values.h"

/* Where user buffers live. Functions end the process with a message on failure. */
typedef struct exec_memory {
    void (*begin)(int rank); /* once in a rank's process, before all else */
    char *(*alloc)(size_t bytes);
    void (*free)(char *p);
    void (*put)(char *to, const void *from, size_t bytes); /* from the host; done on return */
    void (*get)(void *to, const char *from, size_t bytes);
    void *(*stream)(unsigned int call); /* that call number @call goes to */
} exec_memory_t;

extern const exec_memory_t exec_memory_host;

typedef struct exec_job {
    const pipc__exec_ops_t *ops;
    const exec_memory_t *memory;
    size_t staging_bytes;
    const size_t *counts; /* elements; call i has counts[i % ncounts] */
    int ncounts;
    rank_plans_t plans; /* empty: the flat all-reduces */
    int plan;          /* of them; -1: alternate */
    int calls, batch;  /* batch: calls that are made before the first result is looked at */
    int drop_step;     /* perturbed builds: the wait to take out, or -1 */
    int drop_stage;    /* and the stage that it belongs to */
    uint32_t max_usec; /* perturbed builds: longest delay */
    int one_area;      /* perturbed builds */
    int no_scrub;      /* perturbed builds */
    uint64_t first;    /* perturbed builds: number of launches that a communicator begins with */
    int ll;            /* messages that LL can take go so: 0 none, 1 all, 2 in turns with others */
    int ll128;         /* the same with LL128 and what is left, where the executor has it */
    int push;          /* and with push */
    int ce;            /* and with CE */
    int drop_ce;       /* perturbed builds: the wait of CE to take out, see kernels/ce.h */
    bool blocks;       /* calls ask for different numbers of blocks */
} exec_job_t;

/* Bits of what exec_calls() found. */
#define EXEC_WRONG 1  /* a result is wrong */
#define EXEC_FAILED 2 /* a call failed; its text went to stderr */
#define EXEC_BEYOND 4 /* something beside the output was touched */

/* Make calls @first .. @first + @ncalls - 1, in batches, and look at every byte of the results.
 * Types, plans, alignments, in and out of place take turns. Collective; returns bits. */
int exec_calls(rank_exec_t *re, const exec_job_t *job, int rank, int n, unsigned int first,
               unsigned int ncalls);

/* In which order @plan reduces. */
test_order_t exec_order(const pipc__plan_t *plan);

/* A whole rank: opens, makes job->calls calls, closes. For ranks_run(); @arg is an exec_job_t. */
int exec_job_body(ranks_t *all, int rank, void *arg);

/* Rank @victim comes late, aborts or ends before its third call, which the others make. */
typedef struct exec_loss {
    exec_job_t job;
    int victim;
    bool aborts;
    unsigned int late_msec; /* not 0: it only comes late */
} exec_loss_t;

/* Returns 0 when everything was as it must be: the text names victim, call and step, within 5 s,
 * and all can be freed; the victim that dies exits with 9. For ranks_run(); @arg is an exec_loss_t.
 */
int exec_loss_body(ranks_t *all, int rank, void *arg);

/* Free everything though the peers are gone. */
void exec_free_after_loss(rank_exec_t *re);

/* Perturbed builds: take out each wait of each of the job's plans in turn, on all ranks that have
 * one at this stage and step, but for waits that others imply; returns how many were tried, or -1, and says so on stderr, when the
 * results stayed right without one. */
int exec_drop_each_wait(exec_job_t job, int nranks, int seconds);

#endif
