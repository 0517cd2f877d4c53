/* comm/prepare.c - another table for a communicator that exists. See comm.h */
#include <stdio.h>
#include <string.h>

#include "runtime/comm/comm.h"
#include "runtime/comm/plans.h"

/* Did it go well on every rank? */
static pipc_status_t agree(pipc_comm_t *c, pipc_status_t own, pipc__error_t *err)
{
    int mine = own, all[PIPC__RANKS_MAX];
    pipc__error_t met;
    char name[128];
    pipc_status_t st = pipc__control_gather(c->ctl, &mine, sizeof(mine), all, &met);

    if (own)
        return own;
    if (st)
        return pipc__fail(err, st, "%s", met.text);
    for (int r = 0; r < c->local_size; r++)
        if (all[r])
            return pipc__fail(err, (pipc_status_t)all[r], "%s can't run a plan of the table",
                              pipc__control_name(c->ctl, r, name, sizeof(name)));
    return PIPC_OK;
}

pipc_status_t pipc__comm_prepare(pipc_comm_t *c, const pipc__table_t *table, pipc__error_t *err)
{
    bool had[PIPC__PLAN_KINDS];

    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        had[k] = c->plan[k];
    pipc_status_t st = pipc__plans_make(c->plan, table, &c->shape, err);
    for (int k = 0; !st && k < PIPC__PLAN_KINDS; k++)
        if (c->plan[k] && !had[k])
            st = c->exec->ops->prepare(c->exec, c->plan[k], err);
    st = agree(c, st, err);
    if (!st && pipc__table_names_rails(table) &&
        c->exec->ops->join_rail) /* all nodes are here, too */
        st = agree(c, c->exec->ops->join_rail(c->exec, err), err);
    if (!st)
        c->table = *table;
    return st;
}
