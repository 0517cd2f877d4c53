/* tools/bench/measure.h - one row of the table: check, then time, out of place and in place.
 */
#ifndef PIPC_BENCH_MEASURE_H
#define PIPC_BENCH_MEASURE_H

#include "runtime/comm/comm.h"
#include "runtime/tools/bench/device.h"
#include "runtime/tools/bench/options.h"
#include "runtime/tools/bench/results.h"

#define BENCH_BESIDE_NAME 48 /* bytes of "one-shot/push@16", its end included */

/* A way of the library's own: a table, and how many blocks a call may have. */
typedef struct bench_own {
    char name[BENCH_BESIDE_NAME];
    pipc__table_t table;
    int most_blocks;
} bench_own_t;

typedef struct bench {
    bench_options_t options;
    bench_device_t device;
    pipc_comm_t *comm;
    double create_usec; /* that the slowest rank took to make it */
    void *send, *recv;                     /* on the device, options.max_bytes each */
    char *host;                            /* as much, in host memory */
    bool progress;                         /* this rank draws a progress line */
    bench_own_t own[1 + BENCH_BESIDE_MAX]; /* what the run itself does, and what --beside lists */
    int nways;                             /* 0 or 1: nothing beside */
    int now;                               /* who the communicator is: bench_become() */
    pipc__rail_times_t rail_times;         /* of own samples, since it was cleared */
} bench_t;

/* Own, what --beside lists and every variant of the peer in turns. Fills result's row for its
 * count, dtype and op. Collective over the communicator. */
pipc_status_t bench_measure(bench_t *b, bench_result_t *result, pipc__error_t *err);

/* Are results of @bytes looked at? */
bool bench_checked(const bench_t *b, size_t bytes);

/* Row over all nodes of the job: the slowest time, all wrong values; what one node did not measure
 * is not measured. Collective over the job. Does nothing when the communicator is the whole job. */
pipc_status_t bench_slowest_node(const bench_t *b, bench_row_t *row, pipc__error_t *err);

#endif
