/* xchg/notice.c - see notice.h */
#include "runtime/xchg/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTICE_MAGIC 0x544f4e50u /* "PNOT" in memory on little-endian machines */

bool pipc__notice_fill(pipc__notice_t *n, const bool *came, int size, const pipc__error_t *why)
{
    memset(n, 0, sizeof(*n));
    n->magic = NOTICE_MAGIC;
    n->bytes = sizeof(*n);
    n->version = PIPC__WIRE_VERSION;
    n->status = (uint32_t)why->status;
    snprintf(n->reason, sizeof(n->reason), "%.*s", (int)sizeof(n->reason) - 1, why->text);
    for (int r = 0; r < size; r++)
        if (!came[r]) {
            n->missing[r / 8] |= (uint8_t)(1u << r % 8);
            n->awaited++;
        }
    return n->awaited > 0;
}

bool pipc__notice_write(int dir, const char *name, const pipc__notice_t *n)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    bool whole = write(fd, n, sizeof(*n)) == (ssize_t)sizeof(*n);
    close(fd);
    return whole;
}

bool pipc__notice_read(int dir, const char *name, pipc__notice_t *n)
{
    /* O_NONBLOCK: what was a file a moment ago may be a pipe now. */
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return false;
    errno = EINVAL;
    bool is = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
              read(fd, n, sizeof(*n)) == (ssize_t)sizeof(*n) && n->magic == NOTICE_MAGIC &&
              n->bytes == sizeof(*n) && n->version == PIPC__WIRE_VERSION && n->status;
    int saved = errno;
    close(fd);
    errno = saved;
    return is;
}

/* Bytes are appended one at a time, so exactly one rank sees the last one in its place. */
static void tick_off(int dir, const char *name, uint32_t awaited)
{
    int fd = openat(dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    struct stat own, there;

    if (fd < 0)
        return;
    if (write(fd, "", 1) == 1 && !fstat(fd, &own) &&
        own.st_size >= (off_t)(sizeof(pipc__notice_t) + awaited) &&
        !fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) && there.st_ino == own.st_ino)
        unlinkat(dir, name, 0);
    close(fd);
}

pipc_status_t pipc__notice_take(int dir, const char *name, const pipc__notice_t *n, int local_rank,
                                pipc__error_t *err)
{
    if (local_rank < 0 || local_rank >= PIPC__GROUP_MAX ||
        !(n->missing[local_rank / 8] & 1u << local_rank % 8))
        return PIPC_OK;
    tick_off(dir, name, n->awaited);
    return pipc__fail(err, (pipc_status_t)n->status, "%.*s", (int)sizeof(n->reason) - 1, n->reason);
}
