/* plan/host.c - see host.h
 *
 *     0 --push--> slot 3 of 1            0 reaches 1: device memory of 1
 *     2 --push--> slot 4 of 1            2 does not: slot 4 in host memory of 1
 *     1 sums slot 3 and host slot 4
 *
 * Who writes a slot decides where it lies, and who reads it follows: so first all writers are
 * looked at, then all readers are told.
 */
#include "runtime/plan/host.h"

#include <stdbool.h>
#include <string.h>

typedef struct moved {
    bool slot[PIPC__RANKS_MAX][PIPC__SLOTS_MAX], flag[PIPC__RANKS_MAX][PIPC__FLAGS_MAX];
} moved_t;

static bool is_flag_op(const pipc__op_t *op)
{
    return op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT;
}

/* @rank writes what @op writes: must that be in host memory? */
static void look(moved_t *m, const pipc__op_t *op, int rank, const uint16_t *reach)
{
    if (op->kind == PIPC__SIGNAL && op->peer != rank && !(reach[rank] >> op->peer & 1))
        m->flag[op->peer][op->flag] = true;
    if (!is_flag_op(op) && op->dst.place == PIPC__SLOT && op->dst.rank != rank &&
        !(reach[rank] >> op->dst.rank & 1))
        m->slot[op->dst.rank][op->dst.slot] = true;
}

static void move_ref(const moved_t *m, pipc__ref_t *ref)
{
    if (ref->place == PIPC__SLOT && m->slot[ref->rank][ref->slot])
        ref->place = PIPC__HOST;
}

static void tell(const moved_t *m, pipc__op_t *op, int rank)
{
    if (is_flag_op(op)) {
        if (m->flag[op->kind == PIPC__WAIT ? rank : op->peer][op->flag])
            op->dst.place = PIPC__HOST;
        return;
    }
    move_ref(m, &op->dst);
    for (int i = 0; i < op->nsrc; i++)
        move_ref(m, &op->src[i]);
}

void pipc__plan_via_host(pipc__plan_t *plan, const uint16_t *reach)
{
    moved_t m;

    memset(&m, 0, sizeof(m));
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < plan->nranks; r++)
            for (int s = 0; s < plan->nstages; s++)
                for (int i = 0; i < plan->program[r][s].nops; i++) {
                    pipc__op_t *op = &plan->program[r][s].ops[i];
                    if (pass == 0)
                        look(&m, op, r, reach);
                    else
                        tell(&m, op, r);
                }
}
