/* tests/unit/topo_matrix.c - trees from "nvidia-smi topo -m"; each input is the smallest that has
 * the shape or the fault it is about */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topo_files.h"

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
         "GPU0\t X \n\tPIX\n"
         "GPU1\tPXB\t X \n",
         PIPC_ERR_INVALID, "line 4: row GPU1, column GPU0: PXB, but line 2 has PIX"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tNV2\n"
         "GPU1\tNV4\t X \n",
         PIPC_ERR_INVALID, "row GPU1, column GPU0: NV4, but line 2 has NV2"},
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tFAR\n"
         "GPU1\tFAR\t X \n",
         PIPC_ERR_INVALID, "line 2: row GPU0, column GPU1: \"FAR\" is none of X, PIX"},
        /* topo -p2p alone. */
        {"\tGPU0\tGPU1\n"
         " GPU0\tX\tGNS\n"
         " GPU1\tOK\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n",
         PIPC_ERR_INVALID, "of topo -m in it, only of topo -p2p"},
        /* rocm-smi --showtopo and amd-smi topology. */
        {"=== Weight between two GPUs ===\n"
         "       GPU0  GPU1\n"
         "GPU0   0     15\n"
         "GPU1   15    0\n",
         PIPC_ERR_UNSUPPORTED, "rocm-smi or amd-smi, which tells too little"},
        /* Two nodes by pdsh, one after the other and mixed. */
        {"n1: \tGPU0\tGPU1\n"
         "n1: GPU0\t X \tPIX\n"
         "n1: GPU1\tPIX\t X \n"
         "n2: \tGPU0\tGPU1\n",
         PIPC_ERR_INVALID, "line 4: a second matrix"},
        {"n1: \tGPU0\tGPU1\n"
         "n2: \tGPU0\tGPU1\n",
         PIPC_ERR_INVALID, "line 2: a second matrix"},
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
         "GPU0\t X \tPIX\tSYS\n",
         PIPC_ERR_INVALID, "line 2: row GPU0 has more cells than the 2 columns"},
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

/* What a matrix went through on its way here changes nothing. */
static void matrix_pasted(void **state)
{
    static const struct {
        const char *input, *groups;
    } cases[] = {
        /* The codes of a terminal, which lost their ESC. */
        {"\t[4mGPU0\tGPU1\tNIC0\tCPU Affinity[0m\n"
         "GPU0\t X \tSYS\tPIX\t0-3\n"
         "GPU1\tSYS\t X \tSYS\t4-7\n"
         "NIC0\tPIX\tSYS\t X \n",
         "[GPU0 | NIC0]"},
        /* A table of Markdown, in which somebody made words bold. */
        {"The pairs:\n\n"
         "| | GPU0 | GPU1 | GPU2 | NUMA |\n"
         "|---|:---:|---|---|---|\n"
         "| GPU0 | X | **PIX** | NODE | 0 |\n"
         "| `GPU1` | **PIX** | X | NODE | 0 |\n"
         "| GPU2 | NODE | NODE | X | 0 |\n",
         "[GPU0 GPU1]"},
        {"> > \tGPU0\tGPU1\n"
         "> > GPU0\t X \tPIX\n"
         "> >GPU1\tPIX\t X \n",
         "[GPU0 GPU1]"},
        {"+\tGPU0\tGPU1\n"
         "+GPU0\t X \tPIX\n"
         "+GPU1\tPIX\t X \n",
         "[GPU0 GPU1]"},
        /* Labels of launchers; with one, a tab is often lost. */
        {"gpu-07: \tGPU0\tNIC0\n"
         "gpu-07: GPU0\t X \tPIX\n"
         "gpu-07: NIC0\tPIX\t X \n"
         "gpu-07: \n"
         "gpu-07: Legend:\n",
         "[GPU0 | NIC0]"},
        {"[1,0]<stdout>:\tGPU0\tGPU1\n"
         "[1,0]<stdout>:GPU0\t X \tPIX\n"
         "[1,0]<stdout>:GPU1\tPIX\t X \n",
         "[GPU0 GPU1]"},
        /* Blanks of browsers. */
        {"\xc2\xa0GPU0\xc2\xa0\xc2\xa0GPU1\n"
         "GPU0\xc2\xa0 X \xc2\xa0PIX\n"
         "GPU1\xc2\xa0PIX\xc2\xa0 X\n",
         "[GPU0 GPU1]"},
        /* topo -p2p behind it, without a legend and with one, and before it. */
        {"\tGPU0\tGPU1\n"
         "GPU0\t X \tPIX\n"
         "GPU1\tPIX\t X \n"
         "\tGPU0\tGPU1\n"
         "GPU0\tX\tNS\n"
         "GPU1\tNS\tX\n",
         "[GPU0 GPU1]"},
        {" \tGPU0\tGPU1\n"
         " GPU0\tX\tCNS\n"
         " GPU1\tCNS\tX\n"
         "Legend:\n  OK   = Status Ok\n"
         "\tGPU0\tGPU1\tCPU Affinity\n"
         "GPU0\t X \tPIX\t0-3\n"
         "GPU1\tPIX\t X \t0-3\n"
         "Legend:\n",
         "[GPU0 GPU1]"},
        /* Cut at a margin: between cells, before the CPUs, in the titles. */
        {"\tGPU0\tGPU1\n"
         "mlx5_0 CPU Affinity\n"
         "GPU0 X SYS\n"
         "PIX 0-3\n"
         "GPU1 SYS X SYS 0-3\n",
         "[GPU0 | mlx5_0]"},
        {"\tGPU0\tGPU1\tGPU2\n"
         "NIC0\tCPU\n"
         "Affinity NUMA Affinity\n"
         "GPU0 X PIX SYS\n"
         "SYS 0-3 0\n"
         "GPU1 PIX X SYS SYS\n"
         "0-3 0\n"
         "GPU2 SYS\n"
         "SYS X\n"
         "PIX 4-7\n"
         "1\n"
         "NIC0 SYS SYS PIX X\n"
         "Legend:\n"
         "  X    = Self\n"
         "  SYS  = Connection\n",
         "[GPU0 GPU1] [GPU2 | NIC0]"},
        /* Without the rows of the NICs, which say nothing new. */
        {"\tGPU0\tGPU1\tNIC0\tNIC1\n"
         "GPU0\t X \tNV18\tPIX\tSYS\n"
         "GPU1\tNV18\t X \tSYS\tPIX\n"
         "...\n",
         "[GPU0 | NIC0] [GPU1 | NIC1]"},
    };
    static const char wide[] = "\377\376G\0P\0U\0"
                               "0\0\n\0G\0P\0U\0"
                               "0\0 \0X\0\n\0";
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_t *t;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_groups(PIPC__SOURCE_TOPO_M, cases[i].input, cases[i].groups);
    put_topo_file(wide, sizeof(wide) - 1); /* UTF-16, as PowerShell redirects */
    assert_int_equal(pipc__topo_load(&t, &(pipc__source_t){PIPC__SOURCE_TOPO_M, topo_file}, &err),
                     PIPC_OK);
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), 1);
    pipc__topo_free(t);
}

/* Nodes are those that are named, and their first where a GPU is near to several. */
static void matrix_nodes(void **state)
{
    (void)state;
    pipc__topo_t *t =
        read_right(PIPC__SOURCE_TOPO_M, "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                                        "GPU0\t X \tNV6\t0-71\t0,2-9\t\t2\n"
                                        "GPU1\tNV6\t X \t72-140, 142\t1-2\t\t10\n");
    assert_int_equal(numa_number(t, "GPU0"), 0);
    assert_int_equal(numa_number(t, "GPU1"), 1);
    assert_true(hwloc_bitmap_isset(t->numas[object(t, "GPU1")->numa].cpus, 142));
    assert_int_equal(t->nnumas, 4);
    pipc__topo_free(t);

    /* Threads of a core, by the numbers that Linux gives them; a node of other numbers has none. */
    t = read_right(PIPC__SOURCE_TOPO_M, "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
                                        "GPU0\t X \tSYS\tSYS\t0-3,12-15\t0\n"
                                        "GPU1\tSYS\t X \tSYS\t4-7\t1\n"
                                        "GPU2\tSYS\tSYS\t X \t8-10,20-21,23\t2\n");
    assert_int_equal(t->ncores, 4);
    for (int i = 0; i < t->ncores; i++) {
        assert_int_equal(hwloc_bitmap_first(t->cores[i]), i);
        assert_int_equal(hwloc_bitmap_last(t->cores[i]), 12 + i);
        assert_int_equal(hwloc_bitmap_weight(t->cores[i]), 2);
    }
    pipc__topo_free(t);

    /* Every pair is SYS, two GPUs of one node too: that says nothing of NIC1. */
    t = read_right(PIPC__SOURCE_TOPO_M, "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
                                        "GPU0\t X \tSYS\tPIX\tSYS\t0-3\t0\n"
                                        "GPU1\tSYS\t X \tSYS\tSYS\t0-3\t0\n"
                                        "NIC0\tPIX\tSYS\t X \tSYS\n"
                                        "NIC1\tSYS\tSYS\tSYS\t X \n");
    assert_int_equal(t->nnumas, 1);
    assert_int_equal(numa_number(t, "NIC0"), 0);
    assert_int_equal(numa_number(t, "NIC1"), PIPC__UNKNOWN);
    pipc__topo_free(t);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(matrix_groups), WITH_FILE(matrix_pasted),  WITH_FILE(matrix_facts),
        WITH_FILE(matrix_nodes),  WITH_FILE(matrix_refused), WITH_FILE(noise_matrix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
