/* prolog/stress/engine.h - what the files of the traffic share; for traffic.h's callers there is
 * nothing here
 */
#ifndef PIPC_PROLOG_STRESS_ENGINE_H
#define PIPC_PROLOG_STRESS_ENGINE_H

#include "prolog/gpu_driver.h"
#include "prolog/stress/lane.h"
#include "prolog/stress/memory.h"
#include "prolog/stress/traffic.h"

#define STRESS_AHEAD 8 /* steps that are enqueued */

typedef struct stress_way {
    stress_done_t *done;
    stress_lane_t state;
    stress_memory_t memory[2][STRESS_BUFFERS]; /* at x, at y */
    pipc__gpu_context_t context[2]; /* of the streams: the GPU that sends, or the only one */
    pipc__gpu_stream_t stream[2];   /* [s]: away from side s */
    pipc__gpu_event_t event[2][STRESS_AHEAD];
    long begun, ended; /* steps */
    long look_ms;      /* when a part is to be looked at */
    int part;
} stress_way_t;

typedef struct stress_engine {
    stress_traffic_t *t;
    pipc__gpu_driver_t cu;
    pipc__gpu_device_t device[STRESS_GPUS_MAX];
    pipc__gpu_context_t context[STRESS_GPUS_MAX];
    stress_way_t lane[STRESS_LANES_MAX];
    stress_memory_t scratch; /* one part, in the host's memory */
} stress_engine_t;

/* STRESS_GPU(e, "0000:41:00.0", MemAlloc, ...): true when it went well */
#define STRESS_GPU(e, name, member, ...)                                                           \
    (PIPC__GPU_TRY(&(e)->cu, name, &(e)->t->err, member, __VA_ARGS__) == PIPC_OK)

/* Which GPUs, and what joins them: false when the error says why not. */
bool stress_choose_gpus(stress_engine_t *e);
bool stress_choose_lanes(stress_engine_t *e);

#endif
