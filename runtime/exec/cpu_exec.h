/* exec/cpu_exec.h - the CPU executor's own structure and what lies where; private to cpu*.c
 */
#ifndef PIPC_EXEC_CPU_EXEC_H
#define PIPC_EXEC_CPU_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/exec/exec.h"

typedef struct pipc__cpu_flag {
    _Alignas(128) _Atomic uint64_t round;
} pipc__cpu_flag_t;

typedef struct pipc__cpu_exec {
    pipc__exec_t base;
    int rank, size;
    size_t staging_bytes; /* as asked for; an area is rounded */
    size_t area_bytes, half_bytes, cache_bytes;
    uint64_t round;            /* last round of the last call, counted over all calls */
    pipc__exec_rail_t rail;    /* nranks 0: none was set */
    pipc__rail_times_t *times; /* NULL: nobody asks */
    pipc__segment_t own, seg[PIPC__RANKS_MAX];
} pipc__cpu_exec_t;

#define PIPC__CPU_FLAGS_BYTES (PIPC__BUFFERS * PIPC__FLAGS_MAX * sizeof(pipc__cpu_flag_t))

/* Half of @rank's memory that is for @place, a pipc__place_t. */
static inline char *pipc__cpu_memory(const pipc__cpu_exec_t *x, int rank, int place)
{
    const pipc__segment_t *seg = rank == x->rank ? &x->own : &x->seg[rank];

    return seg->base + PIPC__SEGMENT_HEAD + (place == PIPC__HOST ? x->half_bytes : 0);
}

/* The flag of @rank that a SIGNAL or WAIT means in @round. */
static inline pipc__cpu_flag_t *pipc__cpu_flag(const pipc__cpu_exec_t *x, int rank,
                                               const pipc__op_t *op, uint64_t round)
{
    return (pipc__cpu_flag_t *)(void *)pipc__cpu_memory(x, rank, op->dst.place) +
           round % PIPC__BUFFERS * PIPC__FLAGS_MAX + op->flag;
}

static inline bool pipc__cpu_is_staged(pipc__ref_t ref)
{
    return ref.place == PIPC__SLOT || ref.place == PIPC__HOST;
}

static inline char *pipc__cpu_slot(const pipc__cpu_exec_t *x, pipc__ref_t ref, uint64_t area,
                                   size_t bytes)
{
    return pipc__cpu_memory(x, ref.rank, ref.place) + PIPC__CPU_FLAGS_BYTES + area * x->area_bytes +
           ref.slot * bytes;
}

/* Bytes of a slot of @plan. */
size_t pipc__cpu_slot_bytes(const pipc__cpu_exec_t *x, const pipc__plan_t *plan);

/* Is this rank on one of @plan's rails? nodes-one has fewer than the communicator. */
bool pipc__cpu_is_on_rail(const pipc__cpu_exec_t *x, const pipc__plan_t *plan);

/* A call, from its first step to its last: cpu_run.c. A status leaves jobs of the rail behind. */
pipc_status_t pipc__cpu_run(pipc__cpu_exec_t *x, const pipc__exec_call_t *call, pipc__error_t *err);

#endif
