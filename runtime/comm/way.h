/* comm/way.h - the own way through the machine, as plan/shape.h has it: a fact, read, not judged.
 */
#ifndef PIPC_COMM_WAY_H
#define PIPC_COMM_WAY_H

#include "runtime/comm/request.h"
#include "runtime/plan/shape.h"

/* Fill @way for the GPU @bdf ("" for a rank on a CPU): what the plugin exported as PCIE_IPC_WAY, if
 * it is for this GPU or the GPU is unknown, else what sysfs below @root (NULL: the live machine)
 * tells, else "". */
void pipc__way_find(char way[PIPC__WAY_TEXT], const char *bdf, const char *root,
                    pipc__getenv_t lookup);

#endif
