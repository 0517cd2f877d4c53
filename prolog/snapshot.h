/* prolog/snapshot.h - /run/pcie-ipc/health.json: the last check, written by root, readable by all.
 * It is the cache of the prologs that follow, and what a job's own programs may believe.
 *
 * The JSON of output.h with: version, boot_id, sysroot, mode, time (UTC), uptime (seconds since
 * boot, which no clock setting moves), look ("all" or "links"), gpus (gpus.h).
 */
#ifndef PIPC_PROLOG_SNAPSHOT_H
#define PIPC_PROLOG_SNAPSHOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "prolog/judge.h"
#include "runtime/base/config.h"

typedef struct pipc__run {
    int dir, lock;
    uid_t owner;
} pipc__run_t;

/* Make the folder if it is not there, and take its lock: one check at a time, the others then find
 * its result. Waits @wait_ms for the lock, -1 without end. Refused is a folder that somebody other
 * than @owner owns or can write. The caller closes @run, also after a failure. */
pipc_status_t pipc__run_open(pipc__run_t *run, const char *folder, uid_t owner, int wait_ms,
                             pipc__error_t *err);
void pipc__run_close(pipc__run_t *run);

/* The last check, if it is of this boot, version and sysroot and younger than config->cache, and if
 * @all of a look at everything. The caller releases @out, also when this is false. */
bool pipc__last_check(const pipc__run_t *run, const pipc__config_t *config, bool all,
                      pipc__findings_t *out);

/* Written whole or not at all. */
pipc_status_t pipc__keep_check(const pipc__run_t *run, const pipc__config_t *config, bool all,
                               const pipc__findings_t *findings, pipc__error_t *err);

#endif
