/* prolog/stress_record.h - /var/lib/pcie-ipc/stress.json: the last stress run that counts. Written
 * by pcie-ipc-stress, read by who asks for its date.
 */
#ifndef PIPC_PROLOG_STRESS_RECORD_H
#define PIPC_PROLOG_STRESS_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "prolog/facts.h"

#define PIPC__STRESS_FILE "stress.json"

typedef struct pipc__stress_record {
    int64_t time;    /* of its end, UTC */
    int64_t seconds; /* of traffic */
    int gpus;
    char verdict[8];   /* "ok", "warn", "fault" */
    char machine[512]; /* what it was run on: pipc__stress_machine() */
} pipc__stress_record_t;

/* The firmware and driver versions of the machine below @root, as one text: a run on another one
 * says nothing of this. "?" stands for what cannot be read. */
void pipc__stress_machine(const char *root, const pipc__facts_t *facts, char out[512]);

/* Pure: is @now worth more than @old? A short run does not take the place of a long one that was
 * as good, on the same machine. */
bool pipc__stress_replaces(const pipc__stress_record_t *old, const pipc__stress_record_t *now);

/* PIPC_ERR_NOT_FOUND when there is none. */
pipc_status_t pipc__stress_last(const char *folder, uid_t owner, pipc__stress_record_t *out,
                                pipc__error_t *err);

/* Write it, if it replaces the one that is there. */
pipc_status_t pipc__stress_keep(const char *folder, uid_t owner, const pipc__stress_record_t *now,
                                pipc__error_t *err);

#endif
