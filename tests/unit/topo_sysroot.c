/* tests/unit/topo_sysroot.c - see topo_sysroot.h */
#include "tests/unit/topo_sysroot.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/topo_text.h"

char root[64];

int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/pipc-sysfs-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void put_bytes(const char *path, const void *bytes, size_t n)
{
    char full[512];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        if (mkdir(full, 0755) && errno != EEXIST)
            fail_msg("%s: %s", full, strerror(errno));
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

void put_fact(const char *device, const char *file, const char *text)
{
    char path[512];

    snprintf(path, sizeof(path), "sys/devices/%s/%s", device, file);
    put(path, text);
}

static const char *last_part(const char *device)
{
    const char *slash = strrchr(device, '/');

    return slash ? slash + 1 : device;
}

void put_link(const char *name, const char *target)
{
    char path[512];

    put("sys/bus/pci/devices/.keep", "");
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, name);
    assert_int_equal(symlink(target, path), 0);
}

void add(const char *device, const char *class, const char *vendor)
{
    char target[512];

    put_fact(device, "class", class);
    put_fact(device, "vendor", vendor);
    snprintf(target, sizeof(target), "../../../devices/%s", device);
    put_link(last_part(device), target);
}

void put_config(const char *device, int port, int secondary)
{
    unsigned char c[256] = {0xb5, 0x10, 0x97, 0x97};
    char path[512];

    c[0x06] = 0x10;
    c[0x0e] = 0x01;
    c[0x19] = (unsigned char)secondary;
    c[0x34] = 0x40;
    c[0x40] = 0x01; /* power management first: the list has to be walked */
    c[0x41] = 0x68;
    c[0x68] = 0x10;
    c[0x6a] = (unsigned char)((port < 0 ? 0 : port) << 4 | 2);
    snprintf(path, sizeof(path), "sys/devices/%s/config", device);
    put_bytes(path, c, port < 0 ? 64 : 256);
}

void bridge(const char *device, int port)
{
    add(device, BRIDGE);
    put_config(device, port, 0);
}

void numa_node(int n, const char *cpulist)
{
    char path[128];

    snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", n);
    put(path, cpulist);
}

pipc__topo_t *read_root(void)
{
    pipc__topo_t *t;
    pipc__error_t err = {PIPC_OK, ""};

    pipc_status_t st = pipc__topo_sysroot(&t, root, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_well_formed(t);
    return t;
}

const pipc__topo_obj_t *object_at(const pipc__topo_t *t, const char *name)
{
    pipc__pci_addr_t a;

    assert_true(pipc__pci_parse(name, &a));
    int i = pipc__topo_by_addr(t, a);
    return i < 0 ? NULL : &t->objs[i];
}

void assert_root_groups(const char *expected)
{
    pipc__topo_t *t = read_root();

    assert_string_equal(groups_text(t), expected);
    pipc__topo_free(t);
}
