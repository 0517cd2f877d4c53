/* spank/stepdir.h - a private folder for each step on each node: PCIE_IPC_DIR
 *
 *     BASE                      root's, mode 1777, made as root before any task
 *     BASE/UID.JOB.STEP         the user's, mode 0700, made by the first task as the user
 *
 * The tasks of a step meet there by sockets where there is no PMIx. Any user can make entries in
 * BASE, also before us and under our names, so nothing in it is believed without a look at owner
 * and mode, no link is followed, and what root removes it removes by descriptor, not by path. Links
 * libc only: the plugin's first object and the epilog use it.
 */
#ifndef PIPC_SPANK_STEPDIR_H
#define PIPC_SPANK_STEPDIR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__STEPDIR_NAME_MAX 64

/* @base with "%h" replaced by the host's name, for nodes that share /run. False: it does not fit,
 * or is not absolute. */
int pipc__stepdir_base(const char *base, char *out, size_t cap);

/* "UID.JOB.STEP". Components of a heterogeneous step share job and step, but never a node: srun
 * keeps each off the nodes of those before it, in all releases. */
void pipc__stepdir_name(uid_t uid, uint32_t job, uint32_t step, char out[PIPC__STEPDIR_NAME_MAX]);

/* As the owner of BASE (root): make it, and one folder above it (0755), if they are missing. One
 * that is there is used only if it is this user's, a folder and no link, and of mode 1777 exactly.
 */
pipc_status_t pipc__stepdir_prepare(const char *base, pipc__error_t *err);

/* As the user of the step: make BASE/NAME, unless another task has. @owner is whom BASE has to
 * belong to (root is 0). On success it is this user's and only his. */
pipc_status_t pipc__stepdir_make(const char *base, const char *name, uid_t owner,
                                 pipc__error_t *err);

/* Remove BASE/NAME: sockets and plain files that stand directly in it and belong to @uid, then the
 * folder, if it is @uid's and empty by now. What is not there is no error. As root. */
pipc_status_t pipc__stepdir_remove(const char *base, const char *name, uid_t uid,
                                   pipc__error_t *err);

/* For the epilog: the same for all steps of @job whose folders carry its number and belong to the
 * user that their names say. Returns how many are gone; those that can't be removed stay. */
int pipc__stepdir_sweep(const char *base, uint32_t job);

#endif
