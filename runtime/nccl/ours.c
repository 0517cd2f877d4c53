/* nccl/ours.c - see ours.h */
#include "runtime/nccl/ours.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/nccl/old_glibc.h"

#define SONAME "libpcie-ipc.so.0"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int state; /* 0: not tried, 1: there, -1: not to be had */
static pipc__ours_t ours;
static char reason[256];

static const char here; /* lies where this library does */

static bool beside(char *path, size_t cap)
{
    Dl_info info;

    if (!dladdr(&here, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int dir = slash ? (int)(slash - info.dli_fname) : -1;
    return dir >= 0 && snprintf(path, cap, "%.*s/" SONAME, dir, info.dli_fname) < (int)cap;
}

static void complain(const char *what, const char *why)
{
    snprintf(reason, sizeof(reason), "%s%s%s", what, why ? ": " : "", why ? why : "");
}

static bool load(void)
{
    char path[512];
    void *handle = beside(path, sizeof(path)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!handle)
        handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        complain(SONAME " cannot be opened", dlerror());
        return false;
    }
#define PIPC__OURS_FILL(name)                                                                      \
    ours.name = (__typeof__(ours.name))dlsym(handle, "pipc_" #name);                               \
    if (!ours.name) {                                                                              \
        complain(SONAME " is of another version than the hook", "it has no pipc_" #name);          \
        return false;                                                                              \
    }
    PIPC__OURS_FUNCTIONS(PIPC__OURS_FILL)
#undef PIPC__OURS_FILL
    return true;
}

const pipc__ours_t *pipc__ours(const char **why)
{
    if (!atomic_load_explicit(&state, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        if (!state)
            atomic_store_explicit(&state, load() ? 1 : -1, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    if (why)
        *why = reason;
    return state > 0 ? &ours : NULL;
}
