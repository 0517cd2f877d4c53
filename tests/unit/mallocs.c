/* tests/unit/mallocs.c - see mallocs.h */
#include "tests/unit/mallocs.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MALLOCS_OF_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MALLOCS_OF_SANITIZER 1 /* or of another libc: not ours to replace */
#endif

static _Thread_local mallocs_t count;
static _Thread_local bool on;

void mallocs_begin(void)
{
    count = (mallocs_t){0, 0};
    on = true;
}

mallocs_t mallocs_end(void)
{
    on = false;
    return count;
}

bool mallocs_work(void)
{
    mallocs_begin();
    void *volatile own = malloc(1), *volatile other = strdup("");
    mallocs_t n = mallocs_end();

    free(own);
    free(other);
    return n.own == 1 && n.others == 1;
}

#ifndef MALLOCS_OF_SANITIZER

extern char __executable_start, etext; /* the linker's: the program's own code */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *p);

static void note(const char *caller)
{
    if (!on)
        return;
    if (caller >= &__executable_start && caller < &etext)
        count.own++;
    else
        count.others++;
}

#define NOTE() note(__builtin_return_address(0))
#define SHARED __attribute__((visibility("default")))

SHARED void *malloc(size_t bytes)
{
    NOTE();
    return __libc_malloc(bytes);
}

SHARED void *calloc(size_t n, size_t bytes)
{
    NOTE();
    return __libc_calloc(n, bytes);
}

SHARED void *realloc(void *p, size_t bytes)
{
    NOTE();
    return __libc_realloc(p, bytes);
}

SHARED void *memalign(size_t align, size_t bytes)
{
    NOTE();
    return __libc_memalign(align, bytes);
}

SHARED void *aligned_alloc(size_t align, size_t bytes)
{
    NOTE();
    return __libc_memalign(align, bytes);
}

SHARED int posix_memalign(void **p, size_t align, size_t bytes)
{
    NOTE();
    *p = __libc_memalign(align, bytes);
    return *p ? 0 : ENOMEM;
}

/* Here so that a tool that replaces the C library's sees neither half of a pair. */
SHARED void free(void *p)
{
    __libc_free(p);
}

#endif
