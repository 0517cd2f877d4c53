/* topo/xml_out.h - a tree as NCCL's topology XML */
#ifndef PIPC_TOPO_XML_OUT_H
#define PIPC_TOPO_XML_OUT_H

#include "runtime/topo/topo.h"

/* What NCCL tells of a processor and the tree does not. Where it is left out, NCCL asks the machine
 * on which it reads the file. */
typedef struct pipc__xml_cpu {
    const char *arch, *vendor; /* "x86_64", "arm64", "ppc64"; "AuthenticAMD" */
    int family, model;         /* PIPC__UNKNOWN: not known */
} pipc__xml_cpu_t;

/* Print what NCCL_TOPO_FILE takes and pipc__topo_nccl_xml() reads back with the same groups. @cpu
 * may be NULL. PIPC_ERR_UNSUPPORTED for a tree without addresses, which is all that NCCL finds GPUs
 * by.
 */
pipc_status_t pipc__topo_print_xml(const pipc__topo_t *topo, const pipc__xml_cpu_t *cpu, FILE *out,
                                   pipc__error_t *err);

#endif
