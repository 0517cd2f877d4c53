/* tests/unit/topo_hwloc.c - trees from hwloc's XML; each input is the smallest that has the shape
 * or the fault it is about */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topo_files.h"
#include "tests/unit/topo_nccl_text.h"

#define SETS(cpus, nodes)                                                                          \
    "cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" nodes                            \
    "\" complete_nodeset=\"" nodes "\""
#define CORE(index, gp, cpus)                                                                      \
    "<object type=\"Core\" os_index=\"" index "\" gp_index=\"1" gp                                 \
    "\" " SETS(cpus, "0x00000001") ">"                                                             \
                                   "<object type=\"PU\" os_index=\"" index "\" gp_index=\"2" gp    \
                                   "\" " SETS(cpus, "0x00000001") "/>"                             \
                                                                  "</object>"
#define HOST(gp, buses, inner)                                                                     \
    "<object type=\"Bridge\" gp_index=\"3" gp "\" bridge_type=\"0-1\" depth=\"0\" "                \
    "bridge_pci=\"0000:[" buses "]\">" inner "</object>"
#define PORT(gp, busid, buses, speed, inner)                                                       \
    "<object type=\"Bridge\" gp_index=\"4" gp "\" bridge_type=\"1-1\" depth=\"1\" "                \
    "bridge_pci=\"0000:[" buses "]\" pci_busid=\"0000:" busid "\" "                                \
    "pci_type=\"0604 [10b5:8796] [10b5:8796] ca\" pci_link_speed=\"" speed "\">" inner "</object>"
#define DEVICE(gp, busid, type, speed, inner)                                                      \
    "<object type=\"PCIDev\" gp_index=\"5" gp "\" pci_busid=\"0000:" busid "\" pci_type=\"" type   \
    " [0000:0000] 00\" pci_link_speed=\"" speed "\">" inner "</object>"
#define OSDEV(gp, name, type, inner)                                                               \
    "<object type=\"OSDev\" gp_index=\"6" gp "\" name=\"" name "\" osdev_type=\"" type "\">" inner \
    "</object>"

#define HWLOC_XML(version, inner) HWLOC_XML_AND(version, inner, "")
#define HWLOC_XML_AND(version, inner, after)                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"      \
    "<topology version=\"" version "\">\n"                                                         \
    "<object type=\"Machine\" os_index=\"0\" gp_index=\"9\" " SETS(                                \
        "0x00000003",                                                                              \
        "0x00000001") " allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000001\">\n"           \
                      "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"8\" " SETS(             \
                          "0x00000003",                                                            \
                          "0x00000001") " local_memory=\"4096\"/>\n" CORE("0", "0", "0x00000001")  \
                          CORE("1", "1", "0x00000002") inner "</object>" after "</topology>\n"

#define V100 "0302 [10de:1db1]"
#define CX5 "0207 [15b3:1017]"

static const char hwloc_switch[] = HWLOC_XML(
    "2.0",
    HOST("0", "00-09",
         PORT("0", "00:01.0", "01-05", "15.753846",
              PORT("1", "01:00.0", "02-05", "8.000000",
                   PORT("2", "02:04.0", "03-03", "1.969231",
                        DEVICE("0", "03:00.0", V100, "15.753846",
                               OSDEV("0", "nvml0", "1",
                                     "<info name=\"NVIDIAUUID\" value=\"GPU-12\"/>")))
                       PORT("3", "02:08.0", "04-04", "1.969231",
                            DEVICE("1", "04:00.0", V100, "15.753846", ""))
                           PORT("4", "02:0c.0", "05-05", "15.753846",
                                DEVICE("2", "05:00.0", CX5, "15.753846",
                                       OSDEV("1", "ib0", "2", "") OSDEV("2", "mlx5_0", "3", ""))
                                    DEVICE("3", "05:00.1", CX5, "15.753846", ""))))
             PORT("5", "00:02.0", "06-06", "15.753846",
                  DEVICE("4", "06:00.0", V100, "15.753846", ""))
                 DEVICE("5", "00:1f.0", "0300 [1a03:2000]", "0.000000", "")));

static void hwloc_trees(void **state)
{
    (void)state;
    assert_groups(PIPC__SOURCE_HWLOC_XML, hwloc_switch, "[03 04 | 05]");
    pipc__topo_t *t = read_right(PIPC__SOURCE_HWLOC_XML, hwloc_switch);
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), 3);
    assert_int_equal(t->ncores, 2);
    assert_int_equal(numa_number(t, "0000:03:00.0"), 0);
    assert_string_equal(object(t, "0000:03:00.0")->uuid, "GPU-12");
    assert_string_equal(object(t, "0000:05:00.0")->netdev, "mlx5_0");
    assert_true(object(t, "0000:05:00.0")->rdma);
    /* The GPU's speed is a maximum, 15.75 GB/s may be Gen3 x16 or Gen4 x8; 8 GB/s is Gen2 x16. */
    assert_int_equal(object(t, "0000:03:00.0")->link.width, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0000:05:00.0")->link.width, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0000:05:00.0")->link.speed_mts, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0000:01:00.0")->link.width, 16);
    assert_int_equal(object(t, "0000:01:00.0")->link.speed_mts, 5000);
    pipc__topo_free(t);

    /* Each GPU at a port of its own: no group, though a NIC shares the host bridge. */
    assert_groups(
        PIPC__SOURCE_HWLOC_XML,
        HWLOC_XML("2.0", HOST("0", "c0-c9",
                              PORT("0", "c0:01.1", "c1-c1", "0",
                                   DEVICE("0", "c1:00.0", "0380 [1002:7408]", "0", ""))
                                  PORT("1", "c0:07.1", "c2-c2", "0",
                                       DEVICE("1", "c2:00.0", "0200 [17db:0501]", "0", "")))),
        "");
    /* A switch in the card of a GPU. */
    assert_groups(
        PIPC__SOURCE_HWLOC_XML,
        HWLOC_XML("2.0",
                  HOST("0", "c0-c9",
                       PORT("0", "c0:01.1", "c1-c3", "0",
                            PORT("1", "c1:00.0", "c2-c3", "0",
                                 PORT("2", "c2:00.0", "c3-c3", "0",
                                      DEVICE("0", "c3:00.0", "0380 [1002:7408]", "0", "")
                                          DEVICE("1", "c3:00.1", "0403 [1002:ab28]", "0", "")))))),
        "");
}

/* Memory of a GPU is a NUMA node without CPUs of its own. */
static void hwloc_memory_nodes(void **state)
{
    (void)state;
    pipc__topo_t *t = read_right(
        PIPC__SOURCE_HWLOC_XML,
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" gp_index=\"1\" " SETS(
            "0x00000001",
            "0x00000009") " allowed_cpuset=\"0x00000001\" "
                          "allowed_nodeset=\"0x00000009\">"
                          "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" " SETS(
                              "0x00000001",
                              "0x00000001") " local_memory=\"1\"/>"
                                            "<object type=\"NUMANode\" subtype=\"GPUMemory\" "
                                            "os_index=\"3\" gp_index=\"3\" " SETS(
                                                "0x00000001",
                                                "0x00000008") " local_memory=\"1\"/>"
                                                              "<object type=\"PU\" os_index=\"0\" "
                                                              "gp_index=\"4\" " SETS("0x00000001", "0x00000001") "/>" HOST(
                                                                  "0", "00-01",
                                                                  PORT("0", "00:01.0", "01-01", "0",
                                                                       DEVICE("0", "01:00.0", V100,
                                                                              "0",
                                                                              ""))) "</object></"
                                                                                    "topology>");

    assert_int_equal(t->nnumas, 2);
    assert_false(t->numas[0].memory_only);
    assert_true(t->numas[1].memory_only);
    assert_true(hwloc_bitmap_iszero(t->numas[1].cpus));
    assert_int_equal(numa_number(t, "0000:01:00.0"), 0);
    pipc__topo_free(t);
}

#define SMI(gp, bus) DEVICE(gp, bus ":00.0", V100, "0", OSDEV(gp, "nvml" gp, "1", ""))
#define FOUR_GPUS                                                                                  \
    HOST("0", "00-09",                                                                             \
         PORT("0", "00:01.0", "01-01", "0", SMI("0", "01"))                                        \
             PORT("1", "00:02.0", "02-02", "0", SMI("1", "02"))                                    \
                 PORT("2", "00:03.0", "03-03", "0", SMI("2", "03"))                                \
                     PORT("3", "00:04.0", "04-04", "0", SMI("3", "04"))                            \
                         PORT("4", "00:05.0", "05-05", "0",                                        \
                              DEVICE("5", "05:00.0", "0680 [10de:1ac2]", "0", "")))

/* A tree with hwloc's matrix of NVLinks between three objects. */
static pipc__topo_t *with_nvlinks(const char *indexes, const char *values)
{
    static const char xml[] =
        HWLOC_XML_AND("2.0", FOUR_GPUS,
                      "<distances2hetero nbobjs=\"3\" kind=\"25\" name=\"NVLinkBandwidth\">"
                      "<indexes length=\"%zu\">%s</indexes><u64values length=\"%zu\">%s</u64values>"
                      "</distances2hetero>");
    char text[sizeof(xml) + 256];

    snprintf(text, sizeof(text), xml, strlen(indexes), indexes, strlen(values), values);
    return read_right(PIPC__SOURCE_HWLOC_XML, text);
}

/* hwloc tells MB/s, from GPU to GPU or to NVSwitches. */
static void hwloc_nvlinks(void **state)
{
    static const struct {
        const char *indexes, *values;
        int links12, links13;
    } cases[] = {
        /* 20 GB/s a link of NVLink 1, 25 of the next ones, and 50 of 5: more than 18 of 25. */
        {"OSDev:60 OSDev:61 OSDev:62 ", "1000000 40000 20000 40000 1000000 0 20000 0 1000000 ", 2,
         1},
        {"OSDev:60 OSDev:61 OSDev:62 ", "1000000 50000 0 50000 1000000 0 0 0 1000000 ", 2, 0},
        {"OSDev:60 OSDev:61 OSDev:62 ", "0 450000 450000 450000 0 0 450000 0 0 ", 9, 9},
        /* To an NVSwitch, two links of one GPU being down. */
        {"OSDev:60 OSDev:62 PCIDev:55 ", "0 0 150000 0 0 100000 150000 100000 0 ", PIPC__UNKNOWN,
         4},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = with_nvlinks(cases[i].indexes, cases[i].values);
        assert_int_equal(links_between(t, "0000:01:00.0", "0000:02:00.0"), cases[i].links12);
        assert_int_equal(links_between(t, "0000:01:00.0", "0000:03:00.0"), cases[i].links13);
        pipc__topo_free(t);
    }
    pipc__topo_t *t = read_right(PIPC__SOURCE_HWLOC_XML, HWLOC_XML("2.0", FOUR_GPUS));
    assert_int_equal(links_between(t, "0000:01:00.0", "0000:02:00.0"), PIPC__UNKNOWN);
    pipc__topo_free(t);
}

static void hwloc_refused(void **state)
{
    static const wrong_t cases[] = {
        {"", PIPC_ERR_INVALID, "it is empty"},
        {HWLOC_XML("99.0", ""), PIPC_ERR_UNSUPPORTED, "hwloc XML of version 99.0, which the hwloc"},
        {SYSTEM(CPU("0", "ff", GPU("14"))), PIPC_ERR_INVALID, "NCCL's XML is read with --nccl-xml"},
        {"<topology version=\"2.0\"></topology>", PIPC_ERR_INVALID, "can't make a topology of it"},
        {"<topology version=\"2.0\"><object type=\"Machine\"/></topology>", PIPC_ERR_INVALID,
         "can't make a topology of it"},
        {"<!DOCTYPE topology [<!ENTITY a \"b\">]><topology version=\"2.0\"/>", PIPC_ERR_INVALID,
         "defines entities"},
#ifdef HAVE_EXPAT
        {"<topology version=\"2.0\">\n<object", PIPC_ERR_INVALID, "line 2: XML: "},
        {"machine (live): GPUs 0\n", PIPC_ERR_INVALID, "line 1: XML: "},
#endif
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(PIPC__SOURCE_HWLOC_XML, &cases[i]);
}

static void noise_hwloc(void **state)
{
    (void)state;
    read_damaged(PIPC__SOURCE_HWLOC_XML, hwloc_switch, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(hwloc_trees),   WITH_FILE(hwloc_memory_nodes), WITH_FILE(hwloc_nvlinks),
        WITH_FILE(hwloc_refused), WITH_FILE(noise_hwloc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
