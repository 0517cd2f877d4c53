/* topo/sysfs.c - trees from the files below a root */
#include "runtime/topo/build.h"

#include <stdlib.h>

#include "runtime/topo/scan.h"

pipc_status_t pipc__topo_add_pci(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    pipc__scan_t s = {.root = root, .folder = "/" PIPC__SCAN_DEVICES};
    pipc_status_t st = pipc__scan(&s, err);

    if (!st)
        st = pipc__topo_add_scan(topo, &s, err);
    free(s.dev);
    return st;
}

pipc_status_t pipc__topo_sysroot(pipc__topo_t **topo, const char *root, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "sysroot", err);

    if (!st)
        st = pipc__topo_add_cpus(*topo, root, err);
    if (!st)
        st = pipc__topo_add_pci(*topo, root, err);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
