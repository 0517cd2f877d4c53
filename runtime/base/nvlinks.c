/* base/nvlinks.c - see nvlinks.h */
#include "runtime/base/nvlinks.h"

#include <stdio.h>

void pipc__nvlinks_add(pipc__nvlinks_t *links, const char *bdf)
{
    unsigned int domain, bus, device, function;
    int i = 0;

    if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4 || domain > 0xfffe ||
        bus > 0xff || device > 0x1f || function > 7)
        return;
    while (i < PIPC__NVLINKS_MAX && links->gpu[i])
        i++;
    if (i < PIPC__NVLINKS_MAX)
        links->gpu[i] = (domain << 16 | bus << 8 | device << 3 | function) + 1;
}

static bool has(const pipc__nvlinks_t *links, uint32_t gpu)
{
    int i = 0;

    while (i < PIPC__NVLINKS_MAX && links->gpu[i] != gpu)
        i++;
    return i < PIPC__NVLINKS_MAX;
}

bool pipc__nvlinks_join(const pipc__nvlinks_t *const ranks[], int n)
{
    for (int i = 0; i < n; i++) {
        if (!ranks[i]->gpu[0] || !ranks[i]->gpu[1])
            return false;
        for (int j = 0; j < n; j++)
            if (!has(ranks[i], ranks[j]->gpu[0]))
                return false;
    }
    return true;
}
