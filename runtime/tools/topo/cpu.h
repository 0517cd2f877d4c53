/* tools/topo/cpu.h - what NCCL's XML tells of this machine's processors */
#ifndef PIPC_TOOLS_TOPO_CPU_H
#define PIPC_TOOLS_TOPO_CPU_H

#include "runtime/topo/xml_out.h"

/* From uname() and /proc/cpuinfo below @root; the texts are static. */
void topo_cpu_read(const char *root, pipc__xml_cpu_t *cpu);

#endif
