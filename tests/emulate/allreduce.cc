/* tests/emulate/allreduce.cc - kernels/allreduce.cu on the CPU */
#include "tests/emulate/every.cuh"
#include "tests/emulate/ptx.cuh"

#include "kernels/allreduce.h"

/* What a launch asks for: a stage's program. Before the kernel, or the compiler would have its
 * every use ask whether it was initialised. */
thread_local uint32_t words[PIPC__PROGRAM_MAX * sizeof(pipc__op_t) / 4];

#include "kernels/allreduce.cu"

#include "tests/emulate/kernels.h"

#undef KERNEL
#define KERNEL(op, type)                                                                           \
    {#op, #type, [](const void *a) { pipc__allreduce_##op##_##type(*(const pipc__lane_args_t *)a); }},

const emulated_function_t emulated_allreduce[] = {EVERY_KERNEL{nullptr, nullptr, nullptr}};
