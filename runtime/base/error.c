/* base/error.c - see error.h */
#include "runtime/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [PIPC_OK] = "no error",
    [PIPC_ERR_INVALID] = "invalid argument",
    [PIPC_ERR_NOMEM] = "out of memory",
    [PIPC_ERR_SYSTEM] = "system call failed",
    [PIPC_ERR_UNSUPPORTED] = "not supported",
    [PIPC_ERR_NOT_FOUND] = "not found",
    [PIPC_ERR_EXCHANGE] = "exchange between ranks failed",
    [PIPC_ERR_MISMATCH] = "ranks disagree",
    [PIPC_ERR_UNREACHABLE] = "peer memory not reachable",
    [PIPC_ERR_PEER_LOST] = "peer lost",
    [PIPC_ERR_ABORTED] = "communicator aborted",
    [PIPC_ERR_CUDA] = "CUDA driver call failed",
    [PIPC_ERR_INTERNAL] = "internal error",
    [PIPC_LEFT] = "left to NCCL",
};

const char *pipc_status_string(pipc_status_t status)
{
    unsigned int i = (unsigned int)status;

    return i < sizeof(status_names) / sizeof(status_names[0]) ? status_names[i] : "unknown status";
}

static void fill(pipc__error_t *err, pipc_status_t status, const char *fmt, va_list ap)
{
    err->status = status;
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

pipc_status_t pipc__fail(pipc__error_t *err, pipc_status_t status, const char *fmt, ...)
{
    int saved = errno;

    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, status, fmt, ap);
        va_end(ap);
    }
    errno = saved;
    return status;
}

pipc_status_t pipc__fail_errno(pipc__error_t *err, const char *fmt, ...)
{
    int saved = errno;

    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, PIPC_ERR_SYSTEM, fmt, ap);
        va_end(ap);
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(saved));
    }
    errno = saved;
    return PIPC_ERR_SYSTEM;
}
