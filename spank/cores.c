/* spank/cores.c - see cores.h */
#include "spank/cores.h"

#include <string.h>

typedef struct sets {
    hwloc_bitmap_t granted, cores;
} sets_t;

static bool from_mask(const pipc__cpus_t *mask, hwloc_bitmap_t out)
{
    for (unsigned int i = 0; i < sizeof(mask->word) / sizeof(mask->word[0]); i++)
        if (hwloc_bitmap_set_ith_ulong(out, i, mask->word[i]))
            return false;
    return true;
}

/* Only narrows, whatever bind_cores says: the mask is Slurm's to give. */
static void to_mask(hwloc_const_bitmap_t set, const pipc__cpus_t *granted, pipc__place_out_t *out)
{
    for (unsigned int i = 0; i < sizeof(granted->word) / sizeof(granted->word[0]); i++) {
        out->cpus.word[i] = hwloc_bitmap_to_ith_ulong(set, i) & granted->word[i];
        out->narrowed |= out->cpus.word[i] != granted->word[i];
    }
}

/* One GPU: its near cores, shared out among the tasks there if they have a mask in common. */
static pipc_status_t for_one(const pipc__topo_t *topo, const pipc__binding_t *b,
                             const pipc__place_in_t *in, int rank, const sets_t *s, bool *near,
                             pipc__error_t *err)
{
    return (in->cpus_shared ? pipc__bind_cores : pipc__bind_own_cores)(topo, b, rank, s->granted,
                                                                       s->cores, near, err);
}

/* Several GPUs: the near cores of all. One task alone keeps everything: it starts a process a GPU,
 * and nobody else wants the rest. */
static pipc_status_t for_many(const pipc__topo_t *topo, const pipc__place_in_t *in, const int *gpus,
                              int n, const sets_t *s, bool *near, pipc__error_t *err)
{
    pipc_status_t st = pipc__bind_cores_around(topo, gpus, n, s->granted, s->cores, near, err);

    if (!st && in->nranks == 1 && hwloc_bitmap_copy(s->cores, s->granted))
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for a CPU set");
    return st;
}

bool pipc__one_numa(const pipc__topo_t *topo, const int *gpus, int n)
{
    for (int i = 1; i < n; i++)
        if (pipc__topo_numa_of(topo, gpus[i]) != pipc__topo_numa_of(topo, gpus[0]))
            return false;
    return true;
}

/* Whose GPU is at a known node and has no granted core near? With a mask of its own each task knows
 * of itself only; with one for all, the first speaks for all. */
static pipc_status_t count_far(const pipc__topo_t *topo, const pipc__binding_t *b,
                               const pipc__place_in_t *in, const sets_t *s, pipc__place_out_t *out,
                               pipc__error_t *err)
{
    bool all = in->cpus_shared && in->rank == 0;
    pipc_status_t st = PIPC_OK;

    for (int r = all ? 0 : in->rank; !st && r < (all ? b->nranks : in->rank + 1); r++) {
        bool near = true;
        if (b->rank[r].numa >= 0)
            st = pipc__bind_own_cores(topo, b, r, s->granted, s->cores, &near, err);
        out->far += !near;
    }
    return st;
}

static bool is_known(const pipc__topo_t *topo, const int *gpus, int n)
{
    for (int i = 0; i < n; i++)
        if (pipc__topo_numa_of(topo, gpus[i]) >= 0)
            return true;
    return false;
}

/* Several GPUs of one NUMA node are as one GPU where tasks share its cores out. */
static pipc_status_t decide(const pipc__topo_t *topo, const pipc__binding_t *b,
                            const pipc__place_in_t *in, const int *gpus, int n, const sets_t *s,
                            pipc__place_out_t *out, pipc__error_t *err)
{
    bool many = n > 1 && (in->nranks == 1 || !pipc__one_numa(topo, gpus, n));
    pipc_status_t st = PIPC_OK;

    if (!many)
        st = count_far(topo, b, in, s, out, err);
    if (!st)
        st = many ? for_many(topo, in, gpus, n, s, &out->near, err)
                  : for_one(topo, b, in, in->rank, s, &out->near, err);
    if (many)
        out->far = !out->near && is_known(topo, gpus, n);
    if (!st && in->keep_cpus)
        out->far = 0; /* the user's own wish needs no comment */
    else if (!st)
        to_mask(s->cores, &in->cpus, out);
    return st;
}

pipc_status_t pipc__cores(const pipc__topo_t *topo, const pipc__binding_t *b,
                          const pipc__place_in_t *in, const int *gpus, int n,
                          pipc__place_out_t *out, pipc__error_t *err)
{
    static const pipc__cpus_t none;
    sets_t s = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc()};
    pipc_status_t st = PIPC_OK;

    if (!s.granted || !s.cores || !from_mask(&in->cpus, s.granted))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for a CPU set");
    else if (memcmp(&in->cpus, &none, sizeof(none))) /* else the kernel did not tell them */
        st = decide(topo, b, in, gpus, n, &s, out, err);
    hwloc_bitmap_free(s.cores);
    hwloc_bitmap_free(s.granted);
    return st;
}
