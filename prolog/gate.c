/* prolog/gate.c - see gate.h */
#include "prolog/gate.h"

#include <stdbool.h>
#include <time.h>

#include "prolog/prolog.h"
#include "prolog/reason.h"
#include "prolog/said.h"
#include "prolog/scope.h"
#include "prolog/snapshot.h"
#include "prolog/state.h"

/* Why a verdict of drain does not keep the job away; NULL: it does. */
static const char *why_not(const pipc__config_t *config, const pipc__findings_t *findings,
                           const char *gpus)
{
    if (config->mode != PIPC__MODE_ENFORCE)
        return "mode is report";
    if (config->scope == PIPC__SCOPE_JOB &&
        pipc__scope_verdict(config->sysroot, gpus, findings) < PIPC__DRAIN)
        return "it is not on the way to a GPU of the job";
    /* How many nodes are out already is not known here, and a prolog must not ask. */
    if (config->max_drain.n > 0)
        return "with max_drain the census drains";
    return NULL;
}

/* What it was, for the healthcheck that gives Slurm the reason: "TIME REASON". */
static void keep_refusal(const pipc__gate_t *gate, const pipc__findings_t *findings)
{
    char text[PIPC__REASON_MAX + 32], reason[PIPC__REASON_MAX];
    pipc__run_t run;

    pipc__reason(findings, reason);
    int n = snprintf(text, sizeof(text), "%lld %s", (long long)time(NULL), reason);
    if (pipc__run_open(&run, gate->run, gate->owner, PIPC__EXAM_LOCK_MS, NULL) == PIPC_OK)
        pipc__state_write(run.dir, PIPC__REFUSED_FILE, 0644, text, (size_t)n, NULL);
    pipc__run_close(&run);
}

/* What there is to say, when it is new; a refusal always, for Slurm logs it with the node's. */
static void print(const pipc__gate_t *gate, const pipc__findings_t *findings, bool refuse,
                  const char *why, FILE *say)
{
    char key[PIPC__SAID_MAX];

    pipc__said_key(findings, key);
    if (!pipc__exam_due(gate, "said.prolog", key) && !refuse)
        return;
    pipc__exam_print(findings, say);
    if (findings->verdict == PIPC__DRAIN && !refuse)
        fprintf(say, "pcie-ipc: prolog: the job runs all the same: %s\n", why);
}

int pipc__gate_run(const pipc__gate_t *gate, const char *nonce, const char *gpus, FILE *say,
                   FILE *record)
{
    pipc__exam_t exam = {.gpus = gpus};
    pipc__config_t config;
    int written = -1;

    pipc__exam_config(gate, &config, say);
    if (!pipc__examine(gate, &config, &exam, say)) {
        bool drain = exam.findings.verdict == PIPC__DRAIN;
        const char *why = drain ? why_not(&config, &exam.findings, gpus) : NULL;
        bool refuse = drain && !why;
        print(gate, &exam.findings, refuse, why, say);
        if (refuse)
            keep_refusal(gate, &exam.findings);
        fflush(say);
        written = fprintf(record, PIPC__RECORD_FORMAT, nonce, refuse ? "refuse" : "pass");
    }
    pipc__findings_free(&exam.findings);
    return written > 0 && fflush(record) == 0 ? 0 : 1;
}
