/* topo/files.h - the sources that are files of other programs. Each makes a tree that the caller
 * releases with pipc__topo_free(); on failure *topo is NULL and @err names the file and the line or
 * object. See source.h for the statuses.
 */
#ifndef PIPC_TOPO_FILES_H
#define PIPC_TOPO_FILES_H

#include "runtime/topo/topo.h"

/* lstopo's XML, in the versions that the hwloc here reads. */
pipc_status_t pipc__topo_hwloc_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err);

/* What NCCL writes to NCCL_TOPO_DUMP_FILE and reads from NCCL_TOPO_FILE. */
pipc_status_t pipc__topo_nccl_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err);

/* The text of "nvidia-smi topo -m". */
pipc_status_t pipc__topo_matrix(pipc__topo_t **topo, const char *path, pipc__error_t *err);

/* The text of lspci -x, -xxx or -xxxx. */
pipc_status_t pipc__topo_dump(pipc__topo_t **topo, const char *path, pipc__error_t *err);

/* The text of lspci -tv. */
pipc_status_t pipc__topo_lspci_tree(pipc__topo_t **topo, const char *path, pipc__error_t *err);

/* What pcie-ipc-topo --json wrote. The source's name is the one that stands in it. */
pipc_status_t pipc__topo_json_file(pipc__topo_t **topo, const char *path, pipc__error_t *err);

#endif
