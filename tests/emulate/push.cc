/* tests/emulate/push.cc - kernels/push.cu on the CPU */
#include "tests/emulate/every.cuh"
#include "tests/emulate/ptx.cuh"

#include "kernels/push.cu"

#include "tests/emulate/kernels.h"

#undef KERNEL
#define KERNEL(op, type)                                                                           \
    {#op, #type, [](const void *a) { pipc__push_##op##_##type(*(const pipc__push_args_t *)a); }},

const emulated_function_t emulated_push[] = {EVERY_KERNEL{nullptr, nullptr, nullptr}};
