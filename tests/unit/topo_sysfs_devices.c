/* tests/unit/topo_sysfs_devices.c - devices of sysfs below another root: which are GPUs and NICs,
 * their names and links, the NUMA nodes and cores beside them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/topo_sysroot.h"
#include "tests/unit/topo_text.h"

/* ---- what is a GPU, what is a NIC ------------------------------------------------------------ */

static void what_is_a_gpu(void **state)
{
    static const struct {
        const char *class, *vendor, *device;
        bool gpu;
    } cases[] = {
        {"0x030200", "0x10de", "0x2330", true},
        {"0x030000", "0x10de", "0x2204", true},
        {"0x038000", "0x1002", "0x740c", true},
        {"0x120000", "0x1002", "0x74a1", true},  /* MI300: processing accelerator */
        {"0x0b4000", "0x1bcf", "0x001c", true},  /* vector engine */
        {"0x0b4000", "0x8086", "0x2250", true},  /* Xeon Phi */
        {"0x0b4000", "0x8086", "0x37c8", false}, /* QuickAssist crypto engine */
        {"0x030000", "0x1a03", "0x2000", false}, /* ASPEED, a BMC's VGA */
        {"0x030000", "0x102b", "0x0536", false}, /* Matrox, the same */
        {"0x030000", "0x1002", "0x515e", false}, /* ATI ES1000, the same, by what is AMD now */
        {"0x030000", "0x8086", "0x56a0", true},  /* Arc, at a port of its own */
        {"0x030000", "0x1234", "0x1111", false}, /* QEMU's VGA */
        {"0x040300", "0x10de", "0x1aef", false}, /* sound of a GPU */
        {"0x068000", "0x10de", "0x1af1", false}, /* NVSwitch */
        {"nonsense", "0x10de", "0x2330", false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        add("pci0000:00/0000:00:01.0", cases[i].class, cases[i].vendor);
        put_fact("pci0000:00/0000:00:01.0", "device", cases[i].device);
        pipc__topo_t *t = read_root();
        assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), cases[i].gpu);
        pipc__topo_free(t);
        remove_root(state);
        make_root(state);
    }
}

/* Intel's processors have a display of their own at 00:02.0. A card in a virtual machine can be at
 * any place of the root bus, and is no VGA. */
static void a_display_in_the_processor_is_no_gpu(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:02.0", "0x030000", "0x8086");
    add("pci0000:00/0000:00:05.0", "0x038000", "0x8086");
    bridge("pci0000:00/0000:00:01.0", 4);
    add("pci0000:00/0000:00:01.0/0000:01:00.0", "0x030000", "0x10de");
    pipc__topo_t *t = read_root();
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), 2);
    pipc__topo_free(t);
}

static void two_functions_of_a_nic_are_one_place(void **state)
{
    (void)state;
    bridge(R, 4);
    bridge(S, 5);
    bridge(S "/0000:19:04.0", 6);
    bridge(S "/0000:19:08.0", 6);
    add(S "/0000:19:04.0/0000:1a:00.0", NIC);
    add(S "/0000:19:04.0/0000:1a:00.1", NIC);
    put_fact(S "/0000:19:04.0/0000:1a:00.0", "infiniband/mlx5_0/fw_ver", "1");
    put_fact(S "/0000:19:04.0/0000:1a:00.0", "net/ib0/mtu", "1");
    put_fact(S "/0000:19:04.0/0000:1a:00.1", "net/enp1/mtu", "1");
    assert_root_groups(""); /* no GPU, and one place only */
    add(S "/0000:19:08.0/0000:1b:00.0", GPU);
    pipc__topo_t *t = read_root();
    assert_string_equal(groups_text(t), "[1b | 1a]");
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 2);
    /* What UCX and NCCL take. */
    assert_string_equal(object_at(t, "0000:1a:00.0")->netdev, "mlx5_0");
    assert_string_equal(object_at(t, "0000:1a:00.1")->netdev, "enp1");
    pipc__topo_free(t);
}

static void virtual_functions_are_no_second_card(void **state)
{
    (void)state;
    bridge(R, -1);
    add(R "/0000:18:00.0", NIC);
    add(R "/0000:18:01.2", NIC);
    put_fact(R "/0000:18:01.2", "physfn/class", "0x020700");
    add(R "/0000:18:02.2", NIC);
    put_fact(R "/0000:18:02.2", "physfn/class", "0x020700");
    pipc__topo_t *t = read_root();
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 1);
    /* Not "many devices". */
    assert_int_equal(object_at(t, "0000:17:00.0")->kind, PIPC__TOPO_BRIDGE);
    pipc__topo_free(t);
}

static void what_the_nvidia_driver_tells(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:05.0", GPU);
    add("pci0000:00/0000:00:06.0", GPU);
    put("proc/driver/nvidia/gpus/0000:00:05.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 105\n"
        "GPU UUID: \t GPU-01234567-89ab-cdef-0123-456789abcdef\n"
        "Bus Location: \t 0000:00:05.0\nDevice Minor: \t 3\n");
    put("proc/driver/nvidia/gpus/0000:00:06.0/information",
        "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?\nDevice Minor: \t \n");
    pipc__topo_t *t = read_root();
    const pipc__topo_obj_t *g = object_at(t, "0000:00:05.0");
    assert_int_equal(g->minor, 3);
    assert_string_equal(g->uuid, "GPU-01234567-89ab-cdef-0123-456789abcdef");
    assert_ptr_equal(&t->objs[pipc__topo_gpu_by_minor(t, 3)], g);
    g = object_at(t, "0000:00:06.0"); /* not yet opened: not known */
    assert_int_equal(g->minor, PIPC__UNKNOWN);
    assert_string_equal(g->uuid, "");
    pipc__topo_free(t);
}

/* A sandbox without sysfs that hands out GPUs all the same. */
static void gpus_that_only_the_driver_lists(void **state)
{
    (void)state;
    put("proc/driver/nvidia/gpus/0000:00:05.0/information", "Device Minor: \t 1\n");
    put("proc/driver/nvidia/gpus/0000:00:06.0/information", "Device Minor: \t 0\n");
    pipc__topo_t *t = read_root();
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), 2);
    assert_string_equal(t->objs[pipc__topo_gpu_by_minor(t, 0)].name, "0000:00:06.0");
    assert_string_equal(groups_text(t), "");
    pipc__topo_free(t);
}

static void link_texts_of_all_kernels(void **state)
{
    static const struct {
        const char *speed, *width;
        int mts, lanes;
    } cases[] = {
        {"8 GT/s\n", "16\n", 8000, 16},
        {"8.0 GT/s PCIe\n", "8\n", 8000, 8},
        {"2.5 GT/s PCIe\n", "1\n", 2500, 1},
        {"64.0 GT/s PCIe\n", "32\n", 64000, 32},
        {"Unknown speed\n", "0\n", -1, -1},
        {"Unknown\n", "255\n", -1, -1}, /* a lost device */
        {"", "63\n", -1, -1},
        {"8\n", "-4\n", -1, -1},
        {"99999999999999 GT/s\n", "x16\n", -1, -1},
    };

    (void)state;
    add("pci0000:00/0000:00:05.0", GPU);
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_fact("pci0000:00/0000:00:05.0", "current_link_speed", cases[i].speed);
        put_fact("pci0000:00/0000:00:05.0", "max_link_width", cases[i].width);
        pipc__topo_t *t = read_root();
        assert_int_equal(object_at(t, "0000:00:05.0")->link.speed_mts, cases[i].mts);
        assert_int_equal(object_at(t, "0000:00:05.0")->link.max_width, cases[i].lanes);
        assert_int_equal(object_at(t, "0000:00:05.0")->link.width, PIPC__UNKNOWN); /* no file */
        pipc__topo_free(t);
    }
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

static void which_numa_node(void **state)
{
    static const struct {
        const char *numa_node, *local_cpulist, *local_cpus;
        int os_index; /* -1: unknown */
    } cases[] = {
        {"8\n", NULL, NULL, 8},
        {"-1\n", "0-31\n", NULL, -1}, /* local to both: firmware told nothing */
        {"-1\n", "16-31\n", NULL, 8},
        {NULL, NULL, "0000ffff\n", 0},           /* a sparse capture */
        {NULL, NULL, "ffff0000,00000000\n", -1}, /* CPUs that do not exist */
        {"250\n", "0-15\n", NULL, 0},            /* names its own memory: the CPUs beside it */
        {"250\n", NULL, NULL, 250},              /* a fact, but no place for ranks */
        {"nonsense\n", "nonsense", "xyz", -1},
        {"-1\n", "0-4294967295\n", NULL, -1}, /* not half a gigabyte of bits */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        numa_node(0, "0-15\n");
        numa_node(8, "16-31\n");
        numa_node(250, "\n");
        add("pci0000:00/0000:00:05.0", GPU);
        if (cases[i].numa_node)
            put_fact("pci0000:00/0000:00:05.0", "numa_node", cases[i].numa_node);
        if (cases[i].local_cpulist)
            put_fact("pci0000:00/0000:00:05.0", "local_cpulist", cases[i].local_cpulist);
        if (cases[i].local_cpus)
            put_fact("pci0000:00/0000:00:05.0", "local_cpus", cases[i].local_cpus);
        pipc__topo_t *t = read_root();
        int numa = object_at(t, "0000:00:05.0")->numa;
        assert_int_equal(numa < 0 ? -1 : t->numas[numa].os_index, cases[i].os_index);
        int place = pipc__topo_numa_of(t, t->nobjs - 1);
        assert_int_equal(place < 0 ? -1 : t->numas[place].os_index,
                         cases[i].os_index == 250 ? -1 : cases[i].os_index);
        pipc__topo_free(t);
        remove_root(state);
        make_root(state);
    }
}

static void nodes_that_only_devices_know_of(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:05.0", GPU); /* no sys/devices/system at all */
    put_fact("pci0000:00/0000:00:05.0", "numa_node", "1\n");
    put_fact("pci0000:00/0000:00:05.0", "local_cpulist", "4-7\n");
    pipc__topo_t *t = read_root();
    assert_int_equal(t->nnumas, 1);
    assert_int_equal(t->numas[0].os_index, 1);
    assert_int_equal(hwloc_bitmap_weight(t->numas[0].cpus), 4);
    pipc__topo_free(t);
}

static void cores_and_their_siblings(void **state)
{
    (void)state;
    numa_node(0, "0-3\n");
    add("pci0000:00/0000:00:05.0", GPU);
    for (int cpu = 0; cpu < 4; cpu++) {
        char path[96];
        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        put(path, cpu % 2 ? "1,3\n" : "0,2\n");
    }
    pipc__topo_t *t = read_root();
    assert_int_equal(t->ncores, 2);
    assert_true(hwloc_bitmap_isset(t->cores[0], 2));
    assert_true(hwloc_bitmap_isset(t->cores[1], 3));
    pipc__topo_free(t);
}

static void cpus_that_are_offline_do_not_count(void **state)
{
    (void)state;
    put("sys/devices/system/cpu/online", "0-3,8\n");
    numa_node(0, "0-7\n");
    numa_node(1, "8-15\n");
    add("pci0000:00/0000:00:05.0", GPU);
    pipc__topo_t *t = read_root();
    assert_int_equal(hwloc_bitmap_weight(t->numas[0].cpus), 4);
    assert_int_equal(hwloc_bitmap_weight(t->numas[1].cpus), 1);
    assert_int_equal(t->ncores, 5);
    pipc__topo_free(t);
}

static void a_kernel_without_numa_is_one_node(void **state)
{
    (void)state;
    put("sys/devices/system/cpu/online", "0-3\n");
    add("pci0000:00/0000:00:05.0", GPU);
    put_fact("pci0000:00/0000:00:05.0", "numa_node", "-1\n");
    put_fact("pci0000:00/0000:00:05.0", "local_cpulist", "0-3\n");
    pipc__topo_t *t = read_root();
    assert_int_equal(object_at(t, "0000:00:05.0")->numa, 0);
    assert_int_equal(t->ncores, 4);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_a_gpu),
        TEST(a_display_in_the_processor_is_no_gpu),
        TEST(two_functions_of_a_nic_are_one_place),
        TEST(virtual_functions_are_no_second_card),
        TEST(what_the_nvidia_driver_tells),
        TEST(gpus_that_only_the_driver_lists),
        TEST(link_texts_of_all_kernels),
        TEST(which_numa_node),
        TEST(nodes_that_only_devices_know_of),
        TEST(cores_and_their_siblings),
        TEST(cpus_that_are_offline_do_not_count),
        TEST(a_kernel_without_numa_is_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
