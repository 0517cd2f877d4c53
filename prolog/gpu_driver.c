/* prolog/gpu_driver.c - see gpu_driver.h */
#include "prolog/gpu_driver.h"

#include <dlfcn.h>
#include <string.h>

static const struct entry {
    const char *symbol;
    size_t offset; /* of the member */
} entries[] = {
#define ENTRY(member, symbol, args) {#symbol, offsetof(pipc__gpu_driver_t, member)},
    PIPC__GPU_FUNCTIONS(ENTRY)
#undef ENTRY
};

pipc_status_t pipc__gpu_driver_open(const char *library, pipc__gpu_driver_t *cu, pipc__error_t *err)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL), *f;

    if (!lib) {
        const char *why = dlerror();
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s: cannot open; is the NVIDIA driver installed here? (%s)", library,
                          why ? why : "no reason given");
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        f = dlsym(lib, entries[i].symbol); /* POSIX promises that its bits are the function's */
        if (!f)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "%s has no %s; the NVIDIA driver is too old: R470 or newer is needed",
                              library, entries[i].symbol);
        memcpy((char *)cu + entries[i].offset, &f, sizeof(f));
    }
    pipc__gpu_rc_t rc = cu->Init(0);
    if (rc == PIPC__GPU_NO_DEVICE)
        return pipc__fail(err, PIPC_ERR_CUDA,
                          "no GPU is visible here (CUDA_VISIBLE_DEVICES, device cgroup)");
    return pipc__gpu_check(cu, rc, "driver", "cuInit", err);
}

pipc_status_t pipc__gpu_check(const pipc__gpu_driver_t *cu, pipc__gpu_rc_t rc, const char *gpu,
                              const char *call, pipc__error_t *err)
{
    const char *words = NULL, *name = NULL;

    if (rc == PIPC__GPU_SUCCESS)
        return PIPC_OK;
    cu->GetErrorString(rc, &words);
    cu->GetErrorName(rc, &name);
    return pipc__fail(err, PIPC_ERR_CUDA, "%s: %s: %s (%s)", gpu, call,
                      words ? words : "unknown error", name ? name : "unknown code");
}
