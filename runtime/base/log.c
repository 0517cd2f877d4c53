/* base/log.c - see log.h */
#include "runtime/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static pipc__log_fn_t log_fn;
static void *log_arg;

void pipc__log_set(pipc__log_fn_t fn, void *arg)
{
    log_fn = fn;
    log_arg = arg;
}

bool pipc__log_is_set(void)
{
    return log_fn;
}

void pipc__log(pipc__log_level_t level, const char *fmt, ...)
{
    char line[1024];
    int saved = errno;
    va_list ap;

    if (!log_fn)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    log_fn(log_arg, level, line);
    errno = saved;
}
