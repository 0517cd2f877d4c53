/* exec/cuda_module.h - kernels onto a GPU: of what is linked in, what its driver takes.
 */
#ifndef PIPC_EXEC_CUDA_MODULE_H
#define PIPC_EXEC_CUDA_MODULE_H

#include "runtime/exec/cuda_driver.h"
#include "runtime/exec/fatbin.h"

/* Load the kernels of @list into the current context. PIPC_ERR_UNSUPPORTED where none of them is
 * for this GPU and driver; the text names both, what there is, and the remedy. */
pipc_status_t pipc__cuda_load_module(const pipc__cuda_t *cu, CUmodule *module,
                                     const pipc__fatbin_t *list, pipc__error_t *err);

#endif
