/* base/option.h - each option once: key, type, default, values and help in one table that the
 * parser, the help text and the tests read. Links libc only: the SPANK plugin's first object uses it.
 *
 * Text form: "key:value,key:value,flag", the form of --pcie-ipc=...
 */
#ifndef PIPC_BASE_OPTION_H
#define PIPC_BASE_OPTION_H

#include <stddef.h>

#include "runtime/base/error.h"

typedef enum pipc__option_type {
    PIPC__OPTION_FLAG, /* bool; the key alone sets it, or key:yes, key:no */
    PIPC__OPTION_ENUM  /* int; index into values */
} pipc__option_type_t;

typedef struct pipc__option {
    const char *key;
    pipc__option_type_t type;
    int def;                   /* default: 0/1 for a flag, an index for an enumeration */
    const char *const *values; /* ENUM: names, NULL-ended */
    size_t offset;             /* of the field (bool or int, by type) in the caller's structure */
    const char *help;          /* one sentence, no full stop */
} pipc__option_t;

/* @table ends with an entry whose key is NULL in all three functions. */

/* Set every field of @out to its default. */
void pipc__options_default(const pipc__option_t *table, void *out);

/* Parse @text (NULL, "" and "(null)", which Slurm hands around for "no value", are empty) into
 * @out, which keeps what @text does not name. Unknown keys and values are refused with the list
 * of the right ones; then @out is unchanged. */
pipc_status_t pipc__options_parse(const pipc__option_t *table, const char *text, void *out,
                                  pipc__error_t *err);

/* Write the help, a line an option, into buf[cap]; returns the length it needs, as snprintf does. */
size_t pipc__options_help(const pipc__option_t *table, char *buf, size_t cap);

#endif
