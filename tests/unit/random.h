/* tests/unit/random.h - random calls of a communicator, all verified: the part that the CPU's and
 * the GPU's test share.
 *
 *     life    a communicator with a random amount of staging and number of multiprocessors
 *     batch   some of its calls, enqueued one behind the other, then one look at all results
 *     round   a batch's calls once; those that were captured are replayed in several, with new
 * inputs
 *
 * All is a function of the seed and the batch's number, so any batch can be repeated alone.
 */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <stdbool.h>

#include "runtime/comm/comm.h"
#include "tests/unit/random_values.h"
#include "tests/unit/ranks.h"

#define RANDOM_BATCH 64 /* calls at most */
#define RANDOM_LIMIT                                                                               \
    (24 * 3600) /* s, of ranks_run(): it is the test that sees a hang, long before */

/* Where the calls run. */
typedef struct random_device {
    pipc_backend_t backend;
    size_t most_bytes;                    /* of a message */
    size_t arena_bytes;                   /* of a batch's inputs, and of its outputs */
    unsigned int batches;                 /* of a life */
    void (*open)(int rank, size_t bytes); /* the memory, too */
    char *(*arena)(bool output);          /* aligned to 256 bytes */
    void *(*stream)(int which);           /* 0, 1 */
    /* Enqueue the filling of all buffers; what comes on either stream waits for it. */
    void (*fill)(const random_buffers_t *b, int n, int rank);
    /* When all is done, compare; waits. */
    void (*check)(const random_buffers_t *b, int n, int rank, int nranks, random_verdict_t *v);
    /* NULL where there are no graphs. What comes between them on either stream goes into the graph,
     * which is then there until the next one. */
    void (*capture)(void), (*captured)(void), (*replay)(void);
    void (*forget)(void); /* the graph, before the communicator goes; NULL without capture */
    void (*close)(void);
} random_device_t;

typedef struct random_options {
    const random_device_t *device;
    uint64_t seed, first; /* batch to begin with */
    uint64_t batches;     /* at most; 0: no limit */
    uint64_t calls;       /* at least, then end; 0: no limit */
    double seconds;       /* the same */
    double patience;      /* seconds without a batch that ends: a hang */
    /* Negative controls: the rank that gives something else than the others think; the rank that
     * stops in the middle of its first batch. -1: none. */
    int spoil, stop;
    int groups;       /* ranks stand in so many, each below a switch of its own; 0: as they do */
    const char *nccl; /* its library: many of the calls are NCCL's, inside; NULL: none */
} random_options_t;

/* "--seed S --first BATCH --batches N --calls N --seconds S --patience S --spoil RANK --stop RANK
 * --groups N --nccl PATH"; false and a line on stderr for anything else. *ranks gets --ranks. */
bool random_parse(random_options_t *o, int *ranks, int argc, char **argv);

/* For ranks_run(); @arg is a random_options_t. Rank 0 prints what was done. Returns 0; 1 for a
 * wrong result, 2 for an error, 3 for a hang. */
int random_body(ranks_t *all, int rank, void *arg);

/* What one call is: pure. */
typedef struct random_choice {
    pipc__choice_t what;
    size_t most_bytes[2]; /* of a message, eager and in a graph; 0: none */
} random_choice_t;

typedef struct random_call {
    int choice; /* index */
    int blocks;
    size_t count;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    bool in_place;
    int stream;
    unsigned int in_skew, out_skew; /* bytes */
} random_call_t;

random_call_t random_call(uint64_t key, const random_choice_t *choices, int nchoices,
                          bool in_graph);

#endif
