/* prolog/check.c - see check.h */
#include "prolog/check.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "prolog/check_time.h"
#include "prolog/identity.h"
#include "prolog/judge_baseline.h"

#define SECOND_LOOK_MS 100

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

pipc_status_t pipc__check(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err)
{
    const struct timespec moment = {0, SECOND_LOOK_MS * 1000000L};
    pipc__site_t site;
    pipc__facts_t facts = {.n = 0};
    pipc_status_t st = look(source, &facts, &site, out, err);

    if (!st && out->verdict == PIPC__DRAIN && !source->dump && !source->text) {
        pipc__findings_free(out);
        pipc__facts_free(&facts);
        pipc__site_free(&site);
        nanosleep(&moment, NULL);
        st = look(source, &facts, &site, out, err);
    }
    if (!st && source->wake) /* last and once: it reads several times by itself */
        st = pipc__wake(source->wake, &facts, &site.limits, out, err);
    pipc__facts_free(&facts);
    pipc__site_free(&site);
    return st;
}
