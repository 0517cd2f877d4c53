/* tests/unit/topo_sources.c - trees from files of other programs: hwloc's XML, NCCL's XML,
 * nvidia-smi's matrix, lspci's dump; what they tell, what is wrong with them, and noise
 *
 * Each input is the smallest that has the shape or the fault it is about.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/topo/source.h"
#include "runtime/topo/xml.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char file[64]; /* the input of the moment */

static int make_file(void **state)
{
    int fd;

    (void)state;
    strcpy(file, "/tmp/pipc-source-XXXXXX");
    fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void put(const char *text, size_t n)
{
    unlink(file); /* a file that is cut to nothing and written again waits for the disk */
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

/* ---- what a tree has to be, whatever it was made of -------------------------------------------
 */

static void assert_consistent(const pipc__topo_t *t)
{
    assert_int_equal(t->objs[0].kind, PIPC__TOPO_MACHINE);
    assert_int_equal(t->objs[0].parent, PIPC__UNKNOWN);
    for (int i = 1; i < t->nobjs; i++) {
        const pipc__topo_obj_t *o = &t->objs[i];
        assert_in_range(o->parent, 0, i - 1);
        assert_true(i < pipc__topo_end(t, o->parent)); /* preorder */
        assert_int_equal(o->kind == PIPC__TOPO_HOST_BRIDGE, o->parent == 0);
        assert_true(o->name[0] != '\0');
        assert_true(o->numa >= PIPC__UNKNOWN && o->numa < t->nnumas);
        assert_true(o->link.width != 0 && o->link.max_width != 0);
        assert_true(o->link.speed_mts != 0 && o->link.max_speed_mts != 0);
        int group = pipc__topo_switch_of(t, i);
        if (o->kind == PIPC__TOPO_GPU && group >= 0)
            assert_true(pipc__topo_is_group(t, group));
    }
    for (int i = 0; i < t->nnumas; i++) {
        assert_true(t->numas[i].os_index >= 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(t->numas[i].os_index, t->numas[j].os_index);
    }
}

static pipc_status_t load(pipc__source_kind_t kind, const char *text, pipc__topo_t **topo,
                          pipc__error_t *err)
{
    const pipc__source_t source = {kind, file};

    put(text, strlen(text));
    *err = (pipc__error_t){PIPC_OK, ""};
    return pipc__topo_load(topo, &source, err);
}

static pipc__topo_t *read_right(pipc__source_kind_t kind, const char *text)
{
    pipc__topo_t *t;
    pipc__error_t err;
    pipc_status_t st = load(kind, text, &t, &err);

    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_consistent(t);
    return t;
}

/* ---- groups as text: "[41 42 | 45 [41] [42 | 45]]", addresses by their bus or else by device --
 */

static char text[8192];

static void add(const char *separator, const char *word)
{
    size_t used = strlen(text);

    snprintf(text + used, sizeof(text) - used, "%s%s", separator, word);
}

static void add_members(const pipc__topo_t *t, int group, pipc__topo_kind_t kind)
{
    int end = pipc__topo_end(t, group), last = PIPC__UNKNOWN;

    for (int i = group + 1; i < end; i++) {
        const pipc__topo_obj_t *o = &t->objs[i];
        char bus[8];
        if (o->kind != kind || (last >= 0 && pipc__topo_same_place(t, last, i)))
            continue;
        snprintf(bus, sizeof(bus), "%02x", (unsigned int)(o->addr.bus & 0xff));
        add(last >= 0 || kind == PIPC__TOPO_NIC ? " " : "", o->addr.domain < 0 ? o->name : bus);
        last = i;
    }
}

static void add_groups(const pipc__topo_t *t, int above)
{
    for (int i = above + 1; i < t->nobjs; i++) {
        if (!pipc__topo_is_group(t, i) || pipc__topo_group_above(t, i) != above)
            continue;
        add(*text ? " " : "", "[");
        add_members(t, i, PIPC__TOPO_GPU);
        if (pipc__topo_list_below(t, i, PIPC__TOPO_NIC, NULL, 0) > 0)
            add(" ", "|");
        add_members(t, i, PIPC__TOPO_NIC);
        add_groups(t, i);
        add("", "]");
    }
}

static void assert_groups(pipc__source_kind_t kind, const char *input, const char *expected)
{
    pipc__topo_t *t = read_right(kind, input);

    text[0] = '\0';
    add_groups(t, PIPC__UNKNOWN);
    assert_string_equal(text, expected);
    pipc__topo_free(t);
}

static const pipc__topo_obj_t *object(const pipc__topo_t *t, const char *name)
{
    for (int i = 0; i < t->nobjs; i++)
        if (strcmp(t->objs[i].name, name) == 0)
            return &t->objs[i];
    fail_msg("no object %s", name);
    return NULL;
}

static int numa_number(const pipc__topo_t *t, const char *name)
{
    int numa = object(t, name)->numa;

    return numa < 0 ? PIPC__UNKNOWN : t->numas[numa].os_index;
}

/* An input that is refused: the status, and what the error says after the name of the file. */
typedef struct wrong {
    const char *input;
    pipc_status_t status;
    const char *says;
} wrong_t;

static void assert_refused(pipc__source_kind_t kind, const wrong_t *w)
{
    const pipc__source_t source = {kind, file};
    pipc__topo_t *t;
    pipc__error_t err;
    pipc_status_t st = load(kind, w->input, &t, &err);

    if (st != w->status || strncmp(err.text, file, strlen(file)) || !strstr(err.text, w->says))
        fail_msg("\"%.60s\": status %d, %s", w->input, (int)st, err.text);
    assert_null(t);
    assert_int_equal(pipc__source_exit(&source, st), 2);
}

/* ---- NCCL's XML --------------------------------------------------------------------------------
 */

#define SYSTEM(inner) "<system version=\"1\">" inner "</system>"
#define CPU(numa, mask, inner) "<cpu numaid=\"" numa "\" affinity=\"" mask "\">" inner "</cpu>"
#define PCI(busid, class, inner)                                                                   \
    "<pci busid=\"" busid "\" class=\"" class "\" link_speed=\"16.0 GT/s PCIe\" "                  \
                                              "link_width=\"16\">" inner "</pci>"
#define SWITCH(busid, inner) PCI(busid, "0x060400", inner)
#define GPU(bus) PCI("0000:" bus ":00.0", "0x030200", "<gpu dev=\"0\" rank=\"0\"/>")
#define NIC(bus, name)                                                                             \
    PCI("0000:" bus ":00.0", "0x020700", "<nic><net name=\"" name "\" port=\"1\"/></nic>")

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

#define LINKED(bus, links) PCI("0000:" bus ":00.0", "0x030200", "<gpu>" links "</gpu>")
#define NVLINK(target, count) "<nvlink target=\"" target "\" count=\"" count "\"/>"

static int links_between(const pipc__topo_t *t, const char *a, const char *b)
{
    return pipc__topo_nvlinks(t, (int)(object(t, a) - t->objs), (int)(object(t, b) - t->objs));
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

/* ---- nvidia-smi topo -m ------------------------------------------------------------------------
 */

static void matrix_groups(void **state)
{
    static const struct {
        const char *input, *groups;
    } cases[] = {
        /* Pairs below switches below switches; a NIC at the host bridge; no NUMA column. */
        {"\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\n"
         "GPU0\t X \tPIX\tPXB\tPXB\tPHB\t0-7\n"
         "GPU1\tPIX\t X \tPXB\tPXB\tPHB\t0-7\n"
         "GPU2\tPXB\tPXB\t X \tPIX\tPHB\t0-7\n"
         "GPU3\tPXB\tPXB\tPIX\t X \tPHB\t0-7\n"
         "mlx5_0\tPHB\tPHB\tPHB\tPHB\t X \t\n",
         "[GPU0 GPU1 GPU2 GPU3 [GPU0 GPU1] [GPU2 GPU3]]"},
        /* A pair that is PXB alone is below a switch too; blanks for tabs; a comment. */
        {"      GPU0  GPU1  GPU2   CPU Affinity  NUMA Affinity\n"
         "GPU0   X    PXB   SYS    0-3           0\n"
         "GPU1  PXB    X    SYS    0-3           0\n"
         "GPU2  SYS   SYS    X     4-7           1\n"
         "# taken on a Monday\n",
         "[GPU0 GPU1]"},
        /* NVLink everywhere: NICs tell which GPU is where. */
        {"\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
         "GPU0\t X \tNV18\tPIX\tNODE\t0-55\t0\t\tN/A\n"
         "GPU1\tNV18\t X \tNODE\tPIX\t0-55\t0\t\tN/A\n"
         "NIC0\tPIX\tNODE\t X \tNODE\t\t\t\t\n"
         "NIC1\tNODE\tPIX\tNODE\t X \t\t\t\t\n\n"
         "Legend:\n\n  X    = Self\n  PIX  = at most a single PCIe bridge\n\n"
         "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
         "[GPU0 | NIC0] [GPU1 | NIC1]"},
        {"\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\n"
         "GPU0\t X \tNV12\tNV12\tPXB\tPXB\n"
         "GPU1\tNV12\t X \tNV12\tPXB\tPXB\n"
         "GPU2\tNV12\tNV12\t X \tSYS\tSYS\n"
         "NIC0\tPXB\tPXB\tSYS\t X \tPXB\n"
         "NIC1\tPXB\tPXB\tSYS\tPXB\t X \n",
         "[GPU0 GPU1 | NIC0 NIC1]"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tNV4\n"
         "GPU1\tNV4\t X \n",
         ""},
        /* The two ports of a card are PIX to each other: no switch. */
        {"\tGPU0\tNIC0\tNIC1\n"
         "GPU0\t X \tNODE\tNODE\n"
         "NIC0\tNODE\t X \tPIX\n"
         "NIC1\tNODE\tPIX\t X \n",
         ""},
        {"\tGPU0\tGPU1\tNIC0\tNIC1\n"
         "GPU0\t X \tPIX\tPXB\tPXB\n"
         "GPU1\tPIX\t X \tPXB\tPXB\n"
         "NIC0\tPXB\tPXB\t X \tPIX\n"
         "NIC1\tPXB\tPXB\tPIX\t X \n",
         "[GPU0 GPU1 | NIC0 NIC1 [GPU0 GPU1]]"},
        /* PIX through a NIC, but PXB by the pair's own cell: what both share is a switch above. */
        {"\tGPU0\tGPU1\tNIC0\n"
         "GPU0\t X \tPXB\tPIX\n"
         "GPU1\tPXB\t X \tPIX\n"
         "NIC0\tPIX\tPIX\t X \n",
         "[GPU0 GPU1 | NIC0]"},
        /* Host bridges and NUMA nodes are no switches. */
        {"\tGPU0\tGPU1\tGPU2\n"
         "GPU0\t X \tPHB\tSOC\n"
         "GPU1\tPHB\t X \tSOC\n"
         "GPU2\tSOC\tSOC\t X \n",
         ""},
        /* Escape sequences of a terminal, a prompt, ends of lines from elsewhere, a BOM's worth of
         * nothing before the header. */
        {"$ nvidia-smi topo -m\r\n\033[4m\tGPU0\tGPU1\tCPU Affinity\033[0m\r\n"
         "GPU0\t X \tPIX\t0-3\r\n"
         "GPU1\tPIX\t X \t0-3\r\n",
         "[GPU0 GPU1]"},
        /* Words that lost the tab between them. */
        {"\tGPU0\tGPU1\tNIC0NIC1\tCPU Affinity\n"
         "GPU0\t X \tSYS\tPIXSYS\t0-3\n"
         "GPU1\tSYS\t X \tSYSPIX\t4-7\n"
         "NIC0\tPIX\tSYS\t X SYS\n"
         "NIC1\tSYS\tPIX\tSYS X \n",
         "[GPU0 | NIC0] [GPU1 | NIC1]"},
        {"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
         "GPU0\t X \t0-15\tN/A\t\tN/A\n",
         ""},
        /* N/A in one half of the matrix. */
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tN/A\n"
         "GPU1\tPIX\t X \n",
         "[GPU0 GPU1]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_groups(PIPC__SOURCE_TOPO_M, cases[i].input, cases[i].groups);
}

static void matrix_facts(void **state)
{
    (void)state;
    pipc__topo_t *t = read_right(
        PIPC__SOURCE_TOPO_M, "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                             "GPU0\t X \tNV4\tNODE\tSYS\t0-3,8\t3\t\t9\n"
                             "GPU1\tNV4\t X \tSYS\tSYS\t4-7\t5\t\tN/A\n"
                             "NIC0\tNODE\tSYS\t X \tSYS\n"
                             "NIC1\tSYS\tSYS\tSYS\t X \n"
                             "Legend:\nNIC Legend:\n  NIC0: mlx5_7\n");
    assert_int_equal(numa_number(t, "GPU0"), 3);
    assert_int_equal(numa_number(t, "GPU1"), 5);
    assert_int_equal(numa_number(t, "NIC0"), 3); /* NODE to GPU0 */
    assert_true(hwloc_bitmap_isset(t->numas[object(t, "GPU0")->numa].cpus, 8));
    assert_string_equal(object(t, "NIC0")->netdev, "mlx5_7");
    assert_string_equal(object(t, "NIC1")->netdev, "");
    assert_int_equal(object(t, "GPU0")->minor, PIPC__UNKNOWN);
    assert_int_equal(links_between(t, "GPU0", "GPU1"), 4);
    for (int i = 0; i < t->nnumas; i++)
        assert_int_equal(t->numas[i].memory_only, t->numas[i].os_index == 9);
    pipc__topo_free(t);

    /* CPUs without numbers of nodes: two nodes, in order of their CPUs. */
    t = read_right(PIPC__SOURCE_TOPO_M, "\tGPU0\tGPU1\tCPU Affinity\n"
                                        "GPU0\t X \tSYS\t4-7\n"
                                        "GPU1\tSYS\t X \t0-3\n");
    assert_int_equal(numa_number(t, "GPU0"), 1);
    assert_int_equal(numa_number(t, "GPU1"), 0);
    pipc__topo_free(t);
}

static void matrix_refused(void **state)
{
    static const wrong_t cases[] = {
        {"", PIPC_ERR_INVALID, "it is empty"},
        {"\n\n", PIPC_ERR_INVALID, "no line of columns GPU0 GPU1"},
        {"Unable to initialize NVML\n", PIPC_ERR_INVALID, "no line of columns"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n"
         "GPU1\tPXB\t X \n",
         PIPC_ERR_INVALID,
         "line 3: row GPU1, column GPU0: PXB, but line 2 has PIX for the same pair"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tNV2\n"
         "GPU1\tNV4\t X \n",
         PIPC_ERR_INVALID, "row GPU1, column GPU0: NV4, but line 2 has NV2"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tOK\n"
         "GPU1\tOK\t X \n",
         PIPC_ERR_INVALID, "line 2: row GPU0, column GPU1: \"OK\" is none of X, PIX"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tNV99999999999\n"
         "GPU1\tNV4\t X \n",
         PIPC_ERR_INVALID, "\"NV99999999999\" is none of"},
        {"\tGPU0\tGPU1\n"
         "GPU0\tPIX\tPIX\n",
         PIPC_ERR_INVALID, "row GPU0, column GPU0: \"PIX\"; X stands where"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \t X \n",
         PIPC_ERR_INVALID, "row GPU0, column GPU1: \"X\"; X"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \n",
         PIPC_ERR_INVALID, "line 2: row GPU0 has 1 cells for 2 columns"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n",
         PIPC_ERR_INVALID, "no row GPU1; is the text complete"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n"
         "GPU0\t X \tPIX\n",
         PIPC_ERR_INVALID, "line 3: a second row of GPU0"},
        {"\tGPU0\tGPU0\n", PIPC_ERR_INVALID, "line 1: two columns are called GPU0"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n"
         "GPU2\tPIX\t X \n",
         PIPC_ERR_INVALID, "line 3: a row without a column: GPU2"},
        {"\tGPU0\tGPU1\tCPU Affinity\n"
         "GPU0\t X \tPIX\tzero\n",
         PIPC_ERR_INVALID, "CPU affinity: not a list of CPUs: zero"},
        {"\tGPU0\tGPU1\tCPU Affinity\n"
         "GPU0\t X \tPIX\t0-4294967295\n",
         PIPC_ERR_INVALID, "not a list of CPUs"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n"
         "GPU1\tPIX\t X \nLegend:\n"
         "\tGPU0\tGPU1\n",
         PIPC_ERR_INVALID, "line 5: a second matrix"},
        /* No tree: 0 and 1 below one switch, 1 and 2 too, 0 and 2 not. */
        {"\tGPU0\tGPU1\tGPU2\n"
         "GPU0\t X \tPXB\tPHB\n"
         "GPU1\tPXB\t X \tPXB\n"
         "GPU2\tPHB\tPXB\t X \n",
         PIPC_ERR_INVALID,
         "line 4: row GPU2, column GPU0: farther apart than other cells allow: PIX"},
        {"\tGPU0\tGPU1\tGPU2\n"
         "GPU0\t X \tPHB\tSYS\n"
         "GPU1\tPHB\t X \tPHB\n"
         "GPU2\tSYS\tPHB\t X \n",
         PIPC_ERR_INVALID, "put both below one host bridge"},
    };
    char *wide = calloc(1, 1 << 16);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(PIPC__SOURCE_TOPO_M, &cases[i]);
    assert_non_null(wide);
    for (int i = 0; i < 400; i++)
        sprintf(wide + strlen(wide), "\tGPU%d", i);
    assert_refused(PIPC__SOURCE_TOPO_M, &(wrong_t){wide, PIPC_ERR_INVALID, "more columns than"});
    free(wide);
}

/* ---- hwloc's XML -------------------------------------------------------------------------------
 */

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

#define HWLOC_XML(version, inner)                                                                  \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"      \
    "<topology version=\"" version "\">\n"                                                         \
    "<object type=\"Machine\" os_index=\"0\" gp_index=\"9\" " SETS(                                \
        "0x00000003",                                                                              \
        "0x00000001") " allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000001\">\n"           \
                      "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"8\" " SETS(             \
                          "0x00000003",                                                            \
                          "0x00000001") " local_memory=\"4096\"/>\n" CORE("0", "0", "0x00000001")  \
                          CORE("1", "1", "0x00000002") inner "</object></topology>\n"

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

/* ---- lspci's dump ------------------------------------------------------------------------------
 */

/* A device as lspci -xxx writes it. @port -1: the 64 bytes that it shows without privilege. */
static void put_device(char *out, const char *name, const char *words, unsigned int class, int port,
                       int secondary, bool verbose)
{
    unsigned char c[256] = {0xde, 0x10, 0x34, 0x12};
    int n = port < 0 ? 64 : 256;

    c[0x06] = 0x10;
    c[0x09] = (unsigned char)class;
    c[0x0a] = (unsigned char)(class >> 8);
    c[0x0b] = (unsigned char)(class >> 16);
    c[0x0e] = secondary >= 0;
    c[0x19] = (unsigned char)(secondary < 0 ? 0 : secondary);
    c[0x34] = 0x40;
    c[0x40] = 0x10;
    c[0x42] = (unsigned char)((port < 0 ? 0 : port) << 4 | 2);
    c[0x4c] = 0x04; /* can do 16 GT/s x16 */
    c[0x4d] = 0x01;
    c[0x52] = 0x83; /* does 8 GT/s x8 */
    out += sprintf(out, "%s %s (rev a1)\n", name, words);
    if (verbose)
        out += sprintf(out, "\tControl: I/O+ Mem+\n\tNUMA node: 1\n\t\tLnkSta: Speed 8GT/s (ok)\n");
    for (int i = 0; i < n; i++) {
        if (i % 16 == 0)
            out += sprintf(out, "%02x:", (unsigned int)i);
        out += sprintf(out, " %02x%s", c[i], i % 16 == 15 ? "\n" : "");
    }
    sprintf(out, "\n");
}

#define BRIDGE "PCI bridge: PLX Technology, Inc. PEX 8796", 0x060400
#define A_GPU "3D controller: NVIDIA Corporation GV100GL", 0x030200
#define A_NIC "Infiniband controller: Mellanox Technologies MT27800", 0x020700

/* Two GPUs and a NIC below a switch, a third GPU at a port of its own. */
static void put_switch(char *out, bool privileged, bool verbose)
{
    int root = privileged ? 4 : -1, up = privileged ? 5 : -1, down = privileged ? 6 : -1;
    int end = privileged ? 0 : -1;

    put_device(out, "00:01.0", BRIDGE, root, 1, verbose);
    put_device(out + strlen(out), "00:02.0", BRIDGE, root, 6, verbose);
    put_device(out + strlen(out), "01:00.0", BRIDGE, up, 2, verbose);
    put_device(out + strlen(out), "02:04.0", BRIDGE, down, 3, verbose);
    put_device(out + strlen(out), "02:08.0", BRIDGE, down, 4, verbose);
    put_device(out + strlen(out), "02:0c.0", BRIDGE, down, 5, verbose);
    put_device(out + strlen(out), "0000:03:00.0", A_GPU, end, -1, verbose);
    put_device(out + strlen(out), "0000:04:00.0", A_GPU, end, -1, verbose);
    put_device(out + strlen(out), "0000:05:00.0", A_NIC, end, -1, verbose);
    put_device(out + strlen(out), "0000:06:00.0", A_GPU, end, -1, verbose);
}

static char dump[1 << 16];

static void dump_groups(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        put_switch(dump, way & 1, way & 2);
        assert_groups(PIPC__SOURCE_DUMP, dump, "[03 04 | 05]");
    }
    /* All on one bus, as in a virtual machine: no switch. */
    put_device(dump, "00:05.0", A_GPU, 0, -1, false);
    put_device(dump + strlen(dump), "00:06.0", A_GPU, 0, -1, false);
    assert_groups(PIPC__SOURCE_DUMP, dump, "");
}

static void dump_facts(void **state)
{
    (void)state;
    put_switch(dump, true, true);
    pipc__topo_t *t = read_right(PIPC__SOURCE_DUMP, dump);
    const pipc__topo_obj_t *gpu = object(t, "0000:03:00.0");
    assert_int_equal(gpu->link.max_width, 16);
    assert_int_equal(gpu->link.max_speed_mts, 16000);
    assert_int_equal(gpu->link.width, 8);
    assert_int_equal(gpu->link.speed_mts, 8000);
    assert_int_equal(numa_number(t, "0000:03:00.0"), 1);
    pipc__topo_free(t);
    put_switch(dump, false, false);
    t = read_right(PIPC__SOURCE_DUMP, dump);
    assert_int_equal(object(t, "0000:03:00.0")->link.max_width, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0000:03:00.0")->numa, PIPC__UNKNOWN);
    pipc__topo_free(t);
}

/* The virtual functions of a NIC are the same card; their ids read as ones. */
static void dump_virtual_functions(void **state)
{
    char *ids;

    (void)state;
    put_switch(dump, true, false);
    put_device(dump + strlen(dump), "05:02.0", A_NIC, 0, -1, false);
    ids = strstr(strstr(dump, "\n05:02.0"), "de 10 34 12");
    pipc__topo_t *t = read_right(PIPC__SOURCE_DUMP, dump);
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 2);
    pipc__topo_free(t);
    memcpy(ids, "ff ff ff ff", 11);
    t = read_right(PIPC__SOURCE_DUMP, dump);
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 1);
    pipc__topo_free(t);
}

static void dump_refused(void **state)
{
    static const wrong_t cases[] = {
        {"", PIPC_ERR_INVALID, "it is empty"},
        {"nothing of the kind\n", PIPC_ERR_INVALID, "no device in it; lspci -xxxx writes"},
        {"00:05.0 3D controller: NVIDIA\n00:06.0 3D controller: NVIDIA\n", PIPC_ERR_INVALID,
         "it names devices but holds no bytes of them; lspci -xxxx, as root, writes them"},
        {"00:05.0 3D controller: NVIDIA\n00: de 10 34 12\n", PIPC_ERR_INVALID, "no bytes of them"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(PIPC__SOURCE_DUMP, &cases[i]);
}

/* ---- a captured machine of folders, without links ----------------------------------------------
 */

#define PCI_FOLDER "sys/bus/pci/devices"

static void put_class(const char *root, const char *device, const char *class)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", root, device);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
    mkdir(path, 0700);
    if (!class)
        return;
    strcat(path, "/class");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(class, f);
    fclose(f);
}

/* A copy that followed the links has folders for them: the devices in a folder are below it.
 * Without these and without config space nothing tells. */
static void folders_in_folders(void **state)
{
    char root[] = "/tmp/pipc-folders-XXXXXX", command[64];
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_t *t;

    (void)state;
    assert_non_null(mkdtemp(root));
    put_class(root, PCI_FOLDER "/0000:17:00.0", "0x060400");
    put_class(root, PCI_FOLDER "/0000:18:00.0", "0x060400");
    put_class(root, PCI_FOLDER "/0000:19:04.0", "0x060400");
    put_class(root, PCI_FOLDER "/0000:19:08.0", "0x060400");
    put_class(root, PCI_FOLDER "/0000:1a:00.0", "0x030200");
    put_class(root, PCI_FOLDER "/0000:1b:00.0", "0x030200");
    assert_int_equal(pipc__topo_sysroot(&t, root, &err), PIPC_OK);
    assert_consistent(t);
    assert_int_equal(pipc__topo_switch_of(t, t->nobjs - 1), PIPC__UNKNOWN);
    pipc__topo_free(t);

    put_class(root, PCI_FOLDER "/0000:17:00.0/0000:18:00.0", NULL);
    put_class(root, PCI_FOLDER "/0000:18:00.0/0000:19:04.0", NULL);
    put_class(root, PCI_FOLDER "/0000:18:00.0/0000:19:08.0", NULL);
    put_class(root, PCI_FOLDER "/0000:19:04.0/0000:1a:00.0", NULL);
    put_class(root, PCI_FOLDER "/0000:19:08.0/0000:1b:00.0", NULL);
    assert_int_equal(pipc__topo_sysroot(&t, root, &err), PIPC_OK);
    assert_consistent(t);
    assert_string_equal(t->objs[pipc__topo_switch_of(t, t->nobjs - 1)].name, "0000:18:00.0");
    pipc__topo_free(t);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* ---- files that are none, options -------------------------------------------------------------
 */

static void files_that_cannot_be_read(void **state)
{
    static const struct {
        const char *path, *says;
    } cases[] = {
        {"/nonexistent/x", "/nonexistent/x: cannot be read: No such file or directory"},
        {"/tmp", "/tmp: a folder, not a file"},
        {"/dev/zero", "/dev/zero: longer than 16 MiB"},
        {"/dev/null", "/dev/null: it is empty"},
    };

    (void)state;
    for (pipc__source_kind_t kind = PIPC__SOURCE_HWLOC_XML; kind <= PIPC__SOURCE_DUMP; kind++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            const pipc__source_t source = {kind, cases[i].path};
            pipc__error_t err = {PIPC_OK, ""};
            pipc__topo_t *t;
            pipc_status_t st = pipc__topo_load(&t, &source, &err);
            assert_int_not_equal(st, PIPC_OK);
            assert_null(t);
            if (!strstr(err.text, cases[i].says))
                fail_msg("%s: %s", cases[i].path, err.text);
            assert_int_equal(pipc__source_exit(&source, st), 2);
        }
}

static void exit_statuses(void **state)
{
    (void)state;
    assert_int_equal(pipc__source_exit(&(pipc__source_t){PIPC__SOURCE_SYNTHETIC, "x"}, PIPC_OK), 0);
    assert_int_equal(
        pipc__source_exit(&(pipc__source_t){PIPC__SOURCE_SYNTHETIC, "x"}, PIPC_ERR_INVALID), 64);
    assert_int_equal(pipc__source_exit(&(pipc__source_t){PIPC__SOURCE_LIVE, NULL}, PIPC_ERR_SYSTEM),
                     1);
    assert_int_equal(
        pipc__source_exit(&(pipc__source_t){PIPC__SOURCE_SYSROOT, "x"}, PIPC_ERR_NOT_FOUND), 2);
}

static void a_file_tells_what_it_is(void **state)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__source_t source;

    (void)state;
    put_switch(dump, false, true);
    const struct {
        const char *input;
        pipc__source_kind_t kind;
    } cases[] = {
        {hwloc_switch, PIPC__SOURCE_HWLOC_XML},
        {"<!-- <topology of the house -->\n" SYSTEM(CPU("0", "ff", GPU("14"))),
         PIPC__SOURCE_NCCL_XML},
        {"\tGPU0\tGPU1\nGPU0\t X \tPIX\n", PIPC__SOURCE_TOPO_M},
        {dump, PIPC__SOURCE_DUMP},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        put(cases[i].input, strlen(cases[i].input));
        assert_int_equal(pipc__source_guess(&source, file, &err), PIPC_OK);
        assert_int_equal(source.kind, cases[i].kind);
        assert_ptr_equal(source.text, file);
    }
    assert_int_equal(pipc__source_guess(&source, "/tmp", &err), PIPC_OK);
    assert_int_equal(source.kind, PIPC__SOURCE_SYSROOT);
    put("hello\n", 6);
    assert_int_equal(pipc__source_guess(&source, file, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__source_guess(&source, "/nonexistent", &err), PIPC_ERR_SYSTEM);
}

/* ---- noise -------------------------------------------------------------------------------------
 */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Damage text[n] in one to four places; its new length. */
static size_t damage(char *t, size_t n, size_t cap)
{
    static const char *const words[] = {"<pci busid=\"0000:14:00.0\">",
                                        "</pci>",
                                        "<cpu numaid=\"1\">",
                                        "\"",
                                        ">",
                                        "<",
                                        "&#0;",
                                        "\t",
                                        "GPU1",
                                        "PIX",
                                        "SYS",
                                        "NV9",
                                        "-1",
                                        "0xffffffff",
                                        "99999999999999999999",
                                        "\n",
                                        "",
                                        "cpuset=\"0xffffffff\"",
                                        "<object type=\"PCIDev\">",
                                        "00: ff ff",
                                        "0000:01:00.0 x\n"};

    for (uint32_t times = 1 + draw(4); times > 0 && n > 0; times--) {
        size_t at = draw((uint32_t)n), len = 1 + draw(40);
        const char *word = words[draw(COUNT(words))];
        len = at + len > n ? n - at : len;
        switch (draw(5)) {
        case 0: /* another byte */
            t[at] = (char)draw(256);
            break;
        case 1: /* a piece missing */
            memmove(t + at, t + at + len, n - at - len);
            n -= len;
            break;
        case 2: /* cut off */
            n = draw(8) ? n : at;
            break;
        case 3: /* a word too many */
            len = strlen(word);
            if (n + len > cap)
                break;
            memmove(t + at + len, t + at, n - at);
            memcpy(t + at, word, len);
            n += len;
            break;
        default: /* a piece twice */
            if (n + len > cap)
                break;
            memmove(t + at + len, t + at, n - at);
            n += len;
            break;
        }
    }
    return n;
}

/* What is read, or refused, is one or the other: a tree that holds together, or an error. */
static void read_damaged(pipc__source_kind_t kind, const char *input, int rounds)
{
    const pipc__source_t source = {kind, file};
    size_t n = strlen(input), cap = n + 512;
    char *t = malloc(cap);
    int right = 0;

    assert_non_null(t);
    seed = 1;
    for (int i = 0; i < rounds; i++) {
        pipc__error_t err = {PIPC_OK, ""};
        pipc__topo_t *topo;
        memcpy(t, input, n);
        put(t, damage(t, n, cap));
        pipc_status_t st = pipc__topo_load(&topo, &source, &err);
        if (st) {
            assert_null(topo);
            assert_true(err.text[0] != '\0');
            continue;
        }
        right++;
        assert_consistent(topo);
        pipc__topo_free(topo);
    }
    assert_true(rounds == 0 || (right > 0 && right < rounds)); /* both ends were reached */
    free(t);
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

static void noise_matrix(void **state)
{
    (void)state;
    read_damaged(PIPC__SOURCE_TOPO_M,
                 "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                 "GPU0\t X \tNV18\tPIX\tNODE\t0-55\t0\t\tN/A\n"
                 "GPU1\tNV18\t X \tNODE\tPIX\t0-55\t0\t\tN/A\n"
                 "NIC0\tPIX\tNODE\t X \tNODE\n"
                 "NIC1\tNODE\tPIX\tNODE\t X \n\nLegend:\n\n  X    = Self\n\n"
                 "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
                 4000);
}

static void noise_hwloc(void **state)
{
    (void)state;
    read_damaged(PIPC__SOURCE_HWLOC_XML, hwloc_switch, 2000);
}

static void noise_dump(void **state)
{
    (void)state;
    put_device(dump, "00:01.0", BRIDGE, 4, 1, false);
    put_device(dump + strlen(dump), "0000:01:00.0", A_GPU, 0, -1, true);
    put_device(dump + strlen(dump), "0000:01:00.1", A_NIC, -1, -1, false);
    read_damaged(PIPC__SOURCE_DUMP, dump, 1500);
}

int main(void)
{
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        WITH_FILE(nccl_groups),
        WITH_FILE(nccl_facts),
        WITH_FILE(nccl_nvlinks),
        WITH_FILE(nccl_refused),
        WITH_FILE(noise_nccl),
        WITH_FILE(matrix_groups),
        WITH_FILE(matrix_facts),
        WITH_FILE(matrix_refused),
        WITH_FILE(noise_matrix),
        WITH_FILE(hwloc_trees),
        WITH_FILE(hwloc_memory_nodes),
        WITH_FILE(hwloc_refused),
        WITH_FILE(noise_hwloc),
        WITH_FILE(dump_groups),
        WITH_FILE(dump_facts),
        WITH_FILE(dump_virtual_functions),
        WITH_FILE(dump_refused),
        WITH_FILE(noise_dump),
        WITH_FILE(a_file_tells_what_it_is),
        cmocka_unit_test(folders_in_folders),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(exit_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
