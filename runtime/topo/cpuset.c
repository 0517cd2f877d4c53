/* topo/cpuset.c - see cpuset.h */
#include "runtime/topo/cpuset.h"

#include <ctype.h>
#include <string.h>

/* A CPU number at *p; -1 when there is none or it is out of bounds. */
static int cpu_number(const char **p)
{
    int n = 0;

    if (!isdigit((unsigned char)**p))
        return -1;
    for (; isdigit((unsigned char)**p); (*p)++) {
        n = n * 10 + (**p - '0');
        if (n >= PIPC__CPU_MAX)
            return -1;
    }
    return n;
}

bool pipc__cpuset_from_list(const char *text, hwloc_bitmap_t set)
{
    const char *p = text;

    hwloc_bitmap_zero(set);
    while (*p && !isspace((unsigned char)*p)) {
        int first = cpu_number(&p), last = first;
        if (first >= 0 && *p == '-') {
            p++;
            last = cpu_number(&p);
        }
        if (first < 0 || last < first || hwloc_bitmap_set_range(set, (unsigned int)first, last))
            return false;
        if (*p == ',')
            p++;
        else if (*p && !isspace((unsigned char)*p))
            return false;
    }
    return true;
}

bool pipc__cpuset_from_mask(const char *text, hwloc_bitmap_t set)
{
    size_t n = strcspn(text, " \t\n");
    unsigned int cpu = 0;

    /* From the last digit to the first; commas only group, as the kernel writes 8 digits a group.
     */
    hwloc_bitmap_zero(set);
    while (n-- > 0) {
        int c = tolower((unsigned char)text[n]);
        if (c == ',')
            continue;
        if (!isxdigit(c))
            return false;
        int digit = isdigit(c) ? c - '0' : c - 'a' + 10;
        for (int bit = 0; bit < 4; bit++, cpu++)
            if ((digit >> bit & 1) && (cpu >= PIPC__CPU_MAX || hwloc_bitmap_set(set, cpu)))
                return false;
    }
    return true;
}
