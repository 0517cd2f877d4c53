/* tests/emulate/kernels.h - the kernels that are compiled for the CPU, each a list up to a NULL.
 */
#ifndef TESTS_EMULATE_KERNELS_H
#define TESTS_EMULATE_KERNELS_H

#include "tests/emulate/emulate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emulated_function {
    const char *op, *type;     /* as kernels are named */
    emulated_kernel_t *kernel; /* of the arguments that kernels/NAME.h tells */
} emulated_function_t;

extern const emulated_function_t emulated_ll[], emulated_ll128[], emulated_push[], emulated_allreduce[];

#ifdef __cplusplus
}
#endif
#endif
