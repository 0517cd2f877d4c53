/* exec/cuda_launch.c - a kernel onto the caller's stream, beginning as soon as the one before it
 * has no block left. See cuda_exec.h for the other files.
 *
 * Between two kernels of a stream the GPU waits until all that the first one wrote is visible, and
 * only then begins to start the second one's blocks. Both at once save 0.3 us between two calls in
 * a graph and up to 1 us between others (doc/measurements.md): the launch says that blocks may
 * start as soon as those of the kernel before have ended (CUDA C++ Programming Guide,
 * "Programmatic Dependent Launch and Synchronization"), and each thread begins by waiting for the
 * rest (ptx.cuh: grid_wait). So nothing of a call runs beside the call before: staging is safe as
 * it is between kernels that end.
 *
 * No kernel of ours lets the next one start before its own end (griddepcontrol.launch_dependents),
 * tempting as it is: it gains next to nothing (doc/measurements.md), and blocks that wait for a stream
 * would hold multiprocessors that those of another communicator need to be resident.
 *
 * Two kinds of programs are not served by it and may turn it off (PCIE_IPC_EARLY): such as walk a
 * graph by the driver's older functions, which can't tell of that edge (CUDA_ERROR_LOSSY_QUERY), and
 * such as launch kernels of their own that let the next one start and that don't wait themselves:
 * ours would wait for the last of these alone.
 *
 * Code of a kernel without that wait must never be launched so, whatever the GPU: a driver may have
 * made it of older PTX. In a graph such a launch is an edge of its own kind, which CUDA has from
 * 12.3 on.
 */
#include <limits.h>

#include "runtime/exec/cuda_exec.h"

bool pipc__cuda_may_begin_early(int driver, int ptx, bool has_launch)
{
    return driver >= 12030 && ptx >= 90 && has_launch;
}

void pipc__cuda_launch_init(pipc__cuda_exec_t *x)
{
    int driver = 0, ptx = 0, least = INT_MAX;
    const CUfunction kernels[] = {x->kernel[PIPC_SUM][PIPC_F32], x->ll_kernel[PIPC_SUM][PIPC_F32],
                                  x->ll128_kernel[PIPC_SUM][PIPC_F32],
                                  x->push_kernel[PIPC_SUM][PIPC_F32]};

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (x->cu->FuncGetAttribute(&ptx, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernels[i]))
            ptx = 0;
        least = ptx < least ? ptx : least;
    }
    x->cu->DriverGetVersion(&driver);
    x->begins_early = pipc__cuda_may_begin_early(driver, least, x->cu->LaunchKernelEx != NULL);
}

CUresult pipc__cuda_launch(const pipc__cuda_exec_t *x, CUstream stream, const pipc__cuda_grid_t *g,
                           void *args)
{
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = g->blocks,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = g->threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = g->shared,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = 1};
    void *params[] = {args};

    if (x->begins_early && !x->base.plain)
        return x->cu->LaunchKernelEx(&config, g->kernel, params, NULL);
    return x->cu->LaunchKernel(g->kernel, g->blocks, 1, 1, g->threads, 1, 1, g->shared, stream,
                               params, NULL);
}
