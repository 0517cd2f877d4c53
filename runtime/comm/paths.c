/* comm/paths.c - see paths.h */
#include "runtime/comm/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/comm/probe_cache.h"
#include "runtime/exec/path_hint.h"

/* --- for people ------------------------------------------------------------------------------- */

const char *pipc__paths_describe(const pipc__paths_t *p, char *buf, size_t cap)
{
    snprintf(buf, cap, "p2p %d pairs, host %d", p->p2p, p->host);
    return buf;
}

void pipc__paths_explain(const pipc__paths_t *p, const pipc__record_t *recs, int from, int to,
                         const char *root, char *buf, size_t cap)
{
    pipc__path_state_t state = (pipc__path_state_t)p->probe.state[from][to];
    char a[16], b[16], hint[128] = "";
    pipc__path_facts_t facts;

    snprintf(a, sizeof(a), "%.*s", (int)sizeof(a) - 1, recs[from].bdf);
    snprintf(b, sizeof(b), "%.*s", (int)sizeof(b) - 1, recs[to].bdf);
    if (state == PIPC__PATH_WRONG || state == PIPC__PATH_TIMED_OUT || state == PIPC__PATH_REFUSED) {
        pipc__path_facts(&facts, a, b, root);
        pipc__path_hint(&facts, hint, sizeof(hint));
    }
    snprintf(buf, cap, "rank %d (GPU %s) to rank %d (GPU %s): %s%s%s%s%s%s", recs[from].rank, a,
             recs[to].rank, b, pipc__path_meaning(state), *hint ? " (" : "", hint, *hint ? ")" : "",
             *pipc__path_remedy(state) ? "; " : "", pipc__path_remedy(state));
}

/* --- the cache: rank 0 reads and writes it, the probe hands it on ------------------------------
 */

static void name_of(const pipc__record_t *rec, char out[PIPC__CACHE_NAME])
{
    snprintf(out, PIPC__CACHE_NAME, "%.*s/%.*s", (int)sizeof(rec->bdf) - 1, rec->bdf,
             (int)sizeof(rec->uuid) - 1, rec->uuid);
}

static void recall(pipc__probe_t *probe, const pipc__cache_t *cache, const pipc__record_t *recs)
{
    char from[PIPC__CACHE_NAME], to[PIPC__CACHE_NAME];

    for (int r = 0; r < probe->n; r++)
        for (int q = 0; q < probe->n; q++) {
            name_of(&recs[r], from);
            name_of(&recs[q], to);
            probe->state[r][q] = (uint8_t)pipc__cache_get(cache, from, to);
        }
}

/* True when there was something new. */
static bool keep(const pipc__probe_t *probe, pipc__cache_t *cache, const pipc__record_t *recs)
{
    char from[PIPC__CACHE_NAME], to[PIPC__CACHE_NAME];
    bool fresh = false;

    for (int r = 0; r < probe->n; r++)
        for (int q = 0; q < probe->n; q++) {
            pipc__path_state_t s = (pipc__path_state_t)probe->state[r][q];
            name_of(&recs[r], from);
            name_of(&recs[q], to);
            if (r == q || pipc__cache_get(cache, from, to) == s)
                continue;
            pipc__cache_set(cache, from, to, s);
            fresh |= pipc__cache_get(cache, from, to) == s;
        }
    return fresh;
}

/* The probe with what rank 0 knows from before. That there is no place for a cache is no error: it
 * saves some milliseconds. */
static pipc_status_t probe_with_cache(pipc__paths_t *p, pipc__exec_t *exec,
                                      const pipc__record_t *recs, pipc_status_t own,
                                      pipc__getenv_t lookup, pipc__error_t *err)
{
    pipc__cache_t *cache = p->probe.rank == 0 ? malloc(sizeof(*cache)) : NULL;
    int folder = cache && pipc__cache_begin(cache, NULL) ? pipc__cache_folder(lookup, NULL) : -1;

    if (folder >= 0) {
        pipc__cache_load(cache, folder);
        recall(&p->probe, cache, recs);
    }
    pipc_status_t st = exec->ops->probe(exec, &p->probe, own, err);
    if (!st && folder >= 0 && keep(&p->probe, cache, recs) && !pipc__cache_save(cache, folder))
        pipc__log(PIPC__LOG_DEBUG, "what the probe of paths found can't be kept: %m");
    if (folder >= 0)
        close(folder);
    free(cache);
    return st;
}

/* --- finding ---------------------------------------------------------------------------------- */

static void count(pipc__paths_t *p, const pipc__record_t *recs)
{
    int pairs = p->n * (p->n - 1);

    p->p2p = p->probed                        ? pipc__probe_good(p->probe.state, p->n)
             : recs[0].path == PIPC_PATH_HOST ? 0
                                              : pairs;
    p->host = pairs - p->p2p;
}

static pipc_status_t judge(const pipc__paths_t *p, const pipc__record_t *recs, pipc__error_t *err)
{
    char why[400];
    int from, to;

    if (!p->probed || !pipc__probe_first_bad(p->probe.state, p->n, &from, &to))
        return PIPC_OK;
    pipc__paths_explain(p, recs, from, to, NULL, why, sizeof(why));
    if (recs[0].path == PIPC_PATH_P2P)
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "path p2p was asked for, and %d of %d pairs have none; %s", p->host,
                          p->p2p + p->host, why);
    if (p->probe.rank == 0) /* one line a communicator */
        pipc__log(PIPC__LOG_WARN, "%d of %d pairs of GPUs go through host memory; %s", p->host,
                  p->p2p + p->host, why);
    return PIPC_OK;
}

/* One line a communicator. */
static void tell(const pipc__paths_t *p)
{
    char text[64];

    if (p->probe.rank || p->n < 2)
        return;
    pipc__paths_describe(p, text, sizeof(text));
    if (p->probed)
        pipc__log(PIPC__LOG_INFO, "paths: %s (probed in %.1f ms, %d known from before)", text,
                  p->probe.took_usec * 1e-3, p->probe.known);
    else
        pipc__log(PIPC__LOG_INFO, "paths: %s", text);
}

pipc_status_t pipc__paths_find(pipc__paths_t *p, pipc__exec_t *exec, const pipc__record_t *recs,
                               int rank, int n, pipc_status_t own, pipc__getenv_t lookup,
                               pipc__error_t *err)
{
    memset(p, 0, sizeof(*p));
    p->n = p->probe.n = n;
    p->probe.rank = rank;
    if (n > 1 && exec->ops->probe && recs[0].path != PIPC_PATH_HOST) {
        pipc_status_t st = probe_with_cache(p, exec, recs, own, lookup, err);
        if (st)
            return st;
        p->probed = true;
    }
    if (own)
        return own;
    count(p, recs);
    tell(p);
    return judge(p, recs, err);
}

void pipc__paths_apply(const pipc__paths_t *p, pipc__shape_t *shape)
{
    if (p->probed)
        pipc__probe_reach(p->probe.state, p->n, shape->reach);
}
