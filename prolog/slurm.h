/* prolog/slurm.h - what the healthcheck asks of Slurm, and tells it: by scontrol, an absolute path,
 * without a shell, with a deadline and a bound to its output
 *
 * Not by libslurm: its structures change with every release, so that a package would work with one
 * of them. What scontrol -o show node prints has been the same from 20.11 to 26.05. Never called
 * by a prolog.
 */
#ifndef PIPC_PROLOG_SLURM_H
#define PIPC_PROLOG_SLURM_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

#define PIPC__SLURM_TEXT_MAX 256

typedef struct pipc__slurm {
    const char *scontrol; /* refused when another than @owner owns it or can write it */
    const char *conf;     /* slurm.conf; "": where Slurm itself looks */
    uid_t owner;
} pipc__slurm_t;

typedef struct pipc__node {
    char name[PIPC__CONFIG_NODE_MAX];
    bool drained;                      /* by whomever */
    bool out;                          /* drained, down or failed: no job starts there */
    char state[PIPC__SLURM_TEXT_MAX];  /* "IDLE+DRAIN" */
    char reason[PIPC__SLURM_TEXT_MAX]; /* "" without one; cut when longer */
    char by[PIPC__SLURM_TEXT_MAX];     /* "root@2026-11-30T09:04:24", in UTC */
    char extra[PIPC__SLURM_TEXT_MAX];  /* the node's field of that name; cut when longer */
} pipc__node_t;

typedef struct pipc__nodes {
    pipc__node_t *list;
    int n;
} pipc__nodes_t;

/* One line of scontrol -o show node; false when it is none. Pure. */
bool pipc__slurm_line(const char *line, pipc__node_t *node);

/* The node @name, or all nodes (NULL). The caller frees list, also after a failure. */
pipc_status_t pipc__slurm_ask(const pipc__slurm_t *slurm, const char *name, pipc__nodes_t *out,
                              pipc__error_t *err);

typedef struct pipc__slurm_update {
    const char *state, *reason, *extra; /* NULL: left as it is */
} pipc__slurm_update_t;

pipc_status_t pipc__slurm_update(const pipc__slurm_t *slurm, const char *node,
                                 const pipc__slurm_update_t *update, pipc__error_t *err);

#endif
