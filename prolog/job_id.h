/* prolog/job_id.h - the number of a job, as slurmd writes it. libc only.
 */
#ifndef PIPC_PROLOG_JOB_ID_H
#define PIPC_PROLOG_JOB_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Digits alone, no 0 in front, at most UINT32_MAX - 1. NULL and anything else is no job. */
bool pipc__job_id(const char *text, uint32_t *job);

/* The same, and 0 too: root's number is one. */
bool pipc__user_id(const char *text, uint32_t *uid);

#endif
