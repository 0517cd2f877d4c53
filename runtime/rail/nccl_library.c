/* rail/nccl_library.c - see nccl_library.h */
#include "runtime/rail/nccl_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct symbol {
    const char *name;
    size_t offset; /* of the member in pipc__nccl_library_t */
    bool newer;    /* may be absent */
} symbols[] = {
#define SYMBOL(member, newer)                                                                      \
    {                                                                                              \
        "nccl" #member, offsetof(pipc__nccl_library_t, member), newer                              \
    }
    SYMBOL(GetVersion, false),  SYMBOL(GetUniqueId, false),       SYMBOL(CommInitRank, false),
    SYMBOL(AllReduce, false),   SYMBOL(CommGetAsyncError, false), SYMBOL(CommAbort, false),
    SYMBOL(CommDestroy, false), SYMBOL(GetErrorString, false),    SYMBOL(CommInitRankConfig, true),
    SYMBOL(CommFinalize, true), SYMBOL(GroupStart, true),         SYMBOL(GroupEnd, true),
#undef SYMBOL
};

/* dlopen() by the bare name finds the library that the program has loaded already, wherever it
 * lies: a communicator that the program gives must not meet a second NCCL. */
static pipc_status_t open_library(pipc__nccl_library_t *lib, const char *path, pipc__error_t *err)
{
    path = path ? path : "libnccl.so.2";
    lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        const char *why = dlerror();
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s; install NCCL, or set PCIE_IPC_NCCL to its path", why ? why : path);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *f = dlsym(lib->handle, symbols[i].name);
        if (!f && !symbols[i].newer)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "%s has no %s; NCCL 2.4 or newer is needed", path, symbols[i].name);
        memcpy((char *)lib + symbols[i].offset, &f, sizeof(f));
    }
    return PIPC_OK;
}

/* 2.28.9 is 22809; before 2.9 the last two parts had one digit each less. */
static void write_version(int v, char text[PIPC__NCCL_VERSION_TEXT])
{
    unsigned int u = v > 0 ? (unsigned int)v : 0;

    if (u < 10000)
        snprintf(text, PIPC__NCCL_VERSION_TEXT, "%u.%u.%u", u / 1000, u / 100 % 10, u % 100);
    else
        snprintf(text, PIPC__NCCL_VERSION_TEXT, "%u.%u.%u", u / 10000 % 1000, u / 100 % 100,
                 u % 100);
}

/* The library stays open for good: it keeps threads and exit handlers of its own. */
pipc_status_t pipc__nccl_library_open(pipc__nccl_library_t *lib, const char *path,
                                      char version[PIPC__NCCL_VERSION_TEXT], pipc__error_t *err)
{
    int v = 0;
    pipc_status_t st = open_library(lib, path, err);

    if (st)
        return st;
    if (lib->GetVersion(&v))
        return pipc__fail(err, PIPC_ERR_CUDA, "ncclGetVersion failed; reinstall NCCL");
    write_version(v, version);
    return PIPC_OK;
}

static int find(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

/* ncclRedOp_t, by nccl-tests' names, which are ours. */
int pipc__nccl_redop(pipc_redop_t op)
{
    static const char *const names[] = {"sum", "prod", "max", "min", "avg"};

    return find(pipc_redop_string(op), names, 5);
}

/* ncclDataType_t. */
int pipc__nccl_dtype(pipc_dtype_t dtype)
{
    static const char *const names[] = {"int8",   "uint8", "int32", "uint32", "int64",
                                        "uint64", "half",  "float", "double", "bfloat16"};

    return find(pipc_dtype_string(dtype), names, 10);
}
