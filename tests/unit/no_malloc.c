/* tests/unit/no_malloc.c - an AllReduce on the CPU allocates no memory, whatever the plan, type and
 * size: neither the library nor what it calls. With a control that does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/comm.h"
#include "tests/unit/mallocs.h"
#include "tests/unit/ranks.h"

#define MOST ((size_t)100000) /* elements: several rounds of the staging below */
#define STAGING ((size_t)128 << 10)

typedef struct meeting {
    ranks_t *all;
    int rank;
    bool allocates; /* the control */
} meeting_t;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return 0;
}

static pipc_comm_t *create(meeting_t *m)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, ranks_size(m->all), allgather, m};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    c.backend = PIPC_BACKEND_CPU;
    c.staging_bytes = STAGING;
    c.callbacks = &calls;
    if (pipc_comm_create(&comm, &c)) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        exit(2);
    }
    return comm;
}

static bool all_calls(pipc_comm_t *comm, const char *x, char *y)
{
    static const size_t counts[] = {0, 1, 33, 1000, MOST};
    bool bad = false;

    for (unsigned int k = 0; k < 5 * PIPC_DTYPE_COUNT * PIPC_REDOP_COUNT; k++)
        bad |= pipc_allreduce(comm, k % 3 ? x : y, y, counts[k % 5],
                              (pipc_dtype_t)(k % PIPC_DTYPE_COUNT),
                              (pipc_redop_t)(k / 5 % PIPC_REDOP_COUNT), NULL) != PIPC_OK;
    return bad;
}

/* With the plan that the communicator's table names now. */
static int judge(pipc_comm_t *comm, const meeting_t *m, const char *plan, const char *x, char *y)
{
    static void *volatile kept;
    bool bad = all_calls(comm, x, y); /* the first ones may bind symbols */

    mallocs_begin();
    bad |= all_calls(comm, x, y);
    if (m->allocates)
        free(kept = m->rank ? strdup(plan) : malloc(1));
    mallocs_t n = mallocs_end();
    if (bad)
        fprintf(stderr, "# rank %d, %s: %s\n", m->rank, plan, pipc_last_error());
    if (n.own || n.others)
        fprintf(stderr, "# rank %d, %s: %lu allocations by the library, %lu by what it calls\n",
                m->rank, plan, n.own, n.others);
    return bad ? 2 : n.own || n.others ? 1 : 0;
}

static int body(ranks_t *all, int rank, void *arg)
{
    meeting_t m = {all, rank, *(const bool *)arg};
    pipc_comm_t *comm = create(&m);
    char *x = calloc(MOST, 8), *y = calloc(MOST, 8);
    pipc__error_t err;
    int bad = 0;

    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        if (!pipc__comm_prepare(comm, &one, &err)) {
            int rc = judge(comm, &m, pipc__algo_name(k), x, y);
            bad = bad > rc ? bad : rc;
        }
    }
    pipc_comm_destroy(comm);
    free(x);
    free(y);
    return bad;
}

int main(void)
{
    bool no = false, yes = true;
    int exits[PIPC__RANKS_MAX] = {0};

    if (!mallocs_work()) {
        printf("1..0 # SKIP malloc() is a tool's\n");
        return 0;
    }
    printf("1..3\n");
    for (int n = 2; n <= 4; n += 2)
        printf("%sok %d - calls of %d ranks allocate nothing\n",
               ranks_run(n, body, &no, 120) ? "not " : "", n / 2, n);
    ranks_run_each(2, body, &yes, 120, exits);
    printf("%sok 3 - a call that allocates is seen, by itself and by what it calls\n",
           exits[0] == 1 && exits[1] == 1 ? "" : "not ");
    return 0;
}
