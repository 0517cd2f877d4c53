/* prolog/gate.c - see gate.h */
#include "prolog/gate.h"

#include "prolog/check.h"
#include "prolog/output.h"
#include "prolog/prolog.h"
#include "prolog/snapshot.h"

/* Without a folder to keep it in, each prolog checks for itself. */
static pipc_status_t check(const pipc__gate_t *gate, const pipc__config_t *config,
                           pipc__findings_t *findings, FILE *say)
{
    const pipc__machine_t source = {.sysroot = config->sysroot,
                                    .past = {.run = gate->run, .owner = gate->owner, .keep = true},
                                    .limits = {gate->limits, gate->owner},
                                    .baseline = {gate->baseline, gate->owner}};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__run_t run;
    pipc_status_t st = pipc__run_open(&run, gate->run, gate->owner, &err);

    if (!st && pipc__last_check(&run, config, findings)) {
        pipc__run_close(&run);
        return PIPC_OK;
    }
    if (!st)
        pipc__findings_free(findings); /* of a snapshot that was half right */
    else
        fprintf(say, "pcie-ipc: %s\n", err.text);
    pipc_status_t checked = pipc__check(&source, findings, &err);
    if (checked)
        fprintf(say, "pcie-ipc: %s\n", err.text);
    else if (!st && pipc__keep_check(&run, config, findings, &err))
        fprintf(say, "pcie-ipc: %s\n", err.text);
    pipc__run_close(&run);
    return checked;
}

int pipc__gate_run(const pipc__gate_t *gate, const char *nonce, FILE *say, FILE *record)
{
    pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    pipc__config_t config;
    pipc__error_t err;
    int written = -1;

    if (pipc__config_read(gate->config, gate->owner, &config, &err))
        fprintf(say, "pcie-ipc: %s; the defaults are used, mode = report\n", err.text);
    if (!check(gate, &config, &findings, say)) {
        bool refuse = findings.verdict == PIPC__DRAIN && config.mode == PIPC__MODE_ENFORCE;
        pipc__findings_print(&findings, PIPC__WARN, say);
        if (findings.verdict == PIPC__DRAIN && !refuse)
            fprintf(say, "pcie-ipc: prolog: the job runs all the same: mode is report\n");
        fflush(say);
        written = fprintf(record, PIPC__RECORD_FORMAT, nonce, refuse ? "refuse" : "pass");
    }
    pipc__findings_free(&findings);
    return written > 0 && fflush(record) == 0 ? 0 : 1;
}
