/* plan/check_access.c - who wrote and read each place, when, and whether this access comes too soon
 *
 * Access x of actor b happened before the present op of a exactly when x's time <= a's clock at b.
 * Each place remembers who wrote it last and when, and when each stage read it last.
 */
#include "runtime/plan/check_state.h"

#include <stdio.h>
#include <string.h>

const char *pipc__check_who(const pipc__check_t *c, int actor, char text[PIPC__WHO_TEXT])
{
    const pipc__actor_t *a = &c->actor[actor];
    int n = snprintf(text, PIPC__WHO_TEXT, "rank %d", a->rank);

    if (a->stage == c->rail_stage)
        n += snprintf(text + n, PIPC__WHO_TEXT - (size_t)n, ", its rail");
    else if (c->nstages > 1)
        n += snprintf(text + n, PIPC__WHO_TEXT - (size_t)n, ", stage %d", a->stage);
    if (a->lane != c->now->lane)
        snprintf(text + n, PIPC__WHO_TEXT - (size_t)n, ", lane %d", a->lane);
    return text;
}

pipc__cell_t *pipc__check_user(const pipc__check_t *c, int place, int rank, int round, int chunk,
                               int lane)
{
    size_t i = place == PIPC__OUTPUT && !c->call->in_place;

    i = i * (size_t)c->nranks + (size_t)rank;
    i = i * (size_t)c->nrounds + (size_t)round;
    i = i * (size_t)c->nchunks + (size_t)chunk;
    return &c->user[i * (size_t)c->nlanes + (size_t)lane];
}

static size_t area_of(const pipc__check_t *c, pipc__ref_t ref)
{
    size_t area = (size_t)((c->base_round + c->now->round) % c->buffers);

    return (pipc__check_memory(ref.place) * (size_t)c->nranks + ref.rank) * (size_t)c->buffers +
           area;
}

static bool is_slot(pipc__ref_t ref)
{
    return ref.place == PIPC__SLOT || ref.place == PIPC__HOST;
}

static pipc__cell_t *cell_of(const pipc__check_t *c, pipc__ref_t ref, int chunk)
{
    const pipc__actor_t *a = c->now;

    if (!is_slot(ref))
        return pipc__check_user(c, ref.place, ref.rank, a->round, chunk, a->lane);
    size_t i = area_of(c, ref) * (size_t)c->nslots + ref.slot;
    return &c->slot[i * (size_t)c->nlanes + (size_t)a->lane];
}

/* The actor whose write to @cell is not before now, + 1; 0 when there is none. */
static int unordered_write(const pipc__check_t *c, const pipc__cell_t *cell)
{
    return cell->writer && cell->written > c->now->clock[cell->writer - 1] ? cell->writer : 0;
}

static int unordered_read(const pipc__check_t *c, const pipc__cell_t *cell, int rank)
{
    for (int s = 0; s < c->nstages; s++) {
        int reader = (rank * c->nstages + s) * c->nlanes + c->now->lane;
        if (cell->read[s] > c->now->clock[reader])
            return reader + 1;
    }
    return 0;
}

/* The same for what earlier calls did to the whole area: @old is old_write or old_read. */
static int unordered_old(const pipc__check_t *c, const uint32_t *old, pipc__ref_t ref)
{
    if (!is_slot(ref))
        return 0;
    return pipc__clock_beyond(&old[area_of(c, ref) * (size_t)c->nactors], c->now->clock,
                              c->nactors);
}

pipc_status_t pipc__check_read(pipc__check_t *c, pipc__ref_t ref, int chunk, pipc__value_t *value)
{
    pipc__cell_t *cell = cell_of(c, ref, chunk);
    char text[PIPC__WHO_TEXT];
    int other;

    if ((other = unordered_write(c, cell)))
        return pipc__check_wrong(c, "reads a place while %s may still write it",
                                 pipc__check_who(c, other - 1, text));
    if ((other = unordered_old(c, c->old_write, ref)))
        return pipc__check_wrong(c, "reads a place while %s in an earlier call may still write it",
                                 pipc__check_who(c, other - 1, text));
    if (!cell->value.round)
        return pipc__check_wrong(c, "reads a place that nothing was written to yet in this call");
    if (cell->value.round != c->base_round + c->now->round)
        return pipc__check_wrong(c, "reads a place that holds what another round left behind");
    if (cell->value.chunk != chunk)
        return pipc__check_wrong(c, "reads a place that holds chunk %d", cell->value.chunk);
    cell->read[c->now->stage] = c->now->clock[c->now - c->actor];
    *value = cell->value;
    return PIPC_OK;
}

pipc_status_t pipc__check_write(pipc__check_t *c, pipc__ref_t ref, int chunk,
                                const pipc__value_t *value)
{
    pipc__cell_t *cell = cell_of(c, ref, chunk);
    char text[PIPC__WHO_TEXT];
    int other, self = (int)(c->now - c->actor);

    if ((other = unordered_write(c, cell)))
        return pipc__check_wrong(c, "writes a place while %s may still write it",
                                 pipc__check_who(c, other - 1, text));
    if ((other = unordered_read(c, cell, ref.rank)))
        return pipc__check_wrong(c, "writes a place while %s may still read it (reused too early)",
                                 pipc__check_who(c, other - 1, text));
    if ((other = unordered_old(c, c->old_write, ref)) ||
        (other = unordered_old(c, c->old_read, ref)))
        return pipc__check_wrong(c,
                                 "writes a slot that %s in an earlier call may still use "
                                 "(reused too early)",
                                 pipc__check_who(c, other - 1, text));
    cell->value = *value;
    cell->writer = self + 1;
    cell->written = c->now->clock[self];
    return PIPC_OK;
}

void pipc__check_outlast(pipc__check_t *c, pipc__ref_t ref, int chunk, const pipc__actor_t *actor)
{
    pipc__cell_t *cell = cell_of(c, ref, chunk);
    int self = (int)(actor - c->actor);

    cell->writer = self + 1;
    cell->written = actor->clock[self];
}

static void retire_cell(pipc__check_t *c, size_t area, int rank, int lane, pipc__cell_t *cell)
{
    uint32_t *write = &c->old_write[area * (size_t)c->nactors];
    uint32_t *read = &c->old_read[area * (size_t)c->nactors];

    if (!cell->writer)
        return;
    if (write[cell->writer - 1] < cell->written)
        write[cell->writer - 1] = cell->written;
    for (int s = 0; s < c->nstages; s++) {
        int reader = (rank * c->nstages + s) * c->nlanes + lane;
        if (read[reader] < cell->read[s])
            read[reader] = cell->read[s];
    }
    memset(cell, 0, sizeof(*cell));
}

void pipc__check_retire(pipc__check_t *c)
{
    size_t area = 0;

    for (int m = 0; m < c->nmemories; m++)
        for (int r = 0; r < c->nranks; r++)
            for (int b = 0; b < c->buffers; b++, area++)
                for (int i = 0; i < c->nslots * c->nlanes; i++)
                    retire_cell(c, area, r, i % c->nlanes,
                                &c->slot[area * (size_t)(c->nslots * c->nlanes) + (size_t)i]);
}
