/* tests/emulate/ll.cc - kernels/ll.cu on the CPU */
#include "tests/emulate/every.cuh"
#include "tests/emulate/ptx.cuh"

#include "kernels/ll.cu"

#include "tests/emulate/kernels.h"

#undef KERNEL
#define KERNEL(op, type)                                                                           \
    {#op, #type, [](const void *a) { pipc__ll_##op##_##type(*(const pipc__ll_args_t *)a); }},

const emulated_function_t emulated_ll[] = {EVERY_KERNEL{nullptr, nullptr, nullptr}};
