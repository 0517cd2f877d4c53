/* exec/path_hint.c - see path_hint.h
 *
 *     /sys/bus/pci/devices/0000:04:00.0 -> .../pci0000:00/0000:00:01.0/0000:02:04.0/0000:04:00.0
 *     /sys/bus/pci/devices/0000:05:00.0 -> .../pci0000:00/0000:00:01.0/0000:02:08.0/0000:05:00.0
 *                                              what both share         what parts them
 *
 * ACS acts on the ports that part the two: with P2P request redirect a downstream port sends what
 * is for its neighbour up to the root, where the IOMMU decides, or nobody does.
 */
#include "runtime/exec/path_hint.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"

#define CONFIG_BYTES 4096
#define EXTENDED 0x100 /* where extended capabilities begin; non-root readers get 64 bytes */
#define CAP_ACS 0x000d
#define ACS_CONTROL 6
#define ACS_REQUEST_REDIRECT 0x04

/* PCI Express Base Specification, 7.6.3 (header of extended capabilities) and 7.7.11 (ACS). */
int pipc__acs_redirects(const unsigned char *config, size_t bytes)
{
    size_t at = EXTENDED;

    if (bytes < EXTENDED + 4)
        return -1;
    /* As many as fit, so that a circle of capabilities ends too. */
    for (int i = 0; i < (CONFIG_BYTES - EXTENDED) / 4; i++) {
        if (at < EXTENDED || at + ACS_CONTROL + 2 > bytes)
            return at ? -1 : 0;
        uint32_t head = (uint32_t)config[at] | (uint32_t)config[at + 1] << 8 |
                        (uint32_t)config[at + 2] << 16 | (uint32_t)config[at + 3] << 24;
        if (head == 0 || head == 0xffffffffu)
            return 0;
        if ((head & 0xffff) == CAP_ACS)
            return (config[at + ACS_CONTROL] & ACS_REQUEST_REDIRECT) != 0;
        at = head >> 20 & 0xffc;
        if (!at)
            return 0;
    }
    return -1;
}

/* The way to a device as sysfs has it, "/pci0000:00/.../0000:04:00.0"; "" when it is not known. */
static void read_way(char way[1024], const char *bdf, const char *root)
{
    char target[1024];
    const char *at = NULL;

    if (pipc__file_link(root, target, sizeof(target), "sys/bus/pci/devices/%s", bdf))
        at = strstr(target, "/pci");
    snprintf(way, 1024, "%s", at ? at : "");
}

static void look_at_bridge(pipc__path_facts_t *f, const char *bdf, const char *root)
{
    unsigned char config[CONFIG_BYTES + 1];
    size_t bytes = 0;

    f->bridges++;
    if (!pipc__file_read(root, (char *)config, sizeof(config), &bytes,
                         "sys/bus/pci/devices/%s/config", bdf))
        bytes = 0;
    int redirects = pipc__acs_redirects(config, bytes);
    f->hidden += redirects < 0;
    if (redirects > 0 && !f->acs[0])
        snprintf(f->acs, sizeof(f->acs), "%s", bdf);
}

/* The bridges of @way behind the part that it shares with @other; the last name is the device. */
static void look_at_way(pipc__path_facts_t *f, const char *way, const char *other, const char *root)
{
    size_t at = 0;

    for (size_t i = 0; way[i] && way[i] == other[i]; i++)
        if (way[i] == '/')
            at = i;
    for (const char *p = way + at; *p == '/' && f->bridges < PIPC__BRIDGES_MAX;) {
        size_t len = strcspn(p + 1, "/");
        char bdf[16] = "";
        if (p[1 + len] == '/' && len < sizeof(bdf) && strncmp(p + 1, "pci", 3) != 0) {
            memcpy(bdf, p + 1, len);
            look_at_bridge(f, bdf, root);
        }
        p += 1 + len;
    }
}

static void look_at_iommu(pipc__path_facts_t *f, const char *bdf, const char *root)
{
    char type[sizeof(f->iommu)];

    if (!f->iommu[0] &&
        pipc__file_line(root, type, sizeof(type), "sys/bus/pci/devices/%s/iommu_group/type", bdf) &&
        !strncmp(type, "DMA", 3))
        memcpy(f->iommu, type, sizeof(type));
}

void pipc__path_facts(pipc__path_facts_t *f, const char *a, const char *b, const char *root)
{
    char way_a[1024], way_b[1024];

    memset(f, 0, sizeof(*f));
    if (!*a || !*b || strchr(a, '/') || strchr(b, '/'))
        return;
    read_way(way_a, a, root);
    read_way(way_b, b, root);
    f->known = way_a[0] && way_b[0];
    if (f->known && strcmp(way_a, way_b) != 0) {
        look_at_way(f, way_a, way_b, root);
        look_at_way(f, way_b, way_a, root);
    }
    look_at_iommu(f, a, root);
    look_at_iommu(f, b, root);
}

const char *pipc__path_hint(const pipc__path_facts_t *f, char *buf, size_t cap)
{
    const char *and = "";

    snprintf(buf, cap, "%s", "");
    if (f->acs[0]) {
        snprintf(buf, cap, "ACS of %s redirects peer traffic", f->acs);
        and = ", ";
    } else if (f->hidden) {
        snprintf(buf, cap, "ACS of %d bridges can be read by root alone", f->hidden);
        and = ", ";
    }
    if (f->iommu[0]) {
        size_t used = strlen(buf);
        snprintf(buf + used, cap - used, "%sthe IOMMU translates (%s)", and, f->iommu);
    }
    return buf;
}
