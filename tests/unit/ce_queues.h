/* tests/unit/ce_queues.h - streams that are queues, for ce_streams.c: a driver that enqueues, and a
 * scheduler that takes one step at a time of any of them, at random: a part of a copy, a flag, a
 * part of a block's sum. All ranks are in one process and one thread. The kernel is not
 * kernels/ce.cu but what it says, in plain steps.
 */
#ifndef TESTS_UNIT_CE_QUEUES_H
#define TESTS_UNIT_CE_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/exec/cuda_exec.h"

#define BLOCKS 3 /* of a launch */

typedef enum kind { COPY, WRITE, WAIT, RECORD, AWAIT, SUM } kind_t;

typedef struct event {
    uint64_t asked, done; /* records enqueued, records come to */
} event_t;

typedef struct block {
    size_t done;
    uint64_t at;
    uint32_t number, piece;
    bool over;
} block_t;

typedef struct work {
    struct work *next;
    kind_t kind;
    char *to;
    const char *from;
    size_t bytes;
    bool among_kernels; /* COPY: in a queue of the caller's kernels */
    uint64_t *flag, value;
    event_t *event;
    int step;
    pipc__ce_args_t a; /* SUM */
    block_t block[BLOCKS];
} work_t;

typedef struct stream {
    work_t *first, **last;
    bool open;
} stream_t;

#define STREAMS 64
extern stream_t streams[STREAMS];
extern int nstreams;
extern uint64_t seed; /* of the scheduler; not 0 */

stream_t *new_stream(void);

/* Until all streams are through; false when all that is left waits. */
bool run_all(void);

/* What it enqueues goes to these streams. */
extern const pipc__cuda_t queues_driver;

/* A copy on stream @s, of the program's own. */
CUresult queues_copy(void *to, const void *from, size_t bytes, CUstream s);

#endif
