/* exec/cuda_ce.h - what the CUDA executor keeps for protocol CE; see cuda_ce.c
 */
#ifndef PIPC_EXEC_CUDA_CE_H
#define PIPC_EXEC_CUDA_CE_H

#include <cuda.h>
#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/ce.h"
#include "runtime/base/error.h"
#include "runtime/exec/release.h"

typedef struct pipc__cuda_ce {
    CUmodule module;
    CUfunction kernel[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT];

    bool opened; /* for programs[program]: one plan alone, which owns the rings */
    int program;
    char missing[PIPC__ERROR_MAX]; /* why it can't run it; "": it can */
    uint32_t to_host, from_host;   /* bit q: what goes to, comes from rank q by host memory */
    bool any_host;                 /* of any pair of ranks: all cut messages alike */
    int lanes;                     /* streams for each peer */
    CUstream push[PIPC__RANKS_MAX][PIPC__CE_LANES]; /* to rank q; NULL for the own */
    CUstream pull[PIPC__RANKS_MAX];                 /* from rank q, out of host memory */
    CUevent begun;                                  /* the caller's stream has come to the call */
    CUdeviceptr front[PIPC__RANKS_MAX]; /* rank q's front flags (control.h); 0: not in reach */
    pipc__release_t *release;
    uint64_t at;        /* where the next call begins in the rings */
    uint64_t safe;      /* up to here all rings are free when it does */
    pipc__ce_cut_t cut; /* 0: as pipc__ce_cut() says; for trials, the same on every rank */
    pipc__ce_args_t args;
} pipc__cuda_ce_t;

#endif
