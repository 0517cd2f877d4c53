/* plan/traffic.c - see traffic.h */
#include "runtime/plan/traffic.h"

#include <stdbool.h>
#include <string.h>

static void add(pipc__traffic_t *t, const pipc__shape_t *shape, int from, int to, double bytes)
{
    t->sent[from] += bytes;
    t->received[to] += bytes;
    for (int l = 0; l < shape->nlevels; l++) {
        if (shape->group[l][from] == shape->group[l][to])
            continue;
        t->out[l][shape->group[l][from]] += bytes;
        t->in[l][shape->group[l][to]] += bytes;
    }
}

void pipc__plan_traffic(pipc__traffic_t *t, const pipc__plan_t *plan, const pipc__shape_t *shape,
                        double bytes)
{
    memset(t, 0, sizeof(*t));
    for (int r = 0; r < plan->nranks; r++)
        for (int s = 0; s < plan->nstages; s++)
            for (int i = 0; i < plan->program[r][s].nops; i++) {
                const pipc__op_t *op = &plan->program[r][s].ops[i];
                if ((op->kind == PIPC__COPY || op->kind == PIPC__REDUCE) && op->dst.rank != r)
                    add(t, shape, r, op->dst.rank, bytes / plan->nchunks);
            }
}

/* --- chains of signals ------------------------------------------------------------------------ */

typedef struct chains {
    int next[PIPC__RANKS_MAX][PIPC__STAGES_MAX]; /* the op that each stage comes to next */
    int chain[PIPC__RANKS_MAX][PIPC__STAGES_MAX];
    int flag[PIPC__RANKS_MAX][PIPC__FLAGS_MAX]; /* chain at its signal, + 1; 0: not yet signalled */
} chains_t;

/* Follow one stage until it must wait; returns whether it got on. */
static bool follow(chains_t *c, const pipc__program_t *program, int rank, int stage)
{
    int *next = &c->next[rank][stage], *chain = &c->chain[rank][stage], began = *next;

    for (; *next < program->nops; ++*next) {
        const pipc__op_t *op = &program->ops[*next];
        if (op->kind == PIPC__SIGNAL ||
            op->kind == PIPC__RAIL) /* a rail's own time is not asked here */
            c->flag[op->peer][op->flag] = 1 + *chain + (op->peer != rank);
        if (op->kind != PIPC__WAIT)
            continue;
        if (!c->flag[rank][op->flag])
            break;
        if (*chain < c->flag[rank][op->flag] - 1)
            *chain = c->flag[rank][op->flag] - 1;
    }
    return *next > began;
}

int pipc__plan_latencies(const pipc__plan_t *plan)
{
    bool any = true;
    int most = 0;
    chains_t c;

    memset(&c, 0, sizeof(c));
    while (any) {
        any = false;
        for (int r = 0; r < plan->nranks; r++)
            for (int s = 0; s < plan->nstages; s++)
                any |= follow(&c, &plan->program[r][s], r, s);
    }
    for (int r = 0; r < plan->nranks; r++)
        for (int s = 0; s < plan->nstages; s++) {
            if (c.next[r][s] < plan->program[r][s].nops)
                return -1;
            if (c.chain[r][s] > most)
                most = c.chain[r][s];
        }
    return most;
}
