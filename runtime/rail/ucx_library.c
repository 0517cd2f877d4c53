/* rail/ucx_library.c - see ucx_library.h */
#include "runtime/rail/ucx_library.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct symbol {
    const char *name;
    size_t offset; /* of the member in pipc__ucx_library_t */
} symbols[] = {
#define SYMBOL(prefix, member)                                                                     \
    {                                                                                              \
        prefix #member, offsetof(pipc__ucx_library_t, member)                                      \
    }
    SYMBOL("ucp_", get_version),     SYMBOL("ucp_", config_read),
    SYMBOL("ucp_", config_modify),   SYMBOL("ucp_", config_release),
    SYMBOL("ucp_", init_version),    SYMBOL("ucp_", cleanup),
    SYMBOL("ucp_", worker_create),   SYMBOL("ucp_", worker_destroy),
    SYMBOL("ucp_", worker_query),    SYMBOL("ucp_", worker_release_address),
    SYMBOL("ucp_", worker_get_efd),  SYMBOL("ucp_", worker_arm),
    SYMBOL("ucp_", worker_progress), SYMBOL("ucp_", ep_create),
    SYMBOL("ucp_", ep_flush_nbx),    SYMBOL("ucp_", ep_close_nbx),
    SYMBOL("ucp_", ep_print_info),   SYMBOL("ucp_", tag_send_nbx),
    SYMBOL("ucp_", tag_recv_nbx),    SYMBOL("ucp_", request_check_status),
    SYMBOL("ucp_", request_cancel),  SYMBOL("ucp_", request_free),
    SYMBOL("ucs_", status_string),
#undef SYMBOL
};

/* UCX reads its log level from the environment while it is being opened, where a program that has
 * threads must not change it. So it is set afterwards. */
static void hush(void *handle)
{
    ucs_status_t (*set)(const char *, const char *) =
        (ucs_status_t(*)(const char *, const char *))dlsym(handle, "ucs_global_opts_set_value");

    if (set && !getenv("UCX_LOG_LEVEL"))
        set("LOG_LEVEL", "fatal");
}

/* Of all signals: which ones UCX catches depends on its version; SIGHUP is among them. */
typedef struct sigaction handlers_t[_NSIG];

static void save_handlers(handlers_t h)
{
    for (int s = 1; s < _NSIG; s++)
        sigaction(s, NULL, &h[s]); /* those of libc's own fail */
}

static void restore_handlers(handlers_t h)
{
    struct sigaction now;

    if (getenv("UCX_ERROR_SIGNALS") || getenv("UCX_HANDLE_ERRORS") || getenv("UCX_DEBUG_SIGNO"))
        return;
    for (int s = 1; s < _NSIG; s++)
        if (!sigaction(s, NULL, &now) && now.sa_sigaction != h[s].sa_sigaction)
            sigaction(s, &h[s], NULL);
}

pipc_status_t pipc__ucx_open(pipc__ucx_library_t *lib, pipc__error_t *err)
{
    const char *path = secure_getenv("PCIE_IPC_UCX"); /* it is code that runs here */
    void *before = dlopen("libucs.so.0", RTLD_NOW | RTLD_NOLOAD), *handle;
    unsigned int major, minor, release;
    handlers_t handlers;

    save_handlers(handlers);
    path = path && *path ? path : "libucp.so.0";
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s; install UCX, or set PCIE_IPC_UCX to the path of its libucp.so.0",
                          why ? why : path);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *f = dlsym(handle, symbols[i].name);
        if (!f)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "%s has no %s; UCX 1.11 or newer is needed", path, symbols[i].name);
        memcpy((char *)lib + symbols[i].offset, &f, sizeof(f));
    }
    lib->get_version(&major, &minor, &release);
    if (major != 1 || minor < 11)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "%s is UCX %u.%u.%u; 1.11 or newer is needed",
                          path, major, minor, release);
    if (!before) {
        hush(handle);
        restore_handlers(handlers);
    }
    return PIPC_OK;
}
