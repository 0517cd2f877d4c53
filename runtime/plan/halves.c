/* plan/halves.c - see halves.h */
#include "runtime/plan/halves.h"

#include <stdbool.h>
#include <string.h>

/* Flags that are set by a second half or by a rail. */
typedef struct late {
    bool flag[PIPC__RANKS_MAX][2][PIPC__FLAGS_MAX]; /* [of the rank that waits][in host memory] */
} late_t;

static bool *late_flag(late_t *late, int rank, const pipc__op_t *op)
{
    return &late->flag[rank][op->dst.place == PIPC__HOST][op->flag];
}

/* The flag of a job's end lies in device memory. */
static void begin(late_t *late, const pipc__plan_t *p)
{
    memset(late, 0, sizeof(*late));
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; i < p->program[r][s].nops; i++)
                if (p->program[r][s].ops[i].kind == PIPC__RAIL)
                    late->flag[r][0][p->program[r][s].ops[i].flag] = true;
}

/* The first step of a stage that waits for something late. */
static int cut(late_t *late, const pipc__program_t *program, int rank)
{
    int i = 0;

    while (i < program->nops &&
           !(program->ops[i].kind == PIPC__WAIT && *late_flag(late, rank, &program->ops[i])))
        i++;
    return i;
}

/* What a stage signals from step @from on is late. Was it news? */
static bool spread(late_t *late, const pipc__program_t *program, int from)
{
    bool news = false;

    for (int i = from; i < program->nops; i++) {
        const pipc__op_t *op = &program->ops[i];
        if (op->kind != PIPC__SIGNAL || *late_flag(late, op->peer, op))
            continue;
        *late_flag(late, op->peer, op) = true;
        news = true;
    }
    return news;
}

static pipc_status_t judge(const pipc__halves_t *h, const pipc__plan_t *p, pipc__error_t *err)
{
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = h->first[r][s]; i < p->program[r][s].nops; i++)
                if (p->program[r][s].ops[i].kind == PIPC__RAIL)
                    return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                                      "plan %s: rank %d begins a job of its rail, step %d of stage "
                                      "%d, behind what waits for another one",
                                      p->name, r, i, s);
    return PIPC_OK;
}

pipc_status_t pipc__plan_halve(pipc__halves_t *h, const pipc__plan_t *p, pipc__error_t *err)
{
    late_t late;
    bool news = true;

    memset(h, 0, sizeof(*h));
    begin(&late, p);
    while (news) {
        news = false;
        for (int r = 0; r < p->nranks; r++)
            for (int s = 0; s < p->nstages; s++) {
                h->first[r][s] = cut(&late, &p->program[r][s], r);
                news |= spread(&late, &p->program[r][s], h->first[r][s]);
            }
    }
    return judge(h, p, err);
}

const pipc__op_t *pipc__plan_rail_of(const pipc__plan_t *p, int rank, const pipc__op_t *wait)
{
    for (int s = 0; wait->kind == PIPC__WAIT && wait->dst.place != PIPC__HOST && s < p->nstages;
         s++)
        for (int i = 0; i < p->program[rank][s].nops; i++) {
            const pipc__op_t *op = &p->program[rank][s].ops[i];
            if (op->kind == PIPC__RAIL && op->flag == wait->flag)
                return op;
        }
    return NULL;
}
