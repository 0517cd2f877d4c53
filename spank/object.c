/* spank/object.c - see object.h */
#include "config.h"

#include "spank/object.h"

#include <dlfcn.h>
#include <stddef.h>

static bool fits(const pipc__spank_ops_t *ops)
{
    return ops->abi == PIPC__SPANK_ABI && ops->in_size == sizeof(pipc__place_in_t) &&
           ops->out_size == sizeof(pipc__place_out_t);
}

pipc_status_t pipc__object_open(const char *path, const pipc__spank_ops_t **ops, pipc__error_t *err)
{
    /* NOW: a missing symbol must show here, not in the middle of a task. LOCAL: neither Slurm nor
     * other plugins shall find our libraries' symbols. */
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const pipc__spank_ops_t *found;

    *ops = NULL;
    if (!object) {
        const char *why = dlerror();
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%.300s; install the whole package on this node",
                          why ? why : path);
    }
    found = dlsym(object, PIPC__SPANK_SYMBOL);
    if (!found || !fits(found)) {
        dlclose(object);
        return pipc__fail(err, PIPC_ERR_MISMATCH,
                          "%.300s is not of version %s; install both parts of the plugin from one "
                          "package",
                          path, PACKAGE_VERSION);
    }
    *ops = found;
    return PIPC_OK;
}
