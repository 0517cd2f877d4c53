/* tests/fuzz/health_sysfs.c - the files of a machine's sysfs, as a sick device or a captured folder
 * may have them: read as people's check reads them, and judged
 *
 * The tree stands: a root port, a GPU with a sound function and a NIC. The input is what else than
 * in a healthy machine is in the files: a byte that names one, a byte for how much follows (in
 * units of 16), and that much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prolog/judge.h"

#define UNIT 16
#define FILES_MAX 64
#define PCI "sys/bus/pci/devices"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char root[64];
static struct {
    int fd;
    bool changed;
    unsigned char well[512]; /* what a healthy machine has */
    size_t bytes;
} file[FILES_MAX];
static int files;

static void folder(const char *fmt, const char *a, const char *b)
{
    char path[256];
    int at = snprintf(path, sizeof(path), "%s/", root);

    snprintf(path + at, sizeof(path) - (size_t)at, fmt, a, b);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
}

/* A file of the tree that is memory. */
static void memory(const char *fmt, const char *a, const char *b)
{
    char path[256], target[64];
    int at = snprintf(path, sizeof(path), "%s/", root);

    folder(fmt, a, b);
    snprintf(path + at, sizeof(path) - (size_t)at, fmt, a, b);
    file[files].fd = memfd_create("file", MFD_CLOEXEC);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", file[files].fd);
    if (files == FILES_MAX || file[files++].fd < 0 || symlink(target, path))
        abort();
}

/* What the file made last has while nothing else is said. */
static void healthy(const void *bytes, size_t n)
{
    memcpy(file[files - 1].well, bytes, n);
    file[files - 1].bytes = n;
    file[files - 1].changed = true;
}

/* Express at 0x40, x16; then power management; ACS, BARs and errors' status behind byte 256 */
static void healthy_config(unsigned char port)
{
    unsigned char c[512] = {[0x06] = 0x10, [0x34] = 0x40, [0x40] = 0x10, [0x41] = 0x80};

    c[0x0e] = port == 4;
    c[0x19] = port == 4;
    c[0x42] = (unsigned char)(port << 4 | 2);
    c[0x4c] = 0x04, c[0x4d] = 0x01;
    c[0x52] = 0x04, c[0x53] = 0x01;
    c[0x80] = 0x01;
    c[0x100] = 0x0d, c[0x102] = 0x01, c[0x103] = 0x12;
    c[0x120] = 0x15, c[0x122] = 0x01, c[0x123] = 0x14;
    c[0x125] = 0xff, c[0x128] = 0x20, c[0x129] = 0x08;
    c[0x140] = 0x01, c[0x142] = 0x01;
    healthy(c, sizeof(c));
}

static void healthy_device(size_t device, const char *name)
{
    static const char *const classes[] = {"0x060400\n", "0x030200\n", "0x040300\n", "0x020000\n"};

    if (strcmp(name, "vendor") == 0)
        healthy("0x10de\n", 7);
    else if (strcmp(name, "class") == 0)
        healthy(classes[device], 9);
    else if (strcmp(name, "config") == 0)
        healthy_config(device == 0 ? 4 : 0);
}

static void make_tree(void)
{
    static const char *const devices[] = {"0000:00:01.0", "0000:01:00.0", "0000:01:00.1",
                                          "0000:02:00.0"};
    static const char *const names[] = {
        "vendor",
        "device",
        "class",
        "config",
        "resource",
        "aer_dev_correctable",
        "aer_dev_fatal",
        "power_state",
        "power/runtime_status",
        "current_link_width",
        "current_link_speed",
        "max_link_width",
        "max_link_speed",
        "numa_node",
    };
    char path[256];

    snprintf(root, sizeof(root), "%.40s/fuzz-sysfs.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(root))
        abort();
    for (size_t d = 0; d < COUNT(devices); d++)
        for (size_t n = 0; n < COUNT(names); n++) {
            memory(PCI "/%s/%s", devices[d], names[n]);
            healthy_device(d, names[n]);
        }
    memory("proc/cpuinfo", "", "");
    memory("sys/module/pcie_aspm/parameters/policy", "", "");
    memory("sys/kernel/iommu_groups/7/type", "", "");
    memory("kmsg", "", "");
    folder("sys/bus/pci_express/drivers/aer/0000:00:01.0:pcie002/", "", "");
    snprintf(path, sizeof(path), "%s/" PCI "/0000:01:00.0/iommu_group", root);
    if (symlink("../../../../kernel/iommu_groups/7", path))
        abort();
}

static void fill(const unsigned char *data, size_t size)
{
    for (int i = 0; i < files; i++) {
        if (file[i].changed &&
            (ftruncate(file[i].fd, 0) || pwrite(file[i].fd, file[i].well, file[i].bytes, 0) < 0))
            abort();
        file[i].changed = false;
    }
    while (size > 2) {
        int which = data[0] % files;
        size_t n = ((size_t)data[1] + 1) * UNIT;
        data += 2, size -= 2;
        n = n < size ? n : size;
        if (ftruncate(file[which].fd, 0) || pwrite(file[which].fd, data, n, 0) != (ssize_t)n)
            abort();
        file[which].changed = true;
        data += n, size -= n;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t findings = {.n = 0};
    pipc__facts_t facts = {.n = 0};

    if (files == 0)
        make_tree();
    fill(data, size);
    if (!pipc__facts_sysfs(&facts, root, size % 2 ? PIPC__LOOK_ALL : PIPC__LOOK_LINKS, NULL))
        pipc__judge(&facts, &limits, &findings, NULL);
    pipc__findings_free(&findings);
    pipc__facts_free(&facts);
    return 0;
}
