/* prolog/healthcheck.c - see healthcheck.h */
#include "prolog/healthcheck.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/act.h"
#include "prolog/census.h"
#include "prolog/gate.h"
#include "prolog/prometheus.h"
#include "prolog/reason.h"
#include "prolog/drained.h"
#include "prolog/said.h"
#include "prolog/state.h"

#define LOCK "healthcheck.lock"
#define SLURMS_OWN "Prolog error"
#define REFUSAL_OLD 600  /* seconds: a drain that comes later has another cause */
#define CLOCKS_APART 300 /* what munge lets the clocks of a cluster differ */

typedef struct round {
    const pipc__healthcheck_t *hc;
    FILE *say;
    pipc__config_t config;
    pipc__exam_t exam;
    pipc__drained_t record, before;
    pipc__slurm_t slurm;
    pipc__node_t node;              /* as Slurm shows it */
    char reason[PIPC__REASON_MAX];  /* what we say of it; "": nothing */
    char refusal[PIPC__REASON_MAX]; /* what our prolog refused it for; "": nothing of late */
    time_t refused;
    int dir; /* of the record */
} round_t;

static void tell(const round_t *r, const char *what, const char *why)
{
    fprintf(r->say, "pcie-ipc: healthcheck: %s: %s%s\n", r->hc->node, what, why);
}

/* ---- what there is to know ----------------------------------------------------------------- */

/* "TIME REASON", of this boot; keep_refusal() wrote it. */
static void read_refusal(round_t *r)
{
    char *text = NULL, *end;
    int dir;

    if (pipc__state_open(r->hc->gate.run, r->hc->gate.owner, &dir, NULL))
        return;
    if (pipc__state_read(dir, PIPC__REFUSED_FILE, r->hc->gate.owner, 512, &text, NULL, NULL) ==
        PIPC_OK) {
        r->refused = (time_t)strtoll(text, &end, 10);
        if (*end == ' ' && llabs((long long)time(NULL) - r->refused) < REFUSAL_OLD)
            snprintf(r->refusal, sizeof(r->refusal), "%s", end + 1);
    }
    free(text);
    close(dir);
}

static void forget_refusal(const round_t *r)
{
    int dir;

    if (pipc__state_open(r->hc->gate.run, r->hc->gate.owner, &dir, NULL))
        return;
    unlinkat(dir, PIPC__REFUSED_FILE, 0);
    close(dir);
}

/* Is Slurm's drain the one for which our prolog refused the node? */
static bool is_our_refusal(const round_t *r)
{
    struct tm tm = {0};
    const char *at = strchr(r->node.by, '@');

    if (!r->refusal[0] || !at || !strptime(at + 1, "%Y-%m-%dT%H:%M:%S", &tm))
        return false;
    return llabs((long long)timegm(&tm) - r->refused) < CLOCKS_APART;
}

static pipc__whose_t whose(const round_t *r)
{
    if (!r->node.reason[0])
        return PIPC__REASON_NONE;
    if (strcmp(r->node.reason, SLURMS_OWN) == 0)
        return PIPC__REASON_PROLOG;
    return pipc__drained_is_ours(&r->record, &r->node) ? PIPC__REASON_OURS : PIPC__REASON_OTHERS;
}

static pipc__scene_t scene_of(const round_t *r)
{
    char asks[PIPC__SLURM_TEXT_MAX];
    pipc__scene_t s = {.config = &r->config,
                       .verdict = r->exam.findings.verdict,
                       .seen = r->exam.fresh ? r->exam.seen : r->exam.findings.verdict,
                       .drained = r->node.drained,
                       .out = r->node.out,
                       .whose = whose(r),
                       .refused = is_our_refusal(r),
                       .well = r->record.well,
                       .undrains = pipc__drained_undrains(&r->record, time(NULL))};

    pipc__census_reason(r->node.extra, asks);
    s.asked = asks[0];
    s.busy = r->node.extra[0] && !s.asked;
    s.current = strcmp(r->reason, s.whose == PIPC__REASON_OURS ? r->node.reason : asks) == 0;
    return s;
}

/* ---- what is done -------------------------------------------------------------------------- */

static bool keep_record(round_t *r)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (r->hc->dry_run || memcmp(&r->record, &r->before, sizeof(r->record)) == 0)
        return true;
    if (pipc__drained_write(r->dir, &r->record, &err)) {
        tell(r, err.text, "");
        return false;
    }
    r->before = r->record;
    return true;
}

static bool ask_slurm(round_t *r)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__nodes_t nodes;
    pipc_status_t st = pipc__slurm_ask(&r->slurm, r->hc->node, &nodes, &err);

    if (st)
        tell(r, err.text, "; nothing is changed");
    else
        r->node = nodes.list[0];
    free(nodes.list);
    return st == PIPC_OK;
}

static bool update(round_t *r, const char *state, const char *reason, const char *extra)
{
    const pipc__slurm_update_t u = {state, reason, extra};
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__slurm_update(&r->slurm, r->hc->node, &u, &err) == PIPC_OK)
        return true;
    tell(r, err.text, "; nothing is changed");
    return false;
}

/* The record first: a drain without one would be nobody's, and stay. The user and the time that
 * Slurm keeps beside the reason come after. */
static void set_reason(round_t *r, const char *state, const char *extra)
{
    snprintf(r->record.reason, sizeof(r->record.reason), "%s", r->reason);
    r->record.by[0] = '\0';
    r->record.well = 0;
    if (!keep_record(r) || !update(r, state, r->reason, extra) || !ask_slurm(r))
        return;
    if (pipc__drained_is_ours(&r->record, &r->node))
        snprintf(r->record.by, sizeof(r->record.by), "%s", r->node.by);
}

static void ask_census(round_t *r)
{
    char mark[PIPC__SLURM_TEXT_MAX];

    snprintf(r->record.reason, sizeof(r->record.reason), "%s", r->reason);
    r->record.by[0] = '\0';
    pipc__census_mark(r->reason, mark);
    if (keep_record(r))
        update(r, NULL, NULL, mark);
}

static void forget(round_t *r)
{
    r->record.reason[0] = r->record.by[0] = '\0';
    r->record.well = 0;
}

static void undrain(round_t *r)
{
    if (!update(r, "undrain", NULL, NULL))
        return;
    memmove(r->record.undrained + 1, r->record.undrained,
            sizeof(r->record.undrained) - sizeof(r->record.undrained[0]));
    r->record.undrained[0] = time(NULL);
    forget(r);
}

static const char *const done[] = {
    [PIPC__ACT_NOTHING] = "",
    [PIPC__ACT_DRAIN] = "drained: ",
    [PIPC__ACT_REASON] = "drained already, the reason is ours now: ",
    [PIPC__ACT_ASK] = "asks the census: ",
    [PIPC__ACT_UNASK] = "asks the census no more: ",
    [PIPC__ACT_UNDRAIN] = "undrained: ",
};

static void execute(round_t *r, pipc__act_t act, bool asked)
{
    switch (act) {
    case PIPC__ACT_DRAIN:
        set_reason(r, "drain", asked ? "" : NULL);
        break;
    case PIPC__ACT_REASON:
        set_reason(r, NULL, asked ? "" : NULL);
        break;
    case PIPC__ACT_ASK:
        ask_census(r);
        break;
    case PIPC__ACT_UNASK:
        if (update(r, NULL, NULL, ""))
            forget(r);
        break;
    case PIPC__ACT_UNDRAIN:
        undrain(r);
        break;
    case PIPC__ACT_NOTHING:
        break;
    }
}

/* What we remember of a drain that is over, or is somebody else's by now, is of no use. */
static void tidy(round_t *r, const pipc__scene_t *s)
{
    if (s->whose == PIPC__REASON_OURS && !r->record.by[0])
        snprintf(r->record.by, sizeof(r->record.by), "%s", r->node.by); /* the census's doing */
    if (s->whose != PIPC__REASON_OURS && !s->asked)
        forget(r);
    if (s->whose == PIPC__REASON_OURS && r->refusal[0] && !r->hc->dry_run)
        forget_refusal(r);
}

/* Returns why it did what it did; a literal. */
static const char *act(round_t *r)
{
    const char *why = "Slurm cannot be asked";

    if (!ask_slurm(r))
        return why;
    pipc__scene_t s = scene_of(r);
    pipc__act_t what = pipc__act(&s, &why);
    if (what == PIPC__ACT_NOTHING) {
        tidy(r, &s);
        return why;
    }
    fprintf(r->say, "pcie-ipc: healthcheck: %s: %s%s%s (%s)\n", r->hc->node,
            r->hc->dry_run ? "would be " : "", done[what],
            what == PIPC__ACT_UNDRAIN || what == PIPC__ACT_UNASK ? r->record.reason : r->reason,
            why);
    if (!r->hc->dry_run)
        execute(r, what, s.asked);
    return why;
}

/* ---- a round ------------------------------------------------------------------------------- */

static void count_well(round_t *r)
{
    pipc__severity_t seen = r->exam.seen;

    if (!r->record.reason[0] || !r->exam.fresh)
        return;
    if (seen >= PIPC__DRAIN || seen == PIPC__SEV_UNKNOWN)
        r->record.well = 0;
    else if (r->record.well < PIPC__WELL_CHECKS)
        r->record.well++;
}

/* The findings, and what comes of them, once and then hourly. */
static void log_findings(const round_t *r, const char *why)
{
    char key[PIPC__SAID_MAX];
    const pipc__findings_t *found = &r->exam.findings;

    pipc__said_key(found, key);
    if (!pipc__exam_due(&r->hc->gate, "said.healthcheck", key))
        return;
    pipc__exam_print(found, r->say);
    if (found->verdict == PIPC__DRAIN)
        tell(r, why, "");
}

static void leave_metrics(const round_t *r)
{
    const char *path = r->config.prometheus;
    pipc__error_t err = {PIPC_OK, ""};
    bool failed = *path && !r->hc->dry_run &&
                  pipc__prometheus_write(path, r->hc->gate.owner, r->config.sysroot,
                                         &r->exam.findings, &err) != PIPC_OK;

    if (pipc__exam_due(&r->hc->gate, "said.prometheus", failed ? "failed" : "") && failed)
        tell(r, "prometheus: ", err.text);
}

static void take_census(const round_t *r)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__census_result_t count;

    if (r->config.max_drain.n == 0 || strcmp(r->config.census, r->hc->node) != 0)
        return;
    if (pipc__census(&r->slurm, r->config.max_drain, r->hc->dry_run, &count, r->say, &err))
        tell(r, "census: ", err.text);
}

static void run(round_t *r)
{
    const pipc__gate_t *gate = &r->hc->gate;
    const char *why = "";

    pipc__exam_config(gate, &r->config, r->say);
    r->slurm = (pipc__slurm_t){r->config.scontrol, r->config.slurm_conf, gate->owner};
    pipc__drained_read(r->dir, gate->owner, &r->record);
    r->before = r->record;
    r->exam.all = true;
    r->exam.fresh = r->record.reason[0] != '\0'; /* two checks in a row are two looks */
    if (pipc__examine(gate, &r->config, &r->exam, r->say))
        return;
    leave_metrics(r);
    bool sick = r->exam.findings.verdict == PIPC__DRAIN;
    count_well(r);
    read_refusal(r);
    if (sick)
        pipc__reason(&r->exam.findings, r->reason);
    else
        snprintf(r->reason, sizeof(r->reason), "%s", r->refusal);
    if (sick || r->record.reason[0] || r->refusal[0])
        why = act(r);
    log_findings(r, why);
    keep_record(r);
    take_census(r);
}

void pipc__healthcheck(const pipc__healthcheck_t *hc, FILE *say)
{
    round_t *r = calloc(1, sizeof(*r));
    pipc__error_t err = {PIPC_OK, ""};
    int lock = -1;

    if (!r)
        return;
    r->hc = hc;
    r->say = say;
    r->dir = -1;
    if (pipc__state_open(hc->gate.state, hc->gate.owner, &r->dir, &err) ||
        pipc__state_lock(r->dir, LOCK, 0, &lock, &err))
        tell(r, err.text, "; nothing is done");
    else
        run(r);
    pipc__findings_free(&r->exam.findings);
    if (lock >= 0)
        close(lock);
    if (r->dir >= 0)
        close(r->dir);
    free(r);
}
