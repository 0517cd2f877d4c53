/* nccl/say.c - see say.h */
#include "runtime/nccl/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS 16

bool pipc__is_verbose(void)
{
    const char *verbose = secure_getenv("PCIE_IPC_VERBOSE");

    return verbose && !strcmp(verbose, "1");
}

static void say(const char *fmt, va_list args)
{
    char line[1024] = "pcie-ipc: ";
    size_t used = strlen(line);
    int saved = errno;

    vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
    used = strlen(line);
    line[used++] = '\n';
    while (write(STDERR_FILENO, line, used) < 0 && errno == EINTR)
        ;
    errno = saved;
}

void pipc__say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

/* By the address of the format: each stands once in the source. */
static bool is_first(const char *fmt)
{
    static const char *_Atomic told[KINDS];

    for (int i = 0; i < KINDS; i++) {
        const char *free_one = NULL;
        if (atomic_compare_exchange_strong(&told[i], &free_one, fmt))
            return true;
        if (free_one == fmt)
            return false;
    }
    return false;
}

void pipc__say_once(const char *fmt, ...)
{
    va_list args;

    if (!is_first(fmt))
        return;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}
