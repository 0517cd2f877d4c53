/* exec/cuda_driver.c - see cuda_driver.h */
#include "runtime/exec/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_once_t once;
    pipc__cuda_t table;
    pipc__error_t err; /* status PIPC_OK: the table is good */
} driver = {.once = PTHREAD_ONCE_INIT};

static const struct entry {
    const char *symbol;
    size_t offset; /* of the member in pipc__cuda_t */
} entries[] = {
#define ENTRY(member, symbol) {#symbol, offsetof(pipc__cuda_t, member)},
    PIPC__CUDA_FUNCTIONS(ENTRY)
#undef ENTRY
};

/* Not every driver has them. */
static const struct entry newer[] = {
    {"cuStreamGetId", offsetof(pipc__cuda_t, StreamGetId)},
    {"cuFuncLoad", offsetof(pipc__cuda_t, FuncLoad)},
    {"cuLaunchKernelEx", offsetof(pipc__cuda_t, LaunchKernelEx)},
    {"cuStreamWaitValue64_v2", offsetof(pipc__cuda_t, StreamWaitValue64)},
    {"cuStreamWriteValue64_v2", offsetof(pipc__cuda_t, StreamWriteValue64)},
    {"cuStreamBatchMemOp_v2", offsetof(pipc__cuda_t, StreamBatchMemOp)},
    {"cuStreamGetCaptureInfo_v2", offsetof(pipc__cuda_t, StreamGetCaptureInfo)},
    {"cuStreamUpdateCaptureDependencies", offsetof(pipc__cuda_t, StreamUpdateCaptureDependencies)},
    {"cuGraphAddEventRecordNode", offsetof(pipc__cuda_t, GraphAddEventRecordNode)},
    {"cuGraphAddDependencies", offsetof(pipc__cuda_t, GraphAddDependencies)},
    {"cuGraphRemoveDependencies", offsetof(pipc__cuda_t, GraphRemoveDependencies)},
};

/* dlsym() gives a data pointer; POSIX promises that its bits are the function's. */
static void *find(void *lib, const char *symbol, size_t offset)
{
    void *f = dlsym(lib, symbol);

    memcpy((char *)&driver.table + offset, &f, sizeof(f));
    return f;
}

static pipc_status_t find_all(void *lib)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (!find(lib, entries[i].symbol, entries[i].offset))
            return pipc__fail(&driver.err, PIPC_ERR_UNSUPPORTED,
                              "libcuda.so.1 has no %s; the NVIDIA driver is too old: R470 or newer "
                              "is needed",
                              entries[i].symbol);
    for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
        find(lib, newer[i].symbol, newer[i].offset);
    return PIPC_OK;
}

static void open_once(void)
{
    /* Never closed: the driver keeps threads and exit handlers of its own. */
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        const char *why = dlerror();
        pipc__fail(&driver.err, PIPC_ERR_NOT_FOUND,
                   "libcuda.so.1: cannot open; is the NVIDIA driver installed here? (%s)",
                   why ? why : "no reason given");
        return;
    }
    if (find_all(lib))
        return;
    CUresult rc = driver.table.Init(0);
    if (rc == CUDA_ERROR_NO_DEVICE)
        pipc__cuda_fail(&driver.table, rc, &driver.err,
                        "no GPU is visible here (CUDA_VISIBLE_DEVICES, device cgroup): cuInit");
    else if (rc == CUDA_ERROR_NOT_INITIALIZED)
        pipc__cuda_fail(&driver.table, rc, &driver.err,
                        "this process was forked from one that used CUDA already: cuInit");
    else if (rc)
        pipc__cuda_fail(&driver.table, rc, &driver.err, "cuInit");
}

pipc_status_t pipc__cuda_open(const pipc__cuda_t **cu, pipc__error_t *err)
{
    pthread_once(&driver.once, open_once);
    *cu = driver.err.status ? NULL : &driver.table;
    if (driver.err.status && err)
        *err = driver.err;
    return driver.err.status;
}

pipc_status_t pipc__cuda_fail(const pipc__cuda_t *cu, CUresult rc, pipc__error_t *err,
                              const char *fmt, ...)
{
    const char *words = NULL, *name = NULL;
    char what[PIPC__ERROR_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    cu->GetErrorString(rc, &words);
    cu->GetErrorName(rc, &name);
    return pipc__fail(err, rc == CUDA_ERROR_OUT_OF_MEMORY ? PIPC_ERR_NOMEM : PIPC_ERR_CUDA,
                      "%s: %s (%s)", what, words ? words : "unknown error",
                      name ? name : "unknown code");
}
