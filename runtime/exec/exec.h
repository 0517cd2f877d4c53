/* exec/exec.h - an executor runs a plan on real memory: the CPU's, or GPUs'. It knows no topology.
 *
 * Life: create (own memory, its handle) -> the caller exchanges handles -> connect (peers' memory)
 * -> probe -> prepare each plan -> run, run, ... -> drain -> disconnect (close peers' memory) ->
 * the caller meets all ranks -> destroy (free own memory).
 */
#ifndef PIPC_EXEC_EXEC_H
#define PIPC_EXEC_EXEC_H

#include <pcie-ipc/types.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/base/nvlinks.h"
#include "runtime/exec/control.h"
#include "runtime/exec/probe.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/proto.h"
#include "runtime/rail/rail.h"

#define PIPC__HANDLE_MAX 160 /* bytes of an executor's memory handle */

typedef struct pipc__exec pipc__exec_t;

/* Where the executor's memory is, for the exchange record; strings are empty when unknown. */
typedef struct pipc__exec_place {
    char bdf[16];            /* "0000:41:00.0" */
    char uuid[48];           /* "GPU-...", "MIG-..." */
    char gpu[64];            /* "NVIDIA H200" */
    pipc__nvlinks_t nvlinks; /* to GPUs that this process sees */
} pipc__exec_place_t;

/* The own end of a rail, for plans that have rails; ranks here are those of the own node, in the
 * order in which they have their programs. */
typedef struct pipc__exec_rail {
    const pipc__rail_ops_t *ops;
    pipc__rail_t *rail; /* connected; NULL on a rank that is on none */
    int nranks;         /* of all nodes: averages divide by it */
    /* The least that any rank of any node created its executor with: rounds are cut by it, and must
     * be cut alike on every node. */
    size_t staging_bytes;
} pipc__exec_rail_t;

/* Where the time of calls over rails goes, on a rank that is on one of the plan's; summed up over
 * calls that ended well. wait_nsec <= busy_nsec <= nsec.
 *
 *     call    |--local--|--local--|.........|-local-|.......|-local-|      nsec
 *     rail              |-- job 0 --------|
 *                            |-- job 1 ---------------------|               busy_nsec
 *     wait                        |.........|       |.......|               wait_nsec
 */
typedef struct pipc__rail_times {
    uint64_t calls;
    uint64_t nsec;      /* in the calls */
    uint64_t busy_nsec; /* with a job of the rail under way, or several */
    uint64_t wait_nsec; /* of that, with no local step that could go on: what the rail costs */
} pipc__rail_times_t;

/* One call of a plan's collective; the same on every rank but for the pointers.
 *   all-reduce      send[count], recv[count]; in place: recv == send
 *   reduce-scatter  send[nranks * count], recv[count]; in place: recv == send + rank * count
 *   all-gather      send[count], recv[nranks * count]; in place: send == recv + rank * count
 * No other overlap. */
typedef struct pipc__exec_call {
    const pipc__plan_t *plan; /* prepared */
    const void *send;
    void *recv;
    size_t count; /* elements; of one rank's block in reduce-scatter and all-gather */
    pipc_dtype_t dtype;
    pipc_redop_t op;
    void *stream;    /* CUDA: CUstream or cudaStream_t; CPU: ignored */
    uint64_t number; /* 1, 2, ...: for messages */
    pipc__proto_t proto;
    int blocks; /* thread blocks at most; 0: the executor's default. CPU: ignored */
} pipc__exec_call_t;

typedef pipc_status_t pipc__enqueue_t(void *arg, const pipc__exec_call_t *call, pipc__error_t *err);

#define PIPC__STAGING_MAX ((size_t)1 << 40) /* of a rank: sums of it can't overflow */

typedef struct pipc__exec_ops {
    const char *name; /* "cpu", "cuda" */

    /* Allocate the own staging, @staging_bytes in all (rounded), and fill handle and place. @ctl is
     * the caller's and outlives the executor. */
    pipc_status_t (*create)(pipc__exec_t **exec, pipc__control_t *ctl, size_t staging_bytes,
                            uint8_t handle[PIPC__HANDLE_MAX], pipc__exec_place_t *place,
                            pipc__error_t *err);
    /* Take the peers' staging; handles[r] is rank r's, the own included. */
    pipc_status_t (*connect)(pipc__exec_t *exec, int rank, int size,
                             const uint8_t (*handles)[PIPC__HANDLE_MAX], pipc__error_t *err);
    /* Before any plan with rails is prepared, on all ranks of a node. What @rail names is the
     * executor's from then on: it closes the rail when a call has failed over it or with it, for
     * the engine may still write to the user's memory, and in disconnect(). NULL: no plans with
     * rails. */
    void (*set_rail)(pipc__exec_t *exec, const pipc__exec_rail_t *rail);
    /* From now on add to @times (the caller's, until this is called with NULL) where calls over
     * rails spend theirs. Takes a clock some times a call, so nobody is timed who doesn't ask.
     * NULL: this executor can't tell. */
    void (*time_rail)(pipc__exec_t *exec, pipc__rail_times_t *times);
    /* Once all nodes have come so far, and before any call of a plan with rails: what the engine of
     * the rail does only then. Waits for the other nodes. NULL: there is nothing to do. */
    pipc_status_t (*join_rail)(pipc__exec_t *exec, pipc__error_t *err);
    /* Find out who really reaches whose device memory; fills probe->state. Collective over the
     * control: every rank calls it, with @own as what failed on it until then (then @err holds
     * that), and all get PIPC_OK or an error. A pair that is out of reach is no error. NULL: all
     * ranks share one memory. */
    pipc_status_t (*probe)(pipc__exec_t *exec, pipc__probe_t *probe, pipc_status_t own,
                           pipc__error_t *err);
    /* Everything that later runs of @plan need, the peers' memory that it touches mapped; @plan
     * must outlive the executor. */
    pipc_status_t (*prepare)(pipc__exec_t *exec, const pipc__plan_t *plan, pipc__error_t *err);
    /* Would run() take messages of @bytes of @plan, which is prepared, by @proto, eager or captured
     * into a graph? The same on every rank but for what a machine lacks. NULL: simple only, of any
     * size. */
    bool (*can)(const pipc__exec_t *exec, const pipc__plan_t *plan, pipc__proto_t proto,
                size_t bytes, bool in_graph);
    /* CPU: returns when the result is there. CUDA: enqueues on the stream. Allocates nothing. With
     * PIPC_ERR_INVALID and no abort word nothing was done, and the executor is as before. */
    pipc_status_t (*run)(pipc__exec_t *exec, const pipc__exec_call_t *call, pipc__error_t *err);
    /* Is the stream being captured into a graph? NULL where there are no graphs. */
    pipc_status_t (*captures)(pipc__exec_t *exec, void *stream, bool *yes, pipc__error_t *err);
    /* Thread blocks of a call, one a multiprocessor, the same on every rank once connected: those
     * of the default budget, or with @most all that the GPU has. NULL where there are none. */
    int (*blocks)(const pipc__exec_t *exec, bool most);
    /* Have something else that the ranks do together enqueued, in turn with the calls:
     * enqueue(arg, call, err) puts it on call->stream. NULL where nothing is enqueued. */
    pipc_status_t (*other)(pipc__exec_t *exec, const pipc__exec_call_t *call,
                           pipc__enqueue_t *enqueue, void *arg, pipc__error_t *err);
    /* What went wrong since, if anything did, without waiting. Where there are rails the other
     * nodes are told of an abort, and what they have told is taken in. */
    pipc_status_t (*poll)(pipc__exec_t *exec, pipc__error_t *err);
    /* Does anything that was enqueued still run, or wait for its turn? NULL: a call returns when it
     * is through. */
    pipc_status_t (*pending)(pipc__exec_t *exec, bool *yes, pipc__error_t *err);
    /* Wait until nothing that was enqueued runs any more. */
    pipc_status_t (*drain)(pipc__exec_t *exec, pipc__error_t *err);
    void (*disconnect)(pipc__exec_t *exec);
    void (*destroy)(pipc__exec_t *exec); /* NULL is allowed */
    /* In a forked child: unmap and free what is the own process's alone; the parent goes on. NULL:
     * nothing of it can be released there. */
    void (*abandon)(pipc__exec_t *exec);
} pipc__exec_ops_t;

/* The base of every executor's own structure. */
struct pipc__exec {
    const pipc__exec_ops_t *ops;
    pipc__control_t *ctl;
    /* The caller's to set, before any prepare(): */
    bool nvlink; /* NVLink joins all ranks' GPUs */
    bool plain;  /* no kernel begins before the one before it on the stream is over (cuda_launch.c) */
};

extern const pipc__exec_ops_t pipc__exec_cpu;
extern const pipc__exec_ops_t pipc__exec_cuda; /* only in builds with CUDA */

/* Has the calling thread a current CUDA context? False also where there is no CUDA at all; never
 * opens the driver by itself. Only in builds with CUDA. */
bool pipc__cuda_has_context(void);

/* How a rail of ranks of the CPU executor adds. */
pipc__rail_sum_t pipc__exec_rail_sum;

/* Fill @err for a run that the abort word ended at @step of @stage in @round: names the rank that
 * was lost or that aborted, and what was waited for. Returns the status of the abort word. */
pipc_status_t pipc__exec_stalled(pipc__control_t *ctl, const pipc__plan_t *plan, int rank,
                                 uint64_t call, uint64_t round, int stage, int step,
                                 pipc__error_t *err);

#endif
