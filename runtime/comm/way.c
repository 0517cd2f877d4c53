/* comm/way.c - see way.h
 *
 * sysfs has the chain of bridges as the target of a link:
 *
 *     /sys/bus/pci/devices/0000:04:00.0 ->
 *       ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:04:00.0
 *                        host bridge  root port  switch up   switch down   the GPU
 *
 *     way: numa0/0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0
 *
 * Every bridge stays in the way: one that leads to one GPU alone is in no other rank's way, and
 * sets nothing apart. The plugin, which reads the whole tree, leaves such out.
 */
#include "runtime/comm/way.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"

#define TARGET_BYTES 1024

/* Append "/@name" as a whole or not at all. A way that is cut at its inner end still tells of the
 * outer switches. */
static bool append(char way[PIPC__WAY_TEXT], const char *name, size_t len)
{
    size_t used = strlen(way);

    if (used + 1 + len >= PIPC__WAY_TEXT)
        return false;
    way[used] = '/';
    memcpy(way + used + 1, name, len);
    way[used + 1 + len] = '\0';
    return true;
}

static void read_node(char way[PIPC__WAY_TEXT], const char *bdf, const char *root)
{
    int64_t node;

    if (pipc__file_int(root, &node, "sys/bus/pci/devices/%s/numa_node", bdf) && node >= 0)
        snprintf(way, PIPC__WAY_TEXT, "numa%lld", (long long)node);
    else
        snprintf(way, PIPC__WAY_TEXT, "numa?");
}

static void read_chain(char way[PIPC__WAY_TEXT], const char *bdf, const char *root)
{
    char target[TARGET_BYTES];
    const char *at;

    way[0] = '\0';
    if (!pipc__file_link(root, target, sizeof(target), "sys/bus/pci/devices/%s", bdf))
        return;
    at = strstr(target, "/pci");
    if (!at)
        return;
    read_node(way, bdf, root);
    at += strlen("/pci");
    for (const char *end; (end = strchr(at, '/'));
         at = end + 1) /* the last one is the GPU itself */
        if (!append(way, at, (size_t)(end - at)))
            return;
}

void pipc__way_find(char way[PIPC__WAY_TEXT], const char *bdf, const char *root,
                    pipc__getenv_t lookup)
{
    const char *told = lookup("PCIE_IPC_WAY"), *whose = lookup("PCIE_IPC_BDF");

    if (told && *told && (!*bdf || !whose || !*whose || !strcmp(bdf, whose)))
        snprintf(way, PIPC__WAY_TEXT, "%s", told);
    else if (*bdf)
        read_chain(way, bdf, root);
    else
        way[0] = '\0';
}
