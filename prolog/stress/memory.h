/* prolog/stress/memory.h - a buffer on a GPU, or in the host's memory near one
 */
#ifndef PIPC_PROLOG_STRESS_MEMORY_H
#define PIPC_PROLOG_STRESS_MEMORY_H

#include <stdbool.h>

#include "prolog/gpu_driver.h"

typedef struct stress_memory {
    pipc__gpu_ptr_t device; /* 0: in the host's memory */
    void *host;
    size_t bytes;
} stress_memory_t;

/* @bytes of zeros on the GPU @bdf, whose context is current, or, @host, pinned on its NUMA node and
 * open to all GPUs. */
pipc_status_t stress_memory_open(stress_memory_t *m, const pipc__gpu_driver_t *cu, const char *bdf,
                                 bool host, size_t bytes, pipc__error_t *err);
void stress_memory_close(stress_memory_t *m, const pipc__gpu_driver_t *cu);

#endif
