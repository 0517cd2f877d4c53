/* spank/cores.c - see cores.h */
#include "spank/cores.h"

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

pipc_status_t pipc__cores(const pipc__topo_t *topo, const pipc__binding_t *b,
                          const pipc__place_in_t *in, pipc__place_out_t *out, pipc__error_t *err)
{
    hwloc_bitmap_t granted = hwloc_bitmap_alloc(), cores = hwloc_bitmap_alloc();
    pipc_status_t st = PIPC_OK;

    if (!granted || !cores || !from_mask(&in->cpus, granted))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for a CPU set");
    else if (in->cpus_shared)
        st = pipc__bind_cores(topo, b, in->rank, granted, cores, &out->near, err);
    else
        st = pipc__bind_own_cores(topo, b, in->rank, granted, cores, &out->near, err);
    if (!st)
        to_mask(cores, &in->cpus, out);
    hwloc_bitmap_free(cores);
    hwloc_bitmap_free(granted);
    return st;
}
