/* exec/cuda_exec.h - the CUDA executor's own structure, shared by its files:
 *
 *     cuda.c         the executor's functions; launching; what went wrong since
 *     cuda_order.c   calls one after the other, whatever their streams
 *     cuda_launch.c  a kernel on a stream
 *     cuda_simple.c  a plan step by step
 *     cuda_rail.c    a plan over nodes: the same in two halves, and NCCL between them
 *     cuda_ll.c      small messages, flags in the data
 *     cuda_ll128.c   middle ones, a flag in each line
 *     cuda_push.c    larger ones, copies and sums at the same time
 *     cuda_ce.c      large messages, moved by copy engines
 *     cuda_code.c    kernels on the device
 *     cuda_program.c programs there
 *     cuda_module.c  of the kernels linked in, those that the driver takes
 *     cuda_memory.c  staging: the own, its handle, the peers'
 *     cuda_host.c    staging in host memory, where a plan asks for it
 *     cuda_probe.c   who really reaches whose staging
 *     cuda_driver.c  the driver, opened at run time
 */
#ifndef PIPC_EXEC_CUDA_EXEC_H
#define PIPC_EXEC_CUDA_EXEC_H

#include <stdbool.h>

#include "kernels/allreduce.h"
#include "kernels/ll.h"
#include "kernels/ll128.h"
#include "kernels/push.h"
#include "runtime/exec/cuda_ce.h"
#include "runtime/exec/cuda_driver.h"
#include "runtime/exec/cuda_rail.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/layout.h"

#define PIPC__PROGRAMS_MAX 32 /* plans that one executor can prepare */

typedef struct pipc__cuda_program {
    const pipc__plan_t *plan;
    CUdeviceptr ops;          /* the own rank's, on the device: its stages, one behind the other */
    pipc__ll_args_t ll;       /* nranks 0: LL can't run it */
    pipc__ll128_args_t ll128; /* the same */
    pipc__push_args_t push;   /* the same */
    bool push_host;           /* some pair of it goes through host memory */
    int first[PIPC__STAGES_MAX]; /* of a plan over nodes: steps of each stage's first half */
} pipc__cuda_program_t;

/* What a rank tells its peers. */
typedef struct pipc__cuda_handle {
    uint32_t version;
    int32_t most_blocks; /* what this rank's GPU gives without being asked */
    int32_t capacity;    /* and at most */
    uint16_t mig;        /* a part of a GPU */
    uint16_t unused;
    uint64_t offset; /* of staging from the start of what the handle names */
    uint64_t bytes;  /* of staging */
    uint64_t own;    /* its address, and the context that it is in: for ranks of one process */
    uint64_t context;
    CUipcMemHandle ipc;
    char bdf[16];
    pipc__segment_handle_t host; /* staging in host memory */
} pipc__cuda_handle_t;

/* A capture of a stream that holds calls. */
typedef struct pipc__cuda_capture {
    uint64_t id; /* the driver's */
    CUstream stream;
    CUgraphNode call, record; /* the last call; the record of order.last behind it; NULL: none */
} pipc__cuda_capture_t;

#define PIPC__CAPTURES 8 /* that are remembered at a time */

/* See cuda_order.c */
typedef struct pipc__cuda_order {
    CUevent last;      /* behind the first @recorded launches and what follows, and each graph's */
    CUevent joint;     /* nobody waits for it: see pipc__cuda_order_other() */
    uint64_t launched; /* launches outside of graphs */
    uint64_t recorded;
    bool counts;                    /* streams can wait for pipc__lane_state_t.calls */
    bool other;                     /* the last one outside of graphs was no kernel of ours */
    bool captured;                  /* a launch went into a graph */
    unsigned long long last_stream; /* of the last launch, as stream_id() gives it; 0: don't know */
    pipc__cuda_capture_t capture[PIPC__CAPTURES];
    unsigned int ncaptures;
} pipc__cuda_order_t;

typedef struct pipc__cuda_exec {
    pipc__exec_t base;
    const pipc__cuda_t *cu;
    CUcontext context; /* the caller's, not owned */
    CUdevice device;
    CUstream stream; /* own; for set-up alone */
    int rank, size;  /* size 0: not connected */
    /* Blocks of a launch, the same on every rank once connected: when a call does not say; at most.
     */
    int most_blocks, capacity;

    CUmodule module, ll_module, ll128_module, push_module;
    CUfunction kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];
    CUfunction ll_kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];
    CUfunction ll128_kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];
    CUfunction push_kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];
    bool begins_early;  /* launches may: see cuda_launch.c */
    size_t push_shared; /* memory for bulk copies, a block; 0: the kernels have none */
    pipc__cuda_program_t programs[PIPC__PROGRAMS_MAX];
    int nprograms;

    pipc__cuda_handle_t handle[PIPC__RANKS_MAX]; /* once connected */
    CUdeviceptr own;                             /* staging */
    pipc__layout_t layout;                       /* of all ranks' staging */
    CUdeviceptr peer[PIPC__RANKS_MAX];           /* what cuIpcOpenMemHandle gave; 0: not open */
    bool inside; /* other ranks are of this process: they reach staging as it is */
    pipc__segment_t own_host, peer_host[PIPC__RANKS_MAX]; /* peers': as far as plans need them */
    pipc__segment_handle_t host_handle;                   /* of own_host */
    CUdeviceptr state;                                    /* pipc__lane_state_t */
    bool registered;                                      /* the control page is */

    pipc__cuda_ce_t ce;
    pipc__cuda_rail_t rail;
    pipc__cuda_order_t order;
    uint64_t last_call;
    bool stuck; /* a kernel of the probe never ended: nothing can be given back to the driver */
    pipc__error_t broken; /* status not PIPC_OK: latched, every call fails with it */
    pipc__error_t unfit;  /* status not PIPC_OK: no kernels run on this GPU, NCCL's perhaps */

    pipc__lane_args_t args; /* what does not change from launch to launch */
} pipc__cuda_exec_t;

/* Load the kernels and force them onto the device, so that no launch ever loads. */
pipc_status_t pipc__cuda_load_kernels(pipc__cuda_exec_t *x, pipc__error_t *err);
void pipc__cuda_unload_kernels(pipc__cuda_exec_t *x);

/* Whether launches may begin before the kernel before them has ended: with a @driver (12030: of
 * CUDA 12.3), kernels made for @ptx (90: sm_90) at least, and a launch that can say so. */
bool pipc__cuda_may_begin_early(int driver, int ptx, bool has_launch);
void pipc__cuda_launch_init(pipc__cuda_exec_t *x); /* once kernels are loaded */

/* Of one of those kernels, all of which begin with grid_wait(). */
typedef struct pipc__cuda_grid {
    CUfunction kernel;
    unsigned int blocks, threads, shared; /* shared: bytes of memory a block */
} pipc__cuda_grid_t;

/* @args: the structure that is the kernel's one parameter. */
CUresult pipc__cuda_launch(const pipc__cuda_exec_t *x, CUstream stream, const pipc__cuda_grid_t *g,
                           void *args);

/* Put the own rank's programs of @plan on the device. */
pipc_status_t pipc__cuda_load_program(pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                      pipc__error_t *err);

/* Blocks that a launch for @call may have. */
int pipc__cuda_blocks(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call);

/* A protocol, as cuda.c sees it; index is that of the call's plan in programs[]. */
typedef struct pipc__cuda_proto {
    /* Arguments for programs[index], whose memory is within reach. NULL: nothing to do. */
    void (*prepare)(pipc__cuda_exec_t *x, int index);
    /* As pipc__exec_ops_t.can. NULL: always. */
    bool (*can)(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph);
    /* What stands against @call. NULL: nothing. */
    pipc_status_t (*check)(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index,
                           pipc__error_t *err);
    CUresult (*launch)(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);
} pipc__cuda_proto_t;

/* Into x->args: the programs of the plan of @call, and the call itself. */
void pipc__cuda_take_program(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);
/* Launch x->args with so many lanes. */
CUresult pipc__cuda_launch_lanes(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int lanes);
CUresult pipc__cuda_simple_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);

void pipc__cuda_ll_prepare(pipc__cuda_exec_t *x, int index);
bool pipc__cuda_ll_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph);
pipc_status_t pipc__cuda_ll_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                  int index, pipc__error_t *err);
CUresult pipc__cuda_ll_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);

void pipc__cuda_ll128_prepare(pipc__cuda_exec_t *x, int index);
bool pipc__cuda_ll128_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph);
pipc_status_t pipc__cuda_ll128_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                     int index, pipc__error_t *err);
CUresult pipc__cuda_ll128_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);

void pipc__cuda_push_prepare(pipc__cuda_exec_t *x, int index);
bool pipc__cuda_push_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph);
pipc_status_t pipc__cuda_push_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                    int index, pipc__error_t *err);
CUresult pipc__cuda_push_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);

/* pipc__exec_ops_t's set_rail and join_rail. */
void pipc__cuda_set_rail(pipc__exec_t *exec, const pipc__exec_rail_t *rail);
pipc_status_t pipc__cuda_join_rail(pipc__cuda_exec_t *x, pipc__error_t *err);
/* What stands against plans over nodes, or against others; and the halves of programs[index]. */
pipc_status_t pipc__cuda_rail_judge(const pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                    pipc__error_t *err);
pipc_status_t pipc__cuda_rail_prepare(pipc__cuda_exec_t *x, int index, pipc__error_t *err);
/* All of a call. *rc: what the driver said; else what the rail's engine said. */
pipc_status_t pipc__cuda_rail_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index,
                                     bool capturing, CUresult *rc, pipc__error_t *err);
/* With @alive nothing runs any more. */
void pipc__cuda_rail_end(pipc__cuda_exec_t *x, bool alive);

/* How many streams of bulk copies the kernels can have, and the shared memory for them. */
pipc_status_t pipc__cuda_push_kernels(pipc__cuda_exec_t *x, pipc__error_t *err);

/* CE makes its streams here; what keeps them from being made, the check tells. */
void pipc__cuda_ce_prepare(pipc__cuda_exec_t *x, int index);
bool pipc__cuda_ce_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph);
pipc_status_t pipc__cuda_ce_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                  int index, pipc__error_t *err);
CUresult pipc__cuda_ce_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index);
CUresult pipc__cuda_ce_drain(const pipc__cuda_exec_t *x); /* waits for its streams */
void pipc__cuda_ce_end(pipc__cuda_exec_t *x);             /* waits, and closes all but kernels */
void pipc__cuda_ce_release(pipc__cuda_exec_t *x);         /* ends its thread alone: no context */

pipc_status_t pipc__cuda_order_init(pipc__cuda_exec_t *x, pipc__error_t *err);
void pipc__cuda_order_end(pipc__cuda_exec_t *x);
/* Before and after each launch on @stream; *capturing says whether it goes into a graph. */
CUresult pipc__cuda_order_before(pipc__cuda_exec_t *x, CUstream stream, bool *capturing);
/* The same behind something that is no kernel of ours and counts nothing. */
CUresult pipc__cuda_order_other(pipc__cuda_exec_t *x, CUstream stream, bool capturing);
CUresult pipc__cuda_order_after(pipc__cuda_exec_t *x, CUstream stream, bool capturing);
/* See to it that order.last comes behind all launches so far; waits for nothing. */
CUresult pipc__cuda_order_settle(pipc__cuda_exec_t *x);

/* Own staging and state, zeroed; the control page within the device's reach. */
pipc_status_t pipc__cuda_alloc(pipc__cuda_exec_t *x, size_t staging_bytes, pipc__error_t *err);
void pipc__cuda_free(pipc__cuda_exec_t *x);

/* Fill handle and place. */
pipc_status_t pipc__cuda_describe(pipc__cuda_exec_t *x, uint8_t handle[PIPC__HANDLE_MAX],
                                  pipc__exec_place_t *place, pipc__error_t *err);

/* Take the peers' handles and agree on blocks; x->rank and x->size are set. */
pipc_status_t pipc__cuda_take_handles(pipc__cuda_exec_t *x,
                                      const uint8_t (*handles)[PIPC__HANDLE_MAX],
                                      pipc__error_t *err);

/* Map what the own programs of @plan touch of the ranks' memory, unless it is mapped already. A
 * peer whose device memory no plan writes need not be within reach. */
pipc_status_t pipc__cuda_reach(pipc__cuda_exec_t *x, const pipc__plan_t *plan, pipc__error_t *err);
void pipc__cuda_unmap_peers(pipc__cuda_exec_t *x);

/* Map rank @r's staging, unless it is mapped already: GOOD, or what is in the way. It stays mapped
 * until pipc__cuda_unmap_peers(). */
pipc__path_state_t pipc__cuda_open_peer(pipc__cuda_exec_t *x, int r);

/* pipc__exec_ops_t.probe. Uses the end of the areas of staging, before any call does. */
pipc_status_t pipc__cuda_probe(pipc__exec_t *exec, pipc__probe_t *probe, pipc_status_t own,
                               pipc__error_t *err);

/* Own host memory, of which no page has been touched yet, onto the NUMA node of the GPU at @bdf. */
void pipc__cuda_place_host(pipc__cuda_exec_t *x, const char *bdf);

/* The host memory of rank @r, the own included, pinned and within the device's reach. */
pipc_status_t pipc__cuda_reach_host(pipc__cuda_exec_t *x, int r, pipc__error_t *err);
void pipc__cuda_leave_host(pipc__cuda_exec_t *x, int r); /* also where it was not reached */

#endif
