/* prolog/check.c - see check.h */
#include "prolog/check.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_LOOK_MS 100

static pipc_status_t unreadable(pipc__findings_t *out, const char *why, pipc__error_t *err)
{
    pipc__finding_t f = {.code = PIPC__CODE_SOURCE,
                         .severity = pipc__codes[PIPC__CODE_SOURCE].severity,
                         .object = "node"};

    snprintf(f.seen, sizeof(f.seen), "%.*s", (int)sizeof(f.seen) - 1, why); /* cut */
    snprintf(f.remedy, sizeof(f.remedy), "%s", pipc__codes[PIPC__CODE_SOURCE].remedy);
    memset(out, 0, sizeof(*out));
    return pipc__findings_add(out, &f, err);
}

static pipc_status_t look(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err)
{
    pipc__limits_t limits = pipc__limits_default();
    pipc__facts_t facts = {.n = 0};
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st;

    limits.gpus = source->gpus;
    if (source->text)
        st = pipc__facts_text(&facts, source->text, &why);
    else if (source->dump)
        st = pipc__facts_dump(&facts, source->dump, &why);
    else
        st = pipc__facts_sysfs(&facts, source->sysroot,
                               source->all ? PIPC__LOOK_ALL : PIPC__LOOK_LINKS, &why);
    st = st ? unreadable(out, why.text, err) : pipc__judge(&facts, &limits, out, err);
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
