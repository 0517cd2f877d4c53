/* prolog/stress/traffic.h - the copies: lanes of chosen GPUs, all at once, until told to stop
 *
 * Opened and run by one thread, which may hang in the driver; what it has done so far is read by
 * others at any time.
 */
#ifndef PIPC_PROLOG_STRESS_TRAFFIC_H
#define PIPC_PROLOG_STRESS_TRAFFIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prolog/facts.h"
#include "prolog/stress/pattern.h"
#include "runtime/base/error.h"

enum {
    STRESS_GPUS_MAX = 16,
    STRESS_LANES_MAX = STRESS_GPUS_MAX * (STRESS_GPUS_MAX + 1) / 2,
    STRESS_HOST = -1,
    STRESS_PARTS = 16 /* a look at a token is at one of so many parts */
};

typedef enum stress_which { STRESS_ALL, STRESS_PAIRS, STRESS_TO_HOST } stress_which_t;

typedef struct stress_wants {
    int gpu[STRESS_GPUS_MAX], ngpus; /* numbers of CUDA's; 0: all */
    size_t bytes;                    /* of one copy; a multiple of 8 * STRESS_PARTS */
    stress_which_t which;
} stress_wants_t;

typedef struct stress_gpu {
    int number;                    /* CUDA's */
    char bdf[PIPC__FACT_NAME_MAX]; /* as sysfs writes it */
    char name[96];
} stress_gpu_t;

/* What a lane has done. Both ways are always as far. */
typedef struct stress_done {
    int x, y;                      /* indices of GPUs; y may be STRESS_HOST */
    bool nvlink;                   /* not over PCIe */
    atomic_uint_fast64_t copies;   /* through, each way */
    atomic_uint_fast64_t verified; /* bytes that were compared */
    atomic_uint_fast64_t wrong;    /* bytes of these; ...  */
    stress_wrong_t first_wrong;    /* ... set before @wrong is more than 0 */
} stress_done_t;

typedef struct stress_traffic {
    const stress_wants_t *wants;
    stress_gpu_t gpu[STRESS_GPUS_MAX];
    int ngpus;
    stress_done_t lane[STRESS_LANES_MAX];
    int lanes;
    int unreached; /* pairs of GPUs without peer access: not in the lanes */
    char a[PIPC__FACT_NAME_MAX], b[PIPC__FACT_NAME_MAX]; /* one of them */
    int driver_version;                                  /* CUDA's: 13000 is 13.0 */
    atomic_bool ready;                                   /* the copies have begun */
    atomic_bool stop;                                    /* set by others */
    atomic_bool ended;                                   /* all is verified, or @err says why not */
    pipc__error_t err;                                   /* to be read when ended */
    atomic_uint_fast64_t beat;                           /* moves on as long as anything does */
} stress_traffic_t;

/* Everything: opens the driver @library, makes lanes, copies until stop, verifies each token whole,
 * and gives back what it took. The members above tell how it went. */
void stress_traffic_run(stress_traffic_t *t, const char *library);

#endif
