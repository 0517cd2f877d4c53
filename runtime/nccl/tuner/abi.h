/* nccl/tuner/abi.h - what NCCL and a tuner plugin know of each other, versions 4 to 6.
 *
 * Declared here, so that nothing builds against NCCL's headers. Layouts after NCCL's own
 * src/include/plugin/tuner/tuner_v4.h (NCCL 2.26 and 2.27), tuner_v5.h (2.28, 2.29) and tuner_v6.h
 * (2.30), numbers after src/include/plugin/nccl_tuner.h. Version 4 makes its context itself;
 * versions 5 and 6 are told which communicator it is, and 6 may change chunks. NCCL takes the
 * newest that it knows. Enumerations are ints, results too.
 */
#ifndef PIPC_NCCL_TUNER_ABI_H
#define PIPC_NCCL_TUNER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { TUNER_SUCCESS = 0 };         /* ncclResult_t */
enum { TUNER_ALLREDUCE = 4 };       /* ncclFunc_t */
enum { TUNER_LOG_INFO = 3 };        /* ncclDebugLogLevel */
enum { TUNER_LOG_TUNING = 64 };     /* of the log's subsystems */
#define TUNER_NOT_AVAILABLE (-1.0f) /* an entry that NCCL can't or must not take */

typedef void (*tuner_log_t)(int level, unsigned long flags, const char *file, int line,
                            const char *fmt, ...);

/* @costs is a table float[nalgo][nproto], whatever its type says. */
typedef int (*tuner_get_t)(void *context, int collective, size_t bytes, int ops, float **costs,
                           int nalgo, int nproto, int registered, int *nchannels);

typedef struct tuner_v4 {
    const char *name;
    int (*init)(size_t nranks, size_t nnodes, tuner_log_t log, void **context);
    tuner_get_t get;
    int (*destroy)(void *context);
} tuner_v4_t;

/* @domains and @constants point to structures that are not read. */
typedef int (*tuner_init_t)(void **context, uint64_t comm, size_t nranks, size_t nnodes,
                            tuner_log_t log, void *domains, void *constants);

typedef struct tuner_v5 {
    const char *name;
    tuner_init_t init;
    tuner_get_t get;
    int (*finalize)(void *context);
} tuner_v5_t;

typedef struct tuner_v6 {
    const char *name;
    tuner_init_t init;
    tuner_get_t get;
    int (*finalize)(void *context);
    /* NULL: chunks are NCCL's */
    int (*chunk)(void *context, int collective, size_t bytes, int algo, int proto, int nchannels,
                 size_t *chunk);
} tuner_v6_t;

#endif
