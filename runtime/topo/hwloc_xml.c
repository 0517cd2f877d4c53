/* topo/hwloc_xml.c - being written */
#include "runtime/topo/files.h"

pipc_status_t pipc__topo_hwloc_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    *topo = NULL;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "%s: not read yet", path);
}
