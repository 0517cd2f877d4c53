/* prolog/counters.h - what changes with time at each device on a GPU's path: its link as it is now,
 * and the errors that the kernel has counted since boot. Facts only: deltas.h compares two of them.
 */
#ifndef PIPC_PROLOG_COUNTERS_H
#define PIPC_PROLOG_COUNTERS_H

#include <jansson.h>

#include "prolog/facts.h"

#define PIPC__COUNTERS_DEVICES_MAX 4096
#define PIPC__BOOT_ID_MAX 64
#define PIPC__COUNT_MAX 1000000000000 /* more nobody counts; sums of them all have room */

typedef enum pipc__count {
    PIPC__COUNT_RECEIVER, /* comes alone with each change of speed; see PIPC__CE_SICK */
    PIPC__COUNT_BAD_TLP,
    PIPC__COUNT_BAD_DLLP,
    PIPC__COUNT_ROLLOVER,
    PIPC__COUNT_TIMEOUT,
    PIPC__COUNT_UNSUPPORTED, /* requests: of software, and not of a link */
    PIPC__COUNT_NONFATAL,    /* uncorrected; unsupported requests aside */
    PIPC__COUNT_FATAL,
    PIPC__COUNTS
} pipc__count_t;

/* "bad TLP": for people, and as the key in JSON. */
extern const char *const pipc__count_names[PIPC__COUNTS];

typedef struct pipc__counter {
    char name[PIPC__FACT_NAME_MAX];
    int parent;         /* index of the port above it, or -1 */
    bool gpu;           /* as in facts.h */
    bool link;          /* has a link above it: to the parent, or to a port that is not in view */
    bool counts;        /* the root port above it has the AER service: 0 is a count */
    int vendor, device; /* -1: unknown */
    int width, mts;     /* now; -1: unknown */
    int64_t count[PIPC__COUNTS]; /* since boot; -1: unknown */
} pipc__counter_t;

typedef struct pipc__counters {
    char boot_id[PIPC__BOOT_ID_MAX];
    double uptime;        /* seconds since boot, which no clock setting moves */
    int64_t time;         /* UTC, for people */
    bool counting;        /* false: no port has the AER service at all */
    pipc__counter_t *dev; /* in order of address, as the facts */
    int n;
} pipc__counters_t;

/* What @facts of the machine below @root have, read now. PIPC_ERR_NOMEM is all that can go wrong.
 * The caller releases @out, also then. */
pipc_status_t pipc__counters_take(const pipc__facts_t *facts, const char *root,
                                  pipc__counters_t *out, pipc__error_t *err);

/* The same, of what is found below @root now. Fails as pipc__facts_sysfs() does, too. */
pipc_status_t pipc__counters_find(const char *root, pipc__counters_t *out, pipc__error_t *err);

/* Read the same devices anew: a few small files each, so that it can be done every second. A device
 * that sleeps is not woken: its link stays what it was. */
void pipc__counters_sample(pipc__counters_t *c, const char *root);

pipc_status_t pipc__counters_copy(const pipc__counters_t *from, pipc__counters_t *to,
                                  pipc__error_t *err);
void pipc__counters_free(pipc__counters_t *c);

/* A new reference; NULL without memory. Unknown values are left out. */
json_t *pipc__counters_to_json(const pipc__counters_t *c);

/* Back again; false when @json is none that the other wrote, and @out is empty then. */
bool pipc__counters_from_json(const json_t *json, pipc__counters_t *out);

/* The boot id of this machine ("" unknown), and seconds since boot. */
void pipc__boot_id(char out[PIPC__BOOT_ID_MAX]);
double pipc__uptime(void);

#endif
