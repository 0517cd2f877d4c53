/* prolog/facts_guest.c - is it a virtual machine? Its ports may be invented, so that nothing on
 * them is a fault. A container on a real machine is none.
 */
#include <string.h>

#include "prolog/facts_parts.h"
#include "runtime/base/file.h"

static bool names_one(const char *text)
{
    static const char *const words[] = {"QEMU",
                                        "KVM",
                                        "VMware",
                                        "VirtualBox",
                                        "HVM domU",
                                        "OpenStack",
                                        "Virtual Machine",
                                        "Bochs",
                                        "Standard PC",
                                        "Google Compute Engine"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

/* What the firmware calls itself. */
static bool firmware_is(const char *root)
{
    char text[128];

    return (pipc__file_line(root, text, sizeof(text), "sys/class/dmi/id/product_name") &&
            names_one(text)) ||
           (pipc__file_line(root, text, sizeof(text), "sys/class/dmi/id/sys_vendor") &&
            names_one(text));
}

/* Devices that hypervisors invent: virtio's, Red Hat's, VMware's, Hyper-V's. */
static bool has_devices(const pipc__scan_t *s)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    int64_t vendor;

    for (int i = 0; i < s->n; i++) {
        pipc__scan_locate(s, &s->dev[i], name, dir);
        if (pipc__file_int(s->root, &vendor, "%s/vendor", dir) &&
            (vendor == 0x1af4 || vendor == 0x1b36 || vendor == 0x15ad || vendor == 0x1414))
            return true;
    }
    return false;
}

/* On x86 the CPU says so itself, and its word is the last. Elsewhere, and in files that were
 * captured without it, firmware and devices have to. */
bool pipc__facts_guest(const pipc__scan_t *scan)
{
    char text[16384]; /* the flags of the first CPU */

    if (pipc__file_read(scan->root, text, sizeof(text), NULL, "proc/cpuinfo") &&
        strstr(text, "flags\t"))
        return strstr(text, " hypervisor") != NULL;
    return firmware_is(scan->root) || has_devices(scan);
}
