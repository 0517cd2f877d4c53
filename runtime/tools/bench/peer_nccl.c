/* tools/bench/peer_nccl.c - NCCL and its variants, a communicator each. See peer.h
 *
 *     --peer nccl:ring-ll        NCCL_ALGO=Ring NCCL_PROTO=LL while the communicator is made
 *
 * NCCL reads these two from the environment for every communicator that it makes, not once a
 * process as it does most variables, so variants can stand side by side in one process.
 * NCCL_P2P_DISABLE is read once: "host" therefore holds for the process and is set before NCCL's
 * first call.
 *
 * The few declarations that are needed stand here, so that the benchmark builds without NCCL's
 * header; names and values are those of nccl.h (NCCL 2.x, stable since 2.0; windows since 2.27).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tools/bench/fold.h"
#include "runtime/tools/bench/peer.h"
#include "runtime/tools/bench/results.h"

#define NCCL_WIN_COLL_SYMMETRIC 1

typedef struct nccl_id {
    char internal[128]; /* NCCL_UNIQUE_ID_BYTES */
} nccl_id_t;

/* What a variant is. Without algo and proto NCCL chooses, as the user's environment says. */
typedef struct variant {
    const char *name, *algo, *proto;
    bool windows; /* buffers from ncclMemAlloc, registered as symmetric windows */
    bool p2p;     /* there is none without P2P */
    bool nvlink;  /* best leaves it out without NVLink */
} variant_t;

/* LL128 takes it that 128 bytes arrive as they were stored. Over PCIe that is not so, NCCL does not
 * choose it there, and forced it may give wrong sums. */
static const variant_t variants[] = {
    {"default", NULL, NULL, false, false, false},
    {"ring-ll", "Ring", "LL", false, false, false},
    {"ring-ll128", "Ring", "LL128", false, true, true},
    {"ring-simple", "Ring", "Simple", false, false, false},
    {"tree", "Tree", NULL, false, false, false},
    {"symmetric", NULL, NULL, true, true, false},
};
#define NVARIANTS ((int)(sizeof(variants) / sizeof(variants[0])))
_Static_assert(sizeof(variants) / sizeof(variants[0]) <= BENCH_VARIANTS_MAX,
               "no room for them all");
#define WANTS "[host-]best, default, ring-ll, ring-ll128, ring-simple, tree, symmetric"

/* What there is of a variant. */
typedef struct state {
    bool wanted, usable;
    void *comm;
    void *send, *recv, *window[2]; /* symmetric only */
    char why_not[200];
} state_t;

static struct {
    const char *path; /* of the library; NULL: by its name */
    bool host, best;
    state_t state[sizeof(variants) / sizeof(variants[0])];
    void *lib;
    pipc__error_t failed; /* what start() met */
    char version[48];
    int (*get_version)(int *);
    int (*get_id)(nccl_id_t *);
    int (*init_rank)(void **, int, nccl_id_t, int);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*destroy)(void *);
    const char *(*error_string)(int);
    /* Newer; NULL where the library has none. */
    int (*mem_alloc)(void **, size_t);
    int (*mem_free)(void *);
    int (*window_register)(void *, void *, size_t, void **, int);
    int (*window_deregister)(void *, void *);
} nccl;

/* --- what --peer says ------------------------------------------------------------------------- */

/* A variant by its name, or "best" for all. With "host" only those that can do without P2P. */
static bool want(const char *name, size_t n)
{
    bool best = n == 4 && !strncmp(name, "best", n), any = false;

    nccl.best = best;
    for (int v = 0; v < NVARIANTS; v++) {
        bool named = strlen(variants[v].name) == n && !strncmp(variants[v].name, name, n);
        nccl.state[v].wanted = (best || named) && !(nccl.host && variants[v].p2p);
        any |= nccl.state[v].wanted;
    }
    return any;
}

/* A path has a slash, or looks like a library. */
static bool is_path(const char *text)
{
    return strchr(text, '/') || strstr(text, ".so");
}

/* [host | [host-]VARIANT][:PATH], or PATH. "host" alone is host-best. */
static bool nccl_parse(const char *spec)
{
    size_t n = spec ? strcspn(spec, ":") : 0;

    nccl.host = false;
    nccl.path = NULL;
    if (!spec)
        return want("default", 7);
    if (is_path(spec) && !spec[n]) {
        nccl.path = spec;
        return want("default", 7);
    }
    if (spec[n]) {
        nccl.path = spec + n + 1;
        if (!*nccl.path)
            return false;
    }
    nccl.host = !strncmp(spec, "host", 4) && (n == 4 || spec[4] == '-');
    if (nccl.host && n == 4)
        return want("best", 4);
    return nccl.host ? want(spec + 5, n - 5) : want(spec, n);
}

/* --- the library ------------------------------------------------------------------------------ */

typedef struct symbol {
    const char *name;
    void *slot;
    bool newer;
} symbol_t;

static pipc_status_t find(const symbol_t *s, const char *path, pipc__error_t *err)
{
    void *p = dlsym(nccl.lib, s->name);

    if (!p && !s->newer)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s has no %s", path, s->name);
    memcpy(s->slot, &p, sizeof(p));
    return PIPC_OK;
}

static pipc_status_t load(const char *path, pipc__error_t *err)
{
    const symbol_t symbols[] = {
        {"ncclGetVersion", &nccl.get_version, false},
        {"ncclGetUniqueId", &nccl.get_id, false},
        {"ncclCommInitRank", &nccl.init_rank, false},
        {"ncclAllReduce", &nccl.all_reduce, false},
        {"ncclCommDestroy", &nccl.destroy, false},
        {"ncclGetErrorString", &nccl.error_string, false},
        {"ncclMemAlloc", &nccl.mem_alloc, true},
        {"ncclMemFree", &nccl.mem_free, true},
        {"ncclCommWindowRegister", &nccl.window_register, true},
        {"ncclCommWindowDeregister", &nccl.window_deregister, true},
    };
    pipc_status_t st = PIPC_OK;

    nccl.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!nccl.lib)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s; give --peer nccl:PATH or set LD_LIBRARY_PATH", dlerror());
    for (size_t i = 0; !st && i < sizeof(symbols) / sizeof(symbols[0]); i++)
        st = find(&symbols[i], path, err);
    return st;
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
    snprintf(nccl.version, sizeof(nccl.version), "NCCL %d.%d.%d%s", v / 10000, v / 100 % 100,
             v % 100, nccl.host ? " without P2P" : "");
}

static void nccl_start(void)
{
    if (nccl.host)
        setenv("NCCL_P2P_DISABLE", "1", 1);
    load(nccl.path ? nccl.path : "libnccl.so.2", &nccl.failed);
}

/* --- a variant's communicator ----------------------------------------------------------------- */

/* Set a variable, or clear it for NULL; returns the old value, which the caller frees. */
static char *swap_env(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *kept = old ? strdup(old) : NULL;

    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return kept;
}

static void restore_env(const char *name, char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    free(value);
}

/* ncclCommInitRank blocks until its threads have read the environment. */
static pipc_status_t init_comm(const variant_t *is, state_t *s, pipc_comm_t *comm,
                               pipc__error_t *err)
{
    nccl_id_t id = {{0}};
    pipc__error_t own = {PIPC_OK, ""};
    bool forced = is->algo || is->proto;
    char *algo = NULL, *proto = NULL;

    if (comm->rank == 0)
        check(nccl.get_id(&id), "ncclGetUniqueId", &own);
    pipc_status_t st = bench_peer_agree(comm, "NCCL", &own, err);
    if (!st)
        st = bench_give(comm, &id, sizeof(id), err);
    if (st)
        return st;
    if (forced) {
        algo = swap_env("NCCL_ALGO", is->algo);
        proto = swap_env("NCCL_PROTO", is->proto);
    }
    st = check(nccl.init_rank(&s->comm, comm->size, id, comm->rank), "ncclCommInitRank", err);
    if (forced) {
        restore_env("NCCL_ALGO", algo);
        restore_env("NCCL_PROTO", proto);
    }
    return st;
}

static pipc_status_t alloc_windows(state_t *s, size_t bytes, pipc__error_t *err)
{
    pipc_status_t st;

    if (!nccl.mem_alloc || !nccl.mem_free || !nccl.window_register || !nccl.window_deregister)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "the library has no windows (NCCL 2.27)");
    st = check(nccl.mem_alloc(&s->send, bytes), "ncclMemAlloc", err);
    return st ? st : check(nccl.mem_alloc(&s->recv, bytes), "ncclMemAlloc", err);
}

/* A window that is NULL though the call went well: symmetric memory is not supported here. */
static pipc_status_t register_windows(state_t *s, size_t bytes, pipc__error_t *err)
{
    void *const buffer[2] = {s->send, s->recv};
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < 2; i++) {
        st = check(
            nccl.window_register(s->comm, buffer[i], bytes, &s->window[i], NCCL_WIN_COLL_SYMMETRIC),
            "ncclCommWindowRegister", err);
        if (!st && !s->window[i])
            st = pipc__fail(err, PIPC_ERR_UNSUPPORTED, "NCCL takes no symmetric windows here");
    }
    return st;
}

static int redop_number(pipc_redop_t op)
{
    static const char *const names[] = {"sum", "prod", "max", "min",
                                        "avg"}; /* ncclRedOp_t's order */

    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], pipc_redop_string(op)))
            return i;
    return -1;
}

/* ncclDataType_t, by nccl-tests' names, which are ours. */
static int dtype_number(pipc_dtype_t dtype)
{
    static const char *const names[] = {"int8",   "uint8", "int32", "uint32", "int64",
                                        "uint64", "half",  "float", "double", "bfloat16"};

    for (int i = 0; i < 10; i++)
        if (!strcmp(names[i], pipc_dtype_string(dtype)))
            return i;
    return -1;
}

static pipc_status_t nccl_allreduce(int v, const void *send, void *recv, size_t count,
                                    pipc_dtype_t dtype, pipc_redop_t op, void *stream,
                                    pipc__error_t *err)
{
    return check(nccl.all_reduce(send, recv, count, dtype_number(dtype), redop_number(op),
                                 nccl.state[v].comm, stream),
                 "ncclAllReduce", err);
}

static void nccl_buffers(int v, void **send, void **recv)
{
    if (!nccl.state[v].send)
        return;
    *send = nccl.state[v].send;
    *recv = nccl.state[v].recv;
}

/* One call: an algorithm that is not there shows here, on every rank alike, and not before. */
static pipc_status_t try_call(int v, const bench_device_t *device, pipc__error_t *err)
{
    void *scratch = device->alloc(8, err), *send = scratch, *recv = scratch;
    double unused;
    pipc_status_t st = scratch ? device->begin(err) : err->status;

    nccl_buffers(v, &send, &recv);
    if (!st)
        st = nccl_allreduce(v, send, recv, 1, PIPC_F32, PIPC_SUM, device->stream, err);
    if (!st)
        st = device->end(&unused, err);
    if (scratch)
        device->release(scratch);
    return st;
}

/* The shape is of the own node. */
static pipc_status_t find_nvlink(pipc_comm_t *comm, bool *all, pipc__error_t *err)
{
    double lacks = !comm->shape.nvlink;
    pipc_status_t st = bench_greatest(comm, &lacks, 1, err);
    *all = lacks == 0;
    return st;
}

/* Make variant @v; after each step all ranks agree, so that none waits for one that gave up. */
static pipc_status_t open_variant(int v, pipc_comm_t *comm, const bench_device_t *device,
                                  size_t bytes, pipc__error_t *err)
{
    const variant_t *is = &variants[v];
    state_t *s = &nccl.state[v];
    pipc__error_t own = {PIPC_OK, ""};
    size_t window = bytes < 4096 ? 4096 : bytes;
    bool nvlink = true;
    pipc_status_t st = is->nvlink && nccl.best ? find_nvlink(comm, &nvlink, err) : PIPC_OK;

    if (st)
        return st;
    if (!nvlink)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "it is for GPUs that NVLink joins");
    if (is->windows)
        alloc_windows(s, window, &own);
    st = bench_peer_agree(comm, is->name, &own, err);
    if (st)
        return st;
    init_comm(is, s, comm, &own);
    st = bench_peer_agree(comm, is->name, &own, err);
    if (!st && is->windows) {
        register_windows(s, window, &own);
        st = bench_peer_agree(comm, is->name, &own, err);
    }
    if (st)
        return st;
    try_call(v, device, &own);
    return bench_peer_agree(comm, is->name, &own, err);
}

/* --- the peer --------------------------------------------------------------------------------- */

static bool nccl_usable(int v)
{
    return nccl.state[v].usable;
}

/* With one variant asked for, its failure is the peer's; of all of them one must be there. A rank
 * that is lost fails the next step anyway. */
static pipc_status_t nccl_open(pipc_comm_t *comm, const bench_device_t *device, size_t bytes,
                               pipc__error_t *err)
{
    pipc_status_t st = bench_peer_agree(comm, "NCCL", &nccl.failed, err);
    int usable = 0;

    if (st)
        return st;
    note_version();
    for (int v = 0; v < NVARIANTS; v++) {
        state_t *s = &nccl.state[v];
        pipc__error_t why = {PIPC_OK, ""};
        if (!s->wanted)
            continue;
        s->usable = !open_variant(v, comm, device, bytes, &why);
        usable += s->usable;
        if (!s->usable) {
            snprintf(s->why_not, sizeof(s->why_not), "%s", why.text);
            st = pipc__fail(err, why.status, "%s %s: %s", nccl.version, variants[v].name, why.text);
        }
    }
    return usable ? PIPC_OK : st;
}

static int nccl_variants(void)
{
    return NVARIANTS;
}

static const char *nccl_variant(int v)
{
    return variants[v].name;
}

static const char *nccl_why_not(int v)
{
    return nccl.state[v].wanted && !nccl.state[v].usable ? nccl.state[v].why_not : NULL;
}

static const char *nccl_version(void)
{
    return nccl.version;
}

static void nccl_close(void)
{
    for (int v = 0; v < NVARIANTS; v++) {
        state_t *s = &nccl.state[v];
        for (int i = 0; i < 2; i++)
            if (s->window[i])
                nccl.window_deregister(s->comm, s->window[i]);
        if (s->comm)
            nccl.destroy(s->comm);
        if (s->send)
            nccl.mem_free(s->send);
        if (s->recv)
            nccl.mem_free(s->recv);
        *s = (state_t){.wanted = s->wanted};
    }
}

const bench_peer_t bench_peer_nccl = {
    .name = "nccl",
    .on_gpu = true,
    .parse = nccl_parse,
    .wants = "nccl, nccl:PATH or nccl:VARIANT[:PATH]; variants are host, " WANTS,
    .start = nccl_start,
    .open = nccl_open,
    .variants = nccl_variants,
    .variant = nccl_variant,
    .usable = nccl_usable,
    .why_not = nccl_why_not,
    .allreduce = nccl_allreduce,
    .buffers = nccl_buffers,
    .version = nccl_version,
    .close = nccl_close,
};
