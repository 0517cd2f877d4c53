/* prolog/judge_node.c - what is said of the machine as a whole, and of GPUs' memory as their peers
 * see it: nothing of it drains
 */
#include <stdio.h>
#include <string.h>

#include "prolog/judging.h"

#define SMALL_BAR (256LL << 20) /* what a GPU shows without Resizable BAR */
#define MUCH_SMALLER 4

/* "256 MB", "32 GB" */
static const char *size_text(int64_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    int u = 0;

    while (u < 4 && bytes >= 1024 && bytes % 1024 == 0)
        bytes /= 1024, u++;
    snprintf(out, 32, "%lld %s", (long long)bytes, units[u]);
    return out;
}

void pipc__judge_memory(judge_t *j, const pipc__fact_t *f)
{
    int64_t bar = f->more.bar, most = f->more.bar_max;
    char is[32], can[32], want[64] = "";

    if (!f->gpu || f->answer == PIPC__LOST || f->answer == PIPC__ASLEEP || bar <= 0)
        return;
    /* One GPU of an old kind, whose BAR can't be larger, has no peers to miss it. */
    if (most > 0 ? bar > most / MUCH_SMALLER : bar > SMALL_BAR || j->gpus < 2)
        return;
    if (most > 0)
        snprintf(want, sizeof(want), "up to %s by the card", size_text(most, can));
    pipc__judge_find(j, PIPC__CODE_BAR, PIPC__DRAIN, f, want, "its BAR is %s", size_text(bar, is));
}

/* Translation alone costs little where peers reach each other inside a switch; where ports send
 * their writes up, it is what loses them. */
static void judge_iommu(judge_t *j)
{
    pipc__severity_t most = PIPC__NOTE;
    int n = 0;

    for (int i = 0; i < j->facts->n; i++) {
        const pipc__fact_t *f = &j->facts->dev[i];
        n += f->gpu && f->iommu == PIPC__IOMMU_TRANSLATES;
        if (pipc__judge_redirects(j, f))
            most = PIPC__WARN;
    }
    if (n > 0 && j->gpus > 1)
        pipc__judge_find(j, PIPC__CODE_IOMMU, most, NULL, "groups of the type identity",
                         "the IOMMU translates for %d of %d GPUs%s", n, j->gpus,
                         most == PIPC__WARN ? ", and ports between them redirect" : "");
}

/* Root ports above GPUs: one finding if it is all of them. */
static void judge_services(judge_t *j)
{
    int ports = 0, unbound = 0;

    for (int i = 0; i < j->facts->n; i++) {
        bool root = j->facts->dev[i].parent < 0 && !j->facts->dev[i].gpu && j->below[i].gpus > 0;
        ports += root;
        unbound += root && j->facts->dev[i].aer == PIPC__AER_UNBOUND;
    }
    if (j->facts->virtual_machine || unbound == 0)
        return;
    if (unbound == ports) {
        pipc__judge_find(j, PIPC__CODE_UNCOUNTED, PIPC__NOTE, NULL, "",
                         "AER is bound at none of the %d root ports above GPUs", ports);
        return;
    }
    for (int i = 0; i < j->facts->n; i++)
        if (j->facts->dev[i].aer == PIPC__AER_UNBOUND && j->below[i].gpus > 0)
            pipc__judge_find(j, PIPC__CODE_UNCOUNTED, PIPC__NOTE, &j->facts->dev[i], "",
                             "AER is not bound at this root port");
}

/* Where it is on, judge_aspm() says so of each device. */
static void judge_policy(judge_t *j)
{
    const char *policy = j->facts->aspm_policy;

    if (strncmp(policy, "power", 5) != 0 || j->gpus == 0) /* powersave, powersupersave */
        return;
    for (int i = 0; i < j->facts->n; i++)
        if (j->facts->dev[i].link.aspm > 0)
            return;
    pipc__judge_find(j, PIPC__CODE_ASPM, PIPC__NOTE, NULL, "performance or default",
                     "the kernel's policy for ASPM is %s, and no device here has it on", policy);
}

void pipc__judge_node(judge_t *j)
{
    judge_policy(j);
    judge_iommu(j);
    judge_services(j);
}
