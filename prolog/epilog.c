/* prolog/epilog.c - see epilog.h */
#include "prolog/epilog.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "spank/stepdir.h"

int pipc__epilog(const char *folder, const char *job)
{
    char *end;
    unsigned long number;

    if (!job || *job < '1' || *job > '9') /* strtoul() takes signs and blanks */
        return 0;
    errno = 0;
    number = strtoul(job, &end, 10);
    if (!*end && !errno && number < UINT32_MAX)
        pipc__stepdir_sweep(folder, (uint32_t)number);
    return 0;
}
