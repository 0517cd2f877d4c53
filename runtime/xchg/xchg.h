/* xchg/xchg.h - exchange of one small record between ranks that do not share anything yet.
 *
 * An exchange is opened, used once, closed: PMIx is finalised as soon as the records are there,
 * because Slurm ends the whole step about a second after the death of a process whose PMIx client is
 * live, and the survivors would have no time to say which rank was lost. (Where the program holds
 * PMIx itself, for MPI, our finalise only drops our reference.)
 */
#ifndef PIPC_XCHG_XCHG_H
#define PIPC_XCHG_XCHG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define PIPC__GROUP_MAX 16384 /* ranks of a group: 1024 nodes of 16 */

typedef enum pipc__scope {
    PIPC__SCOPE_JOB, /* all ranks of the job */
    PIPC__SCOPE_NODE /* the ranks of this node */
} pipc__scope_t;

typedef enum pipc__xchg_kind {
    PIPC__XCHG_AUTO, /* callbacks where given, else PMIx, else the socket, else a group of one */
    PIPC__XCHG_PMIX,
    PIPC__XCHG_SOCKET,
    PIPC__XCHG_CALLBACKS
} pipc__xchg_kind_t;

/* A collective of the caller's; allgather() returns 0 when all went well. */
typedef struct pipc__xchg_callbacks {
    int rank, size;
    int (*allgather)(void *ctx, const void *mine, size_t bytes, void *all);
    void *ctx;
} pipc__xchg_callbacks_t;

/* What the caller asks for; NULL or all zero is AUTO over the whole job. */
typedef struct pipc__xchg_want {
    pipc__scope_t scope;                     /* callbacks: not read, their group is the group */
    pipc__xchg_kind_t kind;
    const pipc__xchg_callbacks_t *callbacks; /* NULL: none */
    unsigned int tag;                        /* socket: tells threads' exchanges from each other */
} pipc__xchg_want_t;

/* The ranks that will form a communicator, in rank order. */
typedef struct pipc__group {
    int size, self;         /* self: index of the own rank; -1: not in the group */
    int job_size, job_rank; /* job_rank: the own rank in the job */
    bool one_node;          /* all are on one node for sure; the same on every rank */
} pipc__group_t;

typedef struct pipc__xchg pipc__xchg_t;

typedef struct pipc__xchg_ops {
    const char *name; /* "pmix", "socket", "callbacks", "auto" */
    /* Find the group. Not collective by itself, but every rank of it must go on to exchange. */
    pipc_status_t (*open)(pipc__xchg_t **x, const pipc__xchg_want_t *want, pipc__group_t *group,
                          pipc__error_t *err);
    /* Collective: give @bytes, get everybody's of the group: all[size * bytes]. A record of another
     * length than @bytes fails with PIPC_ERR_MISMATCH. Once per open, before any pick. */
    pipc_status_t (*exchange)(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                              pipc__error_t *err);
    /* Collective: give @bytes, at most @room, get those of the ranks whom[n] of the group, of the
     * own choosing: out[n * room], with zeros behind what is shorter. @room is the same on all
     * ranks. @near: all ask for ranks of their own nodes alone, and nothing leaves the node where
     * the exchange can help it. n may be 0. As often as all ranks do. */
    pipc_status_t (*pick)(pipc__xchg_t *x, const void *mine, size_t bytes, size_t room,
                          const int *whom, int n, bool near, void *out, pipc__error_t *err);
    void (*close)(pipc__xchg_t *x); /* NULL is allowed */
} pipc__xchg_ops_t;

extern const pipc__xchg_ops_t pipc__xchg_pmix;      /* only in builds with PMIx */
extern const pipc__xchg_ops_t pipc__xchg_socket;    /* in the directory PCIE_IPC_DIR */
extern const pipc__xchg_ops_t pipc__xchg_callbacks; /* want->callbacks must be set */
extern const pipc__xchg_ops_t pipc__xchg_auto;      /* whichever want->kind says */

/* Parse PMIx's list of local ranks, "0,1,2,3" or with ranges "0-3,8" (the PMIx standard allows
 * both), into rank[PIPC__GROUP_MAX], ascending. Returns the count; -1 for text that is no such list
 * or too long. Pure. */
int pipc__parse_ranks(const char *text, int rank[PIPC__GROUP_MAX]);

#endif
