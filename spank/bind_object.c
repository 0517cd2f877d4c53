/* spank/bind_object.c - the second object's one symbol */
#include "config.h"

#include "runtime/topo/topo.h"
#include "spank/memory.h"
#include "spank/ops.h"
#include "spank/place.h"
#include "spank/snapshot.h"

static pipc_status_t open_topology(const char *synthetic, const char *sysroot, void **handle,
                                   pipc__error_t *err)
{
    pipc__topo_t *topo = NULL;
    pipc_status_t st;

    if (synthetic)
        st = pipc__topo_synthetic(&topo, synthetic, err);
    else if (sysroot)
        st = pipc__topo_sysroot(&topo, sysroot, err);
    else
        st = pipc__topo_live(&topo, err);
    *handle = topo;
    return st;
}

static pipc_status_t place(const void *handle, const pipc__place_in_t *in, pipc__place_out_t *out,
                           pipc__error_t *err)
{
    return pipc__place(handle, in, out, err);
}

static void close_topology(void *handle)
{
    pipc__topo_free(handle);
}

extern const pipc__spank_ops_t pipc_spank_ops;
__attribute__((visibility("default"))) const pipc__spank_ops_t pipc_spank_ops = {
    .abi = PIPC__SPANK_ABI,
    .in_size = sizeof(pipc__place_in_t),
    .out_size = sizeof(pipc__place_out_t),
    .version = PACKAGE_VERSION,
    .open = open_topology,
    .place = place,
    .prefer_memory = pipc__memory_prefer,
    .read_snapshot = pipc__snapshot_read,
    .close = close_topology,
};
