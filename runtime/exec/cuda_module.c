/* exec/cuda_module.c - see cuda_module.h */
#include "runtime/exec/cuda_module.h"

#include <stdio.h>

/* What a driver says of code that is not for it or for its GPU. Old ones do not all say the same of
 * a fat binary that is newer than they are. */
static bool is_not_for_here(CUresult rc)
{
    return rc == CUDA_ERROR_NO_BINARY_FOR_GPU || rc == CUDA_ERROR_INVALID_IMAGE ||
           rc == CUDA_ERROR_INVALID_PTX || rc == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           rc == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || rc == CUDA_ERROR_JIT_COMPILATION_DISABLED;
}

typedef struct gpu {
    char name[64];
    int arch;   /* 80 */
    int driver; /* 12040 */
} gpu_t;

static gpu_t look_at_gpu(const pipc__cuda_t *cu)
{
    gpu_t g = {.name = "?"};
    int major = 0, minor = 0;
    CUdevice device;

    cu->DriverGetVersion(&g.driver);
    if (cu->CtxGetDevice(&device))
        return g;
    cu->DeviceGetName(g.name, sizeof(g.name), device);
    cu->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cu->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    g.arch = major * 10 + minor;
    return g;
}

/* The kernels use the memory model of sm_70; nvcc of CUDA 13 begins with sm_75. */
static const char *remedy(int arch, const pipc__fatbin_t *list)
{
    return arch < 70                       ? "GPUs before sm_70 can have none"
           : arch < 75 && !list[1].release ? "configure pcie-ipc --with-cuda12"
                                           : "configure pcie-ipc with CUDA_GENCODE for it";
}

/* None of @list would load, the last one with @rc. */
static pipc_status_t explain(const pipc__cuda_t *cu, CUresult rc, const gpu_t *g,
                             const pipc__fatbin_t *list, pipc__error_t *err)
{
    char have[200], branch[16] = "";
    int needs;
    pipc__fatbin_fit_t fit = pipc__fatbin_fit(list, g->driver, g->arch, &needs);

    if (pipc__fatbin_branch(needs))
        snprintf(branch, sizeof(branch), " (R%d)", pipc__fatbin_branch(needs));
    pipc__fatbin_describe(list, have, sizeof(have));
    if (!is_not_for_here(rc))
        fit = PIPC__FATBIN_FITS; /* something else went wrong */
    if (fit == PIPC__FATBIN_OLD_DRIVER)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "the NVIDIA driver (CUDA %d.%d) is too old for the kernels for %s "
                          "(sm_%d): update it to CUDA %d.%d%s or newer%s; there are %s",
                          g->driver / 1000, g->driver % 1000 / 10, g->name, g->arch, needs / 1000,
                          needs % 1000 / 10, branch,
                          list[1].release ? "" : ", or configure pcie-ipc --with-cuda12", have);
    if (fit == PIPC__FATBIN_NO_CODE)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "no kernels for %s (sm_%d): %s; there are %s",
                          g->name, g->arch, remedy(g->arch, list), have);
    pipc_status_t st = pipc__cuda_fail(
        cu, rc, err, "kernels for %s (sm_%d), of %s: cuModuleLoadData", g->name, g->arch, have);
    if (is_not_for_here(rc))
        st = PIPC_ERR_UNSUPPORTED;
    if (err)
        err->status = st;
    return st;
}

pipc_status_t pipc__cuda_load_module(const pipc__cuda_t *cu, CUmodule *module,
                                     const pipc__fatbin_t *list, pipc__error_t *err)
{
    CUresult rc = CUDA_ERROR_NO_BINARY_FOR_GPU;
    gpu_t g = look_at_gpu(cu);
    int order[PIPC__FATBINS], n = pipc__fatbin_order(list, g.driver, order);

    for (int i = 0; i < n && is_not_for_here(rc); i++)
        rc = cu->ModuleLoadData(module, list[order[i]].bytes);
    return rc ? explain(cu, rc, &g, list, err) : PIPC_OK;
}
