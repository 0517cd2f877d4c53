/* tests/gpu/counted.c - see counted.h */
#include "tests/gpu/counted.h"

#include <stdlib.h>
#include <string.h>

void *__real_dlsym(void *lib, const char *name);
void *__wrap_dlsym(void *lib, const char *name);

static const char *names[COUNTED_MAX];
static size_t used;

const char *counted_name(size_t i)
{
    return i < used ? names[i] : NULL;
}

#ifdef __x86_64__

bool counted_works(void)
{
    return true;
}

/* One counter, one address and one trampoline of 32 bytes a function. A trampoline touches no
 * register and no stack, so it does for any function. */
__asm__(".local counted_calls, counted_real\n"
        ".comm counted_calls, 8 * 512, 64\n"
        ".comm counted_real, 8 * 512, 64\n"
        ".text\n"
        ".balign 32\n"
        ".type counted_code, @function\n"
        "counted_code:\n"
        ".set i, 0\n"
        ".rept 512\n"
        "    endbr64\n"
        "    lock incq counted_calls + 8 * i(%rip)\n"
        "    jmp *counted_real + 8 * i(%rip)\n"
        "    .balign 32\n"
        "    .set i, i + 1\n"
        ".endr\n"
        ".size counted_code, . - counted_code\n");

extern uint64_t counted_calls[COUNTED_MAX] __attribute__((visibility("hidden")));
extern void *counted_real[COUNTED_MAX] __attribute__((visibility("hidden")));
extern char counted_code[] __attribute__((visibility("hidden")));

counted_t counted_now(void)
{
    counted_t c;

    for (size_t i = 0; i < COUNTED_MAX; i++)
        c.calls[i] = __atomic_load_n(&counted_calls[i], __ATOMIC_RELAXED);
    return c;
}

void *__wrap_dlsym(void *lib, const char *name)
{
    void *f = __real_dlsym(lib, name);

    if (!f)
        return NULL;
    if (used == COUNTED_MAX)
        abort();
    names[used] = strdup(name);
    counted_real[used] = f;
    return counted_code + 32 * used++;
}

#else

bool counted_works(void)
{
    return false;
}

counted_t counted_now(void)
{
    return (counted_t){{0}};
}

void *__wrap_dlsym(void *lib, const char *name)
{
    return __real_dlsym(lib, name);
}

#endif
