/* tests/gpu/nccl.c - see nccl.h
 *
 * The few declarations that are needed stand here; names and values are those of nccl.h (NCCL 2.x).
 */
#include "tests/gpu/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct nccl_id {
    char internal[128]; /* NCCL_UNIQUE_ID_BYTES */
} nccl_id_t;

static struct {
    void *comm;
    int (*get_version)(int *);
    int (*get_id)(nccl_id_t *);
    int (*init_rank)(void **, int, nccl_id_t, int);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*destroy)(void *);
    const char *(*error_string)(int);
} nccl;

/* ncclDataType_t and ncclRedOp_t */
static const int dtypes[PIPC_DTYPE_COUNT] = {
    [PIPC_I8] = 0,  [PIPC_U8] = 1,  [PIPC_I32] = 2, [PIPC_U32] = 3, [PIPC_I64] = 4,
    [PIPC_U64] = 5, [PIPC_F16] = 6, [PIPC_F32] = 7, [PIPC_F64] = 8, [PIPC_BF16] = 9,
};
static const int redops[PIPC_REDOP_COUNT] = {
    [PIPC_SUM] = 0, [PIPC_PROD] = 1, [PIPC_MAX] = 2, [PIPC_MIN] = 3, [PIPC_AVG] = 4,
};

const char *nccl_open(const char *path)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"ncclGetVersion", &nccl.get_version}, {"ncclGetUniqueId", &nccl.get_id},
        {"ncclCommInitRank", &nccl.init_rank}, {"ncclAllReduce", &nccl.all_reduce},
        {"ncclCommDestroy", &nccl.destroy},    {"ncclGetErrorString", &nccl.error_string},
    };
    static char why[256];
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!lib)
        snprintf(why, sizeof(why), "%s", dlerror());
    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *p = dlsym(lib, symbols[i].name);
        if (!p)
            snprintf(why, sizeof(why), "%s has no %s", path, symbols[i].name);
        memcpy(symbols[i].slot, &p, sizeof(p));
    }
    return why[0] ? why : NULL;
}

static void must(int rc, const char *what)
{
    if (!rc)
        return;
    fprintf(stderr, "# %s: %s\n", what, nccl.error_string(rc));
    _exit(103);
}

const char *nccl_version(void)
{
    static char text[32];
    int v = 0;

    nccl.get_version(&v);
    snprintf(text, sizeof(text), "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    return text;
}

void nccl_connect(ranks_t *all, int rank)
{
    nccl_id_t mine = {{0}}, ids[PIPC__RANKS_MAX];

    if (rank == 0)
        must(nccl.get_id(&mine), "ncclGetUniqueId");
    ranks_gather(all, rank, &mine, sizeof(mine), ids);
    must(nccl.init_rank(&nccl.comm, ranks_size(all), ids[0], rank), "ncclCommInitRank");
}

void nccl_allreduce(const char *send, char *recv, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                    CUstream stream)
{
    must(nccl.all_reduce(send, recv, count, dtypes[dtype], redops[op], nccl.comm, stream),
         "ncclAllReduce");
}

void nccl_close(void)
{
    must(nccl.destroy(nccl.comm), "ncclCommDestroy");
}
