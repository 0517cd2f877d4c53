/* tests/unit/topo_lspci.c - trees from lspci -tv; each input is the smallest that has the shape or
 * the fault it is about */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/topo/lspci_tree.h"
#include "tests/unit/topo_files.h"

#define NV "NVIDIA Corporation GA100 [A100 SXM4 80GB]"
#define CX "Mellanox Technologies MT28908 Family [ConnectX-6]"

static void tree_groups(void **state)
{
    static const struct {
        const char *input, *groups;
    } cases[] = {
        /* A root port, an upstream port, three downstream ports, one of them empty. */
        {"-+-[0000:40]-+-00.0  Intel Corporation Device 09a2\n"
         " |           \\-01.0-[41-45]----00.0-[42-45]--+-00.0-[43]--+-00.0  " NV "\n"
         " |                                           |            \\-00.1  " NV "\n"
         " |                                           +-04.0-[44]----00.0  " CX "\n"
         " |                                           \\-08.0-[45]--\n"
         " \\-[0000:00]-+-01.0-[01]----00.0  " NV "\n"
         "             \\-02.0-[02]--+-00.0  " CX "\n"
         "                           \\-00.1  " CX "\n",
         "[43 | 44]"},
        /* Two root ports of one host bridge, and a switch of disks, are no group. */
        {"-[0000:00]-+-01.0-[01]----00.0  " NV "\n"
         "           +-02.0-[02]----00.0  " NV "\n"
         "           \\-03.0-[03-06]----00.0-[04-06]--+-00.0-[05]----00.0  Samsung SSD\n"
         "                                           \\-01.0-[06]----00.0  Samsung SSD\n",
         ""},
        /* Switches below a switch. */
        {"-[0001:00]---00.0-[01-09]----00.0-[02-09]--+-00.0-[03-06]----00.0-[04-06]--+-00.0-[05]---"
         "-00."
         "0  " NV "\n"
         "                                           |                               "
         "\\-01.0-[06]----00.0  " NV "\n"
         "                                           "
         "\\-01.0-[07-09]----00.0-[08-09]--+-00.0-[09]----"
         "00.0  " NV "\n"
         "                                                                           "
         "\\-01.0-[0a]----00.0  " CX "\n",
         "[05 06 09 | 0a [05 06] [09 | 0a]]"},
        /* On the root bus, as in a virtual machine. */
        {"-[0000:00]-+-05.0  " NV "\n"
         "           \\-06.0  " NV "\n",
         ""},
        /* Quoted, a column off, between other text, with lines left out. */
        {"$ lspci -tv\n"
         "> -[0000:00]-+-00.0  Intel Corporation X\n"
         "> ...\n"
         ">             \\-1c.0-[01-04]----00.0-[02-04]--+-00.0-[03]----00.0  " NV "\n"
         ">                                            \\-01.0-[04]----00.0  " NV "\n"
         ">\n"
         "+-----------------------------------------+\n"
         "| NVIDIA-SMI 550.54                       |\n"
         "+-----------------------------------------+\n",
         "[03 04]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_groups(PIPC__SOURCE_LSPCI_TREE, cases[i].input, cases[i].groups);
}

static void tree_facts(void **state)
{
    (void)state;
    pipc__topo_t *t = read_right(PIPC__SOURCE_LSPCI_TREE,
                                 "-+-[10000:e0]---06.0-[e1]----00.0  " NV "\n"
                                 " \\-[0000:00]---01.0-[01]--+-00.0  " CX "\n"
                                 "                           \\-00.1  Intel Ethernet X710\n");
    assert_int_equal(object(t, "10000:e1:00.0")->kind, PIPC__TOPO_GPU);
    assert_int_equal(object(t, "10000:e1:00.0")->numa, PIPC__UNKNOWN);
    assert_true(object(t, "0000:01:00.0")->rdma);
    assert_false(object(t, "0000:01:00.1")->rdma);
    pipc__topo_free(t);
}

static void what_names_say(void **state)
{
    static const struct {
        const char *name;
        pipc__part_t part;
        bool rdma;
    } cases[] = {
        {"NVIDIA Corporation Device 2901", PIPC__PART_GPU, false},
        {"NVIDIA Corporation AD102 High Definition Audio Controller", PIPC__PART_OTHER, false},
        {"NVIDIA Corporation TU102 USB Type-C UCSI Controller", PIPC__PART_OTHER, false},
        {"NVIDIA Corporation Device 22a3", PIPC__PART_OTHER, false}, /* an NVSwitch */
        {"Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200", PIPC__PART_GPU, false},
        {"Advanced Micro Devices, Inc. [AMD/ATI] ES1000", PIPC__PART_OTHER, false},
        {"Advanced Micro Devices, Inc. [AMD] FCH SMBus Controller", PIPC__PART_OTHER, false},
        {"Intel Corporation Ponte Vecchio XT", PIPC__PART_GPU, false},
        {"Intel Corporation UHD Graphics 620", PIPC__PART_OTHER, false},
        {"ASPEED Technology, Inc. ASPEED Graphics Family", PIPC__PART_OTHER, false},
        {"Mellanox Technologies MT2910 Family [ConnectX-7]", PIPC__PART_NIC, true},
        {"Mellanox Technologies MT43244 BlueField-3 SoC Management Interface", PIPC__PART_OTHER,
         false},
        {"Amazon.com, Inc. Elastic Fabric Adapter (EFA)", PIPC__PART_NIC, true},
        {"Broadcom Inc. and subsidiaries NetXtreme BCM5720 Gigabit Ethernet", PIPC__PART_NIC,
         false},
        {"Intel Corporation Wi-Fi 6 AX200", PIPC__PART_OTHER, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool rdma;
        if (pipc__lspci_part(cases[i].name, &rdma) != cases[i].part || rdma != cases[i].rdma)
            fail_msg("%s", cases[i].name);
    }
}

static void tree_refused(void **state)
{
    static const wrong_t cases[] = {
        {"", PIPC_ERR_INVALID, "it is empty"},
        {"00:05.0 3D controller: NVIDIA\n", PIPC_ERR_INVALID,
         "no tree -[0000:00]-+-00.0 ... in it"},
        {"-[0000:00]-+-00.0\n           \\-01.0\n", PIPC_ERR_INVALID, "devices have no names"},
        {"-[0000:00]-+-00.0  x\n     \\-01.0  x\n", PIPC_ERR_INVALID,
         "line 2: it goes on with no bus"},
        {"-[0000:00]-+-00.0  x\n-[0000:00]-+-00.0  x\n", PIPC_ERR_INVALID, "line 2: a second tree"},
        {"-[0000:00]-+-0x.0  x\n", PIPC_ERR_INVALID, "line 1: no device where one should be"},
        {"-[zz]-+-00.0  x\n", PIPC_ERR_INVALID, "line 1: no bus where one should be"},
        {"-[0000:00]---00.0-[1x]--\n", PIPC_ERR_INVALID, "no bus where one should be"},
    };
    char deep[2048] = "-[0000:00]-";

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(PIPC__SOURCE_LSPCI_TREE, &cases[i]);
    for (int i = 0; i < 100; i++)
        strcat(deep, "--00.0-[01]--");
    assert_refused(PIPC__SOURCE_LSPCI_TREE,
                   &(wrong_t){deep, PIPC_ERR_INVALID, "no bus where one should be"});
}

static void noise_tree(void **state)
{
    (void)state;
    read_damaged(PIPC__SOURCE_LSPCI_TREE,
                 "-+-[0000:40]-+-00.0  Intel Corporation Device 09a2\n"
                 " |           \\-01.0-[41-45]----00.0-[42-45]--+-00.0-[43]----00.0  " NV "\n"
                 " |                                           \\-04.0-[44]----00.0  " CX "\n"
                 " \\-[0000:00]-+-01.0-[01]----00.0  " NV "\n"
                 "             \\-02.0-[02]--\n",
                 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(tree_groups),           WITH_FILE(tree_facts), WITH_FILE(tree_refused),
        cmocka_unit_test(what_names_say), WITH_FILE(noise_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
