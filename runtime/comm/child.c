/* comm/child.c - see child.h */
#include "runtime/comm/child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint generation;

static void count_child(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void begin(void)
{
    pthread_atfork(NULL, NULL, count_child);
}

unsigned int pipc__child_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void pipc__child_born(pipc_comm_t *comm)
{
    pthread_once(&once, begin);
    comm->generation = pipc__child_generation();
}

/* NCCL's communicators, CUDA's memory and rails stay: what would end them talks to the other ends,
 * or to a driver that a child can't use. The lock may be held by a thread that is not here. */
void pipc__child_abandon(pipc_comm_t *c)
{
    if (c->exec->ops->abandon)
        c->exec->ops->abandon(c->exec);
    pipc__control_abandon(c->ctl);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        pipc__plan_free(c->plan[k]);
    pipc__rails_free(&c->rails);
    free(c->recs);
    free(c);
}
