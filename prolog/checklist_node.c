/* prolog/checklist_node.c - lines of the list about what is around the links: peers, driver, load,
 * isolation, the gate itself
 */
#include <stdio.h>
#include <string.h>

#include "prolog/checklist_lines.h"

#define VENDOR_NVIDIA 0x10de

static int count_gpus(const pipc__facts_t *facts)
{
    int n = 0;

    for (int i = 0; i < facts->n; i++)
        n += facts->dev[i].gpu;
    return n;
}

/* Did the GPUs change? The name of one that is in one only, or NULL. */
static const char *odd_one(const pipc__p2p_matrix_t *m, const pipc__facts_t *facts)
{
    int gpus = 0;

    for (int i = 0; i < facts->n; i++) {
        if (!facts->dev[i].gpu)
            continue;
        gpus++;
        if (pipc__p2p_matrix_row(m, facts->dev[i].name) < 0)
            return facts->dev[i].name;
    }
    for (int a = 0; a < m->n && gpus < m->n; a++) {
        bool there = false;
        for (int i = 0; i < facts->n; i++)
            there |= facts->dev[i].gpu && strcmp(facts->dev[i].name, m->gpu[a]) == 0;
        if (!there)
            return m->gpu[a];
    }
    return NULL;
}

static void compare_measured(const pipc__list_t *l, const char *date, pipc__line_t *line)
{
    const pipc__p2p_matrix_t *then = &l->r->accepted, *now = &l->r->measured;

    line->date = now->time;
    for (int a = 0; a < then->n; a++)
        for (int b = 0; b < then->n; b++) {
            int x = pipc__p2p_matrix_row(now, then->gpu[a]),
                y = pipc__p2p_matrix_row(now, then->gpu[b]);
            if (x < 0 || y < 0) {
                pipc__line_say(line, PIPC__LINE_NO, "%s was not measured",
                               then->gpu[x < 0 ? a : b]);
                return;
            }
            if (strcmp(then->state[a][b], now->state[x][y]) != 0) {
                pipc__line_say(line, PIPC__LINE_NO, "%s to %s is %s, was %s in the matrix of %s",
                               then->gpu[a], then->gpu[b], now->state[x][y], then->state[a][b],
                               date);
                return;
            }
        }
    pipc__line_say(line, PIPC__LINE_YES, "%d GPUs measured, as in the matrix of %s", now->n, date);
}

/* NVML does not see bytes that get lost: what it calls open may not be, so that only a way that
 * was good and is closed is a change. */
static void compare_nvml(const pipc__list_t *l, const char *date, pipc__line_t *line)
{
    const pipc__p2p_matrix_t *then = &l->r->accepted;
    int good = 0, needed = 0;

    for (int a = 0; a < then->n; a++)
        for (int b = 0; b < then->n; b++)
            needed += strcmp(then->state[a][b], "good") == 0;
    for (int i = 0; i < l->facts->pairs; i++) {
        const pipc__pair_t *p = &l->facts->pair[i];
        const char *from = l->facts->dev[p->a].name, *to = l->facts->dev[p->b].name;
        int a = pipc__p2p_matrix_row(then, from), b = pipc__p2p_matrix_row(then, to);
        if (a < 0 || b < 0 || strcmp(then->state[a][b], "good") != 0)
            continue;
        if (p->status != PIPC__P2P_OK && p->status != PIPC__P2P_UNKNOWN) {
            pipc__line_say(line, PIPC__LINE_NO,
                           "%s to %s is closed by NVML, was good in the matrix of %s", from, to,
                           date);
            return;
        }
        good += p->status == PIPC__P2P_OK;
    }
    if (good < needed || needed == 0)
        pipc__line_say(
            line, PIPC__LINE_UNKNOWN,
            "NVML tells of %d of the %d ways that were good in the matrix of %s; --p2p=FILE takes "
            "what pcie-ipc-p2p --json measures",
            good, needed, date);
    else
        pipc__line_say(line, PIPC__LINE_YES, "%d ways are open by NVML, as in the matrix of %s",
                       good, date);
}

void pipc__line_p2p(const pipc__list_t *l, pipc__line_t *line)
{
    char date[32];
    const char *odd;

    if (count_gpus(l->facts) == 1) {
        pipc__line_say(line, PIPC__LINE_YES, "there is one GPU");
        return;
    }
    if (!l->r->accepted.there) {
        pipc__line_say(line, PIPC__LINE_UNKNOWN,
                       "no matrix was accepted: pcie-ipc-p2p --json "
                       ">/var/lib/pcie-ipc/" PIPC__P2P_MATRIX_FILE);
        line->date = 0;
        return;
    }
    pipc__date_text(l->r->accepted.time, date);
    if ((odd = odd_one(&l->r->accepted, l->facts)))
        pipc__line_say(line, PIPC__LINE_NO, "%s is not in both, the machine and the matrix of %s",
                       odd, date);
    else if (l->r->measured.there)
        compare_measured(l, date, line);
    else
        compare_nvml(l, date, line);
}

void pipc__line_persistence(const pipc__list_t *l, pipc__line_t *line)
{
    pipc__tally_t t = {0};
    int gpus = 0;

    for (int i = 0; i < l->facts->n; i++) {
        const pipc__fact_t *f = &l->facts->dev[i];
        if (!f->gpu || f->vendor != VENDOR_NVIDIA)
            continue;
        gpus++;
        pipc__tally_add(&t, f->name,
                        !f->nvml.told || f->nvml.persistence < 0 ? PIPC__LINE_UNKNOWN
                        : f->nvml.persistence == 0               ? PIPC__LINE_NO
                                                                 : PIPC__LINE_YES);
    }
    if (t.no)
        pipc__line_say(line, PIPC__LINE_NO,
                       "%s has it off; nvidia-persistenced or nvidia-smi -pm 1", t.no);
    else if (t.unknown)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "NVML %s %s",
                       l->facts->nvml == PIPC__NVML_UNASKED ? "was not asked of"
                                                            : "says nothing of",
                       t.unknown);
    else if (count_gpus(l->facts) == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "there is no GPU in view");
    else if (gpus == 0)
        pipc__line_say(line, PIPC__LINE_YES, "there is no GPU of NVIDIA's");
    else
        pipc__line_say(line, PIPC__LINE_YES, "on at %d GPUs", gpus);
}

void pipc__line_stress(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__stress_record_t *s = &l->r->stress;
    double hours = (double)s->seconds / 3600;

    line->date = l->r->stressed ? s->time : 0;
    if (!l->r->stressed)
        pipc__line_say(line, PIPC__LINE_NO, "no run is on record; pcie-ipc-stress --time=24h");
    else if (strcmp(s->machine, l->r->machine) != 0)
        pipc__line_say(line, PIPC__LINE_NO, "the run was on %.150s; now it is %.150s", s->machine,
                       l->r->machine);
    else if (strcmp(s->verdict, "ok") != 0)
        pipc__line_say(line, PIPC__LINE_NO, "the verdict was %s", s->verdict);
    else if (s->seconds < PIPC__CHECKLIST_STRESS_S)
        pipc__line_say(line, PIPC__LINE_NO, "%.1f hours; 24 are wanted", hours);
    else if (s->gpus < count_gpus(l->facts))
        pipc__line_say(line, PIPC__LINE_NO, "%d of %d GPUs had it", s->gpus, count_gpus(l->facts));
    else if (strchr(s->machine, '?'))
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "not every version can be read: %.200s",
                       s->machine);
    else
        pipc__line_say(line, PIPC__LINE_YES, "%.1f hours, %d GPUs, on %.200s", hours, s->gpus,
                       s->machine);
}

/* A port that sends requests up, and did not when the baseline was learned, or the other way. */
static const char *acs_changed(const pipc__list_t *l)
{
    for (int i = 0; i < l->r->baseline->n; i++) {
        const pipc__baseline_entry_t *then = &l->r->baseline->list[i];
        const pipc__baseline_entry_t *now = pipc__baseline_at(&l->now, then->path);
        if (now && then->redirects >= 0 && now->redirects >= 0 && then->redirects != now->redirects)
            return now->name;
    }
    return NULL;
}

static const pipc__finding_t *find(const pipc__findings_t *findings, pipc__code_t a, pipc__code_t b)
{
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].code == a || findings->list[i].code == b)
            return &findings->list[i];
    return NULL;
}

void pipc__line_acs(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__finding_t *f = find(l->r->findings, PIPC__CODE_ACS, PIPC__CODE_IOMMU);
    const char *changed = acs_changed(l);
    int kinds[PIPC__IOMMU_TRANSLATES + 1] = {0};

    for (int i = 0; i < l->facts->n; i++)
        kinds[l->facts->dev[i].iommu] += l->facts->dev[i].gpu;
    if (f && f->severity >= PIPC__WARN)
        pipc__line_say(line, PIPC__LINE_NO, "%s: %s (%s)", f->object, f->seen,
                       pipc__codes[f->code].name);
    else if (changed)
        pipc__line_say(line, PIPC__LINE_NO, "ACS of %s redirects otherwise than in the baseline",
                       changed);
    else if (find(l->r->findings, PIPC__CODE_HIDDEN, PIPC__CODE_SOURCE))
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "ACS cannot be read; run as root");
    else if (kinds[PIPC__IOMMU_UNKNOWN] + kinds[PIPC__IOMMU_GROUP] > 0 || count_gpus(l->facts) == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN,
                       "of %d GPUs it is not known whether the IOMMU translates",
                       kinds[PIPC__IOMMU_UNKNOWN] + kinds[PIPC__IOMMU_GROUP]);
    else
        pipc__line_say(
            line, PIPC__LINE_YES,
            "no warning by limits.conf; the IOMMU: off for %d GPUs, identity for %d, translates "
            "for %d",
            kinds[PIPC__IOMMU_NONE], kinds[PIPC__IOMMU_IDENTITY], kinds[PIPC__IOMMU_TRANSLATES]);
}

void pipc__line_gate(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__readiness_t *r = l->r;

    if (r->prolog == PIPC__LINKED_UNASKED)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "that is told on the machine itself");
    else if (r->off)
        pipc__line_say(line, PIPC__LINE_NO, "it is switched off: %s is there", r->off);
    else if (r->prolog == PIPC__LINKED_NO || r->epilog == PIPC__LINKED_NO)
        pipc__line_say(line, PIPC__LINE_NO, "%s has no link; install-links makes it",
                       r->prolog == PIPC__LINKED_NO ? r->prolog_dir : r->epilog_dir);
    else
        pipc__line_say(line, PIPC__LINE_YES, "linked in %s and %s; mode is %s", r->prolog_dir,
                       r->epilog_dir, r->mode);
}
