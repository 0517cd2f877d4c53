/* tests/unit/health_node.c - what a machine says beside its links: ASPM's policy, the AER service,
 * the IOMMU, the size of BARs, the kernel's log; read from captured machines and judged
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/ack.h"
#include "prolog/check.h"
#include "prolog/facts_parts.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char seen[192]; /* by the first finding */
static bool unreadable;

/* A disk that fails, or a file on a server that is gone. */
ssize_t __real_pread(int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t n, off_t at)
{
    if (!unreadable)
        return __real_pread(fd, buf, n, at);
    errno = EIO;
    return -1;
}

/* "VERDICT object:code ..." as people see it, without the idle speed of the tree's GPUs */
static void assert_seen(const char *want)
{
    const pipc__machine_t source = {.sysroot = tree, .all = true};
    pipc__findings_t f;
    char out[1024];

    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    size_t used = (size_t)snprintf(out, sizeof(out), "%s", pipc__severity_name(f.verdict));
    seen[0] = '\0';
    for (int i = 0; i < f.n && used < sizeof(out); i++) {
        if (f.list[i].code == PIPC__CODE_SPEED)
            continue;
        used += (size_t)snprintf(out + used, sizeof(out) - used, " %s:%s", f.list[i].object,
                                 pipc__codes[f.list[i].code].name);
        if (!seen[0])
            snprintf(seen, sizeof(seen), "%s", f.list[i].seen);
    }
    pipc__findings_free(&f);
    assert_string_equal(out, want);
}

static void put(const char *path, const char *text)
{
    tree_put(path, text, strlen(text));
}

static void policy_of_aspm(void **state)
{
    static const char file[] = "sys/module/pcie_aspm/parameters/policy";
    static const struct {
        const char *text, *policy, *want;
    } cases[] = {
        {"[default] performance powersave powersupersave \n", "default", "note"},
        {"default [performance] powersave powersupersave \n", "performance", "note"},
        {"default performance [powersave] powersupersave \n", "powersave", "note node:PCI005"},
        {"default performance powersave [powersupersave] \n", "powersupersave", "note node:PCI005"},
        {"default performance powersave\n", "", "note"},
        {"[]\n", "", "note"},
        {"]powersave[\n", "", "note"},
        {"[powersave\n", "", "note"},
        {"[power\033[31m]\n", "", "note"},
        {"[powersavepowersavepowersavepowersave]\n", "", "note"},
    };
    char policy[PIPC__POLICY_MAX];

    (void)state;
    tree_gpu(1, 16);
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__facts_policy(cases[i].text, policy);
        assert_string_equal(policy, cases[i].policy);
        put(file, cases[i].text);
        assert_seen(cases[i].want);
    }
}

static void policy_explains(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1, .aspm = 2, .secondary = 1};

    (void)state;
    tree_gpu(1, 16);
    tree_add("0000:00:01.0", 0x8086, 0x060400, &port, 256);
    assert_seen("warn 0000:00:01.0:PCI005");
    assert_string_equal(seen, "ASPM L1 is on");
    put("sys/module/pcie_aspm/parameters/policy", "default performance [powersave]\n");
    assert_seen("warn 0000:00:01.0:PCI005");
    assert_string_equal(seen, "ASPM L1 is on; the kernel's policy: powersave");
}

/* A counter of 0 says something only where the kernel counts. */
static void service_of_aer(void **state)
{
    const pipc__machine_t prolog = {.sysroot = tree};
    pipc__findings_t f;
    pipc__facts_t facts;

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    tree_fact("0000:00:01.0/0000:01:00.0", "aer_dev_correctable", "BadTLP 0\n");
    tree_fact("0000:00:02.0/0000:02:00.0", "aer_dev_correctable", "BadTLP 0\n");
    assert_seen("note"); /* the captured machine has no services at all */
    put("sys/bus/pci_express/drivers/pciehp/bind", "");
    assert_seen("note node:PCI024");
    assert_string_equal(seen, "AER is bound at none of the 2 root ports above GPUs");
    put("sys/bus/pci_express/drivers/aer/0000:00:02.0:pcie002/power", "");
    put("sys/bus/pci_express/drivers/aer/bind", "");
    put("sys/bus/pci_express/drivers/aer/0000:99:00.0:pcie002/power", "");
    put("sys/bus/pci_express/drivers/aer/0000:00:01.0x:pcie002/power", "");
    assert_seen("note 0000:00:01.0:PCI024");

    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_ALL, NULL), PIPC_OK);
    assert_int_equal(facts.n, 4);
    assert_int_equal(facts.dev[2].errors, -1); /* 0000:01:00.0 */
    assert_int_equal(facts.dev[3].errors, 0);
    pipc__facts_free(&facts);
    tree_fact("0000:00:01.0/0000:01:00.0", "aer_dev_correctable", "BadTLP 1\n");
    assert_seen("note 0000:01:00.0:PCI017 0000:00:01.0:PCI024"); /* it has counted before */

    put("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf\n"); /* invented ports have none */
    assert_seen("note 0000:01:00.0:PCI017");
    put("proc/cpuinfo", "flags\t\t: fpu\n");
    assert_int_equal(pipc__check(&prolog, &f, NULL), PIPC_OK);
    assert_int_equal(f.n, 2); /* a prolog does not look there: two idle links */
    pipc__findings_free(&f);
}

/* The group of a GPU, and a root port that redirects or not. */
static void put_iommu(int gpu, int group, const char *type)
{
    char path[128], target[128];

    snprintf(path, sizeof(path), "sys/kernel/iommu_groups/%d/type", group);
    put(path, type);
    snprintf(target, sizeof(target), "../../../../kernel/iommu_groups/%d", group);
    snprintf(path, sizeof(path),
             "%s/sys/devices/pci0000:00/0000:00:%02x.0/0000:%02x:00.0/iommu_group", tree, gpu, gpu);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static void put_redirects(int gpu, bool on)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .secondary = gpu};
    unsigned char c[4096] = {0};
    char path[128];

    tree_config(c, 0x8086, 0x060400, &port);
    c[0x100] = 0x0d, c[0x102] = 0x01;
    c[0x106] = on ? 0x1d : 0x01;
    snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:00:%02x.0/config", gpu);
    tree_put(path, c, sizeof(c));
}

static void iommu(void **state)
{
    pipc__facts_t facts;

    (void)state;
    tree_gpu(1, 16);
    put_iommu(1, 17, "DMA\n");
    assert_seen("note"); /* one GPU has no peer */
    tree_gpu(2, 16);
    put_iommu(2, 18, "identity\n");
    assert_seen("note node:PCI022");
    assert_string_equal(seen, "the IOMMU translates for 1 of 2 GPUs");
    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_ALL, NULL), PIPC_OK);
    assert_int_equal(facts.dev[2].iommu, PIPC__IOMMU_TRANSLATES);
    assert_int_equal(facts.dev[2].iommu_group, 17);
    assert_int_equal(facts.dev[3].iommu, PIPC__IOMMU_IDENTITY);
    assert_int_equal(facts.dev[0].iommu, PIPC__IOMMU_UNKNOWN); /* asked of GPUs alone */
    pipc__facts_free(&facts);
    put_iommu(2, 18, "DMA-FQ\n");
    put_redirects(1, true);
    assert_seen("warn 0000:00:01.0:PCI015 node:PCI022");
    put_redirects(1, false);
    assert_seen("note node:PCI022");
    put_iommu(1, 17, "identity\n");
    put_iommu(2, 18, "unmanaged\n");
    assert_seen("note");
}

static void sizes_of_bars(void **state)
{
    static const struct {
        const char *resource;
        const char *want;
    } cases[] = {
        {"", "note"},
        {"0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
         "0x0000380000000000 0x0000380fffffffff 0x000000000014220c\n",
         "note"}, /* 64 GB */
        {"0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
         "0x00000000e0000000 0x00000000efffffff 0x000000000014220c\n",
         "note 0000:01:00.0:PCI021 0000:02:00.0:PCI021"},
        {"0x0 0x0 0x0\n0xffffffffffffffff 0 0x2200\n0x0 0xffffffffffffffff 0x2200\nx\n", "note"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tree_gpu(1, 16);
        tree_gpu(2, 16);
        tree_fact("0000:00:01.0/0000:01:00.0", "resource", cases[i].resource);
        tree_fact("0000:00:02.0/0000:02:00.0", "resource", cases[i].resource);
        assert_seen(cases[i].want);
    }
}

static void bar_of_one_gpu(void **state)
{
    static const char small[] = "0xe0000000 0xefffffff 0x14220c\n";
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1};
    unsigned char c[4096] = {0};

    (void)state;
    tree_gpu(1, 16);
    tree_fact("0000:00:01.0/0000:01:00.0", "resource", small);
    assert_seen("note"); /* nothing says that it could be more, and there is no peer */
    tree_config(c, 0x10de, 0x030200, &gpu);
    c[0x100] = 0x15, c[0x102] = 0x01;
    c[0x104] = 0x00, c[0x105] = 0xfc, c[0x106] = 0x07; /* 64 MB ... 128 GB: bits 10 to 18 */
    c[0x108] = 0x21, c[0x109] = 0x08;                  /* one BAR, number 1, of 256 MB */
    tree_put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config", c, sizeof(c));
    assert_seen("note 0000:01:00.0:PCI021");
    assert_string_equal(seen, "its BAR is 256 MB");
    c[0x109] = 0x0e; /* 16 GB */
    tree_put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config", c, sizeof(c));
    assert_seen("note");
}

/* Where config space ends before power management the kernel says it. */
static void power_state_by_its_file(void **state)
{
    static const struct {
        const char *text;
        int want;
    } cases[] = {{"D0\n", 0},       {"D3hot\n", 3}, {"D3cold\n", 3},
                 {"unknown\n", -1}, {"D9\n", -1},   {"\n", -1}};
    tree_link_t none = {.port = -1};
    pipc__facts_t facts;

    (void)state;
    tree_gpu(1, 16);
    tree_add("0000:00:01.0/0000:01:00.0", 0x10de, 0x030200, &none, 64);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tree_fact("0000:00:01.0/0000:01:00.0", "power_state", cases[i].text);
        assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_LINKS, NULL), PIPC_OK);
        assert_int_equal(facts.dev[1].link.d_state, cases[i].want);
        pipc__facts_free(&facts);
    }
}

/* ---- the kernel's log ------------------------------------------------------------------------ */

#define REPORT_BY(level)                                                                           \
    level ",11,7000000,-;pcieport 0000:00:01.0: PCIe Bus Error: severity=Correctable\n "           \
          "SUBSYSTEM=pci\n" level ",12,9000000,-;pcieport 0000:00:01.0:   device [8086:1] error "  \
          "status/mask=00000040/00000000\n"
#define REPORT REPORT_BY("4")

static void logs(void **state)
{
    static const struct {
        const char *name, *text, *want, *seen;
    } cases[] = {
        {"records", REPORT, "warn 0000:00:01.0:PCI019",
         "the log has corrected errors: bad TLP, last 7 s after boot"},
        {"of a program that wrote it", REPORT_BY("12"), "note", NULL},
        {"as dmesg prints them",
         "[    7.000000] pcieport 0000:00:01.0: PCIe Bus Error: severity=Correctable\n",
         "warn 0000:00:01.0:PCI019", NULL},
        {"several lines in one record",
         "3,5,7000000,-;NVRM: The NVIDIA GPU 0000:01:00.0\\x0aNVRM: (PCI ID: 10de:1b06)\\x0a"
         "NVRM: installed in this system has\\x0aNVRM: fallen off the bus and is gone.\n",
         "warn 0000:01:00.0:PCI019", "its driver lost it, says the log, last 7 s after boot"},
        {"an SSD's port", "4,1,1,-;pcieport 0000:99:00.0: PCIe Bus Error: severity=Correctable\n",
         "note 0000:99:00.0:PCI019", NULL},
        {"a GPU that is no more", "4,1,1,-;NVRM: Xid (PCI:0000:41:00): 79, pid=1, off\n",
         "warn 0000:41:00.0:PCI023", NULL},
        {"narrow at the start, and not now",
         "6,1,1,-;pci 0000:01:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe "
         "x2 link at 0000:00:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n",
         "note", NULL},
        {"records that are none", "4,11\n4,11,7\n,,,;\n4,11,7000000,-\nx,;\n", "note", NULL},
        {"nothing", "", "note", NULL},
    };

    (void)state;
    tree_gpu(1, 16);
    for (size_t i = 0; i < COUNT(cases); i++) {
        put(i % 2 ? "kmsg" : "dev/kmsg", cases[i].text);
        assert_seen(cases[i].want);
        if (cases[i].seen)
            assert_string_equal(seen, cases[i].seen);
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", tree, i % 2 ? "kmsg" : "dev/kmsg");
        assert_int_equal(unlink(path), 0);
    }
}

/* Of a long one the end is read. */
static void a_long_log(void **state)
{
    static const char last[] = "4,12,9000000,-;NVRM: Xid (PCI:0000:01:00): 48, pid=1, DBE\n";
    char filler[128];
    size_t size = 17 << 20, n = 0;
    char *text = malloc(size + sizeof(last));

    (void)state;
    assert_non_null(text);
    tree_gpu(1, 16);
    int line = snprintf(filler, sizeof(filler), "4,1,1,-;usb 1-1: reset %060d\n", 1);
    n = (size_t)sprintf(text, "4,11,7000000,-;NVRM: GPU 0000:01:00.0: RmInitAdapter failed!\n");
    for (; n + (size_t)line < size; n += (size_t)line)
        memcpy(text + n, filler, (size_t)line);
    memcpy(text + n, last, sizeof(last) - 1);
    tree_put("kmsg", text, n + sizeof(last) - 1);
    free(text);
    assert_seen("warn 0000:01:00.0:PCI023");
    assert_string_equal(seen, "the log has Xid 48 (double bit ECC error), last 9 s after boot");
}

/* What is there and cannot be read is not taken for clean. */
static void a_log_that_cannot_be_read(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    put("kmsg", REPORT);
    unreadable = true;
    assert_seen("unknown node:PCI019");
    unreadable = false;
    assert_string_equal(seen, "the kernel's log could not be read");
}

/* The same port in the same words, after another crash: what was acknowledged was the one before.
 */
static void a_crash_and_the_next(void **state)
{
    static const char *const boots[] = {"a\n", "a\n", "b\n"};
    const pipc__machine_t source = {.sysroot = tree, .all = true};
    pipc__acks_t acks = {.n = 0};

    (void)state;
    tree_gpu(1, 16);
    put("kmsg", "3,1,1,-;{1}[Hardware Error]: event severity: fatal\n"
                "3,2,2,-;{1}[Hardware Error]:   section_type: PCIe error\n"
                "3,3,3,-;{1}[Hardware Error]:   device_id: 0000:00:01.0\n"
                "3,4,4,-;{1}[Hardware Error]:   aer_uncor_status: 0x4000, aer_uncor_mask: 0x0\n");
    for (int i = 0; i < 3; i++) {
        pipc__findings_t f;
        put("proc/sys/kernel/random/boot_id", boots[i]);
        assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
        assert_int_equal(f.list[0].code, PIPC__CODE_RECORD);
        assert_int_equal(pipc__acks_apply(&acks, &f, NULL), PIPC_OK);
        assert_int_equal(f.verdict, i == 1 ? PIPC__NOTE : PIPC__DRAIN);
        assert_int_equal(i == 1 || pipc__acks_add(&acks, &f.list[0], "replaced"), true);
        pipc__findings_free(&f);
    }
    pipc__acks_free(&acks);
}

/* A user may name his program, and its file, as he likes; and it crashes, and the kernel tells so.
 */
static void names_in_a_log_report_nothing(void **state)
{
#define FATAL "[Hardware Error] fatal 0000:00:01.0 aer_uncor_status: 0x00004000"
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"6,1,1,-;x[12]: segfault at 0 ip 0 sp 0 error 6 in " FATAL "[55+1000]", "note"},
        {"6,1,1,-;x[12]: segfault at 0 in x\\x0a{1}" FATAL, "note"},
        {"6,1,1,-;process '/tmp/\\x0a{1}" FATAL "' started with executable stack", "note"},
        {"6,1,1,-;x[12]: segfault at 0 in Hypervisor detected: KVM", "note"},
        {"6,1,1,-;x 0000:00:01.0:[12]: segfault at 0 in PCIe Bus Error: severity=Fatal", "note"},
        {"6,1,1,-;pcieport 0000:0[12]: segfault in 0000:00:01.0: PCIe Bus Error: severity=Fatal",
         "note"},
        {"6,1,1,-;NVRM: x[12]: segfault in RmInitAdapter failed 0000:01:00.0", "note"},
        {"6,1,1,-;NVRM:\\x0a\\x0a\\x0a\\x0ax[12]: in fallen off the bus 0000:01:00.0", "note"},
        {"6,1,1,-;traps: x[12] trap in {1}" FATAL, "note"},
        /* The kernel's own, of these kinds. */
        {"3,1,1,-;{1}[Hardware Error]: event severity: fatal\n"
         "3,2,2,-;{1}[Hardware Error]:   section_type: PCIe error\n"
         "3,3,3,-;{1}[Hardware Error]:   device_id: 0000:00:01.0\n"
         "3,4,4,-;{1}[Hardware Error]:   aer_uncor_status: 0x00004000, aer_uncor_mask: 0x0",
         "drain 0000:00:01.0:PCI018"},
        {"3,1,1,-;pciehp 0000:00:01.0:pcie004: Slot(1): Link Down", "warn 0000:00:01.0:PCI019"},
        {"3,1,1,-;nvidia: probe of 0000:01:00.0 failed with error -1", "warn 0000:01:00.0:PCI023"},
        {"3,1,1,-;NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24)",
         "warn 0000:01:00.0:PCI023"},
    };
    char text[1024];

    (void)state;
    tree_gpu(1, 16);
    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(text, sizeof(text), "%s\n", cases[i].text);
        put("kmsg", text);
        assert_seen(cases[i].want);
    }
}

/* A pipe that nobody writes to, a device that is no log, a folder: nothing is waited for. */
static void logs_that_are_none(void **state)
{
    char path[128];

    (void)state;
    tree_gpu(1, 16);
    put("dev/.keep", "");
    snprintf(path, sizeof(path), "%s/dev/kmsg", tree);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_seen("note");
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_seen("note");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_seen("note");
}

static void a_prolog_reads_no_log(void **state)
{
    const pipc__machine_t source = {.sysroot = tree};
    pipc__findings_t f;

    (void)state;
    tree_gpu(1, 16);
    put("dev/kmsg", REPORT);
    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    assert_int_equal(f.verdict, PIPC__NOTE);
    pipc__findings_free(&f);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(policy_of_aspm),
        IN_TREE(policy_explains),
        IN_TREE(service_of_aer),
        IN_TREE(iommu),
        IN_TREE(sizes_of_bars),
        IN_TREE(bar_of_one_gpu),
        IN_TREE(power_state_by_its_file),
        IN_TREE(logs),
        IN_TREE(a_long_log),
        IN_TREE(a_crash_and_the_next),
        IN_TREE(a_log_that_cannot_be_read),
        IN_TREE(names_in_a_log_report_nothing),
        IN_TREE(logs_that_are_none),
        IN_TREE(a_prolog_reads_no_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
