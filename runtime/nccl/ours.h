/* nccl/ours.h - libpcie-ipc, opened when it is first needed: the hook is in every process of a job,
 * most of which never use NCCL.
 */
#ifndef PIPC_NCCL_OURS_H
#define PIPC_NCCL_OURS_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>

typedef struct pipc__ours {
#define PIPC__OURS_FUNCTIONS(F)                                                                    \
    F(comm_create)                                                                                 \
    F(allreduce)                                                                                   \
    F(comm_pending)                                                                                \
    F(comm_async_error)                                                                            \
    F(comm_abort)                                                                                  \
    F(comm_destroy)                                                                                \
    F(last_error)                                                                                  \
    F(report_nccl)
#define PIPC__OURS_MEMBER(name) __typeof__(&pipc_##name) name;
    PIPC__OURS_FUNCTIONS(PIPC__OURS_MEMBER)
#undef PIPC__OURS_MEMBER
} pipc__ours_t;

/* The library, from the folder of the hook, else from where the linker looks. The first call opens
 * it. NULL: it can't be had, and *why (static; NULL: not wanted) says for which reason. */
const pipc__ours_t *pipc__ours(const char **why);

#endif
