/* comm/comm.h - the inside of a communicator, for the library and its own tools.
 */
#ifndef PIPC_COMM_COMM_H
#define PIPC_COMM_COMM_H

#include <pcie-ipc/comm.h>
#include <pthread.h>

#include "runtime/comm/paths.h"
#include "runtime/comm/rails.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/nccl.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/shape.h"
#include "runtime/tune/table.h"
#include "runtime/xchg/record.h"
#include "runtime/xchg/xchg.h"

struct pipc_comm {
    int rank, size;             /* the program's: over all nodes */
    int local_rank, local_size; /* on the own node: what plans, control and executor know */
    pipc__rails_t rails;        /* to the other nodes */
    pipc__control_t *ctl;
    pipc__exec_t *exec;
    pipc__paths_t paths; /* by which memory each pair meets */
    pipc__shape_t shape; /* how the ranks stand, as plans see it */
    pipc__table_t table;
    char table_from[256]; /* its file; "shipped", "asked for" */
    int sms;              /* as asked for, in pipc_comm_config_t's terms */
    int most_blocks;      /* of a call; 0: the executor has none */
    pipc__nccl_t *nccl;   /* NULL: no row of the table is NCCL's, or those are left */
    bool leaves;          /* what is NCCL's to the program */
    pipc__plan_t *plan[PIPC__PLAN_KINDS]; /* those that the table names; the others NULL */
    pthread_mutex_t lock; /* of exec's run, poll and drain, which know no threads */
    bool reports;         /* its calls count in the report of this process */
    const char *why_nccl; /* of calls that NCCL does: the reason, in that report. Static */
    _Atomic uint64_t calls, empty; /* that were begun; of count 0 */
    struct {
        _Atomic uint64_t calls, bytes;
    } done[PIPC__ALGOS];  /* that returned PIPC_OK */
    _Atomic int dying;    /* 1 once somebody writes error */
    _Atomic int dead;     /* pipc_status_t that is latched; error holds its text */
    pipc__error_t error;  /* written once, by who set dying, before dead is set */
    pipc__record_t *recs; /* [local_size]; who the ranks of the own node are */
    unsigned int generation; /* of the process that created it: child.h */
};

/* As pipc_comm_create(), with @xchg as its exchange. */
pipc_status_t pipc__comm_create(pipc_comm_t **comm, const pipc_comm_config_t *config,
                                const pipc__xchg_ops_t *xchg, pipc__error_t *err);

/* Keep @err for pipc_last_error() of this thread and return its status. */
pipc_status_t pipc__comm_report(const pipc__error_t *err);

/* Was srun --pcie-ipc=verbose asked for (PCIE_IPC_VERBOSE=1)? Then, and where the program has not
 * said who gets log lines, those that are no debug lines go to standard error. */
bool pipc__log_is_verbose(void);
void pipc__log_begin(void);

/* A line in the log, once a process, where --pcie-ipc was asked for and its plugin was not here. */
void pipc__warn_of_plugin(void);

/* Give @comm another table: plans that it names and that are not there yet are made, proved and
 * prepared. Collective, with no call in flight; all ranks get it or none. What names NCCL or LL must
 * be possible here. */
pipc_status_t pipc__comm_prepare(pipc_comm_t *comm, const pipc__table_t *table, pipc__error_t *err);

/* Could calls of @bytes, alone or captured into a graph, do as @choice says? Its plan is made. */
bool pipc__comm_can(const pipc_comm_t *comm, pipc__choice_t choice, size_t bytes, bool in_graph);

/* What a call of @bytes does, alone or captured into a graph. */
pipc__choice_t pipc__comm_choice(const pipc_comm_t *comm, size_t bytes, bool in_graph);
/* The same for a table of results: "one-shot", "nccl"; a protocol other than simple follows, as in
 * "one-shot/ll". Static. */
const char *pipc__comm_choice_name(const pipc_comm_t *comm, size_t bytes, bool in_graph);

/* From now on add to @times, the caller's, where the own calls over nodes spend theirs
 * (pipc__rail_times_t); NULL: no more. False where that can't be told: on one node, on a rank that
 * is on no rail, and of executors that don't know. No call may be under way. */
bool pipc__comm_time_rails(pipc_comm_t *comm, pipc__rail_times_t *times);

#endif
