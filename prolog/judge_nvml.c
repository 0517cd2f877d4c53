/* prolog/judge_nvml.c - what is said of NVML's answers: notes. Links are judged by the registers of
 * both ends; where these are not in view, in a virtual machine, NVML's word is told.
 */
#include <stdio.h>
#include <string.h>

#include "prolog/judging.h"

static const char *const ways[PIPC__P2P_STATUSES] = {
    "within reach", "the chipset can't do it", "the GPU can't do it", "the topology is wrong",
    "switched off", "not supported",           "not known",
};

static void say(judge_t *j, const pipc__fact_t *f, const char *want, const char *text)
{
    pipc__judge_find(j, PIPC__CODE_NVML, PIPC__DRAIN, f, want, "%s", text);
}

static void judge_gpu(judge_t *j, const pipc__fact_t *f)
{
    const pipc__nvml_t *v = &f->nvml;
    char text[128], want[32];

    if (v->replays > 0) {
        snprintf(text, sizeof(text), "NVML: %lld replays since its driver started",
                 (long long)v->replays);
        say(j, f, "", text);
    }
    if (v->width > 0 && v->width < v->max_width &&
        (j->facts->virtual_machine || f->link.width < 0)) {
        snprintf(text, sizeof(text), "NVML: link is x%d", v->width);
        snprintf(want, sizeof(want), "x%d by GPU and slot", v->max_width);
        say(j, f, want, text);
    }
}

static void judge_persistence(judge_t *j)
{
    int asked = 0, off = 0;
    char text[64];

    for (int i = 0; i < j->facts->n; i++) {
        const pipc__nvml_t *v = &j->facts->dev[i].nvml;
        asked += v->told;
        off += v->told && v->persistence == 0;
    }
    snprintf(text, sizeof(text), "persistence mode is off at %d of %d GPUs", off, asked);
    if (off > 0)
        say(j, NULL, "on", text);
}

static void judge_pairs(judge_t *j)
{
    const pipc__facts_t *facts = j->facts;
    const pipc__pair_t *first = NULL;
    char text[192];
    int apart = 0;

    for (int i = 0; i < facts->pairs; i++) {
        const pipc__pair_t *p = &facts->pair[i];
        if (p->status == PIPC__P2P_OK || p->status == PIPC__P2P_UNKNOWN)
            continue;
        first = first ? first : p;
        apart++;
    }
    if (!first)
        return;
    snprintf(text, sizeof(text), "P2P: %d of %d ways between GPUs are closed; %s to %s: %s", apart,
             facts->pairs, facts->dev[first->a].name, facts->dev[first->b].name,
             ways[first->status]);
    say(j, NULL, "all within reach", text);
}

void pipc__judge_nvml(judge_t *j)
{
    if (j->facts->nvml == PIPC__NVML_SILENT)
        say(j, NULL, "", "NVML gave no answer");
    for (int i = 0; i < j->facts->n; i++)
        if (j->facts->dev[i].nvml.told)
            judge_gpu(j, &j->facts->dev[i]);
    judge_persistence(j);
    judge_pairs(j);
}
