/* exec/cuda_exec.h - the CUDA executor's own structure, shared by its files:
 *
 *     cuda.c         the executor's functions; launching; what went wrong since
 *     cuda_code.c    kernels and programs on the device
 *     cuda_memory.c  staging: the own, its handle, the peers'
 *     cuda_driver.c  the driver, opened at run time
 */
#ifndef PIPC_EXEC_CUDA_EXEC_H
#define PIPC_EXEC_CUDA_EXEC_H

#include <stdbool.h>

#include "kernels/allreduce.h"
#include "runtime/exec/cuda_driver.h"
#include "runtime/exec/exec.h"

#define PIPC__PROGRAMS_MAX 32 /* plans that one executor can prepare */

typedef struct pipc__cuda_program {
    const pipc__plan_t *plan;
    CUdeviceptr ops; /* the own rank's, on the device */
} pipc__cuda_program_t;

typedef struct pipc__cuda_exec {
    pipc__exec_t base;
    const pipc__cuda_t *cu;
    CUcontext context; /* the caller's, not owned */
    CUdevice device;
    CUstream stream; /* own; for set-up alone */
    int rank, size;  /* size 0: not connected */
    int most_lanes;  /* of a launch; the same on every rank once connected */

    CUmodule module;
    CUfunction kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];
    pipc__cuda_program_t programs[PIPC__PROGRAMS_MAX];
    int nprograms;

    CUdeviceptr own;                   /* staging */
    size_t bytes, area_bytes;          /* of all staging; of one area in it */
    CUdeviceptr peer[PIPC__RANKS_MAX]; /* what cuIpcOpenMemHandle gave; 0: not open */
    CUdeviceptr state;                 /* pipc__lane_state_t */
    bool registered;                   /* the control page is */

    CUevent last;                   /* recorded behind each launch */
    bool captured;                  /* a launch went into a graph */
    unsigned long long last_stream; /* of the last launch, as stream_id() gives it; 0: don't know */
    uint64_t last_call;
    pipc__error_t broken; /* status not PIPC_OK: latched, every call fails with it */

    pipc__lane_args_t args; /* what does not change from launch to launch */
} pipc__cuda_exec_t;

/* Load the kernels and force them onto the device, so that no launch ever loads. */
pipc_status_t pipc__cuda_load_kernels(pipc__cuda_exec_t *x, pipc__error_t *err);
void pipc__cuda_unload_kernels(pipc__cuda_exec_t *x);

/* Put the own rank's program of @plan on the device. */
pipc_status_t pipc__cuda_load_program(pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                      pipc__error_t *err);

/* Own staging and state, zeroed; the control page within the device's reach. */
pipc_status_t pipc__cuda_alloc(pipc__cuda_exec_t *x, size_t staging_bytes, pipc__error_t *err);
void pipc__cuda_free(pipc__cuda_exec_t *x);

/* Fill handle and place. */
pipc_status_t pipc__cuda_describe(pipc__cuda_exec_t *x, uint8_t handle[PIPC__HANDLE_MAX],
                                  pipc__exec_place_t *place, pipc__error_t *err);

/* Map the peers' staging and agree on lanes; x->rank and x->size are set. */
pipc_status_t pipc__cuda_map_peers(pipc__cuda_exec_t *x, const uint8_t (*handles)[PIPC__HANDLE_MAX],
                                   pipc__error_t *err);
void pipc__cuda_unmap_peers(pipc__cuda_exec_t *x);

#endif
