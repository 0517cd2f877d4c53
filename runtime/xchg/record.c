/* xchg/record.c - see record.h */
#include "runtime/xchg/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/file.h"

_Static_assert(sizeof(PACKAGE_VERSION) <= sizeof(pipc__package), "a longer field");
const char pipc__package[16] = PACKAGE_VERSION;

static uint64_t namespace_inode(const char *name)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    return stat(path, &st) ? 0 : (uint64_t)st.st_ino;
}

void pipc__record_fill(pipc__record_t *rec, int rank, int size)
{
    rec->magic = PIPC__RECORD_MAGIC;
    rec->bytes = sizeof(*rec);
    rec->version = PIPC__RECORD_VERSION;
    rec->rank = rank;
    rec->size = size;
    rec->pid = getpid();
    rec->uid = getuid();
    rec->minor = -1;
    memcpy(rec->package, pipc__package, sizeof(rec->package));
    if (gethostname(rec->host, sizeof(rec->host)))
        snprintf(rec->host, sizeof(rec->host), "?");
    rec->host[sizeof(rec->host) - 1] = '\0';
    pipc__file_line(NULL, rec->boot_id, sizeof(rec->boot_id), "proc/sys/kernel/random/boot_id");
    rec->pid_ns = namespace_inode("pid");
    rec->net_ns = namespace_inode("net");
    rec->mnt_ns = namespace_inode("mnt");
    rec->user_ns = namespace_inode("user");
}

/* Texts come from another process: bound them. */
#define TEXT(field) (int)sizeof(field), field

static pipc_status_t judge_shape(const pipc__record_t *r, int i, pipc__error_t *err)
{
    if (r->magic != PIPC__RECORD_MAGIC)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d sent something that is no pcie-ipc record; "
                          "run the same pcie-ipc on every node", i);
    if (r->version != PIPC__RECORD_VERSION || r->bytes != sizeof(*r))
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d speaks record version %u of %u bytes, this "
                          "rank version %d of %zu; install the same pcie-ipc on every node", i,
                          r->version, r->bytes, PIPC__RECORD_VERSION, sizeof(*r));
    if (r->status)
        return pipc__fail(err, (pipc_status_t)r->status, "rank %d on %.*s: %.*s", r->rank,
                          TEXT(r->host), TEXT(r->reason));
    return PIPC_OK;
}

/* Memory is opened through /proc. A process of another PID namespace has no number there, and one of
 * another user namespace may not be looked into, were it of the same user. Mount, network and IPC
 * namespaces don't matter, nor does what is in /dev/shm: nothing of ours is there. */
static pipc_status_t judge_namespaces(const pipc__record_t *r, const pipc__record_t *first,
                                      pipc__error_t *err)
{
    const char *kind = r->pid_ns != first->pid_ns     ? "PID"
                       : r->user_ns != first->user_ns ? "user"
                                                      : NULL;

    if (!kind)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_UNREACHABLE,
                      "ranks %d and %d on %.*s are in different %s namespaces (containers) and "
                      "can't map each other's memory; start both in one container or share the "
                      "%s namespace", first->rank, r->rank, TEXT(r->host), kind, kind);
}

static pipc_status_t judge_place(const pipc__record_t *r, const pipc__record_t *first,
                                 pipc__error_t *err)
{
    if (strncmp(r->boot_id, first->boot_id, sizeof(r->boot_id)) ||
        strncmp(r->host, first->host, sizeof(r->host)))
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "ranks %d and %d are on different nodes (%.*s, %.*s); this communicator is "
                          "for the ranks of one", first->rank,
                          r->rank, TEXT(first->host), TEXT(r->host));
    return judge_namespaces(r, first, err);
}

const char *pipc__wishes_differ(bool backend, bool staging, bool path, bool split, bool digest)
{
    if (backend)
        return "backends";
    if (staging)
        return "staging sizes";
    if (path)
        return "paths (PCIE_IPC_PATH)";
    if (split)
        return "wishes of what a node is (PCIE_IPC_NODES)";
    return digest ? "plans or numbers of multiprocessors (PCIE_IPC_PLAN, PCIE_IPC_SMS)" : NULL;
}

static pipc_status_t judge_choice(const pipc__record_t *r, const pipc__record_t *first,
                                  pipc__error_t *err)
{
    const char *what = pipc__wishes_differ(r->backend != first->backend,
                                           r->staging_bytes != first->staging_bytes,
                                           r->path != first->path, r->split != first->split,
                                           r->digest != first->digest);

    if (!what)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_MISMATCH, "ranks %d and %d have different %s; give every rank the "
                      "same options and files", first->rank, r->rank, what);
}

pipc_status_t pipc__records_judge(const pipc__record_t *recs, int n, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    /* Shape and failures of all first: a rank that failed has no facts to compare. */
    for (int i = 0; !st && i < n; i++)
        st = judge_shape(&recs[i], i, err);
    for (int i = 1; !st && i < n; i++)
        st = judge_place(&recs[i], &recs[0], err);
    for (int i = 1; !st && i < n; i++)
        st = judge_choice(&recs[i], &recs[0], err);
    return st;
}
