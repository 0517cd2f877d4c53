/* spank/snapshot.h - the text of the health snapshot */
#ifndef PIPC_SPANK_SNAPSHOT_H
#define PIPC_SPANK_SNAPSHOT_H

#include "spank/ops.h"

/* Read text[len], a JSON object with the members
 *
 *     "boot_id"   string: /proc/sys/kernel/random/boot_id when it was written
 *     "time"      integer: seconds since 1970
 *     "verdict"   string: "ok", "note", "unknown", "warn" or "drain"
 *     "reason"    string, may be absent: one line
 *
 * and any others. PIPC_ERR_INVALID for anything else. Texts that are too long are cut. */
pipc_status_t pipc__snapshot_read(const char *text, size_t len, pipc__snapshot_t *out,
                                  pipc__error_t *err);

#endif
