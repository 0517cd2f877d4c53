/* xchg/ranks.c - lists of ranks in text. See xchg.h */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "runtime/xchg/xchg.h"

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static const char *number(const char *p, int *out)
{
    char *end;

    if (!isdigit((unsigned char)*p))
        return NULL;
    errno = 0;
    long v = strtol(p, &end, 10);
    if (errno || v > INT_MAX)
        return NULL;
    *out = (int)v;
    return end;
}

int pipc__parse_ranks(const char *text, int rank[PIPC__GROUP_MAX])
{
    const char *p = text;
    int n = 0;

    while (p && *p) {
        int first, last;
        p = number(p, &first);
        last = first;
        if (p && *p == '-')
            p = number(p + 1, &last);
        if (!p || last < first || last - first >= PIPC__GROUP_MAX - n)
            return -1;
        for (int r = first; r <= last; r++)
            rank[n++] = r;
        if (*p && *p++ != ',')
            return -1;
    }
    if (n == 0)
        return -1;
    qsort(rank, (size_t)n, sizeof(*rank), compare);
    for (int i = 1; i < n; i++)
        if (rank[i] == rank[i - 1])
            return -1;
    return n;
}
