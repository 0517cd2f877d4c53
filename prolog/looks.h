/* prolog/looks.h - counters that root leaves in files of /run/pcie-ipc, to compare with later
 *
 *     {"schema": 1, "sysroot", "looks": [counters.h's JSON, ...]}
 *
 *     counters.json     what checks compare with: the errors of an hour or two
 *     watch.json        what the last watch ended with
 *     jobs/JOB.json     the beginning of a job
 */
#ifndef PIPC_PROLOG_LOOKS_H
#define PIPC_PROLOG_LOOKS_H

#include "prolog/counters.h"

#define PIPC__LOOKS_REFERENCE "counters.json"
#define PIPC__LOOKS_WATCH "watch.json"
#define PIPC__LOOKS_MAX 2
#define PIPC__LOOKS_BYTES (4 << 20)
#define PIPC__LOOKS_SECONDS 3600 /* how long one has to stand before the next is kept */

typedef struct pipc__looks {
    pipc__counters_t look[PIPC__LOOKS_MAX]; /* the older first */
    int n;
} pipc__looks_t;

/* Those of this boot and of the machine below @sysroot; false: there are none. The caller releases
 * @out, also then. */
bool pipc__looks_read(int dir, const char *name, uid_t owner, const char *sysroot,
                      pipc__looks_t *out);
pipc_status_t pipc__looks_write(int dir, const char *name, mode_t mode, const char *sysroot,
                                const pipc__looks_t *looks, pipc__error_t *err);
void pipc__looks_free(pipc__looks_t *looks);

/* The same of a file's text, of any boot; it is what looks_read() parses. */
bool pipc__looks_parse(const char *text, size_t n, const char *sysroot, pipc__looks_t *out);

/* Two are kept, so that the first, which is compared with, is never younger than an hour once there
 * are two: a window that began anew each time would forget errors as they come. Adds @now if the
 * last one has stood long enough; true if so. */
bool pipc__looks_roll(pipc__looks_t *looks, const pipc__counters_t *now);

/* One look in a file of its own. */
pipc_status_t pipc__look_keep(int dir, const char *name, mode_t mode, const char *sysroot,
                              const pipc__counters_t *look, pipc__error_t *err);

#endif
