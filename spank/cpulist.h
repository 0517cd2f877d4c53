/* spank/cpulist.h - the CPUs of the step and of each of its tasks, as sets */
#ifndef PIPC_SPANK_CPULIST_H
#define PIPC_SPANK_CPULIST_H

#include "runtime/bind/bind.h"
#include "spank/ops.h"

typedef struct pipc__cpu_sets {
    hwloc_bitmap_t step;                 /* NULL: not known */
    hwloc_bitmap_t rank[PIPC__BIND_MAX]; /* [nranks] */
    int nranks;                          /* 0: the tasks' are not known */
} pipc__cpu_sets_t;

/* Read in->step_cpus and in->cpu_list. A list is Slurm's, "mask_cpu:0x3,0xc" or "map_cpu:0,2", an
 * entry a task, and gone through again where it is too short. It comes through the environment of
 * the job, so anything else is taken for unknown. @out is always to be freed. */
pipc_status_t pipc__cpu_sets(const pipc__place_in_t *in, pipc__cpu_sets_t *out, pipc__error_t *err);

void pipc__cpu_sets_free(pipc__cpu_sets_t *sets);

#endif
