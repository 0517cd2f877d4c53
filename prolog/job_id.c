/* prolog/job_id.c - see job_id.h */
#include "prolog/job_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool pipc__job_id(const char *text, uint32_t *job)
{
    char *end;

    if (!text || *text < '1' || *text > '9') /* strtoull() takes signs and blanks */
        return false;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (*end || errno || n >= UINT32_MAX)
        return false;
    *job = (uint32_t)n;
    return true;
}

bool pipc__user_id(const char *text, uint32_t *uid)
{
    if (text && strcmp(text, "0") == 0) {
        *uid = 0;
        return true;
    }
    return pipc__job_id(text, uid);
}
