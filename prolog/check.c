/* prolog/check.c - see check.h */
#include "prolog/check.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_LOOK_MS 100

/* What is wrong with a file, or with the machine as a whole, is a finding too. */
static pipc_status_t tell(pipc__findings_t *out, pipc__code_t code, const char *why,
                          pipc__error_t *err)
{
    pipc__finding_t f = {.code = code, .severity = pipc__codes[code].severity, .object = "node"};

    snprintf(f.seen, sizeof(f.seen), "%.*s", (int)sizeof(f.seen) - 1, why); /* cut */
    snprintf(f.remedy, sizeof(f.remedy), "%s", pipc__codes[code].remedy);
    return pipc__findings_add(out, &f, err);
}

static pipc_status_t read_facts(const pipc__machine_t *source, pipc__facts_t *facts,
                                pipc__error_t *err)
{
    if (source->text)
        return pipc__facts_text(facts, source->text, err);
    if (source->dump)
        return pipc__facts_dump(facts, source->dump, err);
    return pipc__facts_sysfs(facts, source->sysroot,
                             source->all ? PIPC__LOOK_ALL : PIPC__LOOK_LINKS, err);
}

static pipc_status_t look(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err)
{
    pipc__limits_t limits = pipc__limits_default();
    pipc__error_t refused = {PIPC_OK, ""}, why = {PIPC_OK, ""};
    pipc__facts_t facts = {.n = 0};
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    if (source->limits.path)
        pipc__limits_read(source->limits.path, source->limits.owner, &limits, &refused);
    if (source->gpus > 0)
        limits.gpus = source->gpus;
    st = read_facts(source, &facts, &why) ? tell(out, PIPC__CODE_SOURCE, why.text, err)
                                          : pipc__judge(&facts, &limits, out, err);
    if (!st && refused.status)
        st = tell(out, PIPC__CODE_RULES, refused.text, err);
    pipc__facts_free(&facts);
    return st;
}

pipc_status_t pipc__check(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err)
{
    const struct timespec moment = {0, SECOND_LOOK_MS * 1000000L};
    pipc_status_t st = look(source, out, err);

    if (st || out->verdict != PIPC__DRAIN || source->dump || source->text)
        return st;
    pipc__findings_free(out);
    nanosleep(&moment, NULL);
    return look(source, out, err);
}
