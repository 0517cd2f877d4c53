/* prolog/start.c - see start.h */
#include "prolog/start.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/guard.h"
#include "prolog/prolog.h"
#include "prolog/state.h"

#define DEADLINE_MAX 60

/* On stderr alone: in the system's log it would stand for each job. The healthcheck tells it there,
 * once an hour. */
static bool is_off(const pipc__start_t *start)
{
    const char *file = pipc__start_off(start);

    if (file)
        dprintf(2, "pcie-ipc: switched off by %s: nothing is checked\n", file);
    return file != NULL;
}

int pipc__start_deadline_ms(const pipc__start_t *start)
{
    char *text = NULL;
    int dir, seconds = 0;

    if (pipc__state_open(start->run, start->owner, &dir, NULL))
        return PIPC__PROLOG_DEADLINE_MS;
    if (pipc__state_read(dir, PIPC__DEADLINE_FILE, start->owner, 8, &text, NULL, NULL) == PIPC_OK)
        seconds = atoi(text);
    free(text);
    close(dir);
    return seconds >= 1 && seconds <= DEADLINE_MAX ? seconds * 1000 : PIPC__PROLOG_DEADLINE_MS;
}

int pipc__start_prolog(const pipc__start_t *start)
{
    const char *gpus = getenv("SLURM_JOB_GPUS");
    int deadline;

    pipc__fail_open(PIPC__PROLOG_DEADLINE_MS / 1000 + 1);
    if (is_off(start))
        return 0;
    deadline = pipc__start_deadline_ms(start);
    alarm((unsigned int)deadline / 1000 + 1);
    return pipc__prolog(start->checker, gpus ? gpus : getenv("CUDA_VISIBLE_DEVICES"), deadline);
}

int pipc__start_healthcheck(const pipc__start_t *start)
{
    static pipc__guard_t g;
    static char name[] = "pcie-ipc-health", verb[] = "healthcheck";
    const char *node = getenv("SLURMD_NODENAME");
    char option[128], line[512];
    char *const argv[] = {name, verb, node ? option : NULL, NULL};

    pipc__fail_open(PIPC__HEALTHCHECK_MS / 1000 + 1);
    snprintf(option, sizeof(option), "--node=%s", node ? node : "");
    pipc__guard_run(start->checker, argv, PIPC__HEALTHCHECK_MS, &g);
    pipc__prolog_relay(g.said);
    if (!g.clean) {
        snprintf(line, sizeof(line), "healthcheck: the check %s; nothing is changed", g.why);
        pipc__prolog_say(line);
    }
    return 0;
}
