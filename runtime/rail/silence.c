/* rail/silence.c - judges what breaks of a node's watches: see silence.h. Knows no UCX. */
#include "runtime/rail/silence.h"

#define FRESH_MSEC 2000 /* who was heard since then is there, whatever became of the watches */
#define PAUSE_MSEC 1000 /* between looks: longer, and what broke meanwhile is of no known age */
#define BACK_MSEC 500   /* how long after a pause one still finds what broke in it */

void pipc__looks_at(pipc__looks_t *looks, int64_t now)
{
    if (!looks->since || now - looks->last > PAUSE_MSEC)
        looks->since = now;
    looks->last = now;
}

void pipc__silence_broke(pipc__silence_t *s, int i, const pipc__looks_t *looks, int64_t now)
{
    s->broke[i] = now - looks->since < BACK_MSEC ? 0 : now;
}

bool pipc__is_silent(const pipc__silence_t *s, int64_t heard, int64_t now)
{
    int broken = 0;

    for (int i = 0; i < PIPC__WATCHES; i++)
        broken += s->broke[i] && now - s->broke[i] < PIPC__WATCH_MSEC;
    return broken >= PIPC__WATCHES_BROKEN && now - heard >= FRESH_MSEC;
}
