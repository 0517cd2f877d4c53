/* tests/emulate/world.c - see world.h */
#include "tests/emulate/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/values.h"

#define ALIGN 256
#define SKEW 64 /* addresses of user buffers: multiples of an element, up to so many bytes off */

static void *must(void *p)
{
    if (p)
        return p;
    fprintf(stderr, "# no memory\n");
    exit(99);
}

/* splitmix64 */
uint32_t world_random(world_t *w, uint32_t n)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(((x ^ x >> 31) >> 32) * n >> 32);
}

static const emulated_function_t *any(world_t *w, const emulated_function_t *functions)
{
    uint32_t n = 0;

    while (functions[n].kernel)
        n++;
    return &functions[world_random(w, n)];
}

static pipc_dtype_t type_named(const char *name)
{
    static const char *const names[PIPC_DTYPE_COUNT] = {
        [PIPC_F32] = "f32", [PIPC_F64] = "f64", [PIPC_F16] = "f16", [PIPC_BF16] = "bf16",
        [PIPC_I8] = "i8",   [PIPC_U8] = "u8",   [PIPC_I32] = "i32", [PIPC_U32] = "u32",
        [PIPC_I64] = "i64", [PIPC_U64] = "u64",
    };
    pipc_dtype_t t = 0;

    while (strcmp(names[t], name) != 0)
        t++;
    return t;
}

static pipc_redop_t op_named(const char *name)
{
    pipc_redop_t op = 0;

    while (strcmp(pipc_redop_string(op), name) != 0)
        op++;
    return op;
}

static void make_buffers(world_t *w, world_call_t *k, unsigned int call)
{
    size_t elem = pipc_dtype_bytes(k->dtype), each = (k->bytes + SKEW + ALIGN) / ALIGN * ALIGN;

    for (int r = 0; r < w->nranks; r++) {
        world_part_t *p = &k->part[r];
        p->memory = must(aligned_alloc(ALIGN, 2 * each));
        memset(p->memory, 0xee, 2 * each);
        bool skewed = !world_random(w, 3);
        size_t skew = skewed ? world_random(w, (uint32_t)(SKEW / elem)) * elem : 0;
        p->send = p->recv = p->memory + skew;
        if (!k->in_place)
            p->recv = p->memory + each + (skewed ? world_random(w, 4) * elem : 0);
        test_fill(p->send, k->count, k->dtype, k->op, r, call);
    }
}

/* Zeroed, and none before it is touched. */
static char *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return must(p == MAP_FAILED ? NULL : p);
}

world_t *world_make(uint64_t seed, int nranks, int ncalls, size_t staging_bytes, size_t most_bytes,
                    bool in_place, const emulated_function_t *functions)
{
    world_t *w = must(calloc(1, sizeof(*w)));

    w->random = seed;
    w->nranks = nranks;
    w->ncalls = ncalls;
    w->staging_bytes = staging_bytes;
    for (int r = 0; r < nranks; r++) {
        w->staging[r] = pages(staging_bytes);
        w->host[r] = pages(staging_bytes);
    }
    for (int i = 0; i < ncalls; i++) {
        const emulated_function_t *f = any(w, functions);
        world_call_t *k = &w->call[i];
        k->dtype = type_named(f->type);
        k->op = op_named(f->op);
        k->kernel = f->kernel;
        k->count = 1 + world_random(w, (uint32_t)(most_bytes / pipc_dtype_bytes(k->dtype)));
        k->bytes = k->count * pipc_dtype_bytes(k->dtype);
        k->in_place = world_random(w, 2) || in_place;
        make_buffers(w, k, (unsigned int)i);
    }
    return w;
}

void world_free(world_t *w)
{
    for (int r = 0; r < w->nranks; r++) {
        for (int i = 0; i < w->ncalls; i++) {
            free(w->call[i].part[r].memory);
            free(w->trace[i][r].sink.events);
            free(w->trace[i][r].sink.count);
        }
        munmap(w->staging[r], w->staging_bytes);
        munmap(w->host[r], w->staging_bytes);
    }
    free(w);
}

void world_grid(world_t *w, int call, int rank, uint32_t blocks, uint32_t threads)
{
    world_call_t *k = &w->call[call];
    size_t n = (size_t)blocks * threads;

    k->part[rank].blocks = blocks;
    k->part[rank].threads = threads;
    w->trace[call][rank] = (pipc__trace_t){
        .sink = {must(calloc(n * WORLD_EVENTS, sizeof(pipc__event_t))),
                 must(calloc(n, sizeof(uint32_t))), WORLD_EVENTS},
        .blocks = blocks,
        .block_threads = threads,
        .bytes = k->bytes,
        .in_place = k->in_place,
    };
}

static int values(const world_t *w)
{
    for (int i = 0; i < w->ncalls; i++)
        for (int r = 0; r < w->nranks; r++) {
            const world_call_t *k = &w->call[i];
            if (test_wrong(k->part[r].recv, 0, k->count, k->dtype, k->op, w->nranks,
                           (unsigned int)i, TEST_DIRECT) < k->count)
                return WORLD_WRONG;
        }
    return 0;
}

/* All ranks are in one address space: the map is the same for each, but for the user's buffers. */
static pipc_status_t locate(world_t *w, int call, int rank, pipc__error_t *err)
{
    const world_part_t *p = &w->call[call].part[rank];
    pipc__trace_region_t map[2 + 2 * WORLD_RANKS];
    size_t bytes = w->call[call].bytes;
    int n = 0;

    map[n++] = (pipc__trace_region_t){(uintptr_t)p->recv, bytes, PIPC__OUTPUT, (uint8_t)rank, 0};
    if (p->send != p->recv)
        map[n++] = (pipc__trace_region_t){(uintptr_t)p->send, bytes, PIPC__INPUT, (uint8_t)rank, 0};
    for (int r = 0; r < w->nranks; r++) {
        map[n++] = (pipc__trace_region_t){(uintptr_t)w->staging[r], w->staging_bytes, PIPC__SLOT,
                                          (uint8_t)r, 0};
        map[n++] = (pipc__trace_region_t){(uintptr_t)w->host[r], w->staging_bytes, PIPC__HOST,
                                          (uint8_t)r, 0};
    }
    return pipc__trace_locate(&w->trace[call][rank], map, n, err);
}

static int replay(world_t *w, pipc__error_t *err)
{
    pipc__trace_t traces[WORLD_CALLS * WORLD_RANKS];

    for (int i = 0; i < w->ncalls; i++)
        for (int r = 0; r < w->nranks; r++) {
            if (locate(w, i, r, err))
                return WORLD_REFUSED;
            traces[i * w->nranks + r] = w->trace[i][r];
        }
    return pipc__trace_replay(traces, w->ncalls, w->nranks, err) ? WORLD_REFUSED : 0;
}

int world_run(world_t *w, const void *(*args)(const void *all, int call, int rank), const void *all,
              bool shared, uint64_t steps, emulated_fault_t fault, pipc__error_t *err)
{
    emulated_launch_t launches[WORLD_RANKS][WORLD_CALLS];
    emulation_t e = {.nstreams = w->nranks,
                     .shared = shared,
                     .seed = w->random,
                     .steps = steps,
                     .abort = &w->abort,
                     .fault = fault};

    for (int r = 0; r < w->nranks; r++) {
        e.stream[r] = (emulated_stream_t){launches[r], w->ncalls};
        for (int i = 0; i < w->ncalls; i++) {
            const world_part_t *p = &w->call[i].part[r];
            launches[r][i] =
                (emulated_launch_t){w->call[i].kernel, args(all, i, r), p->blocks, p->threads};
        }
    }
    if (!emulate(&e))
        return WORLD_HANGS;
    return values(w) | replay(w, err);
}
