/* base/option.h - each option once: key, type, default, values and help in one table that the
 * parser, the help text and the tests read. Links libc only: the SPANK plugin's first object uses
 * it.
 *
 * Text form: "key:value,key:value,flag", the form of --pcie-ipc=... A value may take a list of
 * numbers, "key:value:4,5,2": a number alone goes on with the list right before it, so no key may
 * be one. Or a text, which ends at the next comma: "key:value:/a/file".
 */
#ifndef PIPC_BASE_OPTION_H
#define PIPC_BASE_OPTION_H

#include <stddef.h>

#include "runtime/base/error.h"

typedef enum pipc__option_type {
    PIPC__OPTION_FLAG, /* bool; the key alone sets it, or key:yes, key:no */
    PIPC__OPTION_ENUM, /* int; index into values */
    PIPC__OPTION_NAMED /* the same; the value in @list may take a text and not numbers */
} pipc__option_type_t;

#define PIPC__OPTION_LIST_MAX 64  /* entries, each 0..63 */
#define PIPC__OPTION_TEXT_MAX 256 /* bytes of a text, its end included */

typedef struct pipc__option_list {
    int n; /* 0 unless the value that takes the list was chosen */
    int at[PIPC__OPTION_LIST_MAX];
} pipc__option_list_t;

typedef struct pipc__option {
    const char *key;
    pipc__option_type_t type;
    int def;                   /* default: 0/1 for a flag, an index for an enumeration */
    const char *const *values; /* ENUM: names, NULL-ended */
    size_t offset;             /* of the field (bool or int, by type) in the caller's structure */
    const char *help;          /* one sentence, no full stop */
    const char *list;          /* ENUM: the one of values that takes a list, or NULL ... */
    size_t list_offset;        /* ... and of its pipc__option_list_t; NAMED: of its text,
                                  char[PIPC__OPTION_TEXT_MAX], "" where none was given */
} pipc__option_t;

/* @table ends with an entry whose key is NULL in all three functions. */

/* Set every field of @out to its default. */
void pipc__options_default(const pipc__option_t *table, void *out);

/* Parse @text (NULL, "" and "(null)", which Slurm hands around for "no value", are empty) into
 * @out, which keeps what @text does not name. Unknown keys and values are refused with the list
 * of the right ones; then @out is unchanged. */
pipc_status_t pipc__options_parse(const pipc__option_t *table, const char *text, void *out,
                                  pipc__error_t *err);

/* Write the help, a line an option, into buf[cap]; returns the length it needs, as snprintf does.
 */
size_t pipc__options_help(const pipc__option_t *table, char *buf, size_t cap);

#endif
