/* prolog/examine.c - see examine.h */
#include "prolog/examine.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/breaker.h"
#include "prolog/check.h"
#include "prolog/conditions.h"
#include "prolog/counters.h"
#include "prolog/output.h"
#include "prolog/said.h"
#include "prolog/scope.h"
#include "prolog/snapshot.h"
#include "prolog/start.h"
#include "prolog/state.h"
#include "runtime/base/hash.h"

static void tell(FILE *say, const char *why)
{
    fprintf(say, "pcie-ipc: %s\n", why);
}

/* The book as it is after this look; NULL, with @err, when there is none to be believed, or none
 * that could be kept: a look that is forgotten would be the first one over and over. */
static json_t *learn(const pipc__gate_t *gate, const char *conditions, bool alone,
                     const pipc__in_view_t *view, const pipc__exam_t *exam, pipc__error_t *err)
{
    int dir;
    bool changed = false;
    json_t *book;

    if (pipc__state_open(gate->state, gate->owner, &dir, err))
        return NULL;
    book = pipc__breaker_read(dir, gate->owner, err);
    if (book && alone &&
        (pipc__breaker_learn(book, conditions, exam->all, time(NULL), view, &exam->findings,
                             &changed, err) ||
         (changed && pipc__breaker_write(dir, book, err)))) {
        json_decref(book);
        book = NULL;
    }
    close(dir);
    return book;
}

static pipc_status_t breaker(const pipc__gate_t *gate, const pipc__config_t *config, bool alone,
                             const pipc__in_view_t *view, pipc__exam_t *exam, FILE *say)
{
    pipc__error_t err = {PIPC_OK, ""};
    char now[PIPC__CONDITIONS_MAX];

    pipc__conditions(config->sysroot, gate->limits, gate->baseline, now);
    json_t *book = learn(gate, now, alone, view, exam, &err);
    if (!book && exam->findings.verdict == PIPC__DRAIN)
        fprintf(say, "pcie-ipc: %s/%s\n", gate->state, err.text);
    int held = pipc__breaker_hold(book, now, exam->all, view, &exam->findings);
    json_decref(book);
    return held < 0 ? PIPC_ERR_NOMEM : PIPC_OK;
}

/* Only GPUs that a job is to have are woken: nobody else can be on them, or be about to. */
static pipc__wake_t wake_of(const pipc__gate_t *gate, const pipc__config_t *config, bool alone,
                            const pipc__exam_t *exam)
{
    pipc__wake_t wake = {.mode = (pipc__wake_mode_t)config->wake,
                         .sysroot = config->sysroot,
                         .deadline_ms = config->deadline * 1000 / (alone ? 2 : 3),
                         .nvml = gate->nvml,
                         .cuda = gate->cuda};

    if (wake.mode == PIPC__WAKE_COPY)
        wake.gpus = pipc__scope_gpus(config->sysroot, exam->gpus);
    if (wake.mode == PIPC__WAKE_COPY && !wake.gpus)
        wake.mode = PIPC__WAKE_NVML;
    return wake;
}

/* A prolog has its deadline, and when it is not alone has waited for another's check before, for
 * half of it. */
static int look_ms(const pipc__config_t *config, bool alone, const pipc__exam_t *exam)
{
    int most = config->deadline * 1000 * (alone ? 3 : 2) / 5;

    return exam->all || most > PIPC__LOOK_MS ? PIPC__LOOK_MS : most;
}

/* @alone: nobody else writes what is left for later looks. */
static pipc_status_t look(const pipc__gate_t *gate, const pipc__config_t *config, bool alone,
                          pipc__exam_t *exam, FILE *say)
{
    const pipc__wake_t wake = wake_of(gate, config, alone, exam);
    pipc__in_view_t view = {NULL, 0};
    const pipc__machine_t source = {.sysroot = config->sysroot,
                                    .all = exam->all,
                                    .look_ms = look_ms(config, alone, exam),
                                    .view = &view,
                                    .wake = &wake,
                                    .limits = {gate->limits, gate->owner},
                                    .past = {gate->run, gate->state, gate->owner, alone},
                                    .baseline = {gate->baseline, gate->owner},
                                    .acks = {gate->state, gate->owner}};
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = pipc__check(&source, &exam->findings, &err);

    if (st)
        tell(say, err.text);
    if (!st) {
        exam->seen = exam->findings.verdict;
        st = breaker(gate, config, alone, &view, exam, say);
    }
    pipc__in_view_free(&view);
    return st;
}

/* For the process that slurmd starts, which does not read the configuration. */
static void keep_deadline(const pipc__run_t *run, const pipc__config_t *config)
{
    pipc__config_t usual;
    char text[16];
    int n = snprintf(text, sizeof(text), "%d\n", config->deadline);

    pipc__config_default(&usual);
    if (config->deadline == usual.deadline)
        unlinkat(run->dir, PIPC__DEADLINE_FILE, 0);
    else
        pipc__state_write(run->dir, PIPC__DEADLINE_FILE, 0644, text, (size_t)n, NULL);
}

pipc_status_t pipc__examine(const pipc__gate_t *gate, const pipc__config_t *config,
                            pipc__exam_t *exam, FILE *say)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__run_t run;
    int wait_ms = exam->all ? -1 : config->deadline * 1000 / 2;
    bool locked = pipc__run_open(&run, gate->run, gate->owner, wait_ms, &err) == PIPC_OK;
    pipc_status_t st = PIPC_OK;

    memset(&exam->findings, 0, sizeof(exam->findings));
    if (!locked)
        tell(say, err.text);
    else
        keep_deadline(&run, config);
    if (!locked || exam->fresh || !pipc__last_check(&run, config, exam->all, &exam->findings)) {
        pipc__findings_free(&exam->findings); /* of a snapshot that was half right */
        st = look(gate, config, locked, exam, say);
        if (!st && locked && pipc__keep_check(&run, config, exam->all, &exam->findings, &err))
            tell(say, err.text);
    }
    pipc__run_close(&run);
    return st;
}

bool pipc__exam_due(const pipc__gate_t *gate, const char *who, const char *key)
{
    pipc__run_t run;
    bool locked = pipc__run_open(&run, gate->run, gate->owner, PIPC__EXAM_LOCK_MS, NULL) == PIPC_OK;
    bool due = pipc__said_due(locked ? run.dir : -1, who, gate->owner, key, pipc__uptime());

    pipc__run_close(&run);
    return due;
}

void pipc__exam_config(const pipc__gate_t *gate, pipc__config_t *config, FILE *say)
{
    pipc__error_t err = {PIPC_OK, ""};
    char key[PIPC__SAID_MAX] = "";

    if (pipc__config_read(gate->config, gate->owner, config, &err))
        snprintf(key, sizeof(key), "%016" PRIx64,
                 pipc__hash(PIPC__HASH_INIT, err.text, strlen(err.text)));
    if (pipc__exam_due(gate, "said.config", key) && key[0])
        fprintf(say, "pcie-ipc: %s; the defaults are used, mode = report\n", err.text);
}

void pipc__exam_print(const pipc__findings_t *findings, FILE *say)
{
    pipc__findings_t worst = *findings;
    int more = -1;

    while (more + 1 < findings->n && findings->list[more + 1].severity >= PIPC__WARN)
        more++;
    if (more < 0) {
        tell(say, "node: nothing is wrong any more");
        return;
    }
    worst.n = 1;
    pipc__findings_print(&worst, PIPC__WARN, say);
    if (more > 0)
        fprintf(say, "pcie-ipc: node: and %d more; pcie-ipc-health check shows all\n", more);
}
