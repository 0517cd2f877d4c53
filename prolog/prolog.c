/* prolog/prolog.c - see prolog.h */
#include "prolog/prolog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "prolog/guard.h"
#include "prolog/job_id.h"

static void make_nonce(char out[PIPC__NONCE_MAX])
{
    unsigned char bytes[16] = {0};

    if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes)) {
        struct timespec t; /* early at boot: it guards against accidents, not against attackers */
        clock_gettime(CLOCK_MONOTONIC, &t);
        memcpy(bytes, &t, sizeof(bytes));
    }
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int is_record(const char *record, const char *nonce, const char *word)
{
    char want[128];

    snprintf(want, sizeof(want), PIPC__RECORD_FORMAT, nonce, word);
    return strcmp(record, want) == 0;
}

int pipc__prolog(const char *checker, const char *gpus, int deadline_ms)
{
    static pipc__guard_t g; /* static: nothing here shall fail, not even a small stack */
    static char verb[] = "gate";
    char nonce[PIPC__NONCE_MAX], name[256], job[16] = "", of_job[256], line[512];
    char *const argv[] = {name, verb, nonce, job, of_job, NULL};
    uint32_t number;

    snprintf(name, sizeof(name), "%s", checker);
    make_nonce(nonce);
    if (pipc__job_id(getenv("SLURM_JOB_ID"), &number))
        snprintf(job, sizeof(job), "%u", number);
    /* Cut, it would name fewer GPUs than the job has. */
    if (!gpus || snprintf(of_job, sizeof(of_job), "%s", gpus) >= (int)sizeof(of_job))
        of_job[0] = '\0';
    pipc__guard_run(checker, argv, deadline_ms, &g);
    pipc__prolog_relay(g.said);
    if (g.clean && is_record(g.record, nonce, "refuse"))
        return 1;
    if (g.clean && is_record(g.record, nonce, "pass"))
        return 0;
    snprintf(line, sizeof(line), "prolog: the check %s; the job runs on an unchecked node",
             g.clean ? "gave no verdict" : g.why);
    pipc__prolog_say(line);
    return 0;
}
