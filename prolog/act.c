/* prolog/act.c - see act.h */
#include "prolog/act.h"

static pipc__act_t because(pipc__act_t act, const char *text, const char **why)
{
    *why = text;
    return act;
}

/* The node runs jobs, and should not. */
static pipc__act_t take_out(const pipc__scene_t *s, const char **why)
{
    if (s->config->scope == PIPC__SCOPE_JOB)
        return because(PIPC__ACT_NOTHING, "scope is job: a prolog refuses the node", why);
    if (s->config->max_drain.n == 0)
        return because(PIPC__ACT_DRAIN, "the node is sick", why);
    if (s->busy)
        return because(PIPC__ACT_NOTHING,
                       "max_drain: the node's Extra is in use, so the census cannot be asked", why);
    return because(s->asked && s->current ? PIPC__ACT_NOTHING : PIPC__ACT_ASK,
                   "max_drain: the census drains it, when there is room", why);
}

static pipc__act_t when_sick(const pipc__scene_t *s, const char **why)
{
    if (s->config->mode != PIPC__MODE_ENFORCE)
        return because(s->asked ? PIPC__ACT_UNASK : PIPC__ACT_NOTHING, "mode is report", why);
    if (!s->out)
        return take_out(s, why);
    if (s->whose == PIPC__REASON_OTHERS)
        return because(PIPC__ACT_NOTHING, "somebody else took the node out", why);
    if (s->whose == PIPC__REASON_OURS && s->current)
        return because(PIPC__ACT_NOTHING, "the node is drained", why);
    return because(PIPC__ACT_REASON, "the node is out", why);
}

/* Better than drain as seen, not only as held: a new kernel makes nobody well. And known to be
 * better: what cannot be told is no repair. */
static pipc__act_t when_better(const pipc__scene_t *s, const char **why)
{
    if (s->whose == PIPC__REASON_PROLOG && s->out && s->refused &&
        s->config->mode == PIPC__MODE_ENFORCE)
        return because(PIPC__ACT_REASON, "our prolog refused it", why);
    if (s->whose != PIPC__REASON_OURS || !s->drained)
        return because(s->asked ? PIPC__ACT_UNASK : PIPC__ACT_NOTHING, "", why);
    if (s->seen >= PIPC__DRAIN || s->seen == PIPC__SEV_UNKNOWN)
        return because(PIPC__ACT_NOTHING, "whether the node is well again cannot be told", why);
    if (s->config->undrain == PIPC__UNDRAIN_NEVER)
        return because(PIPC__ACT_NOTHING, "undrain is never: the node is repaired", why);
    if (s->undrains >= PIPC__UNDRAINS_A_DAY)
        return because(PIPC__ACT_NOTHING,
                       "the fault comes and goes: pcie-ipc-health undrain, once it is found", why);
    if (s->well < PIPC__WELL_CHECKS)
        return because(PIPC__ACT_NOTHING, "the node looks repaired; one more check", why);
    return because(PIPC__ACT_UNDRAIN, "the node is repaired", why);
}

pipc__act_t pipc__act(const pipc__scene_t *s, const char **why)
{
    return s->verdict == PIPC__DRAIN ? when_sick(s, why) : when_better(s, why);
}
