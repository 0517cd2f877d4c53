/* tests/unit/topo_nccl.c - trees from NCCL's XML; each input is the smallest that has the shape or
 * the fault it is about */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/topo_files.h"
#include "runtime/topo/xml.h"
#include "tests/unit/topo_nccl_text.h"
#include "tests/unit/topo_text.h"

/* Without expat every file is refused in the same words. */
static bool without_expat(void)
{
    if (pipc__xml_can_parse())
        return false;
    assert_refused(PIPC__SOURCE_NCCL_XML,
                   &(wrong_t){SYSTEM(CPU("0", "ff", GPU("14"))), PIPC_ERR_UNSUPPORTED,
                              "install libexpat1-dev or expat-devel and configure again"});
    return true;
}

static void nccl_groups(void **state)
{
    static const struct {
        const char *input, *groups;
    } cases[] = {
        /* Nested: a GPU and its NIC share the inner switch. */
        {SYSTEM(CPU("0", "ffff",
                    SWITCH("0000:10:00.0",
                           SWITCH("0000:12:00.0", GPU("14") NIC("15", "mlx5_0"))
                               SWITCH("0000:16:00.0", GPU("18") NIC("19", "mlx5_1"))))),
         "[14 18 | 15 19 [14 | 15] [18 | 19]]"},
        /* A switch in each card is shared with nobody. */
        {SYSTEM(CPU("0", "ffff",
                    SWITCH("0000:10:00.0", SWITCH("0000:12:00.0", GPU("14")) SWITCH(
                                               "0000:15:00.0", GPU("17")) NIC("18", "mlx5_0")))),
         "[14 17 | 18]"},
        {SYSTEM(
             CPU("0", "ffff", SWITCH("0000:12:00.0", GPU("14")) SWITCH("0000:15:00.0", GPU("17")))),
         ""},
        /* Switches only stacked, with one set of devices, are one group. */
        {SYSTEM(
             CPU("0", "ffff", SWITCH("0000:10:00.0", SWITCH("0000:12:00.0", GPU("14") GPU("15"))))),
         "[14 15]"},
        /* A virtual machine: no switch, one domain a device. */
        {SYSTEM(
             CPU("0", "ff", PCI("0001:00:00.0", "0x030200", "") PCI("0101:00:00.0", "0x020700", ""))
                 CPU("1", "ff00", PCI("0002:00:00.0", "0x030200", ""))),
         ""},
        /* Invented switch ids, GPUs not in the order of the nodes. */
        {SYSTEM(CPU("0", "ff",
                    SWITCH("ffff:ff:02.0",
                           PCI("0003:03:00.0", "0x030200", "") PCI("0103:33:00.0", "0x020700", "")))
                    CPU("1", "ff00",
                        SWITCH("ffff:ff:01.0", PCI("0001:01:00.0", "0x030200", "")
                                                   PCI("0002:02:00.0", "0x030200", "")))),
         "[01 02] [03 | 33]"},
        /* One id for several switches: the nesting counts. */
        {SYSTEM(CPU("0", "ff",
                    SWITCH("0000:10:00.0",
                           SWITCH("0000:12:00.0", GPU("14") NIC("15", "mlx5_0"))
                               SWITCH("0000:12:00.0", GPU("16") NIC("17", "mlx5_1"))))),
         "[14 16 | 15 17 [14 | 15] [16 | 17]]"},
        /* The ports of a NIC are one place. */
        {SYSTEM(CPU("0", "ff",
                    SWITCH("0000:10:00.0", GPU("14") PCI("0000:15:00.0", "0x020700", "")
                                               PCI("0000:15:00.1", "0x020700", "")))),
         "[14 | 15]"},
        {SYSTEM(CPU("0", "ff",
                    SWITCH("0000:10:00.0", PCI("0000:15:00.0", "0x020700", "")
                                               PCI("0000:15:00.1", "0x020700", "")))),
         ""},
        /* Known by their elements where the class does not say it; a class by its beginning;
         * domains of eight digits. */
        {SYSTEM("<cpu><pci busid=\"0000:10:00.0\"><pci busid=\"00000000:14:00.0\"><gpu/></pci>"
                "<pci busid=\"0000:15:00.0\"><nic><net/></nic></pci>"
                "<pci busid=\"0000:16:00.0\" class=\"0x03\"/></pci></cpu>"),
         "[14 16 | 15]"},
        /* Two ranks, or parts, of one GPU are one GPU. */
        {SYSTEM(CPU("0", "ff",
                    SWITCH("0000:10:00.0",
                           PCI("0000:14:00.0", "0x030200",
                               "<gpu dev=\"0\" mlopart=\"0\" rank=\"0\"/>"
                               "<gpu dev=\"0\" mlopart=\"1\" rank=\"1\"/>") NIC("15", "mlx5_0")))),
         "[14 | 15]"},
        /* AMD's classes, and a display that is no GPU. */
        {SYSTEM(CPU("0", "ff",
                    SWITCH("0000:10:00.0", PCI("0000:14:00.0", "0x038000", "")
                                               PCI("0000:15:00.0", "0x120000", "")))),
         "[14 15]"},
        {SYSTEM(
             CPU("0", "ff",
                 SWITCH("0000:10:00.0", GPU("14") "<pci busid=\"0000:15:00.0\" class=\"0x030000\" "
                                                  "vendor=\"0x1a03\"/>"))),
         ""},
    };

    (void)state;
    if (without_expat())
        return;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_groups(PIPC__SOURCE_NCCL_XML, cases[i].input, cases[i].groups);
}

static void nccl_facts(void **state)
{
    (void)state;
    if (without_expat())
        return;
    pipc__topo_t *t = read_right(
        PIPC__SOURCE_NCCL_XML,
        SYSTEM(CPU("1", "00000001,000000f0",
                   SWITCH("0000:10:00.0",
                          "<pci busid=\"0000:14:00.0\" class=\"0x030200\" vendor=\"0x10de\" "
                          "device=\"0x20b0\" link_speed=\"\" link_width=\"0\"/>"
                          "<pci busid=\"0000:15:00.0\" class=\"0x020000\" link_speed=\"Unknown "
                          "speed\" link_width=\"255\"><nic><net name=\"eth1\"/></nic></pci>")
                       NIC("16", "mlx5_1"))
                   CPU("-1", "",
                       PCI("0000:20:00.0", "0x030200",
                           "")) "<cpu><nic><net name=\"eth0\"/></nic></cpu>"));

    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 2); /* eth0 is no PCI device */
    assert_int_equal(t->nnumas, 1);
    assert_int_equal(hwloc_bitmap_weight(t->numas[0].cpus), 5);
    assert_true(hwloc_bitmap_isset(t->numas[0].cpus, 32));
    assert_int_equal(numa_number(t, "0000:14:00.0"), 1);
    assert_int_equal(numa_number(t, "0000:20:00.0"), PIPC__UNKNOWN);
    const pipc__topo_obj_t *gpu = object(t, "0000:14:00.0"), *nic = object(t, "0000:16:00.0");
    assert_int_equal(gpu->vendor, 0x10de);
    assert_int_equal(gpu->link.max_width, PIPC__UNKNOWN);
    assert_int_equal(gpu->link.max_speed_mts, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0000:15:00.0")->link.max_width, PIPC__UNKNOWN);
    assert_string_equal(object(t, "0000:15:00.0")->netdev, "eth1");
    assert_false(object(t, "0000:15:00.0")->rdma);
    assert_string_equal(nic->netdev, "mlx5_1");
    assert_true(nic->rdma);
    assert_int_equal(nic->link.max_width, 16);
    assert_int_equal(nic->link.max_speed_mts, 16000);
    assert_int_equal(nic->link.speed_mts, PIPC__UNKNOWN); /* what it can, not what it does */
    pipc__topo_free(t);
}

/* The threads of a core are in two ranges (topo/siblings.c); no CPU is in two cores. */
static void nccl_cores(void **state)
{
    (void)state;
    if (without_expat())
        return;
    pipc__topo_t *t = read_right(
        PIPC__SOURCE_NCCL_XML,
        SYSTEM(CPU("0", "0f0f", GPU("14")) CPU("1", "0f0f", GPU("15")) CPU("2", "ff0000", "")));
    assert_int_equal(t->ncores, 4);
    assert_int_equal(hwloc_bitmap_first(t->cores[3]), 3);
    assert_int_equal(hwloc_bitmap_last(t->cores[3]), 11);
    pipc__topo_free(t);
}

static void nccl_nvlinks(void **state)
{
    (void)state;
    if (without_expat())
        return;
    pipc__topo_t *t = read_right(
        PIPC__SOURCE_NCCL_XML,
        SYSTEM(CPU("0", "ff",
                   LINKED("14", NVLINK("0000:15:00.0", "2"))
                       LINKED("15", NVLINK("0000:14:00.0", "2"))
                           LINKED("16", NVLINK("0000:c4:00.0", "3") NVLINK("0000:c5:00.0", "3"))
                               LINKED("17", NVLINK("0000:c4:00.0", "6")))));
    assert_int_equal(links_between(t, "0000:14:00.0", "0000:15:00.0"), 2);
    assert_int_equal(links_between(t, "0000:16:00.0", "0000:17:00.0"), 6); /* over switches */
    assert_int_equal(links_between(t, "0000:14:00.0", "0000:16:00.0"), 0);
    pipc__topo_free(t);
    t = read_right(PIPC__SOURCE_NCCL_XML, SYSTEM(CPU("0", "ff", GPU("14") GPU("15"))));
    assert_int_equal(links_between(t, "0000:14:00.0", "0000:15:00.0"), PIPC__UNKNOWN);
    pipc__topo_free(t);
    /* What a link leads to: GPUs that the program did not see, and a CPU, are no switch. */
    t = read_right(
        PIPC__SOURCE_NCCL_XML,
        SYSTEM(CPU("0", "ff",
                   LINKED("14", CLASS_LINK("0000:8a:00.0", "2", "0x030200")
                                    CLASS_LINK("0004:00:00.0", "3", "0x068001")
                                        CLASS_LINK("0000:15:00.0", "1", "0x030200"))
                       LINKED("15", CLASS_LINK("0000:8b:00.0", "2", "0x120000")
                                        CLASS_LINK("0004:00:00.1", "3", "0x068001"))
                           LINKED("16", CLASS_LINK("fffffff:ff:ff.0", "18", "0x068000"))
                               LINKED("17", CLASS_LINK("fffffff:ff:ff.0", "16", "0x068000")))));
    assert_int_equal(links_between(t, "0000:15:00.0", "0000:14:00.0"), 0);
    assert_int_equal(links_between(t, "0000:16:00.0", "0000:17:00.0"), 16);
    pipc__topo_free(t);
}

/* Switches of one id survive our JSON. */
static void nccl_as_json(void **state)
{
    const pipc__source_t source = {PIPC__SOURCE_JSON, topo_file};
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    if (without_expat())
        return;
    pipc__topo_t *t =
        read_right(PIPC__SOURCE_NCCL_XML,
                   SYSTEM(CPU("0", "ff",
                              SWITCH("0000:10:00.0",
                                     SWITCH("0000:12:00.0", GPU("14") NIC("15", "mlx5_0"))
                                         SWITCH("0000:12:00.0", GPU("16") NIC("17", "mlx5_1"))))));
    FILE *f = fopen(topo_file, "w");
    assert_non_null(f);
    assert_int_equal(pipc__topo_print_json(t, f, &err), PIPC_OK);
    fclose(f);
    pipc__topo_free(t);
    pipc_status_t st = pipc__topo_load(&t, &source, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_string_equal(groups_text(t), "[14 16 | 15 17 [14 | 15] [16 | 17]]");
    pipc__topo_free(t);
}

static void nccl_refused(void **state)
{
    static const wrong_t cases[] = {
        {"", PIPC_ERR_INVALID, "it is empty"},
        {"\n", PIPC_ERR_INVALID, "line 2: XML: no element found"},
        {"\x7f"
         "ELF\x02\x01\x01",
         PIPC_ERR_INVALID, "line 1: XML: "},
        {"<system version=\"1\">\n<cpu numaid=\"0\">", PIPC_ERR_INVALID, "line 2: XML: no element"},
        {SYSTEM("<cpu><pci busid=\"0000:14:00.0\"></cpu></pci>"), PIPC_ERR_INVALID,
         "mismatched tag"},
        {"<graphs version=\"1\"/>", PIPC_ERR_INVALID,
         "line 1: <graphs>, where NCCL's XML has <sys"},
        {"<topology version=\"2.0\"/>", PIPC_ERR_INVALID, "hwloc's XML is read with --hwloc-xml"},
        {SYSTEM(""), PIPC_ERR_INVALID, "it holds no <pci>"},
        {SYSTEM(CPU("0", "ff", "\n<pci class=\"0x030200\"/>")), PIPC_ERR_INVALID,
         "line 2: <pci> busid=\"\": not a PCI address"},
        {SYSTEM(CPU("0", "ff", PCI("0000:14:20.0", "0x030200", ""))), PIPC_ERR_INVALID,
         "busid=\"0000:14:20.0\": not a PCI address"},
        {SYSTEM(CPU("0", "ff", PCI("0000:14:00.0", "0x99999999999999", ""))), PIPC_ERR_INVALID,
         "class=\"0x99999999999999\": not a number of 6 hex digits"},
        {SYSTEM(CPU("0", "ff", PCI("0000:14:00.0", "GPU", ""))), PIPC_ERR_INVALID, "class=\"GPU\""},
        {SYSTEM(CPU("99999999999", "ff", "")), PIPC_ERR_INVALID,
         "numaid=\"99999999999\": not a NUMA node"},
        {SYSTEM(CPU("0", "ffxf", "")), PIPC_ERR_INVALID, "affinity=\"ffxf\": not a mask of CPUs"},
        {SYSTEM(CPU("0", "ff", GPU("14") "\n" GPU("14"))), PIPC_ERR_INVALID,
         "line 2: 0000:14:00.0 is on line 1 already"},
        {SYSTEM(CPU("0", "ff", "\n" GPU("14") "\n<gpu dev=\"1\"/>")), PIPC_ERR_INVALID,
         "line 3: <gpu> that is in no <pci>"},
        {SYSTEM(
             CPU("0", "ff", PCI("0000:00:00.0", "0x060000", "\n<gpu dev=\"0\"/><gpu dev=\"1\"/>"))),
         PIPC_ERR_INVALID, "line 2: <gpu>: 0000:00:00.0 on line 1 holds another GPU already"},
        {SYSTEM(CPU("0", "ff", "<pci busid=\"0000:00:16.0\"/><pci busid=\"0000:00:17.0\"/>")),
         PIPC_ERR_INVALID, "it has no class of any device"},
        {SYSTEM("<cpu host_hash=\"0x1\"/>\n<cpu host_hash=\"0x2\"/>"), PIPC_ERR_INVALID,
         "line 2: <cpu> of a second machine"},
        {"<!DOCTYPE system [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n" SYSTEM("&b;"),
         PIPC_ERR_INVALID, "it defines entities"},
    };
    char *deep;

    (void)state;
    if (without_expat())
        return;
    deep = calloc(1, 1 << 16);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(PIPC__SOURCE_NCCL_XML, &cases[i]);
    assert_non_null(deep);
    for (int elements = 100; elements <= 300; elements += 200) { /* ours, the parser's bound */
        strcpy(deep, "<system>");
        for (int i = 0; i < elements; i++)
            sprintf(deep + strlen(deep), "<pci busid=\"%04x:14:00.0\">", (unsigned int)i);
        assert_refused(PIPC__SOURCE_NCCL_XML,
                       &(wrong_t){deep, PIPC_ERR_INVALID, "nested deeper than 60"});
    }
    free(deep);
}

static void noise_nccl(void **state)
{
    (void)state;
    if (without_expat())
        return;
    read_damaged(
        PIPC__SOURCE_NCCL_XML,
        SYSTEM(CPU("0", "0000ffff",
                   SWITCH("0000:10:00.0",
                          SWITCH("0000:12:00.0", LINKED("14", NVLINK("0000:18:00.0", "4")))
                              SWITCH("0000:16:00.0", LINKED("18", NVLINK("0000:c4:00.0", "2"))
                                                         NIC("19", "mlx5_1"))))),
        4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(nccl_groups),  WITH_FILE(nccl_facts),   WITH_FILE(nccl_cores),
        WITH_FILE(nccl_nvlinks), WITH_FILE(nccl_as_json), WITH_FILE(nccl_refused),
        WITH_FILE(noise_nccl),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
