/* tools/bench/measure.h - one row of the table: check, then time, out of place and in place.
 */
#ifndef PIPC_BENCH_MEASURE_H
#define PIPC_BENCH_MEASURE_H

#include <stdint.h>

#include "runtime/comm/comm.h"
#include "runtime/tools/bench/device.h"
#include "runtime/tools/bench/options.h"

typedef struct bench {
    bench_options_t options;
    bench_device_t device;
    pipc_comm_t *comm;
    void *send, *recv; /* on the device, options.max_bytes each */
    char *host;        /* as much, in host memory */
    bool progress;     /* this rank draws a progress line */
} bench_t;

/* What is measured of one placement. */
typedef struct bench_cell {
    double usec, peer_usec; /* a call; median over the samples of the slowest rank */
    double p99_usec;        /* 99 of 100 samples of the slowest rank are no slower */
    uint64_t wrong;         /* elements, over all ranks */
} bench_cell_t;

typedef struct bench_row {
    bench_cell_t cell[2]; /* out of place, in place */
} bench_row_t;

/* Collective over the communicator. */
pipc_status_t bench_measure(bench_t *b, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                            bench_row_t *row, pipc__error_t *err);

/* Row over all nodes of the job: the slowest time, all wrong values. Collective over the job. Does
 * nothing when the communicator is the whole job. */
pipc_status_t bench_slowest_node(const bench_t *b, bench_row_t *row, pipc__error_t *err);

#endif
