/* tools/bench/device.c - which device a rank measures on */
#include "config.h"

#include "runtime/tools/bench/device.h"
#include "runtime/xchg/place.h"

#ifdef HAVE_CUDA
static int local_rank(void)
{
    pipc__place_t place;

    pipc__place_here(&place);
    return pipc__place_local(&place);
}
#endif

pipc_status_t bench_open_device(bench_device_t *dev, pipc_backend_t backend, bool computes,
                                pipc__error_t *err)
{
    *dev = bench_cpu;
#ifdef HAVE_CUDA
    if (backend == PIPC_BACKEND_CUDA || (backend == PIPC_BACKEND_AUTO && bench_cuda_present()))
        return bench_cuda_open(dev, local_rank(), computes, err);
#else
    (void)computes;
    if (backend == PIPC_BACKEND_CUDA)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "built without CUDA; configure --with-cuda");
#endif
    return PIPC_OK;
}
