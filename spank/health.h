/* spank/health.h - what the node's health check found, for health:warn and health:require
 *
 * pcie-ipc-health leaves a snapshot (its form: snapshot.h) that only root can write. The plugin
 * reads it as the user, and believes it only when it is root's, of this boot and fresh. What can't
 * be read is not known, and not known fails no step: a gate that is not installed must not stop
 * jobs. Only the user tightens this, for his own step; the prolog never asks the plugin.
 */
#ifndef PIPC_SPANK_HEALTH_H
#define PIPC_SPANK_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/ops.h"

#define PIPC__HEALTH_FRESH (24 * 3600) /* seconds; a health check runs many times a day */

typedef enum pipc__health {
    PIPC__HEALTH_UNKNOWN,
    PIPC__HEALTH_ABSENT, /* as unknown; there is no snapshot: nobody checks this node */
    PIPC__HEALTH_GOOD,
    PIPC__HEALTH_BAD /* the verdict is "drain" */
} pipc__health_t;

/* What @snapshot says at @now on a machine whose boot id is @boot_id; why[cap] is the reason, also
 * of UNKNOWN. Pure. */
pipc__health_t pipc__health_judge(const pipc__snapshot_t *snapshot, const char *boot_id,
                                  int64_t now, char *why, size_t cap);

/* The text of @path into buf[cap], if it is a regular file of @owner's that nobody else can write.
 * Returns its length, or -1 with errno, and why[] the reason. Never blocks, never follows a link.
 */
long pipc__health_text(const char *path, uint32_t owner, char *buf, size_t cap, char *why,
                       size_t why_cap);

/* All of it, for the running machine. @ops NULL: the second object is missing, so not known. */
pipc__health_t pipc__health_of_node(const char *path, const pipc__spank_ops_t *ops, char *why,
                                    size_t cap);

#endif
