/* prolog/job.h - what happened to the links of a node while a job ran: a look before, a look after,
 * and what a watch saw between them
 *
 *     RUN/jobs/JOB.json      the look before, root's; goes with the job
 *     STATE/jobs/JOB.json    the report, which only the job's owner can read (and root)
 *
 * The folders are root's. A report belongs to the job's owner, who may then make it say anything:
 * it is for him, and root reads it as it would read a stranger's.
 */
#ifndef PIPC_PROLOG_JOB_H
#define PIPC_PROLOG_JOB_H

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

#include "prolog/diary.h"

#define PIPC__JOB_FOLDER "jobs"
#define PIPC__JOB_REPORTS 1000 /* kept at most: who has the most loses the oldest */
#define PIPC__JOB_DAYS 30      /* and no longer than this */
#define PIPC__JOB_BYTES 65536  /* of one */
#define PIPC__JOB_CHANGES 100  /* in one: the first */
#define PIPC__JOB_STARTS 1024  /* of jobs whose end nobody told */

typedef struct pipc__job_place {
    const char *run, *state; /* /run/pcie-ipc, /var/lib/pcie-ipc */
    uid_t owner;             /* of both */
    const char *sysroot;     /* the machine */
} pipc__job_place_t;

/* What a report is made of. */
typedef struct pipc__job_facts {
    uint32_t job;
    uid_t uid;
    int64_t start_ms, end_ms; /* UTC, since 1970; start -1: no prolog kept a look */
    bool counting;            /* AER errors are counted here */
    pipc__deltas_t links;
    pipc__changes_t changes;
    pipc__watched_t watched;
} pipc__job_facts_t;

/* Only links that changed or had errors are in it. A new reference; NULL without memory. */
json_t *pipc__job_to_json(const pipc__job_facts_t *facts);

/* For people. Whatever is not as pipc__job_to_json() writes it is left out. */
void pipc__job_print(const json_t *report, FILE *out);

/* Before the job: keep a look. Cheap where a check has left one. */
pipc_status_t pipc__job_begin(const pipc__job_place_t *place, uint32_t job, pipc__error_t *err);

/* After it: write the report for @uid, and remove those that are too old or too many. */
pipc_status_t pipc__job_end(const pipc__job_place_t *place, uint32_t job, uid_t uid,
                            pipc__error_t *err);

/* Read a report as whoever calls. PIPC_ERR_NOT_FOUND: there is none. A new reference. */
pipc_status_t pipc__job_read(const char *state, uint32_t job, json_t **out, pipc__error_t *err);

/* When it ran, for the one who reads a record: to now while it runs. */
pipc_status_t pipc__job_window(const pipc__job_place_t *place, uint32_t job, pipc__window_t *window,
                               pipc__error_t *err);

/* Remove what was written before @since (seconds since 1970) and, of more than @most, the oldest of
 * the user who has the most: a user's many short jobs push out no other's report. */
void pipc__job_prune(int dir, int most, int64_t since);

#endif
