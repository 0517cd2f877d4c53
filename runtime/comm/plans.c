/* comm/plans.c - see plans.h */
#include "runtime/comm/plans.h"

#include <pcie-ipc/comm.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/plan/check.h"

_Static_assert(PIPC__RECORD_WAY == PIPC__WAY_TEXT, "the record carries any way");

void pipc__plans_shape(pipc__shape_t *shape, const pipc__record_t *recs, int n, pipc__error_t *why)
{
    char ways[PIPC__RANKS_MAX][PIPC__WAY_TEXT]; /* they come from other processes: ended here */
    const char *list[PIPC__RANKS_MAX];
    const pipc__nvlinks_t *links[PIPC__RANKS_MAX];

    *why = (pipc__error_t){PIPC_OK, ""};
    for (int r = 0; r < n; r++) {
        snprintf(ways[r], sizeof(ways[r]), "%.*s", PIPC__WAY_TEXT - 1, recs[r].way);
        list[r] = ways[r];
        links[r] = &recs[r].nvlinks;
    }
    bool nvlink = pipc__nvlinks_join(links, n);
    if (nvlink || pipc__shape_from_ways(shape, list, n, why))
        pipc__shape_flat(shape, n);
    shape->nvlink = nvlink;
    for (int r = 0; recs[0].path == PIPC_PATH_HOST && r < n; r++)
        shape->reach[r] = (uint16_t)(1u << r);
}

/* --- making and proving ----------------------------------------------------------------------- */

static bool is_plain(const pipc__shape_t *shape)
{
    pipc__shape_t flat;

    pipc__shape_flat(&flat, shape->nranks);
    return !shape->nlevels && !shape->nrails &&
           !memcmp(shape->reach, flat.reach, sizeof(flat.reach));
}

/* Each plan behind each other one and itself, out of place and in place, in three rounds, which is
 * one more than there are staging areas. */
static pipc_status_t prove(pipc__plan_t *const plan[PIPC__PLAN_KINDS], pipc__error_t *err)
{
    pipc__check_call_t calls[2 * PIPC__PLAN_KINDS];
    pipc__error_t why;
    int n = 0;

    for (int in_place = 0; in_place < 2; in_place++)
        for (int k = 0; k < PIPC__PLAN_KINDS; k++)
            if (plan[k])
                calls[n++] = (pipc__check_call_t){plan[k], 3, 1, in_place};
    if (!n || !pipc__plan_check(calls, n, PIPC__BUFFERS, &why)) /* none, where NCCL does it all */
        return PIPC_OK;
    return pipc__fail(err, why.status == PIPC_ERR_NOMEM ? PIPC_ERR_NOMEM : PIPC_ERR_INTERNAL,
                      "a plan for these ranks is wrong and is not run; report it, and set "
                      "PCIE_IPC_PLAN=two-shot meanwhile: %s",
                      why.text);
}

pipc_status_t pipc__plans_make(pipc__plan_t *plan[PIPC__PLAN_KINDS], const pipc__table_t *table,
                               const pipc__shape_t *shape, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int k = 0; !st && k < PIPC__PLAN_KINDS; k++)
        if (!plan[k] && pipc__table_names(table, k))
            st = pipc__plan_make_for(&plan[k], (pipc__plan_kind_t)k, PIPC__ALLREDUCE, shape, err);
    return st || is_plain(shape) ? st : prove(plan, err);
}

uint64_t pipc__plans_digest(const pipc__table_t *table, const pipc__shape_t *shape)
{
    uint64_t h = pipc__table_digest(table);

    h = pipc__hash(h, &shape->nlevels, sizeof(shape->nlevels));
    h = pipc__hash(h, &shape->nrails, sizeof(shape->nrails));
    h = pipc__hash(h, &shape->most, sizeof(shape->most));
    h = pipc__hash(h, shape->group, sizeof(shape->group));
    h = pipc__hash(h, shape->order, sizeof(shape->order));
    return pipc__hash(h, shape->reach, sizeof(shape->reach));
}

/* --- for people ------------------------------------------------------------------------------- */

/* "2 groups of 4" where they are alike, else their sizes in order: "groups of 3, 1". */
static void describe_level(const pipc__shape_t *shape, int level, char *buf, size_t cap)
{
    int size[PIPC__RANKS_MAX] = {0}, n = pipc__shape_groups(shape, level);
    bool alike = true;

    for (int r = 0; r < shape->nranks; r++)
        size[shape->group[level][r]]++;
    for (int g = 1; g < n; g++)
        alike = alike && size[g] == size[0];
    if (alike) {
        snprintf(buf, cap, "%d groups of %d", n, size[0]);
        return;
    }
    size_t used = (size_t)snprintf(buf, cap, "groups of %d", size[0]);
    for (int g = 1; g < n && used < cap; g++)
        used +=
            (size_t)snprintf(buf + used, cap - used, "%s%d", g == n - 1 ? " and " : ", ", size[g]);
}

const char *pipc__plans_describe(const pipc__shape_t *shape, char *buf, size_t cap)
{
    snprintf(buf, cap, "flat");
    for (int l = 0; l < shape->nlevels; l++) {
        size_t used = l ? strlen(buf) : 0;
        if (l)
            used += (size_t)snprintf(buf + used, cap - used, "; ");
        describe_level(shape, l, buf + (used < cap ? used : cap - 1), used < cap ? cap - used : 1);
    }
    return buf;
}
