/* prolog/state.h - files that root keeps in a folder of its own. libc only.
 *
 * /run/pcie-ipc has what is of this boot, /var/lib/pcie-ipc what is kept. Whatever stands in them
 * steers what runs as root, so that nothing is believed, and nothing followed, that somebody else
 * could have put there.
 */
#ifndef PIPC_PROLOG_STATE_H
#define PIPC_PROLOG_STATE_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__RUN_FOLDER "/run/pcie-ipc"
#define PIPC__STATE_FOLDER "/var/lib/pcie-ipc"
#define PIPC__STATE_NAME_MAX 64 /* bytes of a file's name, its end included */

/* Open @folder, which is made (mode 0755, whatever the umask) if it is not there; the folder that
 * holds it must be. Refused is a link, and a folder that somebody other than @owner owns or can
 * write. The caller closes @dir, which is -1 after a failure. */
pipc_status_t pipc__state_open(const char *folder, uid_t owner, int *dir, pipc__error_t *err);

/* The same for who only reads: nothing is made, and PIPC_ERR_NOT_FOUND where there is no folder. */
pipc_status_t pipc__state_find(const char *folder, uid_t owner, int *dir, pipc__error_t *err);

/* Take the lock @name (a file, mode 0600) for as long as @fd is open. @wait_ms: 0 asks once, -1
 * waits without end; PIPC_ERR_NOT_FOUND with @fd -1 when another had it to the last. */
pipc_status_t pipc__state_lock(int dir, const char *name, int wait_ms, int *fd, pipc__error_t *err);

/* Put @n bytes into the file @name: whole or not at all, also when the machine loses its power.
 * @name is one word without "/". Two writers of one name hold a lock: each removes what it takes
 * for the unfinished work of one that was killed. */
pipc_status_t pipc__state_write(int dir, const char *name, mode_t mode, const void *bytes, size_t n,
                                pipc__error_t *err);

/* Read the file @name, of at most @max bytes, to @text, with a 0 after its @n (may be NULL) bytes;
 * the caller frees it. PIPC_ERR_NOT_FOUND when there is none; PIPC_ERR_INVALID when it is larger,
 * no plain file, or somebody other than @owner owns or can write it. */
pipc_status_t pipc__state_read(int dir, const char *name, uid_t owner, size_t max, char **text,
                               size_t *n, pipc__error_t *err);

#endif
