/* exec/cuda_rail.h - what the CUDA executor keeps for plans over nodes; see cuda_rail.c
 */
#ifndef PIPC_EXEC_CUDA_RAIL_H
#define PIPC_EXEC_CUDA_RAIL_H

#include <pthread.h>

#include "runtime/exec/exec.h"

typedef struct pipc__cuda_rail {
    pipc__exec_rail_t set; /* nranks 0: none */
    bool joined;
    pipc__control_t *ctl;
    int rank; /* as ctl has it */
    pthread_t watcher;
    pthread_mutex_t lock; /* of stop */
    pthread_cond_t wake;
    bool watching, stop;
} pipc__cuda_rail_t;

#endif
