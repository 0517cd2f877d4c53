/* spank/gpulist.c - see gpulist.h */
#include "spank/gpulist.h"

#include <ctype.h>
#include <string.h>

static bool before(const pipc__topo_t *topo, int a, int b)
{
    const pipc__pci_addr_t x = topo->objs[a].addr, y = topo->objs[b].addr;

    if (x.domain != y.domain)
        return x.domain < y.domain;
    if (x.bus != y.bus)
        return x.bus < y.bus;
    if (x.device != y.device)
        return x.device < y.device;
    return x.function < y.function;
}

int pipc__gpulist_granted(const pipc__topo_t *topo, uint64_t minors, int *out)
{
    int n = 0;

    for (int minor = 0; minor < PIPC__MINORS; minor++) {
        if (!(minors >> minor & 1))
            continue;
        int gpu = pipc__topo_gpu_by_minor(topo, minor), at = n++;
        if (gpu < 0)
            return PIPC__UNKNOWN;
        for (; at > 0 && before(topo, gpu, out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = gpu;
    }
    return n;
}

/* A plain decimal below @n. No sign, no blank, no 0x: CUDA takes some of these, Slurm writes none
 * of them, and whoever did knew what he wanted. */
static int entry_index(const char *text, int len, int n)
{
    int value = 0;

    if (len < 1 || len > 3)
        return PIPC__UNKNOWN;
    for (int i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return PIPC__UNKNOWN;
        value = value * 10 + (text[i] - '0');
    }
    return value < n ? value : PIPC__UNKNOWN;
}

/* "GPU-..." or the first part of one, as CUDA allows, when only one granted GPU has it. */
static int entry_uuid(const pipc__topo_t *topo, const char *text, int len, const int *granted,
                      int n)
{
    int found = PIPC__UNKNOWN;

    if (len <= 4 || strncmp(text, "GPU-", 4))
        return PIPC__UNKNOWN;
    for (int i = 0; i < n; i++) {
        if (strncmp(topo->objs[granted[i]].uuid, text, (size_t)len))
            continue;
        if (found >= 0)
            return PIPC__UNKNOWN;
        found = granted[i];
    }
    return found;
}

static int entry_gpu(const pipc__topo_t *topo, const char *text, int len, const int *granted, int n)
{
    int index;

    if (len > 0 && !isdigit((unsigned char)text[0]))
        return entry_uuid(topo, text, len, granted, n);
    index = entry_index(text, len, n);
    return index < 0 ? PIPC__UNKNOWN : granted[index];
}

static bool shows_nothing(const char *text)
{
    return !*text || !strcmp(text, "NoDevFiles") || !strcmp(text, "-1");
}

static int count_entries(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* Does gpu[at] stand earlier in the list? CUDA shows no device at all then. */
static bool stands_twice(const pipc__gpulist_t *list, int at)
{
    for (int i = 0; i < at; i++)
        if (list->gpu[i] == list->gpu[at])
            return true;
    return false;
}

static bool read_entries(const pipc__topo_t *topo, const pipc__view_t *view, pipc__gpulist_t *list)
{
    int granted[PIPC__MINORS], n = pipc__gpulist_granted(topo, view->minors, granted);
    const char *text = view->list;

    if (n < 0 || list->count > PIPC__BIND_MAX)
        return false;
    for (int i = 0; i < list->count; i++) {
        int len = (int)strcspn(text, ",");
        list->text[i] = text;
        list->len[i] = len;
        list->gpu[i] = entry_gpu(topo, text, len, granted, n);
        /* One kind in a list: what CUDA does with a mixed one is not documented. */
        if (list->gpu[i] < 0 || stands_twice(list, i) ||
            !isdigit((unsigned char)*text) != !isdigit((unsigned char)*view->list))
            return false;
        text += len + 1;
    }
    return true;
}

void pipc__gpulist_read(const pipc__topo_t *topo, const pipc__view_t *view, pipc__gpulist_t *list)
{
    list->count = 0;
    list->kind = PIPC__LIST_ABSENT;
    if (!view->listed)
        return;
    list->kind = PIPC__LIST_NONE;
    if (shows_nothing(view->list))
        return;
    list->count = count_entries(view->list);
    list->kind = read_entries(topo, view, list) ? PIPC__LIST_KNOWN : PIPC__LIST_OPAQUE;
}

bool pipc__gpulist_write(const pipc__gpulist_t *list, const int *order, char *buf, size_t cap)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int i = 0; i < list->count; i++) {
        int e = 0;
        while (e < list->count && list->gpu[e] != order[i])
            e++;
        if (e == list->count || used + (size_t)list->len[e] + 2 > cap) {
            buf[0] = '\0';
            return false;
        }
        if (i > 0)
            buf[used++] = ',';
        memcpy(buf + used, list->text[e], (size_t)list->len[e]);
        used += (size_t)list->len[e];
        buf[used] = '\0';
    }
    return true;
}
