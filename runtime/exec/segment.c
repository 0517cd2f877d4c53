/* exec/segment.c - see segment.h */
#include "runtime/exec/segment.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) /* a peer must never meet SIGBUS */

struct head {
    uint8_t nonce[16];
};

static bool map(pipc__segment_t *seg, int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        return false;
    seg->base = p;
    seg->bytes = bytes;
    return true;
}

pipc_status_t pipc__segment_create(pipc__segment_t *seg, size_t bytes,
                                   pipc__segment_handle_t *handle, pipc__error_t *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = PIPC__SEGMENT_HEAD + (bytes + page - 1) / page * page;

    *seg = (pipc__segment_t){NULL, 0, -1};
    *handle = (pipc__segment_handle_t){.bytes = whole, .pid = getpid(), .fd = -1};
    if (getrandom(handle->nonce, sizeof(handle->nonce), 0) != sizeof(handle->nonce))
        return pipc__fail_errno(err, "getrandom");
    seg->fd = memfd_create("pcie-ipc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (seg->fd < 0)
        return pipc__fail_errno(err, "memfd_create");
    if (fchmod(seg->fd, 0600) || ftruncate(seg->fd, (off_t)whole) ||
        fcntl(seg->fd, F_ADD_SEALS, SEALS) || !map(seg, seg->fd, whole)) {
        pipc_status_t st = pipc__fail_errno(err, "shared segment of %zu bytes", whole);
        pipc__segment_close(seg);
        return st;
    }
    memcpy(((struct head *)seg->base)->nonce, handle->nonce, sizeof(handle->nonce));
    handle->fd = seg->fd;
    return PIPC_OK;
}

pipc_status_t pipc__segment_open(pipc__segment_t *seg, const pipc__segment_handle_t *handle,
                                 pipc__error_t *err)
{
    char path[64];
    struct stat st;

    *seg = (pipc__segment_t){NULL, 0, -1};
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "%s: %s; the process has ended, or runs in another PID namespace or as "
                          "another user", path, strerror(errno));
    bool mapped = !fstat(fd, &st) && (uint64_t)st.st_size == handle->bytes &&
                  handle->bytes >= PIPC__SEGMENT_HEAD && map(seg, fd, (size_t)handle->bytes);
    close(fd);
    if (!mapped || memcmp(((struct head *)seg->base)->nonce, handle->nonce, 16)) {
        pipc__segment_close(seg);
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "%s: not the segment that was announced; process %d has ended and its "
                          "number was taken by another one", path, handle->pid);
    }
    return PIPC_OK;
}

void pipc__segment_close(pipc__segment_t *seg)
{
    int saved = errno;

    if (seg->base)
        munmap(seg->base, seg->bytes);
    if (seg->fd > 0) /* a zeroed structure owns nothing: 0 is never ours */
        close(seg->fd);
    *seg = (pipc__segment_t){NULL, 0, -1};
    errno = saved;
}
