/* base/config.h - pcie-ipc.conf: each key once, in a table that the reader, the manual's test and
 * the installed file's test read
 *
 *     [gate]
 *     mode = report
 */
#ifndef PIPC_BASE_CONFIG_H
#define PIPC_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__CONFIG_PATH_MAX 256

#define PIPC__CONFIG_NODE_MAX 64

enum { PIPC__MODE_REPORT, PIPC__MODE_ENFORCE };
enum { PIPC__SCOPE_NODE, PIPC__SCOPE_JOB };
enum { PIPC__UNDRAIN_AUTO, PIPC__UNDRAIN_NEVER };

typedef struct pipc__share {
    int n; /* 0: no limit */
    bool percent;
} pipc__share_t;

typedef struct pipc__config {
    int mode;                               /* PIPC__MODE_... */
    int scope;                              /* PIPC__SCOPE_... */
    int cache;                              /* seconds that a check stays good for other prologs */
    int deadline;                           /* seconds that a prolog takes at most */
    int wake;                               /* pipc__wake_mode_t */
    char sysroot[PIPC__CONFIG_PATH_MAX];    /* the machine that is read; "/" is this one */
    char prometheus[PIPC__CONFIG_PATH_MAX]; /* where the healthcheck leaves metrics; "": nowhere */

    int undrain;                        /* PIPC__UNDRAIN_... */
    pipc__share_t max_drain;            /* of the cluster's nodes */
    char census[PIPC__CONFIG_NODE_MAX]; /* the node that counts for max_drain; "": none does */
    char scontrol[PIPC__CONFIG_PATH_MAX];
    char slurm_conf[PIPC__CONFIG_PATH_MAX]; /* "": where Slurm itself looks */
} pipc__config_t;

typedef enum pipc__config_type {
    PIPC__CONFIG_ENUM,   /* int; index into values */
    PIPC__CONFIG_NUMBER, /* int; min to max */
    PIPC__CONFIG_PATH,   /* char[PIPC__CONFIG_PATH_MAX]; an absolute path; "" for "none" where that
                            is the default */
    PIPC__CONFIG_NODE,   /* char[PIPC__CONFIG_NODE_MAX]; a node's name; "" for "none" */
    PIPC__CONFIG_SHARE   /* pipc__share_t; "8" or "10%" */
} pipc__config_type_t;

typedef struct pipc__config_key {
    const char *section, *key;
    pipc__config_type_t type;
    const char *def;           /* as it would stand in the file */
    const char *const *values; /* ENUM: names, NULL-ended */
    int min, max;              /* NUMBER */
    size_t offset;             /* in pipc__config_t */
    const char *help;          /* one sentence, no full stop */
} pipc__config_key_t;

extern const pipc__config_key_t pipc__config_keys[]; /* ends with a key of NULL */

void pipc__config_default(pipc__config_t *out);

/* A word that may stand for a node, also on a command line: letters, digits, ".", "_" and "-",
 * which is not the first. */
bool pipc__config_is_node(const char *text);

/* Fill @out from the file at @path. An absent file is fine: all defaults. Everything else that is
 * not right refuses the whole file: @out has the defaults then, and @err says what and where.
 * Refused is also a file, or a folder that holds it, which somebody other than @owner owns or can
 * write: it steers what runs as root. (A file that is half believed is worse than none: whoever
 * wrote "enforec" learns it from the line in the log, not from what the other keys do.) */
pipc_status_t pipc__config_read(const char *path, uid_t owner, pipc__config_t *out,
                                pipc__error_t *err);

#endif
