/* prolog/off.c - see start.h; a file of its own, since the checker has use for it too */
#include <stddef.h>
#include <sys/stat.h>

#include "prolog/start.h"

const char *pipc__start_off(const pipc__start_t *start)
{
    struct stat st;

    for (size_t i = 0; i < sizeof(start->off) / sizeof(start->off[0]); i++)
        if (start->off[i] && lstat(start->off[i], &st) == 0)
            return start->off[i];
    return NULL;
}
