/* tests/unit/health_dumps.c - facts from dumps of config space (lspci -xxx): of machines, guests
 * and single devices; quoted, cut, damaged and hostile ones
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/health_found.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char dump[96];

/* One device of a dump. */
static void dump_device(FILE *f, const char *first_line, const unsigned char *c, size_t n)
{
    fprintf(f, "%s\n", first_line);
    for (size_t at = 0; at < n; at += 16) {
        fprintf(f, "%02zx:", at);
        for (size_t i = at; i < at + 16 && i < n; i++)
            fprintf(f, " %02x", c[i]);
        fprintf(f, "\n");
    }
    fprintf(f, "\n");
}

static FILE *open_dump(void)
{
    snprintf(dump, sizeof(dump), "%s/dump", tree);
    FILE *f = fopen(dump, "w");
    assert_non_null(f);
    return f;
}

static void assert_dump(const char *want)
{
    char out[2048];

    assert_string_equal(found(dump, out, sizeof(out)), want);
}

static void a_dump_is_a_machine(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4, .secondary = 0x41};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4};
    unsigned char c[256], ones[256];

    (void)state;
    memset(ones, 0xff, sizeof(ones));
    FILE *f = open_dump();
    tree_config(c, 0x8086, 0x060400, &port);
    dump_device(f, "40:01.0 PCI bridge: Intel Corporation", c, 256);
    tree_config(c, 0x10de, 0x030200, &gpu);
    dump_device(f, "41:00.0 3D controller: NVIDIA Corporation (rev a1)", c, 256);
    fclose(f);
    assert_dump("drain 0000:41:00.0:PCI001");

    f = fopen(dump, "a");
    dump_device(f, "0000:42:00.0 VGA compatible controller: NVIDIA Corporation GA102 (rev ff)",
                ones, 64);
    dump_device(f, "0000:43:00.0 VGA compatible controller: ASPEED Technology (rev ff)", ones, 64);
    dump_device(f, "0000:44:00.0 Audio device: NVIDIA Corporation (rev ff)", ones, 64);
    fclose(f);
    assert_dump("drain 0000:41:00.0:PCI001 0000:42:00.0:PCI002");
}

/* All ones: what it is its first line alone says, in numbers or in words. */
static void dump_of_lost_devices(void **state)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"41:00.0 3D controller: NVIDIA Corporation (rev ff) (prog-if ff)",
         "drain 0000:41:00.0:PCI002"},
        {"41:00.0 0302: 10de:20f1 (rev ff)", "drain 0000:41:00.0:PCI002"},
        {"41:00.0 Class 0302: Device 10de:20f1 (rev ff)", "drain 0000:41:00.0:PCI002"},
        {"41:00.0 Co-processor [0b40]: NVIDIA Corporation [10de:20f1] (rev ff)",
         "drain 0000:41:00.0:PCI002"},
        {"41:00.0 Display controller [0380]: Moore Threads [1ed5:0222] (rev ff)",
         "drain 0000:41:00.0:PCI002"},
        {"41:00.0 0300: 1a03:2000 (rev ff)", "note node:PCI013"},
        {"41:00.0 VGA compatible controller [0300]: ASPEED [1a03:2000] (rev ff)",
         "note node:PCI013"},
        {"41:00.0 0403: 10de:10f2 (rev ff)", "note node:PCI013"},
        {"41:00.0 0207: 15b3:1021 (rev ff)", "warn 0000:41:00.0:PCI002 node:PCI013"},
        {"41:00.0 Ethernet controller: Mellanox (rev ff)", "warn 0000:41:00.0:PCI002 node:PCI013"},
        {"41:00.0 0604: 8086:2030 (rev ff)", "warn 0000:41:00.0:PCI002 node:PCI013"},
        {"41:00.0 PCI bridge: Intel Corporation (rev ff)", "warn 0000:41:00.0:PCI002 node:PCI013"},
        {"41:00.0 ]: [0302", "note node:PCI013"},
    };
    unsigned char ones[256];

    (void)state;
    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < COUNT(cases); i++) {
        FILE *f = open_dump();
        dump_device(f, cases[i].line, ones, i % 2 ? 64 : 256);
        fclose(f);
        assert_dump(cases[i].want);
    }
}

/* The port is invented where other devices are. */
static void dump_of_a_guest(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4, .secondary = 0x41};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4};
    tree_link_t none = {.port = -1};
    unsigned char c[256];

    (void)state;
    for (int guest = 0; guest < 2; guest++) {
        FILE *f = open_dump();
        tree_config(c, 0x8086, 0x060400, &port);
        dump_device(f, "40:01.1 PCI bridge", c, 256);
        tree_config(c, 0x10de, 0x030200, &gpu);
        dump_device(f, "41:00.0 3D controller: NVIDIA", c, 256);
        tree_config(c, 0x1af4, 0x010000, &none);
        if (guest)
            dump_device(f, "00:05.0 SCSI storage controller: Red Hat", c, 64);
        fclose(f);
        assert_dump(guest ? "unknown 0000:41:00.0:PCI008" : "drain 0000:41:00.0:PCI001");
    }
}

/* The same, indented, and in a mail. */
static void a_dump_that_is_quoted(void **state)
{
    static const char *const quotes[] = {"    ", "> ", ">> ", "> > "};
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4, .secondary = 0x41};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4};
    unsigned char c[256];

    (void)state;
    for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
        char *text = NULL, *save = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        assert_non_null(f);
        tree_config(c, 0x8086, 0x060400, &port);
        dump_device(f, "40:01.0 PCI bridge: Intel Corporation", c, 256);
        tree_config(c, 0x10de, 0x030200, &gpu);
        dump_device(f, "41:00.0 3D controller: NVIDIA Corporation (rev a1)", c, 256);
        fclose(f);
        f = open_dump();
        fprintf(f, "On Monday at 10:20 somebody wrote 1.5 times:\n");
        for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
            fprintf(f, "%s%s\n", quotes[i], l);
        fclose(f);
        free(text);
        assert_dump("drain 0000:41:00.0:PCI001");
    }
}

/* A disk's port is no matter of GPUs; the same port without the disk in the dump may be. */
static void dump_of_a_disk(void **state)
{
    tree_link_t port = {.port = 4,
                        .max_width = 4,
                        .max_gen = 3,
                        .width = 4,
                        .gen = 3,
                        .secondary = 0x41,
                        .aspm = 2};
    tree_link_t disk = {.port = 0, .max_width = 4, .max_gen = 3, .width = 4, .gen = 3};
    unsigned char c[256];

    (void)state;
    FILE *f = open_dump();
    tree_config(c, 0x8086, 0x060400, &port);
    dump_device(f, "40:01.0 PCI bridge: Intel Corporation", c, 256);
    fclose(f);
    assert_dump("warn 0000:40:01.0:PCI005 node:PCI013");
    f = fopen(dump, "a");
    assert_non_null(f);
    tree_config(c, 0x144d, 0x010802, &disk);
    dump_device(f, "41:00.0 Non-Volatile memory controller: Samsung", c, 256);
    fclose(f);
    assert_dump("note node:PCI013");
}

/* Graphics in the processor have no link, old ones not even the capability, and are no GPU. */
static void dump_of_integrated_graphics(void **state)
{
    tree_link_t none = {.port = -1};
    unsigned char c[256];

    (void)state;
    tree_config(c, 0x8086, 0x030000, &none);
    for (int bus = 0; bus < 4; bus += 3) {
        FILE *f = open_dump();
        dump_device(f,
                    bus ? "03:02.0 VGA compatible controller: Intel Corporation"
                        : "00:02.0 VGA compatible controller: Intel Corporation",
                    c, 256);
        fclose(f);
        assert_dump(bus ? "unknown 0000:03:02.0:PCI009 0000:03:02.0:PCI012" : "note node:PCI013");
    }
}

/* A dump of a healthy machine that ends anywhere says less, and never that it is sick. */
static void a_dump_cut_anywhere(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1, .secondary = 0x41};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1};
    unsigned char c[256];
    char out[2048];

    (void)state;
    FILE *f = open_dump();
    tree_config(c, 0x8086, 0x060400, &port);
    dump_device(f, "40:01.0 PCI bridge: Intel Corporation", c, 256);
    tree_config(c, 0x10de, 0x030200, &gpu);
    dump_device(f, "41:00.0 3D controller: NVIDIA Corporation (rev a1)", c, 256);
    long size = ftell(f);
    fclose(f);
    assert_dump("note 0000:41:00.0:PCI003");
    for (long n = size - 1; n > 0; n -= 13) {
        assert_int_equal(truncate(dump, n), 0);
        found(dump, out, sizeof(out));
        if (strstr(out, "drain") || strstr(out, "warn"))
            fail_msg("cut to %ld bytes: %s", n, out);
    }
}

/* Of a card's sound function alone no more can be told than that it sleeps. */
static void dump_of_a_sound_function(void **state)
{
    tree_link_t sound = {
        .port = 0, .max_width = 16, .max_gen = 3, .width = 16, .gen = 1, .aspm = 3};
    unsigned char c[256];

    (void)state;
    for (int vendor = 0; vendor < 2; vendor++) {
        FILE *f = open_dump();
        tree_config(c, vendor ? 0x10de : 0x8086, 0x040300, &sound);
        c[0x44] = 3; /* D3 */
        dump_device(f, "00:05.0 Audio device: somebody's", c, 256);
        fclose(f);
        assert_dump(vendor ? "unknown 0000:00:05.0:PCI010 node:PCI013 0000:00:05.0:PCI005"
                           : "note node:PCI013");
    }
}

static void hostile_dumps(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "nothing of the kind\n",
        "41:00.0\n",
        "41:00.0 VGA compatible controller: NVIDIA\n00: de 10\n",
        "41:00.0 x\n10: 00 00\n00: zz\n",
        "zz:00.0 x\n00: de 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n",
        "123456789:00:00.0 x\n00: de 10\n",
        "41:00.0 x\nffffffffffffffffffff: 00\n-1: 00\n00: -1 0x +2\n",
        "41:00.0 x\n00: de 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00 11 22 33 44\n",
        "../../../../tmp/x:00.0 x\n00: de 10\n",
        "41:00.0 ../../etc/passwd:.\n00: de\n",
    };
    char out[2048];

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        FILE *f = open_dump();
        fputs(texts[i], f);
        fclose(f);
        found(dump, out, sizeof(out));
        if (strstr(out, "drain"))
            fail_msg("\"%s\" is a drain", texts[i]);
    }
}

/* Bytes at random, with the words that matter among them, and true dumps that are damaged. */
static void noise(void **state)
{
    static const char *const words[] = {"41:00.0 VGA compatible controller: NVIDIA\n",
                                        "00: ",
                                        "10: ",
                                        "ff ",
                                        "10 ",
                                        "\n",
                                        "3f0: ",
                                        "0000:41:00.0 ",
                                        ":",
                                        "."};
    char out[4096];
    uint32_t r = 1;

    (void)state;
    for (int round = 0; round < 100; round++) {
        FILE *f = open_dump();
        for (int i = 0; i < 400; i++) {
            r = r * 1664525u + 1013904223u;
            if (r >> 30 == 0)
                fputc((int)(r >> 8 & 0xff), f);
            else
                fputs(words[(r >> 16) % COUNT(words)], f);
        }
        fclose(f);
        found(dump, out, sizeof(out));
    }
}

/* Bridges that lead to each other, capabilities that do, a dump of more than there may be. */
static void loops_and_sizes(void **state)
{
    tree_link_t a = {.port = 4, .max_width = 16, .max_gen = 4, .secondary = 2};
    tree_link_t b = {.port = 5, .max_width = 16, .max_gen = 4, .secondary = 1};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4};
    unsigned char c[256];
    char name[64], out[4096];

    (void)state;
    FILE *f = open_dump();
    tree_config(c, 0x8086, 0x060400, &a);
    dump_device(f, "01:00.0 PCI bridge", c, 256);
    tree_config(c, 0x8086, 0x060400, &b);
    dump_device(f, "02:00.0 PCI bridge", c, 256);
    tree_config(c, 0x10de, 0x030200, &gpu);
    c[0x41] = 0x40;
    dump_device(f, "02:01.0 3D controller: NVIDIA", c, 256);
    fclose(f);
    found(dump, out, sizeof(out));
    assert_null(strstr(out, "drain"));

    f = open_dump();
    memset(c, 0, sizeof(c));
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "%04x:%02x:%02x.%x x", i >> 16, i >> 8 & 0xff, i >> 3 & 0x1f,
                 i & 7);
        dump_device(f, name, c, 64);
    }
    fclose(f);
    found(dump, out, sizeof(out));
    assert_string_equal(out, "note node:PCI013");

    snprintf(dump, sizeof(dump), "%s/fifo", tree);
    assert_int_equal(mkfifo(dump, 0600), 0);
    assert_dump("unknown node:PCI014"); /* and does not hang */
    snprintf(dump, sizeof(dump), "/dev/zero");
    assert_dump("unknown node:PCI014");
    snprintf(dump, sizeof(dump), "%s", tree);
    assert_dump("unknown node:PCI014");
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(a_dump_is_a_machine), IN_TREE(dump_of_lost_devices),
        IN_TREE(dump_of_a_guest),     IN_TREE(a_dump_that_is_quoted),
        IN_TREE(dump_of_a_disk),      IN_TREE(dump_of_integrated_graphics),
        IN_TREE(a_dump_cut_anywhere), IN_TREE(dump_of_a_sound_function),
        IN_TREE(hostile_dumps),       IN_TREE(noise),
        IN_TREE(loops_and_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
