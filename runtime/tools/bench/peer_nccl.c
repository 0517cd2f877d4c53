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
    pipc__error_t failed; /* what start() met */
    char version[32];
    int (*get_version)(int *);
    int (*get_id)(nccl_id_t *);
    int (*init_rank)(void **, int, nccl_id_t, int);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*destroy)(void *);
    const char *(*error_string)(int);
} nccl;

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

static int redop_number(pipc_redop_t op)
{
    static const char *const names[] = {"sum", "prod", "max", "min", "avg"}; /* ncclRedOp_t's order */

    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], pipc_redop_string(op)))
            return i;
    return -1;
}

/* ncclDataType_t, by nccl-tests' names, which are ours. */
static int dtype_number(pipc_dtype_t dtype)
{
    static const char *const names[] = {"int8", "uint8", "int32", "uint32", "int64",
                                        "uint64", "half", "float", "double", "bfloat16"};

    for (int i = 0; i < 10; i++)
        if (!strcmp(names[i], pipc_dtype_string(dtype)))
            return i;
    return -1;
}

/* NCCL 2.28.9 is 22809; before 2.9 the last two parts had one digit each less. */
static void note_version(void)
{
    int v = 0;

    nccl.get_version(&v);
    snprintf(nccl.version, sizeof(nccl.version), "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

static void nccl_start(const char *path)
{
    load(path ? path : "libnccl.so.2", &nccl.failed);
}

static pipc_status_t nccl_open(pipc_comm_t *comm, pipc__error_t *err)
{
    nccl_id_t mine = {{0}}, all[PIPC__RANKS_MAX];

    if (!nccl.failed.status && comm->rank == 0)
        check(nccl.get_id(&mine), "ncclGetUniqueId", &nccl.failed);
    pipc_status_t st = bench_peer_agree(comm, "NCCL", &nccl.failed, err);
    if (!st)
        st = pipc__control_gather(comm->ctl, &mine, sizeof(mine), all, err);
    if (st)
        return st;
    note_version();
    return check(nccl.init_rank(&nccl.comm, comm->size, all[0], comm->rank), "ncclCommInitRank", err);
}

static pipc_status_t nccl_allreduce(const void *send, void *recv, size_t count, pipc_dtype_t dtype,
                                    pipc_redop_t op, void *stream, pipc__error_t *err)
{
    return check(nccl.all_reduce(send, recv, count, dtype_number(dtype), redop_number(op), nccl.comm,
                                 stream), "ncclAllReduce", err);
}

static const char *nccl_version(void)
{
    return nccl.version;
}

static void nccl_close(void)
{
    if (nccl.comm)
        nccl.destroy(nccl.comm);
    nccl.comm = NULL;
}

const bench_peer_t bench_peer_nccl = {
    "nccl", true, nccl_start, nccl_open, nccl_allreduce, nccl_version, nccl_close,
};
