/* exec/cuda_context.c - does the calling thread use CUDA? See exec.h
 *
 * Only a driver that the program has loaded already is asked. Opening it here would start CUDA in
 * programs that never meant to use a GPU.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#include "runtime/exec/exec.h"

bool pipc__cuda_has_context(void)
{
    CUresult (*get_current)(CUcontext *) = NULL;
    CUcontext context = NULL;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = lib ? dlsym(lib, "cuCtxGetCurrent") : NULL;

    memcpy(&get_current, &symbol, sizeof(symbol));
    bool has = get_current && get_current(&context) == CUDA_SUCCESS && context;
    if (lib)
        dlclose(lib); /* the program's own reference keeps it */
    return has;
}
