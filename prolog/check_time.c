/* prolog/check_time.c - see check_time.h */
#include "prolog/check_time.h"

#include <string.h>
#include <unistd.h>

#include "prolog/looks.h"
#include "prolog/diary.h"
#include "prolog/state.h"
#include "prolog/watch.h"

static pipc_status_t compare(const pipc__facts_t *facts, const pipc__limits_t *limits,
                             const pipc__counters_t *before, const pipc__counters_t *now,
                             pipc__findings_t *out, pipc__error_t *err)
{
    pipc__deltas_t deltas;
    pipc_status_t st = pipc__deltas(before, now, &deltas, err);

    if (!st)
        st = pipc__judge_deltas(facts, limits, &deltas, out, err);
    pipc__deltas_free(&deltas);
    return st;
}

static pipc_status_t look_back(const pipc__machine_t *source, const pipc__facts_t *facts,
                               const pipc__limits_t *limits, pipc__findings_t *out,
                               pipc__error_t *err)
{
    pipc__counters_t now = {.n = 0};
    pipc__looks_t looks;
    int dir;

    if (pipc__state_open(source->past.run, source->past.owner, &dir, NULL))
        return PIPC_OK;
    pipc__looks_read(dir, PIPC__LOOKS_REFERENCE, source->past.owner, source->sysroot, &looks);
    pipc_status_t st = pipc__counters_take(facts, source->sysroot, &now, err);
    if (!st && looks.n > 0)
        st = compare(facts, limits, &looks.look[0], &now, out, err);
    if (!st && source->past.keep && pipc__looks_roll(&looks, &now))
        pipc__looks_write(dir, PIPC__LOOKS_REFERENCE, 0644, source->sysroot, &looks, NULL);
    close(dir);
    pipc__looks_free(&looks);
    pipc__counters_free(&now);
    return st;
}

static pipc_status_t look_at_record(const pipc__machine_t *source, const pipc__facts_t *facts,
                                    const pipc__limits_t *limits, pipc__findings_t *out,
                                    pipc__error_t *err)
{
    pipc__window_t window = {.to_ms = pipc__now_ms()};
    pipc__dips_list_t dips = {.n = 0};
    pipc__changes_t changes;
    pipc_status_t st = PIPC_OK;

    window.from_ms = window.to_ms - PIPC__CHECK_DAY_MS;
    if (!pipc__diary_read(source->past.state, source->past.owner, &window, &changes, NULL, NULL) &&
        pipc__dips(&changes, &dips))
        st = pipc__judge_dips(facts, limits, &dips, out, err);
    pipc__dips_free(&dips);
    pipc__changes_free(&changes);
    return st;
}

pipc_status_t pipc__check_time(const pipc__machine_t *source, const pipc__facts_t *facts,
                               const pipc__limits_t *limits, pipc__findings_t *out,
                               pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (source->past.run)
        st = look_back(source, facts, limits, out, err);
    if (!st && source->all && source->past.state)
        st = look_at_record(source, facts, limits, out, err);
    return st;
}
