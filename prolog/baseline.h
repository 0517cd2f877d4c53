/* prolog/baseline.h - what the GPUs of a machine, the NICs beside them and the ports above them
 * were when it was well
 *
 *     [baseline]
 *     class = no
 *     bios = 2.3.1
 *
 *     [0000:41:00.0]
 *     kind = gpu
 *     path = 0000:40:01.0/00.0
 *     device = 10de:2330
 *     width = 16
 *
 * An entry is of a place, its path, and so one file can serve all machines of a class.
 */
#ifndef PIPC_PROLOG_BASELINE_H
#define PIPC_PROLOG_BASELINE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "prolog/facts.h"
#include "prolog/places.h"

#define PIPC__BASELINE_TEXT_MAX (1 << 20) /* bytes of a file */
#define PIPC__BASELINE_MAX 2048           /* entries */

typedef enum pipc__kind { PIPC__KIND_GPU, PIPC__KIND_NIC, PIPC__KIND_PORT } pipc__kind_t;

/* What is not known is -1, "" or 0. What there is of a link is of the one above the device. */
typedef struct pipc__baseline_entry {
    char name[PIPC__FACT_NAME_MAX]; /* its address when this was learned */
    char path[PIPC__PLACE_MAX];
    int kind; /* PIPC__KIND_... */
    int vendor, device;
    pipc__identity_t who;
    int width;               /* lanes */
    int max_mts, target_mts; /* what both ends can do; the target of the port above */
    int redirects;           /* of a port, by ACS: 1 or 0 */
    int64_t bar;             /* of a GPU: bytes of the BAR for its memory */
    unsigned int seen;       /* for the reader: a bit for each key that it had */
} pipc__baseline_entry_t;

typedef struct pipc__baseline {
    bool there; /* false: there is no file */
    int class;  /* 1: of many machines, and no serial numbers are in it */
    char bios[PIPC__BIOS_MAX];
    pipc__baseline_entry_t *list; /* in order of address */
    int n, cap;
} pipc__baseline_t;

/* The baseline that @facts make. Companions have no entry. The caller releases @out, also after a
 * failure: PIPC_ERR_NOMEM. */
pipc_status_t pipc__baseline_learn(const pipc__facts_t *facts, bool class, pipc__baseline_t *out,
                                   pipc__error_t *err);

/* Read it from the file at @path; refused as limits.conf is, see pipc__limits_read(). Then, and
 * when the file is absent, @out is empty. The caller releases it. */
pipc_status_t pipc__baseline_read(const char *path, uid_t owner, pipc__baseline_t *out,
                                  pipc__error_t *err);
pipc_status_t pipc__baseline_parse(const char *from, const char *text, pipc__baseline_t *out,
                                   pipc__error_t *err);

/* The file's text: the same baseline makes the same bytes. */
void pipc__baseline_print(const pipc__baseline_t *baseline, FILE *out);

void pipc__baseline_free(pipc__baseline_t *baseline);

/* The keys of the file, in its order; for [baseline] too. Ends with NULL. */
typedef struct pipc__baseline_key {
    const char *section, *key; /* "baseline" or "device", which stands for [0000:41:00.0] */
} pipc__baseline_key_t;
extern const pipc__baseline_key_t pipc__baseline_keys[];

/* A value of an entry as it stands in the file; false when it is not known. */
#define PIPC__BASELINE_VALUE_MAX 192
bool pipc__baseline_value(const pipc__baseline_entry_t *entry, const char *key,
                          char out[PIPC__BASELINE_VALUE_MAX]);

/* One more entry, of which nothing is known; NULL without memory or beyond PIPC__BASELINE_MAX. */
pipc__baseline_entry_t *pipc__baseline_add(pipc__baseline_t *baseline);

/* ---- comparing ----------------------------------------------------------------------------- */

/* The entry of this path, or NULL. */
const pipc__baseline_entry_t *pipc__baseline_at(const pipc__baseline_t *baseline, const char *path);

/* Is @now another device than @then was? What one of them does not know is no difference. @what
 * gets how they differ: "serial is ..., was ...". */
bool pipc__baseline_is_another(const pipc__baseline_entry_t *then,
                               const pipc__baseline_entry_t *now, char *what, size_t cap);

/* Is it the same card, by serial or UUID, and not by its place? */
bool pipc__baseline_is_same_card(const pipc__baseline_entry_t *a, const pipc__baseline_entry_t *b);

/* Tell each difference, by the address of the device or "node"; how many there are. */
typedef void pipc__baseline_tell_t(void *arg, const char *object, const char *what);
int pipc__baseline_diff(const pipc__baseline_t *then, const pipc__baseline_t *now,
                        pipc__baseline_tell_t *tell, void *arg);

#endif
