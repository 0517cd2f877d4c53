/* tests/unit/health_facts.c - facts from captured machines: links, switches, counters, guests;
 * files that are not what they should be
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <pci/pci.h>

#include "tests/unit/health_found.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Of the tree as people look at it. */
static void assert_all(const char *want)
{
    char out[2048];

    judged((pipc__machine_t){.sysroot = tree, .all = true}, out, sizeof(out));
    assert_string_equal(out, want);
}

static void assert_found(const char *want)
{
    char out[2048];

    assert_string_equal(found(NULL, out, sizeof(out)), want);
}

static void idle_and_narrow(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    assert_found("note 0000:01:00.0:PCI003");
    tree_gpu(2, 8);
    assert_found("drain 0000:02:00.0:PCI001 0000:01:00.0:PCI003 0000:02:00.0:PCI003");
}

static void lost_and_asleep(void **state)
{
    static const char gpu[] = "0000:00:01.0/0000:01:00.0";
    unsigned char ones[256];

    (void)state;
    tree_gpu(1, 16);
    memset(ones, 0xff, sizeof(ones));
    tree_put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config", ones, sizeof(ones));
    assert_found("drain 0000:01:00.0:PCI002");
    tree_fact(gpu, "power_state", "D3cold\n");
    tree_fact(gpu, "power/runtime_status", "active\n"); /* on, says the kernel, and it is not */
    assert_found("drain 0000:01:00.0:PCI002");
    tree_fact(gpu, "power/runtime_status", "suspended\n");
    assert_found("unknown 0000:01:00.0:PCI010");
}

static void virtual_functions_are_no_gpus(void **state)
{
    unsigned char c[256];
    tree_link_t none = {.port = -1};

    (void)state;
    tree_gpu(1, 16);
    tree_add("0000:00:01.0/0000:01:00.4", 0x10de, 0x030200, &none, 0);
    tree_fact("0000:00:01.0/0000:01:00.4", "physfn/vendor", "0x10de\n");
    tree_config(c, 0xffff, 0x030200, &none);
    c[2] = c[3] = 0xff;
    tree_put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.4/config", c, sizeof(c));
    assert_found("note 0000:01:00.0:PCI003");
}

static void header_of_config_space_only(void **state)
{
    static const char *const path[] = {"0000:00:01.0", "0000:00:01.0/0000:01:00.0"};
    tree_link_t port = {.port = 4, .secondary = 1}, gpu = {.port = 0};

    (void)state;
    tree_add(path[0], 0x8086, 0x060400, &port, 64);
    tree_add(path[1], 0x10de, 0x030200, &gpu, 64);
    assert_found("unknown 0000:01:00.0:PCI009 0000:01:00.0:PCI012");
    for (size_t i = 0; i < COUNT(path); i++) {
        tree_fact(path[i], "max_link_width", "16\n");
        tree_fact(path[i], "current_link_width", "8\n");
        tree_fact(path[i], "max_link_speed", "16.0 GT/s PCIe\n");
        tree_fact(path[i], "current_link_speed", "Unknown speed\n");
    }
    assert_found("drain 0000:01:00.0:PCI001 0000:01:00.0:PCI012");
    for (size_t i = 0; i < COUNT(path); i++)
        tree_fact(path[i], "current_link_width", "16\n");
    assert_found("note 0000:01:00.0:PCI012");
}

/* A whole config space: the first 256 bytes as tree_config() makes them, then ACS and AER. */
static void put_whole(const char *path, unsigned int vendor, unsigned int class_code,
                      const tree_link_t *link, unsigned char acs, unsigned int corrected)
{
    unsigned char c[4096] = {0};
    char file[256];

    tree_config(c, vendor, class_code, link);
    c[0x100] = 0x0d, c[0x102] = 0x01, c[0x103] = 0x20; /* next: 0x200 */
    c[0x106] = acs;
    c[0x200] = 0x01, c[0x202] = 0x01;
    c[0x210] = (unsigned char)corrected, c[0x211] = (unsigned char)(corrected >> 8);
    snprintf(file, sizeof(file), "sys/devices/pci0000:00/%s/config", path);
    tree_put(file, c, sizeof(c));
}

/* Two GPUs, each below a root port of its own, so that both are between them. */
static void acs_between_gpus(void **state)
{
    tree_link_t port = {.port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4};

    (void)state;
    for (int i = 1; i <= 2; i++)
        tree_gpu(i, 16);
    for (int acs = 0; acs <= 0x1f; acs++) {
        for (int i = 1; i <= 2; i++) {
            char path[32];
            snprintf(path, sizeof(path), "0000:00:%02x.0", i);
            port.secondary = i;
            put_whole(path, 0x8086, 0x060400, &port, (unsigned char)acs, 0);
        }
        assert_all(acs & ~3 ? "warn 0000:00:01.0:PCI015 0000:00:02.0:PCI015" : "ok");
    }
    assert_found("ok"); /* a prolog does not look there */
}

/* One GPU: its port is between it and no other. */
static void acs_of_one_gpu(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .secondary = 1};

    (void)state;
    tree_gpu(1, 16);
    put_whole("0000:00:01.0", 0x8086, 0x060400, &port, 0x1d, 0);
    assert_all("ok");
}

#define SWITCH "0000:00:01.0/0000:01:00.0"

/* A switch with a GPU, its sound function, and a NIC, which is narrow and had to replay; another
 * NIC elsewhere is as bad, and none of the gate's business. */
static void beside_a_gpu(void **state)
{
    tree_link_t port = {.port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4};
    tree_link_t end = port, nic = port;

    (void)state;
    end.port = 0;
    nic.port = 0, nic.width = 8;
    port.secondary = 1;
    tree_add("0000:00:01.0", 0x8086, 0x060400, &port, 256);
    port.port = 5, port.secondary = 2;
    tree_add(SWITCH, 0x10b5, 0x060400, &port, 256);
    port.port = 6, port.secondary = 3;
    tree_add(SWITCH "/0000:02:00.0", 0x10b5, 0x060400, &port, 256);
    tree_add(SWITCH "/0000:02:00.0/0000:03:00.0", 0x10de, 0x030200, &end, 256);
    tree_add(SWITCH "/0000:02:00.0/0000:03:00.1", 0x10de, 0x040300, &end, 256);
    put_whole(SWITCH "/0000:02:00.0/0000:03:00.1", 0x10de, 0x040300, &end, 0, 0x1000);
    port.secondary = 4, port.width = 8;
    tree_add(SWITCH "/0000:02:01.0", 0x10b5, 0x060400, &port, 256);
    tree_add(SWITCH "/0000:02:01.0/0000:04:00.0", 0x15b3, 0x020000, &nic, 256);
    put_whole(SWITCH "/0000:02:01.0/0000:04:00.0", 0x15b3, 0x020000, &nic, 0, 0x1000);
    port.port = 4, port.secondary = 9;
    tree_add("0000:00:09.0", 0x8086, 0x060400, &port, 256);
    tree_add("0000:00:09.0/0000:09:00.0", 0x15b3, 0x020000, &nic, 256);
    put_whole("0000:00:09.0/0000:09:00.0", 0x15b3, 0x020000, &nic, 0, 0x1000);
    assert_all("warn 0000:04:00.0:PCI001 0000:04:00.0:PCI016 0000:03:00.1:PCI016");
    assert_found("ok");
}

/* What the kernel counted says nothing of a rate; on a port without a GPU it says nothing at all.
 */
static void counters(void **state)
{
    tree_link_t port = {.port = 4, .max_width = 16, .max_gen = 4, .width = 0, .gen = 1};

    (void)state;
    tree_gpu(1, 16);
    tree_add("0000:00:05.0", 0x8086, 0x060400, &port, 256);
    tree_fact("0000:00:05.0", "aer_dev_correctable", "BadTLP 3\nTOTAL_ERR_COR 3\n");
    tree_fact("0000:00:01.0", "aer_dev_correctable",
              "RxErr 0\nBadTLP 0\nNonFatalErr 9\nTOTAL_ERR_COR 9\n");
    assert_all("note 0000:01:00.0:PCI003");
    tree_fact("0000:00:01.0", "aer_dev_correctable",
              "RxErr 0\nBadTLP 2\nTimeout 40000000000\nNonFatalErr 9\n");
    assert_all("note 0000:00:01.0:PCI017 0000:01:00.0:PCI003");
    tree_fact("0000:00:01.0", "aer_dev_correctable", "BadTLP 0\n");
    tree_fact("0000:00:01.0", "aer_dev_nonfatal", "DLP 0\nUnsupReq 8\nTOTAL_ERR_NONFATAL 8\n");
    assert_all("note 0000:01:00.0:PCI003");
    tree_fact("0000:00:01.0", "aer_dev_fatal", "Undefined 0\nDLP 0\nSDES 1\nTOTAL_ERR_FATAL 1\n");
    assert_all("note 0000:00:01.0:PCI017 0000:01:00.0:PCI003");
    tree_fact("0000:00:01.0", "aer_dev_fatal", "SDES 999999999999999999\nDLP 999999999999999999\n");
    assert_all("note 0000:00:01.0:PCI017 0000:01:00.0:PCI003");
    tree_fact("0000:00:01.0", "aer_dev_fatal", "\n");
    tree_fact("0000:00:01.0", "aer_dev_correctable", "BadTLP -1\nBadTLP\n\xff\xfe 77\n");
    assert_all("note 0000:01:00.0:PCI003");
    assert_found("note 0000:01:00.0:PCI003");
}

static void guests(void **state)
{
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 8, .gen = 1};

    (void)state;
    tree_put("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf\n", 29);
    tree_add("0000:00:0a.0", 0x10de, 0x030200, &gpu, 256);
    assert_found("unknown 0000:00:0a.0:PCI008 0000:00:0a.0:PCI003");
    tree_add("0000:00:0a.0", 0x10de, 0x030200, &gpu, 0);
    assert_found("unknown 0000:00:0a.0:PCI009");
}

/* Where no CPU says it, firmware or devices do; where one says that it is none, they don't count.
 */
static void guests_without_a_cpu(void **state)
{
    static const struct {
        const char *file, *text;
        bool guest;
    } cases[] = {
        {"sys/class/dmi/id/product_name", "Virtual Machine\n", true},
        {"sys/class/dmi/id/product_name", "PowerEdge XE9680\n", false},
        {"sys/class/dmi/id/sys_vendor", "QEMU\n", true},
        {"sys/class/dmi/id/sys_vendor", "Amazon EC2\n", false}, /* some are metal */
        {"proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n", false},
    };
    tree_link_t none = {.port = -1};

    (void)state;
    tree_gpu(1, 8);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tree_put(cases[i].file, cases[i].text, strlen(cases[i].text));
        assert_found(cases[i].guest ? "unknown 0000:01:00.0:PCI008 0000:01:00.0:PCI003"
                                    : "drain 0000:01:00.0:PCI001 0000:01:00.0:PCI003");
    }
    tree_add("0000:00:05.0", 0x1af4, 0x010000, &none, 64);
    assert_found("unknown 0000:01:00.0:PCI008 0000:01:00.0:PCI003");
    tree_put("proc/cpuinfo", "flags\t\t: fpu lahf\n", 18);
    assert_found("drain 0000:01:00.0:PCI001 0000:01:00.0:PCI003");
}

static void nothing_to_read(void **state)
{
    (void)state;
    assert_found("unknown node:PCI014");
    tree_put("sys/bus/pci/devices/.keep", "", 0);
    assert_found("note node:PCI013");
}

/* libpci gives up in the middle of a read, as it does without memory. */
static bool give_up;

struct pci_dev *__real_pci_get_dev(struct pci_access *access, int domain, int bus, int device,
                                   int function);
struct pci_dev *__wrap_pci_get_dev(struct pci_access *access, int domain, int bus, int device,
                                   int function);
struct pci_dev *__wrap_pci_get_dev(struct pci_access *access, int domain, int bus, int device,
                                   int function)
{
    static char text[] = "out of %s";

    if (give_up)
        access->error(text, "memory");
    return __real_pci_get_dev(access, domain, bus, device, function);
}

/* Nobody writes to it, and nobody waits for it. */
static void a_pipe_in_a_file_s_place(void **state)
{
    const pipc__machine_t source = {.sysroot = tree, .all = true};
    pipc__findings_t f;
    char path[256];

    (void)state;
    tree_gpu(1, 16);
    snprintf(path, sizeof(path), "%s/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config",
             tree);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    assert_int_not_equal(f.verdict, PIPC__DRAIN);
    pipc__findings_free(&f);
}

static void libpci_never_ends_the_program(void **state)
{
    const pipc__machine_t source = {.sysroot = tree};
    pipc__findings_t f;

    (void)state;
    tree_gpu(1, 8);
    give_up = true;
    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    give_up = false;
    assert_int_equal(f.n, 1);
    assert_int_equal(f.verdict, PIPC__SEV_UNKNOWN);
    assert_string_equal(f.list[0].seen, "libpci: out of memory");
    pipc__findings_free(&f);
    assert_found("drain 0000:01:00.0:PCI001 0000:01:00.0:PCI003");
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(idle_and_narrow),
        IN_TREE(lost_and_asleep),
        IN_TREE(virtual_functions_are_no_gpus),
        IN_TREE(header_of_config_space_only),
        IN_TREE(acs_between_gpus),
        IN_TREE(acs_of_one_gpu),
        IN_TREE(beside_a_gpu),
        IN_TREE(counters),
        IN_TREE(guests),
        IN_TREE(guests_without_a_cpu),
        IN_TREE(nothing_to_read),
        IN_TREE(a_pipe_in_a_file_s_place),
        IN_TREE(libpci_never_ends_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
