/* exec/cpu_rail.h - the jobs of a rail that a call of the CPU executor has on their way.
 */
#ifndef PIPC_EXEC_CPU_RAIL_H
#define PIPC_EXEC_CPU_RAIL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/exec/exec.h"

/* A job, and the flag that its end sets to @round. */
typedef struct pipc__cpu_job {
    int id; /* the engine's; -1: of no elements, which the engine need not know */
    size_t count;
    void *data;
    bool post; /* the sum gets the post-op */
    _Atomic uint64_t *flag;
    uint64_t round;
} pipc__cpu_job_t;

typedef struct pipc__cpu_jobs {
    const pipc__exec_rail_t *rail;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    size_t message;              /* bytes of the call on a rail */
    pipc__rail_times_t *times;   /* that the jobs of the call are added to; NULL: nobody asks */
    uint64_t busy_from, busy_to; /* with times: since when there are jobs, until when there were */
    unsigned int first, n;       /* of job[], a ring in the order of their beginnings */
    pipc__error_t err;           /* status: what went wrong with the rail */
    pipc__cpu_job_t job[PIPC__RAIL_JOBS_MAX];
} pipc__cpu_jobs_t;

static inline bool pipc__cpu_jobs_full(const pipc__cpu_jobs_t *jobs)
{
    return jobs->n == PIPC__RAIL_JOBS_MAX;
}

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t pipc__cpu_jobs_clock(void);

/* Begin @job but for its id; there is room. An error stands in jobs->err, as after all that follow.
 */
void pipc__cpu_jobs_begin(pipc__cpu_jobs_t *jobs, pipc__cpu_job_t job);

/* Go on with all jobs, without waiting, and set the flags of those that have ended. */
void pipc__cpu_jobs_go_on(pipc__cpu_jobs_t *jobs);

/* Go on with jobs until ready(arg) or there are none, without limit. The status of jobs->err,
 * or of the abort word. */
pipc_status_t pipc__cpu_jobs_wait(pipc__cpu_jobs_t *jobs, pipc__control_t *ctl,
                                  bool (*ready)(void *arg), void *arg);

#endif
