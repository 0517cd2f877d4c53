/* topo/dump_tree.c - a tree from the text of lspci -xxxx */
#include "runtime/topo/dump.h"

#include "runtime/topo/build.h"
#include "runtime/topo/files.h"

pipc_status_t pipc__topo_dump(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    char root[PIPC__DUMP_ROOT_MAX];
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st = pipc__dump_unpack(path, root, err);

    *topo = NULL;
    if (!st && (st = pipc__topo_sysroot(topo, root, &why)))
        pipc__fail(err, st, "%s: %s", path, why.text);
    if (!st)
        snprintf((*topo)->source, sizeof((*topo)->source), "lspci dump");
    pipc__dump_remove(root);
    return st;
}
