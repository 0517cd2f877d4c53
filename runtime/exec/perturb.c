/* exec/perturb.c - see perturb.h; compiled into test builds only */
#include "runtime/exec/perturb.h"

#include <time.h>
#include <unistd.h>

pipc__perturb_t pipc__perturb = {.drop_step = -1};

/* Marsaglia's xorshift64: cheap, and its own stream on every rank by the process number. */
static uint64_t next_random(void)
{
    static uint64_t x;

    if (!x)
        x = pipc__perturb.seed * 0x9e3779b97f4a7c15ull + (uint64_t)getpid() + 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

void pipc__perturb_delay(void)
{
    if (!pipc__perturb.max_usec)
        return;
    uint64_t x = next_random();
    uint32_t usec = (uint32_t)(x >> 32) % (pipc__perturb.max_usec + 1);
    if (x & 3) /* one time in four a real delay; else the protocol would only ever be slow */
        return;
    struct timespec t = {0, (long)usec * 1000};
    nanosleep(&t, NULL);
}

bool pipc__perturb_yields(void)
{
    return pipc__perturb.max_usec && next_random() >> 32 & 1;
}
