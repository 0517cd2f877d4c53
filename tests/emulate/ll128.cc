/* tests/emulate/ll128.cc - kernels/ll128.cu on the CPU */
#include "tests/emulate/every.cuh"
#include "tests/emulate/ptx.cuh"

#include "kernels/ll128.cu"

#include "tests/emulate/kernels.h"

#undef KERNEL
#define KERNEL(op, type)                                                                           \
    {#op, #type, [](const void *a) { pipc__ll128_##op##_##type(*(const pipc__ll128_args_t *)a); }},

const emulated_function_t emulated_ll128[] = {EVERY_KERNEL{nullptr, nullptr, nullptr}};
