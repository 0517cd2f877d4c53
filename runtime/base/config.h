/* base/config.h - pcie-ipc.conf: each key once, in a table that the reader, the manual's test and
 * the installed file's test read
 *
 *     [gate]
 *     mode = report
 */
#ifndef PIPC_BASE_CONFIG_H
#define PIPC_BASE_CONFIG_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__CONFIG_PATH_MAX 256

enum { PIPC__MODE_REPORT, PIPC__MODE_ENFORCE };

typedef struct pipc__config {
    int mode;                            /* PIPC__MODE_... */
    int cache;                           /* seconds that a check stays good for other prologs */
    char sysroot[PIPC__CONFIG_PATH_MAX]; /* the machine that is read; "/" is this one */
} pipc__config_t;

typedef enum pipc__config_type {
    PIPC__CONFIG_ENUM,   /* int; index into values */
    PIPC__CONFIG_NUMBER, /* int; 0 to max */
    PIPC__CONFIG_FOLDER  /* char[PIPC__CONFIG_PATH_MAX]; an absolute path */
} pipc__config_type_t;

typedef struct pipc__config_key {
    const char *section, *key;
    pipc__config_type_t type;
    const char *def;           /* as it would stand in the file */
    const char *const *values; /* ENUM: names, NULL-ended */
    int max;                   /* NUMBER */
    size_t offset;             /* in pipc__config_t */
    const char *help;          /* one sentence, no full stop */
} pipc__config_key_t;

extern const pipc__config_key_t pipc__config_keys[]; /* ends with a key of NULL */

void pipc__config_default(pipc__config_t *out);

/* Fill @out from the file at @path. An absent file is fine: all defaults. Everything else that is
 * not right refuses the whole file: @out has the defaults then, and @err says what and where.
 * Refused is also a file, or a folder that holds it, which somebody other than @owner owns or can
 * write: it steers what runs as root. (A file that is half believed is worse than none: whoever
 * wrote "enforec" learns it from the line in the log, not from what the other keys do.) */
pipc_status_t pipc__config_read(const char *path, uid_t owner, pipc__config_t *out,
                                pipc__error_t *err);

#endif
