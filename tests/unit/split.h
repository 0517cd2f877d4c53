/* tests/unit/split.h - communicators over several nodes on one host, by PCIE_IPC_NODES, whose ranks
 * meet by callbacks over a test's own exchange (ranks.h).
 */
#ifndef TESTS_UNIT_SPLIT_H
#define TESTS_UNIT_SPLIT_H

#include "runtime/comm/comm.h"
#include "tests/unit/ranks.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, pipc_last_error());           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

typedef struct split {
    ranks_t *all;
    int rank, calls, fail_at; /* allgathers so far; which of them fails, -1: none */
} split_t;

/* Nothing of the environment that the tests run in: no launcher, wish or table. */
void split_alone(void);

/* Set a variable of the environment; @value NULL: unset it. */
void split_set(const char *name, const char *value);

/* Collective. @nodes: PCIE_IPC_NODES; @leave_nccl as in pipc_comm_config_t. On CPUs. */
pipc_status_t split_create(split_t *s, const char *nodes, bool leave_nccl, pipc_comm_t **comm);

/* Calls so far by the plans from @first on and before @last, pipc__plan_kind_t. */
uint64_t split_calls(pipc_comm_t *comm, int first, int last);

/* A folder for a test, by cmocka's setup and teardown, which fails where something is left in it.
 */
extern char split_dir[64];
int split_make_dir(void **state);
int split_remove_dir(void **state);

#endif
