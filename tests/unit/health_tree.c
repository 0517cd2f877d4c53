/* tests/unit/health_tree.c - see health_tree.h */
#include "tests/unit/health_tree.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

char tree[64];

int tree_make(void **state)
{
    (void)state;
    strcpy(tree, "/tmp/pipc-gate-XXXXXX");
    return mkdtemp(tree) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int tree_remove(void **state)
{
    (void)state;
    return nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tree_put(const char *path, const void *bytes, size_t n)
{
    char full[512];

    snprintf(full, sizeof(full), "%s/%s", tree, path);
    for (char *p = full + strlen(tree) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        if (mkdir(full, 0755) && errno != EEXIST)
            fail_msg("%s: %s", full, strerror(errno));
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

void tree_fact(const char *path, const char *file, const char *text)
{
    char full[400];

    snprintf(full, sizeof(full), "sys/devices/pci0000:00/%s/%s", path, file);
    tree_put(full, text, strlen(text));
}

void tree_config(unsigned char c[256], unsigned int vendor, unsigned int class_code,
                 const tree_link_t *l)
{
    memset(c, 0, 256);
    c[0x00] = (unsigned char)vendor, c[0x01] = (unsigned char)(vendor >> 8);
    c[0x02] = 0x34, c[0x03] = 0x12;
    c[0x09] = (unsigned char)class_code, c[0x0a] = (unsigned char)(class_code >> 8);
    c[0x0b] = (unsigned char)(class_code >> 16);
    c[0x0e] = class_code >> 8 == 0x0604;
    c[0x19] = (unsigned char)l->secondary;
    if (l->port < 0)
        return;
    c[0x06] = 0x10;
    c[0x34] = 0x40;
    c[0x40] = 0x01, c[0x41] = 0x60; /* power management first: the list has to be walked */
    c[0x60] = 0x10;
    c[0x62] = (unsigned char)(l->port << 4 | 2);
    c[0x6c] = (unsigned char)(l->max_width << 4 | l->max_gen),
    c[0x6d] = (unsigned char)(l->max_width >> 4);
    c[0x70] = (unsigned char)l->aspm;
    c[0x72] = (unsigned char)(l->width << 4 | l->gen), c[0x73] = (unsigned char)(l->width >> 4);
    c[0x90] = (unsigned char)l->target;
}

void tree_add(const char *path, unsigned int vendor, unsigned int class_code,
              const tree_link_t *link, size_t bytes)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    unsigned char c[256];
    char text[32], full[512], target[512];

    snprintf(text, sizeof(text), "0x%04x\n", vendor);
    tree_fact(path, "vendor", text);
    tree_fact(path, "device", "0x1234\n");
    snprintf(text, sizeof(text), "0x%06x\n", class_code);
    tree_fact(path, "class", text);
    snprintf(full, sizeof(full), "sys/devices/pci0000:00/%s/config", path);
    tree_config(c, vendor, class_code, link);
    tree_put(full, c, bytes);
    snprintf(full, sizeof(full), "%s/sys/devices/pci0000:00/%s/config", tree, path);
    if (!bytes)
        unlink(full);
    tree_put("sys/bus/pci/devices/.keep", "", 0);
    snprintf(full, sizeof(full), "%s/sys/bus/pci/devices/%s", tree, name);
    snprintf(target, sizeof(target), "../../../devices/pci0000:00/%s", path);
    unlink(full);
    assert_int_equal(symlink(target, full), 0);
}

void tree_gpu(int number, int width)
{
    tree_link_t port = {.port = 4,
                        .max_width = 16,
                        .max_gen = 4,
                        .width = width,
                        .gen = 1,
                        .target = 4,
                        .secondary = number};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = width, .gen = 1};
    char path[64];

    snprintf(path, sizeof(path), "0000:00:%02x.0", number);
    tree_add(path, 0x8086, 0x060400, &port, 256);
    snprintf(path, sizeof(path), "0000:00:%02x.0/0000:%02x:00.0", number, number);
    tree_add(path, 0x10de, 0x030200, &gpu, 256);
}

void tree_is_valid(const char *path, const char *definition)
{
    const char *top = getenv("PIPC_SRCDIR");
    char command[1024], said[1024];

    if (!top)
        return; /* make check says where the schema is */
    snprintf(
        command, sizeof(command),
        "python3 %s/tests/unit/health_schema.py %s/doc/pcie-ipc-health.schema.json %s <%s 2>&1",
        top, top, definition, path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
    if (pclose(f))
        fail_msg("%s: %s", path, said);
}
