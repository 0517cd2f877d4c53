/* plan/trace.c - events in words, and from addresses to places. See replay.h */
#include "runtime/plan/replay.h"

#include <stdio.h>

static const char *place_name(int place)
{
    static const char *const name[] = {"input", "staging", "output", "host staging",
                                       "shared memory"};

    return place <= PIPC__TRACE_BLOCK ? name[place] : "no place";
}

const char *pipc__event_text(const pipc__event_t *e, char text[PIPC__EVENT_TEXT])
{
    static const char *const verb[] = {"reads", "writes", "takes", "adds", "signals", "waits"};
    int n = 0;

    if (e->kind <= PIPC__DID_WRITE)
        n = snprintf(text, PIPC__EVENT_TEXT, "%s %u bytes", verb[e->kind], e->bytes);
    else if (e->kind == PIPC__DID_SIGNAL || e->kind == PIPC__DID_WAIT)
        n = snprintf(text, PIPC__EVENT_TEXT, "%s %llu", verb[e->kind],
                     (unsigned long long)e->value);
    else if (e->kind == PIPC__DID_TAKE || e->kind == PIPC__DID_ADD)
        snprintf(text, PIPC__EVENT_TEXT, "%s register %u", verb[e->kind], e->from);
    else
        snprintf(text, PIPC__EVENT_TEXT, "%s",
                 e->kind == PIPC__DID_FENCE ? "fences" : "meets at a barrier");
    if (n)
        snprintf(text + n, PIPC__EVENT_TEXT - (size_t)n, " at %s %u + 0x%llx", place_name(e->place),
                 e->rank, (unsigned long long)e->at);
    return text;
}

static bool has_address(const pipc__event_t *e)
{
    if (e->place == PIPC__TRACE_BLOCK)
        return false;
    return e->kind == PIPC__DID_READ || e->kind == PIPC__DID_WRITE || e->kind == PIPC__DID_SIGNAL ||
           e->kind == PIPC__DID_WAIT;
}

/* False when @e is not inside one of the regions. */
static bool locate(pipc__event_t *e, const pipc__trace_region_t *regions, int nregions)
{
    for (int i = 0; i < nregions; i++) {
        const pipc__trace_region_t *r = &regions[i];
        if (e->at < r->address || e->at - r->address + e->bytes > r->bytes)
            continue;
        e->at = e->at - r->address + r->at;
        e->place = r->place;
        e->rank = r->rank;
        return true;
    }
    return false;
}

pipc_status_t pipc__trace_locate(pipc__trace_t *t, const pipc__trace_region_t *regions,
                                 int nregions, pipc__error_t *err)
{
    for (uint32_t i = 0; i < t->blocks * t->block_threads; i++) {
        pipc__event_t *e = &t->sink.events[(size_t)i * t->sink.each];
        if (t->sink.count[i] > t->sink.each)
            return pipc__fail(err, PIPC_ERR_INVALID, "thread %u: %u events, there is room for %u",
                              i, t->sink.count[i], t->sink.each);
        for (uint32_t k = 0; k < t->sink.count[i]; k++)
            if (has_address(&e[k]) && !locate(&e[k], regions, nregions))
                return pipc__fail(err, PIPC_ERR_INVALID,
                                  "block %u, thread %u, event %u: %u bytes at 0x%llx, which is in "
                                  "no buffer",
                                  i / t->block_threads, i % t->block_threads, k, e[k].bytes,
                                  (unsigned long long)e[k].at);
    }
    return PIPC_OK;
}
