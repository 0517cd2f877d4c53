/* prolog/checklist_facts.c - see checklist_facts.h */
#include "prolog/checklist_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "prolog/links.h"
#include "prolog/start.h"
#include "runtime/base/config.h"

static void tell(FILE *say, const pipc__error_t *err)
{
    fprintf(say, "pcie-ipc-health: %s\n", err->text);
}

/* What is kept in the folder of state. */
static void read_kept(const pipc__checklist_place_t *place, FILE *say, pipc__readiness_t *r)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = pipc__stress_last(place->state, place->owner, &r->stress, &err);

    r->stressed = st == PIPC_OK;
    if (st && st != PIPC_ERR_NOT_FOUND)
        tell(say, &err);
    st = pipc__p2p_matrix_accepted(place->state, place->owner, &r->accepted, &err);
    if (st && st != PIPC_ERR_NOT_FOUND)
        tell(say, &err);
}

static pipc__linked_t linked(const char *folder, const char *target)
{
    return pipc__link_is_there(folder, target) ? PIPC__LINKED_YES : PIPC__LINKED_NO;
}

static void read_gate(const pipc__checklist_place_t *place, FILE *say, pipc__readiness_t *r)
{
    const pipc__start_t start = {.off = {place->off[0], place->off[1]}};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;

    if (pipc__config_read(place->config.path, place->config.owner, &config, &err))
        tell(say, &err);
    r->mode = config.mode == PIPC__MODE_ENFORCE ? "enforce" : "report";
    r->off = pipc__start_off(&start);
    r->prolog = linked(place->prolog_dir, place->prolog);
    r->epilog = linked(place->epilog_dir, place->epilog);
    snprintf(r->prolog_dir, sizeof(r->prolog_dir), "%s", place->prolog_dir);
    snprintf(r->epilog_dir, sizeof(r->epilog_dir), "%s", place->epilog_dir);
}

pipc_status_t pipc__checklist_read(const pipc__machine_t *source,
                                   const pipc__checklist_place_t *place, bool live, FILE *say,
                                   pipc__checklist_facts_t *out, pipc__error_t *err)
{
    pipc__readiness_t *r = &out->readiness;
    pipc__machine_t again = *source;
    struct stat about;
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    r->facts = &out->facts;
    r->findings = &out->findings;
    r->baseline = &out->site.baseline;
    st = pipc__check_facts(source, &out->facts, err);
    again.nvml = NULL; /* once is enough: it may take seconds */
    if (!st)
        st = pipc__check(&again, &out->findings, err);
    if (!st && place->p2p)
        st = pipc__p2p_matrix_read(place->p2p, &r->measured, err);
    if (st)
        return st;
    pipc__site_read(source->limits, source->baseline, source->acks, &out->site);
    if (out->site.baseline.there && stat(source->baseline.path, &about) == 0)
        r->baseline_time = about.st_mtime;
    if (!source->dump && !source->text)
        pipc__stress_machine(source->sysroot, &out->facts, r->machine);
    if (place->state)
        read_kept(place, say, r);
    r->now = live ? time(NULL) : 0;
    if (live)
        read_gate(place, say, r);
    return PIPC_OK;
}

void pipc__checklist_free(pipc__checklist_facts_t *facts)
{
    pipc__facts_free(&facts->facts);
    pipc__findings_free(&facts->findings);
    pipc__site_free(&facts->site);
}
