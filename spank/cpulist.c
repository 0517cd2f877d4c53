/* spank/cpulist.c - see cpulist.h */
#include "spank/cpulist.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Slurm names what stands before the list: "mask_cpu:", also "threads,mask_cpu:". */
static const char *behind(const char *list, const char *type)
{
    const char *at = strstr(list, type);

    return at ? at + strlen(type) : NULL;
}

static bool read_number(const char *text, size_t len, hwloc_bitmap_t out)
{
    unsigned int cpu = 0;

    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]) || len > 4)
            return false;
        cpu = cpu * 10 + (unsigned int)(text[i] - '0');
    }
    return len > 0 && cpu < PIPC__CPUS_MAX && !hwloc_bitmap_set(out, cpu);
}

static int digit(char c)
{
    const char *at = memchr("0123456789abcdef", tolower((unsigned char)c), 16);

    return at ? (int)(at - "0123456789abcdef") : -1;
}

/* "0x00f0": the last digit holds CPUs 0 to 3. */
static bool read_mask(const char *text, size_t len, hwloc_bitmap_t out)
{
    size_t from = len > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'x' ? 2 : 0;

    if (len - from < 1 || len - from > PIPC__CPUS_MAX / 4)
        return false;
    for (size_t i = from; i < len; i++) {
        int four = digit(text[i]);
        if (four < 0)
            return false;
        for (unsigned int bit = 0; bit < 4; bit++)
            if (four >> bit & 1 && hwloc_bitmap_set(out, (unsigned int)(len - 1 - i) * 4 + bit))
                return false;
    }
    return !hwloc_bitmap_iszero(out);
}

/* The sets of all tasks, or false: one that can't be read leaves all unknown, as a guess for one
 * would move the others. */
static bool read_list(const char *list, int nranks, pipc__cpu_sets_t *out)
{
    const char *masks = behind(list, "mask_cpu:"), *numbers = behind(list, "map_cpu:");
    const char *first = masks ? masks : numbers, *at = first;

    for (; first && out->nranks < nranks; out->nranks++) {
        size_t len = strcspn(at, ",");
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        if (!set || !(masks ? read_mask : read_number)(at, len, set)) {
            hwloc_bitmap_free(set);
            return false;
        }
        out->rank[out->nranks] = set;
        at = at[len] ? at + len + 1 : first;
    }
    return first;
}

static void free_ranks(pipc__cpu_sets_t *sets)
{
    while (sets->nranks > 0)
        hwloc_bitmap_free(sets->rank[--sets->nranks]);
}

pipc_status_t pipc__cpu_sets(const pipc__place_in_t *in, pipc__cpu_sets_t *out, pipc__error_t *err)
{
    bool ok = true;

    memset(out, 0, sizeof(*out));
    out->step = hwloc_bitmap_alloc();
    for (unsigned int i = 0; ok && i < sizeof(in->step_cpus.word) / sizeof(unsigned long); i++)
        ok = out->step && !hwloc_bitmap_set_ith_ulong(out->step, i, in->step_cpus.word[i]);
    if (!ok)
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for a CPU set");
    if (hwloc_bitmap_iszero(out->step)) { /* the kernel did not tell them */
        hwloc_bitmap_free(out->step);
        out->step = NULL;
    }
    if (in->nranks <= PIPC__BIND_MAX && !read_list(in->cpu_list, in->nranks, out))
        free_ranks(out);
    return PIPC_OK;
}

void pipc__cpu_sets_free(pipc__cpu_sets_t *sets)
{
    hwloc_bitmap_free(sets->step);
    sets->step = NULL;
    free_ranks(sets);
}
