/* nccl/real.c - see real.h
 *
 * A call that the dynamic linker bound to us would without us be bound to the first NCCL
 *
 *   1. in the global scope: the program, what it links, and what was opened RTLD_GLOBAL. That is
 *      what RTLD_NEXT finds;
 *   2. else among what the caller itself depends on. Python opens torch's libraries RTLD_LOCAL,
 *      and then nothing of them is in the global scope: the caller is found by its return address,
 *      and dlsym() on its handle looks through its dependencies in the linker's own order;
 *   3. else there would be none. A caller that came by a pointer to us (ctypes, a callback) gets
 * the NCCL that is loaded, whatever way.
 *
 * The library for programs that open NCCL by its path stands for NCCL itself: there it is the file
 * that PCIE_IPC_REAL_NCCL names, else one that is loaded, else libnccl.so.2.
 *
 * NCCL's own calls of itself come here as well (2.28 asks ncclCommGetAsyncError() in most of its
 * functions): their caller lies in it.
 *
 * What is found may be ourselves, or another copy (the one preloaded, the other opened by path); it
 * is told by a symbol that NCCL has not, and passed over, else a call would go round for ever.
 */
#include "runtime/nccl/real.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/nccl/old_glibc.h"
#include "runtime/nccl/say.h"

#define REALS 8
#define CALLERS 256 /* a power of 2 */
#define PROBES 8

/* By this a copy of the hook is told from NCCL. */
__attribute__((visibility("default"))) const char pipc_nccl_hook[] = "pcie-ipc";

#define KNOWN_BY "ncclGetVersion" /* every NCCL has it, and it is never ours alone */

/* Callers that were seen. Written under the lock, a caller's number last; never removed. */
static struct seen {
    _Atomic uintptr_t caller;
    const pipc__real_t *real;
    bool within; /* the caller is a part of it */
} seen[CALLERS];
static pipc__real_t reals[REALS];
static int nreals;

/* To open and to look up takes the dynamic linker's lock, which a thread that opens a library holds
 * while the constructors run; these may call NCCL, and then they come here. So nothing of the
 * linker's is called with this lock held: two threads may find the same, the first one's stays. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const void *base_of(const void *address)
{
    Dl_info info;

    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

bool pipc__real_is_hook(const void *address)
{
    Dl_info info;

    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    if (info.dli_fbase == base_of(pipc_nccl_hook))
        return true;
    void *handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    const void *mark = handle ? dlsym(handle, "pipc_nccl_hook") : NULL;
    return mark && base_of(mark) == info.dli_fbase;
}

void *pipc__real_symbol(const pipc__real_t *real, const char *name)
{
    void *found = dlsym(real->handle, name);

    return found && !pipc__real_is_hook(found) ? found : NULL;
}

static void fill(pipc__real_t *real)
{
    void *f;

#define PIPC__REAL_FILL(name, args)                                                                \
    f = pipc__real_symbol(real, "nccl" #name);                                                     \
    memcpy(&real->name, &f, sizeof(f));
    PIPC__NCCL_FUNCTIONS(PIPC__REAL_FILL)
#undef PIPC__REAL_FILL
}

/* Under the lock. */
static const pipc__real_t *kept(const void *base)
{
    for (int i = 0; i < nreals; i++)
        if (reals[i].base == base)
            return &reals[i];
    return NULL;
}

/* The one that is kept, of those that lie at @found's place; where there is none, @found. NULL: no
 * room for it. */
static const pipc__real_t *keep(const pipc__real_t *found)
{
    pthread_mutex_lock(&lock);
    const pipc__real_t *real = kept(found->base);
    if (!real && nreals < REALS) {
        reals[nreals] = *found;
        real = &reals[nreals++];
    }
    pthread_mutex_unlock(&lock);
    return real;
}

/* The library in which @symbol lies, NULL if it is ours. @handle: where to look for the others;
 * NULL: a handle of its own, so that the caller's library may still be unloaded. */
static const pipc__real_t *take(const void *symbol, void *handle)
{
    pipc__real_t found = {.handle = handle};
    Dl_info info;

    if (!symbol || pipc__real_is_hook(symbol) || !dladdr(symbol, &info))
        return NULL;
    if (!handle)
        found.handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    if (!found.handle)
        return NULL;
    found.base = info.dli_fbase;
    snprintf(found.path, sizeof(found.path), "%s", info.dli_fname);
    fill(&found);
    return keep(&found);
}

static const pipc__real_t *take_from(void *handle)
{
    return handle ? take(dlsym(handle, KNOWN_BY), NULL) : NULL;
}

#ifndef PIPC_NCCL_FULL
static const pipc__real_t *among_dependencies(const void *caller)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !*map->l_name)
        return NULL;
    return take_from(dlopen(map->l_name, RTLD_NOLOAD | RTLD_LAZY));
}
#endif

typedef struct paths {
    int n;
    char path[REALS][512];
} paths_t;

/* Here the linker's list is locked: to open anything would wait for a thread that opens a library,
 * and that one waits for the list. */
static int note_nccl(struct dl_phdr_info *info, size_t size, void *arg)
{
    paths_t *found = arg;
    const char *name = strrchr(info->dlpi_name, '/');
    size_t bytes = strlen(info->dlpi_name) + 1;

    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    if (!strncmp(name, "libnccl.so", 10) && bytes <= sizeof(found->path[0]))
        memcpy(found->path[found->n++], info->dlpi_name, bytes);
    return found->n == REALS;
}

static const pipc__real_t *among_loaded(void)
{
    const pipc__real_t *real = NULL;
    paths_t found = {0};

    dl_iterate_phdr(note_nccl, &found);
    for (int i = 0; i < found.n && !real; i++)
        real = take_from(dlopen(found.path[i], RTLD_NOLOAD | RTLD_LAZY));
    return real;
}

#ifdef PIPC_NCCL_FULL
static const pipc__real_t *find(const void *caller)
{
    const char *named = secure_getenv("PCIE_IPC_REAL_NCCL");
    const pipc__real_t *real = NULL;

    (void)caller;
    if (named && *named) {
        void *handle = dlopen(named, RTLD_LAZY | RTLD_LOCAL);
        const char *why = handle ? "is pcie-ipc's own, or no NCCL" : dlerror();
        real = take_from(handle);
        if (!real)
            pipc__say_once("PCIE_IPC_REAL_NCCL=%s: %s", named, why ? why : "cannot be opened");
        return real;
    }
    real = among_loaded();
    if (!real)
        real = take_from(dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL));
    if (!real)
        pipc__say_once("pcie-ipc was opened in NCCL's place, but there is no libnccl.so.2; set "
                       "PCIE_IPC_REAL_NCCL to the path of NCCL");
    return real;
}
#else
static const pipc__real_t *find(const void *caller)
{
    const pipc__real_t *real = take(dlsym(RTLD_NEXT, KNOWN_BY), RTLD_NEXT);

    if (!real)
        real = among_dependencies(caller);
    if (!real)
        real = among_loaded();
    if (!real)
        pipc__say_once("NCCL was called, but no libnccl.so.2 is loaded; install NCCL, or take "
                       "libpcie-ipc-nccl.so out of LD_PRELOAD");
    return real;
}
#endif

static size_t place_of(uintptr_t caller)
{
    return (size_t)((caller * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static const pipc__real_t *recall(uintptr_t caller, bool *within)
{
    for (size_t i = 0, at = place_of(caller); i < PROBES; i++) {
        struct seen *s = &seen[(at + i) % CALLERS];
        uintptr_t who = atomic_load_explicit(&s->caller, memory_order_acquire);
        if (who == caller) {
            *within = s->within;
            return s->real;
        }
        if (!who)
            return NULL;
    }
    return NULL;
}

/* Where no place is left the caller is looked up each time. */
static void remember(uintptr_t caller, const pipc__real_t *real, bool within)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0, at = place_of(caller); i < PROBES; i++) {
        struct seen *s = &seen[(at + i) % CALLERS];
        uintptr_t who = atomic_load_explicit(&s->caller, memory_order_relaxed);
        if (!who) {
            s->real = real;
            s->within = within;
            atomic_store_explicit(&s->caller, caller, memory_order_release);
        }
        if (!who || who == caller)
            break;
    }
    pthread_mutex_unlock(&lock);
}

/* Some builds of PyTorch have NCCL linked into a library of their own, and what calls there is
 * PyTorch. Behind the library that stands for NCCL there is what the user says is it. */
static bool is_nothing_else(const pipc__real_t *real)
{
#ifdef PIPC_NCCL_FULL
    return real;
#else
    const char *slash = strrchr(real->path, '/');

    return !strncmp(slash ? slash + 1 : real->path, "libnccl", 7);
#endif
}

/* Of those that are known. */
static const pipc__real_t *owner_of(const void *caller)
{
    const void *base = base_of(caller);

    pthread_mutex_lock(&lock);
    const pipc__real_t *real = kept(base);
    pthread_mutex_unlock(&lock);
    return real && is_nothing_else(real) ? real : NULL;
}

static const pipc__real_t *look_up(const void *caller, bool *within)
{
    const pipc__real_t *real = recall((uintptr_t)caller, within);

    if (real)
        return real;
    real = find(caller);
    const pipc__real_t *owner = owner_of(caller);
    *within = owner;
    if (owner)
        real = owner;
    if (real)
        remember((uintptr_t)caller, real, *within);
    return real;
}

const pipc__real_t *pipc__real_of(const void *caller)
{
    bool within;

    return look_up(caller, &within);
}

const pipc__real_t *pipc__real_around(const void *caller)
{
    bool within;
    const pipc__real_t *real = look_up(caller, &within);

    return within ? real : NULL;
}
