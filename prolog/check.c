/* prolog/check.c - see check.h */
#include "prolog/check.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "prolog/check_time.h"
#include "prolog/identity.h"
#include "prolog/judge_baseline.h"

#define AGAIN_MS 210

/* What is wrong with a file, or with the machine as a whole, is a finding too. */
static pipc_status_t tell(pipc__findings_t *out, const pipc__limits_t *limits, pipc__code_t code,
                          const char *why, pipc__error_t *err)
{
    pipc__finding_t f = {.code = code, .severity = limits->severity[code], .object = "node"};

    if (f.severity == PIPC__OK)
        return PIPC_OK;
    snprintf(f.seen, sizeof(f.seen), "%.*s", (int)sizeof(f.seen) - 1, why); /* cut */
    snprintf(f.remedy, sizeof(f.remedy), "%s", pipc__codes[code].remedy);
    return pipc__findings_add(out, &f, err);
}

static pipc__look_t look_of(const pipc__machine_t *source)
{
    return source->all ? PIPC__LOOK_ALL : PIPC__LOOK_LINKS;
}

pipc_status_t pipc__check_facts(const pipc__machine_t *source, pipc__facts_t *facts,
                                pipc__error_t *err)
{
    pipc_status_t st;

    if (source->text)
        return pipc__facts_text(facts, source->text, err);
    if (source->dump)
        return pipc__facts_dump(facts, source->dump, err);
    st = pipc__facts_sysfs(facts, source->sysroot, look_of(source), err);
    if (!st)
        pipc__identity_read(source->sysroot, source->all, facts);
    if (!st && source->nvml)
        st = pipc__facts_nvml(facts, source->nvml, source->nvml_msec, err);
    return st;
}

static pipc_status_t judge(const pipc__machine_t *source, const pipc__facts_t *facts,
                           const pipc__site_t *site, pipc__findings_t *out, pipc__error_t *err)
{
    pipc_status_t st = pipc__judge(facts, &site->limits, out, err);

    if (!st)
        st = pipc__judge_baseline(facts, &site->limits, &site->baseline, look_of(source), out, err);
    if (!st)
        st = pipc__check_time(source, facts, &site->limits, out, err);
    if (!st)
        st = pipc__acks_apply(&site->acks, out, err);
    return st;
}

/* The caller releases @facts, @site and @out. */
static pipc_status_t look(const pipc__machine_t *source, pipc__facts_t *facts, pipc__site_t *site,
                          pipc__findings_t *out, pipc__error_t *err)
{
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    pipc__site_read(source->limits, source->baseline, source->acks, site);
    if (source->gpus > 0)
        site->limits.gpus = source->gpus;
    st = pipc__check_facts(source, facts, &why)
             ? tell(out, &site->limits, PIPC__CODE_SOURCE, why.text, err)
             : judge(source, facts, site, out, err);
    for (int i = 0; i < site->n_refused && !st; i++)
        st = tell(out, &site->limits, PIPC__CODE_RULES, site->refused[i].text, err);
    return st;
}

/* ---- a verdict of drain, looked at again ----------------------------------------------------- */

/* What a device says while it is reset, or while its driver is bound anew: it is away, and then in
 * training, for the second that PCIe gives it (Base Spec 6.6.1), and well. */
static bool may_pass(const pipc__finding_t *f)
{
    return f->severity == PIPC__DRAIN &&
           (f->code == PIPC__CODE_LOST || f->code == PIPC__CODE_MISSING ||
            f->code == PIPC__CODE_GONE || f->code == PIPC__CODE_WIDTH ||
            f->code == PIPC__CODE_LANES);
}

static bool any_may_pass(const pipc__findings_t *findings)
{
    for (int i = 0; i < findings->n; i++)
        if (may_pass(&findings->list[i]))
            return true;
    return false;
}

static bool has(const pipc__findings_t *findings, const pipc__finding_t *f)
{
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].severity == PIPC__DRAIN && findings->list[i].code == f->code &&
            strcmp(findings->list[i].object, f->object) == 0)
            return true;
    return false;
}

/* What all looks before have not seen is no drain yet. */
static pipc_status_t agree(const pipc__findings_t *before, pipc__findings_t *now,
                           pipc__error_t *err)
{
    pipc__findings_t both = {.n = 0};
    pipc_status_t st = PIPC_OK;

    for (int i = 0; i < now->n && !st; i++) {
        pipc__finding_t f = now->list[i];
        if (may_pass(&f) && !has(before, &f))
            f.severity = PIPC__WARN;
        st = pipc__findings_add(&both, &f, err);
    }
    pipc__findings_free(now);
    *now = both;
    return st;
}

static int ms_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

/* One look more at least, and as long as what is seen may pass. */
static pipc_status_t look_again(const pipc__machine_t *source, const struct timespec *start,
                                pipc__facts_t *facts, pipc__site_t *site, pipc__findings_t *out,
                                pipc__error_t *err)
{
    const struct timespec moment = {0, AGAIN_MS * 1000000L};
    const int most = source->look_ms / AGAIN_MS + 1;
    pipc_status_t st = PIPC_OK;

    for (int n = 1; !st && n <= most && out->verdict == PIPC__DRAIN; n++) {
        if (n > 1 && (!any_may_pass(out) || ms_since(start) >= source->look_ms))
            break;
        pipc__findings_t before = *out;
        pipc__facts_free(facts);
        pipc__site_free(site);
        nanosleep(&moment, NULL);
        st = look(source, facts, site, out, err);
        if (!st)
            st = agree(&before, out, err);
        pipc__findings_free(&before);
    }
    return st;
}

pipc_status_t pipc__check(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err)
{
    pipc__site_t site;
    pipc__facts_t facts = {.n = 0};
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pipc_status_t st = look(source, &facts, &site, out, err);

    if (!st && out->verdict == PIPC__DRAIN && !source->dump && !source->text)
        st = look_again(source, &start, &facts, &site, out, err);
    if (!st && source->view)
        st = pipc__in_view(&facts, source->view, err);
    if (!st && source->wake) { /* last and once: it reads several times by itself */
        pipc__wake_t wake = *source->wake;
        wake.deadline_ms -= ms_since(&start);
        if (wake.deadline_ms > 0)
            st = pipc__wake(&wake, &facts, &site.limits, out, err);
    }
    pipc__facts_free(&facts);
    pipc__site_free(&site);
    return st;
}
