/* exec/segment.c - see segment.h */
#include "runtime/exec/segment.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/exec/fd.h"

#define NODES_MAX 1024
#define NODES_WORD (8 * (int)sizeof(unsigned long))
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) /* a peer must never meet SIGBUS */

struct head {
    uint8_t nonce[16];
};

/* The mappings that this process made as owner, so that its other ranks use the same addresses: a
 * second mapping of the same memory would be twice the page tables, and tools that watch memory by
 * address could not see what ranks do to each other. */
typedef struct own_mapping {
    struct own_mapping *next;
    char *base;
    size_t bytes;
    int users;
} own_mapping_t;

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static own_mapping_t *own_mappings;

static bool map(pipc__segment_t *seg, int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        return false;
    seg->base = p;
    seg->bytes = bytes;
    return true;
}

static bool remember(const pipc__segment_t *seg)
{
    own_mapping_t *m = malloc(sizeof(*m));

    if (!m)
        return false;
    pthread_mutex_lock(&own_lock);
    *m = (own_mapping_t){own_mappings, seg->base, seg->bytes, 1};
    own_mappings = m;
    pthread_mutex_unlock(&own_lock);
    return true;
}

/* The mapping that this process made for @handle, NULL: none with its nonce. Under own_lock. */
static own_mapping_t *find_own(const pipc__segment_handle_t *handle)
{
    own_mapping_t *m = handle->pid == getpid() ? own_mappings : NULL;

    while (m && (m->bytes != handle->bytes ||
                 memcmp(((struct head *)m->base)->nonce, handle->nonce, sizeof(handle->nonce))))
        m = m->next;
    return m;
}

bool pipc__segment_is_own(const pipc__segment_handle_t *handle)
{
    pthread_mutex_lock(&own_lock);
    bool found = find_own(handle) != NULL;
    pthread_mutex_unlock(&own_lock);
    return found;
}

/* Use the mapping of another rank of this process; false when there is none. */
static bool join_own(pipc__segment_t *seg, const pipc__segment_handle_t *handle)
{
    pthread_mutex_lock(&own_lock);
    own_mapping_t *m = find_own(handle);
    if (m) {
        m->users++;
        *seg = (pipc__segment_t){m->base, m->bytes, -1};
    }
    pthread_mutex_unlock(&own_lock);
    return m != NULL;
}

/* One user less of the own mapping at @base; false when somebody still uses it, or it is a peer's
 * and then *foreign is set. */
static bool forget(const char *base, bool *foreign)
{
    bool last = false;

    pthread_mutex_lock(&own_lock);
    own_mapping_t **at = &own_mappings;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    *foreign = !*at;
    if (*at && --(*at)->users == 0) {
        own_mapping_t *gone = *at;
        *at = gone->next;
        free(gone);
        last = true;
    }
    pthread_mutex_unlock(&own_lock);
    return last;
}

/* A file beyond the limit of its size would end the program by SIGXFSZ. It is no file to the user,
 * but Slurm hands on the limits of the shell that he started the job in. */
static pipc_status_t check_limit(size_t bytes, pipc__error_t *err)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY || bytes <= most.rlim_cur)
        return PIPC_OK;
    return pipc__fail(
        err, PIPC_ERR_SYSTEM,
        "shared segment of %zu bytes: the limit of file sizes is %llu; raise ulimit -f", bytes,
        (unsigned long long)most.rlim_cur);
}

pipc_status_t pipc__segment_create(pipc__segment_t *seg, size_t bytes,
                                   pipc__segment_handle_t *handle, pipc__error_t *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *seg = (pipc__segment_t){NULL, 0, -1};
    if (bytes > SIZE_MAX / 4) /* rounded, and as an off_t, it must be what it was */
        return pipc__fail(err, PIPC_ERR_NOMEM, "a shared segment of %zu bytes is too large", bytes);
    size_t whole = PIPC__SEGMENT_HEAD + (bytes + page - 1) / page * page;
    *handle = (pipc__segment_handle_t){.bytes = whole, .pid = getpid(), .fd = -1};
    pipc_status_t st = check_limit(whole, err);
    if (st)
        return st;
    if (getrandom(handle->nonce, sizeof(handle->nonce), 0) != sizeof(handle->nonce))
        return pipc__fail_errno(err, "getrandom");
    seg->fd = pipc__fd_keep(memfd_create("pcie-ipc", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (seg->fd < 0)
        return pipc__fail_errno(err, "memfd_create");
    if (fchmod(seg->fd, 0600) || ftruncate(seg->fd, (off_t)whole) ||
        fcntl(seg->fd, F_ADD_SEALS, SEALS) || !map(seg, seg->fd, whole)) {
        st = pipc__fail_errno(err, "shared segment of %zu bytes", whole);
        pipc__segment_close(seg);
        return st;
    }
    memcpy(((struct head *)seg->base)->nonce, handle->nonce, sizeof(handle->nonce));
    handle->fd = seg->fd;
    if (remember(seg))
        return PIPC_OK;
    pipc__segment_close(seg);
    return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a shared segment");
}

/* The policy of shared memory is its own and not its mappings' (mbind(2)), so it holds for peers as
 * well. Preferred and not bound: a node may be full. By the system call, since its wrapper would be
 * one more library to link. */
bool pipc__segment_prefer_node(const pipc__segment_t *seg, int node)
{
    unsigned long nodes[NODES_MAX / NODES_WORD] = {0};

    if (node < 0 || node >= NODES_MAX)
        return false;
    nodes[node / NODES_WORD] |= 1ul << node % NODES_WORD;
    return !syscall(SYS_mbind, seg->base, seg->bytes, MPOL_PREFERRED, nodes, NODES_MAX + 1, 0);
}

/* What each error says of whom. */
static pipc_status_t fail_open(const char *path, pipc__error_t *err)
{
    switch (errno) {
    case ENOENT:
    case ENXIO: /* its number is a socket's by now */
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "%s is gone: the process has ended, or has given up the communicator and "
                          "says why; or it runs in another PID namespace",
                          path);
    case EACCES:
    case EPERM:
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "%s: %s; the process runs as another user or with other rights, or let "
                          "itself not be traced (PR_SET_DUMPABLE)",
                          path, strerror(errno));
    case EMFILE:
        return pipc__fail(err, PIPC_ERR_SYSTEM, "%s: %s; raise ulimit -n", path, strerror(errno));
    case ENFILE:
    case ENOMEM:
        return pipc__fail_errno(err, "%s", path);
    default:
        return pipc__fail(err, PIPC_ERR_UNREACHABLE, "%s: %s", path, strerror(errno));
    }
}

pipc_status_t pipc__segment_open(pipc__segment_t *seg, const pipc__segment_handle_t *handle,
                                 pipc__error_t *err)
{
    char path[64];
    struct stat st;

    *seg = (pipc__segment_t){NULL, 0, -1};
    if (join_own(seg, handle))
        return PIPC_OK;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
    int fd = pipc__fd_keep(open(path, O_RDWR | O_CLOEXEC));
    if (fd < 0)
        return fail_open(path, err);
    bool same = !fstat(fd, &st) && (uint64_t)st.st_size == handle->bytes &&
                handle->bytes >= PIPC__SEGMENT_HEAD;
    if (same && !map(seg, fd, (size_t)handle->bytes)) {
        pipc_status_t failed = pipc__fail_errno(err, "%s of %zu bytes", path, (size_t)st.st_size);
        close(fd);
        return failed;
    }
    close(fd);
    if (!same || memcmp(((struct head *)seg->base)->nonce, handle->nonce, 16)) {
        pipc__segment_close(seg);
        return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                          "%s: not the segment that was announced; process %d has ended and its "
                          "number was taken by another one",
                          path, handle->pid);
    }
    return PIPC_OK;
}

void pipc__segment_close(pipc__segment_t *seg)
{
    int saved = errno;
    bool foreign = true;

    if (seg->base && (forget(seg->base, &foreign) || foreign))
        munmap(seg->base, seg->bytes);
    if (seg->fd > STDERR_FILENO) /* a zeroed structure owns nothing, and 0 is never ours */
        close(seg->fd);
    *seg = (pipc__segment_t){NULL, 0, -1};
    errno = saved;
}
