/* tools/bench/peer_nccl.c - see peer.h
 *
 * The few declarations that are needed stand here, so that the benchmark builds without NCCL's
 * header; names and values are those of nccl.h (NCCL 2.x, stable since 2.0).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tools/bench/peer.h"

typedef struct nccl_id {
    char internal[128]; /* NCCL_UNIQUE_ID_BYTES */
} nccl_id_t;

static struct {
    void *lib, *comm;
    char version[32];
    int (*get_version)(int *);
    int (*get_id)(nccl_id_t *);
    int (*init_rank)(void **, int, nccl_id_t, int);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*destroy)(void *);
    const char *(*error_string)(int);
} nccl;

static const int dtype_number[PIPC_DTYPE_COUNT] = {
    [PIPC_F32] = 7, /* ncclFloat32 */
    [PIPC_F16] = 6, /* ncclFloat16 */
    [PIPC_I32] = 2, /* ncclInt32 */
};

static pipc_status_t load(const char *path, pipc__error_t *err)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"ncclGetVersion", &nccl.get_version},       {"ncclGetUniqueId", &nccl.get_id},
        {"ncclCommInitRank", &nccl.init_rank},       {"ncclAllReduce", &nccl.all_reduce},
        {"ncclCommDestroy", &nccl.destroy},          {"ncclGetErrorString", &nccl.error_string},
    };

    nccl.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!nccl.lib)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s; give --peer nccl:PATH or set LD_LIBRARY_PATH",
                          dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *p = dlsym(nccl.lib, symbols[i].name);
        if (!p)
            return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s has no %s", path, symbols[i].name);
        memcpy(symbols[i].slot, &p, sizeof(p));
    }
    return PIPC_OK;
}

static pipc_status_t check(int rc, const char *what, pipc__error_t *err)
{
    return rc ? pipc__fail(err, PIPC_ERR_CUDA, "%s: %s", what, nccl.error_string(rc)) : PIPC_OK;
}

/* NCCL 2.28.9 is 22809; before 2.9 the last two parts had one digit each less. */
static void note_version(void)
{
    int v = 0;

    nccl.get_version(&v);
    snprintf(nccl.version, sizeof(nccl.version), "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

pipc_status_t bench_nccl_open(const char *path, pipc_comm_t *comm, pipc__error_t *err)
{
    struct {
        int status;
        nccl_id_t id;
    } mine = {0}, all[PIPC__RANKS_MAX];
    pipc__error_t own = {PIPC_OK, ""};

    mine.status = load(path, &own);
    if (!mine.status && comm->rank == 0)
        mine.status = check(nccl.get_id(&mine.id), "ncclGetUniqueId", &own);
    pipc_status_t st = pipc__control_gather(comm->ctl, &mine, sizeof(mine), all, err);
    if (st)
        return st;
    if (own.status)
        return pipc__fail(err, own.status, "%s", own.text);
    for (int r = 0; r < comm->size; r++)
        if (all[r].status)
            return pipc__fail(err, (pipc_status_t)all[r].status, "rank %d could not open NCCL", r);
    note_version();
    return check(nccl.init_rank(&nccl.comm, comm->size, all[0].id, comm->rank), "ncclCommInitRank",
                 err);
}

pipc_status_t bench_nccl_allreduce(const void *send, void *recv, size_t count, pipc_dtype_t dtype,
                                   void *stream, pipc__error_t *err)
{
    return check(nccl.all_reduce(send, recv, count, dtype_number[dtype], 0 /* ncclSum */, nccl.comm,
                                 stream), "ncclAllReduce", err);
}

const char *bench_nccl_version(void)
{
    return nccl.version;
}

void bench_nccl_close(void)
{
    if (nccl.comm)
        nccl.destroy(nccl.comm);
    nccl.comm = NULL;
}
