/* tools/bench/burst.h - a sample: calls issued back to back between a barrier of all ranks and the
 * end of the last one. Its time is divided by the number of calls.
 */
#ifndef PIPC_BENCH_BURST_H
#define PIPC_BENCH_BURST_H

#include "runtime/tools/bench/measure.h"

/* In place of a variant of the peer: pcie-ipc itself, and the @k-th of --beside, or its k. */
#define BENCH_OWN (-1)
#define BENCH_BESIDE(k) (-2 - (k))

typedef struct bench_message {
    size_t count, bytes;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    bool in_place;
} bench_message_t;

typedef struct bench_burst {
    int who; /* BENCH_OWN, BENCH_BESIDE(k), or a variant of the peer */
    int calls, replays;
    void *graph; /* that holds the calls, with -G; NULL: they are issued one by one */
} bench_burst_t;

typedef struct bench_sample {
    double usec;     /* a call */
    double cpu_usec; /* this thread's CPU time to issue a call; on a CPU that is the call */
} bench_sample_t;

/* The buffers that @who's calls use: a variant may have its own. */
void bench_buffers(const bench_t *b, int who, void **send, void **recv);

/* A burst of about 4 MB or as --burst-bytes says, 1 to 20 calls, or of as many as --burst says;
 * with -G its graph. bench_burst_close() releases it, also after a failure. */
pipc_status_t bench_burst_open(bench_t *b, const bench_message_t *m, int who, bench_burst_t *u,
                               pipc__error_t *err);
/* The same with one call, for warm-up and checks; @graph: captured, as the timed ones are. */
pipc_status_t bench_burst_single(bench_t *b, const bench_message_t *m, int who, bool graph,
                                 bench_burst_t *u, pipc__error_t *err);
void bench_burst_close(const bench_t *b, bench_burst_t *u);

/* Issue all calls of a sample, and take the CPU time of that. */
pipc_status_t bench_burst_issue(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                double *cpu_usec, pipc__error_t *err);

/* One sample. Collective. */
pipc_status_t bench_burst_sample(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                 bench_sample_t *sample, pipc__error_t *err);

#endif
