/* exec/cpu_rail.c - see cpu_rail.h
 *
 * A thread that waits for other nodes and for ranks of its own has two doorbells, the engine's and
 * its control page's, and can sleep on one. It sleeps on the engine's, and looks at its flags in
 * between: not longer at a time than an eighth of what it has waited already, so that a flag which
 * comes meanwhile makes nothing much later than it was anyhow, and a node that is minutes late
 * costs nothing.
 */
#include "runtime/exec/cpu_rail.h"

#include <sched.h>
#include <time.h>

#include "runtime/exec/reduce.h"

#define LOOKS 200 /* before it sleeps: some ten to hundred us, with turns of others in between */
#define REST_LEAST 20   /* us */
#define REST_MOST 10000 /* us: then an abort of a rank of the node is noticed */

void pipc__exec_rail_sum(void *to, const void *from, size_t count, pipc_dtype_t dtype,
                         pipc_redop_t op)
{
    const pipc__reduction_t how = {dtype, op, 1, 2, 0, false};

    pipc__reduce(&how, to, (const void *const[]){to, from}, count);
}

uint64_t pipc__cpu_jobs_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void pipc__cpu_jobs_begin(pipc__cpu_jobs_t *jobs, pipc__cpu_job_t job)
{
    const pipc__rail_job_t what = {job.data, job.count, jobs->dtype, jobs->op, jobs->message};

    job.id = -1;
    if (!jobs->rail->rail && !jobs->err.status)
        pipc__fail(&jobs->err, PIPC_ERR_ABORTED, "a call over several nodes has failed before");
    if (jobs->err.status)
        return;
    if (job.count && jobs->rail->ops->start(jobs->rail->rail, &what, &job.id, &jobs->err))
        return;
    if (jobs->times && !jobs->n)
        jobs->busy_from = pipc__cpu_jobs_clock();
    jobs->job[(jobs->first + jobs->n++) % PIPC__RAIL_JOBS_MAX] = job;
}

static void end(const pipc__cpu_jobs_t *jobs, const pipc__cpu_job_t *job)
{
    const pipc__reduction_t how = {jobs->dtype, jobs->op, jobs->rail->nranks, 1, 0, true};

    if (job->post && job->count && jobs->op == PIPC_AVG)
        pipc__reduce(&how, job->data, (const void *const[]){job->data}, job->count);
    atomic_store_explicit(job->flag, job->round, memory_order_release);
}

static void note_idle(pipc__cpu_jobs_t *jobs)
{
    if (!jobs->times)
        return;
    jobs->busy_to = pipc__cpu_jobs_clock();
    jobs->times->busy_nsec += jobs->busy_to - jobs->busy_from;
}

/* Plans take the end of a job for the end of all that were begun before it. */
void pipc__cpu_jobs_go_on(pipc__cpu_jobs_t *jobs)
{
    bool done = true;

    while (jobs->n && !jobs->err.status) {
        const pipc__cpu_job_t *job = &jobs->job[jobs->first % PIPC__RAIL_JOBS_MAX];
        if (job->id >= 0 && jobs->rail->ops->poll(jobs->rail->rail, job->id, &done, &jobs->err))
            return;
        if (!done)
            return;
        end(jobs, job);
        jobs->first++;
        if (!--jobs->n)
            note_idle(jobs);
    }
}

static void rest(const pipc__cpu_jobs_t *jobs, uint64_t began)
{
    uint64_t usec = (pipc__cpu_jobs_clock() - began) / 8000;

    usec = usec < REST_LEAST ? REST_LEAST : usec > REST_MOST ? REST_MOST : usec;
    jobs->rail->ops->rest(jobs->rail->rail, (int)usec);
}

static pipc_status_t wait(pipc__cpu_jobs_t *jobs, pipc__control_t *ctl, bool (*ready)(void *arg),
                          void *arg, uint64_t began)
{
    for (int looks = 0;; looks++) {
        pipc__cpu_jobs_go_on(jobs);
        if (jobs->err.status)
            return jobs->err.status;
        if (ready(arg) || !jobs->n)
            return PIPC_OK;
        if (pipc__control_state(ctl, NULL))
            return pipc__control_state(ctl, NULL);
        if (looks < LOOKS)
            sched_yield();
        else
            rest(jobs, began);
    }
}

/* A wait that the last job's end ended is over with that job, so that it is never longer than the
 * rail was busy. */
pipc_status_t pipc__cpu_jobs_wait(pipc__cpu_jobs_t *jobs, pipc__control_t *ctl,
                                  bool (*ready)(void *arg), void *arg)
{
    uint64_t began = pipc__cpu_jobs_clock();
    pipc_status_t st = wait(jobs, ctl, ready, arg, began);

    if (jobs->times)
        jobs->times->wait_nsec += (jobs->n ? pipc__cpu_jobs_clock() : jobs->busy_to) - began;
    return st;
}
