/* prolog/limits.h - limits.conf: how severe each finding is on this site, what should be there, and
 * what is excused
 *
 *     [severity]
 *     PCI005 = note
 *     [expect]
 *     gpus = 8
 *     [device 0000:41:00.0]
 *     width = 8
 */
#ifndef PIPC_PROLOG_LIMITS_H
#define PIPC_PROLOG_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prolog/codes.h"
#include "prolog/facts.h"

#define PIPC__EXEMPT_MAX 128

/* What is excused of one device, or of all of one model. */
typedef struct pipc__exempt {
    char name[PIPC__FACT_NAME_MAX]; /* "0000:41:00.0"; "" for a model */
    int vendor, device;             /* of a model */
    int width;                      /* a link with as many lanes is none too narrow; 0: not said */
    uint64_t ignore;                /* a bit for each code */
} pipc__exempt_t;

/* No pointers: it can be copied. */
typedef struct pipc__limits {
    pipc__severity_t severity[PIPC__CODES];
    int gpus;            /* as many should be there; 0: not known */
    int errors_per_hour; /* corrected errors of a link that are not worth a word */
    pipc__exempt_t exempt[PIPC__EXEMPT_MAX];
    int exempts;
} pipc__limits_t;

typedef enum pipc__limits_type {
    PIPC__LIMITS_NUMBER, /* int; 0 to max */
    PIPC__LIMITS_CODES   /* uint64_t; codes with commas between them */
} pipc__limits_type_t;

/* The keys of section severity are the names in codes.h, with their severities there. */
typedef struct pipc__limits_key {
    const char *section, *key; /* "model" and "device" stand for [model VENDOR:DEVICE] ... */
    pipc__limits_type_t type;
    const char *def; /* as it would stand in the file */
    int max;
    size_t offset;    /* in pipc__limits_t; of model and device in pipc__exempt_t */
    const char *help; /* one sentence, no full stop */
} pipc__limits_key_t;

extern const pipc__limits_key_t pipc__limits_keys[]; /* ends with a key of NULL */

/* The severities of codes.h, nothing expected, nothing excused. */
pipc__limits_t pipc__limits_default(void);

/* Fill @out from the file at @path; absent, it is all defaults. A file that is wrong in one place
 * is refused whole, as pipc__config_read() does: @out has the defaults then. An @owner of
 * PIPC__INI_ANYBODY takes anybody's file, and one that is absent is an error. */
pipc_status_t pipc__limits_read(const char *path, uid_t owner, pipc__limits_t *out,
                                pipc__error_t *err);

/* The same of a text; @from is its name in errors. */
pipc_status_t pipc__limits_parse(const char *from, const char *text, pipc__limits_t *out,
                                 pipc__error_t *err);

/* Is this code excused for @f? */
bool pipc__limits_ignores(const pipc__limits_t *limits, const pipc__fact_t *f, pipc__code_t code);

/* How many lanes of the link above @f are excused; 0: nothing was said. */
int pipc__limits_width(const pipc__limits_t *limits, const pipc__fact_t *f);

#endif
