/* prolog/wake_judge.c - what was seen of a link under load -> is it slow? Pure. See wake.h */
#include <stdio.h>

#include "prolog/wake.h"

static const char *const ends[PIPC__WAKE_ENDS] = {
    [PIPC__WAKE_NO_ANSWER] = "the driver gave no answer in time",
    [PIPC__WAKE_NO_DRIVER] = "the driver's library cannot be opened",
    [PIPC__WAKE_UNKNOWN] = "the driver does not know the GPU",
    [PIPC__WAKE_MIG] = "not woken: a MIG GPU is not touched",
    [PIPC__WAKE_BUSY] = "not woken: somebody uses the GPU",
    [PIPC__WAKE_FAILED] = "the copy to wake it failed",
    [PIPC__WAKE_ASLEEP] = "the GPU is not in P0",
};

static bool all_equal(const pipc__wake_link_t *link)
{
    for (int i = 0; i < link->reads; i++)
        if (link->mts[i] != link->mts[0] || link->mts[i] < 0)
            return false;
    return true;
}

pipc__wake_verdict_t pipc__wake_judge(const pipc__wake_link_t *link, bool virtual_machine,
                                      char why[96])
{
    const char *load = link->mode == PIPC__WAKE_COPY ? "under a copy" : "in P0";

    if (link->end < PIPC__WAKE_RAISED) {
        snprintf(why, 96, "%s", ends[link->end]);
        return PIPC__WAKE_CANT_TELL;
    }
    if (link->end == PIPC__WAKE_RAISED) {
        snprintf(why, 96, "%s", load);
        return PIPC__WAKE_FAST;
    }
    if (link->reads < PIPC__WAKE_READS)
        snprintf(why, 96, "too few reads %s", load);
    else if (!all_equal(link))
        snprintf(why, 96, "its reads %s differ", load);
    else if (link->mts[0] >= link->want_mts) /* a driver that says one thing and reads another */
        snprintf(why, 96, "its reads %s contradict the check's", load);
    else if (virtual_machine || !link->port[0])
        snprintf(why, 96, "so it is %s, but its port is not in view", load);
    else {
        snprintf(why, 96, "in %d reads %s", link->reads, load);
        return PIPC__WAKE_SLOW;
    }
    return PIPC__WAKE_CANT_TELL;
}
