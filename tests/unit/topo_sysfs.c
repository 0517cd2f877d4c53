/* tests/unit/topo_sysfs.c - trees from sysfs below another root
 *
 * Each test writes the few files that matter into a folder of its own: the shapes and the faults of
 * real captures, at their smallest.
 */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char root[64];

/* ---- writing a machine ----------------------------------------------------------------------- */

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/pipc-sysfs-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file below the root, with the folders above it. */
static void put_bytes(const char *path, const void *bytes, size_t n)
{
    char full[512];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        if (mkdir(full, 0755) && errno != EEXIST)
            fail_msg("%s: %s", full, strerror(errno));
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* A file of a device, by its folder below sys/devices. */
static void put_fact(const char *device, const char *file, const char *text)
{
    char path[512];

    snprintf(path, sizeof(path), "sys/devices/%s/%s", device, file);
    put(path, text);
}

static const char *last_part(const char *device)
{
    const char *slash = strrchr(device, '/');

    return slash ? slash + 1 : device;
}

static void put_link(const char *name, const char *target)
{
    char path[512];

    put("sys/bus/pci/devices/.keep", "");
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, name);
    assert_int_equal(symlink(target, path), 0);
}

/* A device: its folder below sys/devices, class and vendor, and the link to it. */
static void add(const char *device, const char *class, const char *vendor)
{
    char target[512];

    put_fact(device, "class", class);
    put_fact(device, "vendor", vendor);
    snprintf(target, sizeof(target), "../../../devices/%s", device);
    put_link(last_part(device), target);
}

#define BRIDGE "0x060400", "0x10b5"
#define GPU "0x030200", "0x10de"
#define NIC "0x020700", "0x15b3"

/* Config space. @port is an Express port type for 256 bytes, or -1 for the 64 that a capture
 * without privilege has. */
static void put_config(const char *device, int port, int secondary)
{
    unsigned char c[256] = {0xb5, 0x10, 0x97, 0x97};
    char path[512];

    c[0x06] = 0x10;
    c[0x0e] = 0x01;
    c[0x19] = (unsigned char)secondary;
    c[0x34] = 0x40;
    c[0x40] = 0x01; /* power management first: the list has to be walked */
    c[0x41] = 0x68;
    c[0x68] = 0x10;
    c[0x6a] = (unsigned char)((port < 0 ? 0 : port) << 4 | 2);
    snprintf(path, sizeof(path), "sys/devices/%s/config", device);
    put_bytes(path, c, port < 0 ? 64 : 256);
}

static void bridge(const char *device, int port)
{
    add(device, BRIDGE);
    put_config(device, port, 0);
}

static void numa_node(int n, const char *cpulist)
{
    char path[128];

    snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", n);
    put(path, cpulist);
}

static pipc__topo_t *read_root(void)
{
    pipc__topo_t *t;
    pipc__error_t err = {PIPC_OK, ""};

    pipc_status_t st = pipc__topo_sysroot(&t, root, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_well_formed(t);
    return t;
}

static const pipc__topo_obj_t *object(const pipc__topo_t *t, const char *name)
{
    pipc__pci_addr_t a;

    assert_true(pipc__pci_parse(name, &a));
    int i = pipc__topo_by_addr(t, a);
    return i < 0 ? NULL : &t->objs[i];
}

static void assert_groups(const char *expected)
{
    pipc__topo_t *t = read_root();

    assert_string_equal(groups_text(t), expected);
    pipc__topo_free(t);
}

/* ---- switches -------------------------------------------------------------------------------- */

#define R "pci0000:17/0000:17:00.0" /* root port, upstream port */
#define S R "/0000:18:00.0"

static void two_gpus_and_a_nic_below(int root_port, int up, int down)
{
    bridge(R, root_port);
    bridge(S, up);
    bridge(S "/0000:19:04.0", down);
    bridge(S "/0000:19:08.0", down);
    bridge(S "/0000:19:0c.0", down);
    add(S "/0000:19:04.0/0000:1a:00.0", NIC);
    add(S "/0000:19:08.0/0000:1b:00.0", GPU);
    add(S "/0000:19:0c.0/0000:1c:00.0", GPU);
}

static void a_switch_by_its_express_capability(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(4, 5, 6);
    assert_groups("[1b 1c | 1a]");
}

static void a_switch_by_its_shape_when_config_has_64_bytes(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(-1, -1, -1);
    assert_groups("[1b 1c | 1a]");
}

static void upstream_and_downstream_ports_are_one_object(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(4, 5, 6);
    pipc__topo_t *t = read_root();
    assert_null(object(t, "0000:19:08.0"));
    const pipc__topo_obj_t *sw = object(t, "0000:18:00.0"), *gpu = object(t, "0000:1b:00.0");
    assert_int_equal(sw->kind, PIPC__TOPO_SWITCH);
    assert_ptr_equal(&t->objs[gpu->parent], sw);
    assert_int_equal(object(t, "0000:17:00.0")->kind, PIPC__TOPO_BRIDGE);
    pipc__topo_free(t);
}

static void downstream_ports_tell_of_a_silent_upstream_port(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(-1, -1, 6);
    assert_groups("[1b 1c | 1a]");
}

static void a_bridge_known_from_links_only(void **state)
{
    (void)state;
    add(R, BRIDGE);
    add(S "/0000:19:08.0/0000:1b:00.0", GPU); /* no entry for 18:00.0, nor for 19:... */
    add(S "/0000:19:0c.0/0000:1c:00.0", GPU);
    assert_groups("[1b 1c]");
}

static void nested_switches_make_nested_groups(void **state)
{
    static const int types[][3] = {{4, 5, 6}, {-1, -1, -1}};
    char a[160];

    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        bridge(R, types[i][0]);
        bridge(S, types[i][1]);
        for (int leaf = 0; leaf < 2; leaf++) {
            int n = snprintf(a, sizeof(a), S "/0000:19:%02x.0", leaf);
            bridge(a, types[i][2]);
            n += snprintf(a + n, sizeof(a) - (size_t)n, "/0000:%x:00.0", 0x20 + 16 * leaf);
            bridge(a, types[i][1]);
            for (int gpu = 0; gpu < 2; gpu++) {
                int m = n + snprintf(a + n, sizeof(a) - (size_t)n, "/0000:%x:%02x.0",
                                     0x21 + 16 * leaf, gpu);
                bridge(a, types[i][2]);
                snprintf(a + m, sizeof(a) - (size_t)m, "/0000:%x:00.0", 0x22 + 16 * leaf + gpu);
                add(a, GPU);
            }
        }
        assert_groups("[22 23 32 33 [22 23] [32 33]]");
        remove_root(state);
        make_root(state);
    }
}

/* An AMD card: a switch of one upstream and one downstream port, the GPU and its sound function. */
static void a_switch_inside_the_card_is_not_shared(void **state)
{
    (void)state;
    for (int typed = 1; typed >= 0; typed--) {
        bridge(R, typed ? 4 : -1);
        bridge(S, typed ? 5 : -1);
        bridge(S "/0000:19:00.0", typed ? 6 : -1);
        add(S "/0000:19:00.0/0000:1a:00.0", "0x030000", "0x1002");
        add(S "/0000:19:00.0/0000:1a:00.1", "0x040300", "0x1002");
        pipc__topo_t *t = read_root();
        assert_string_equal(groups_text(t), "");
        assert_int_equal(pipc__topo_switch_of(t, t->nobjs - 1), PIPC__UNKNOWN);
        pipc__topo_free(t);
        remove_root(state);
        make_root(state);
    }
}

static void cards_with_switches_inside_below_a_shared_one(void **state)
{
    (void)state;
    bridge(R, 4);
    bridge(S, 5);
    for (int i = 0; i < 2; i++) {
        char a[160];
        int n = snprintf(a, sizeof(a), S "/0000:19:%02x.0", i);
        bridge(a, 6);
        n += snprintf(a + n, sizeof(a) - (size_t)n, "/0000:%x:00.0", 0x20 + 3 * i);
        bridge(a, 5);
        n += snprintf(a + n, sizeof(a) - (size_t)n, "/0000:%x:00.0", 0x21 + 3 * i);
        bridge(a, 6);
        snprintf(a + n, sizeof(a) - (size_t)n, "/0000:%x:00.0", 0x22 + 3 * i);
        add(a, "0x038000", "0x1002");
    }
    assert_groups("[22 25]");
}

static void a_virtual_machine_with_all_on_bus_0_has_no_groups(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:05.0", GPU);
    add("pci0000:00/0000:00:06.0", GPU);
    add("pci0000:00/0000:00:07.0", NIC);
    assert_groups("");
}

static void a_virtual_machine_with_a_domain_a_device_has_no_groups(void **state)
{
    (void)state;
    add("LNXSYSTM:00/LNXSYBUS:00/VMBUS:01/guid-1/pci0001:00/0001:00:00.0", GPU);
    add("LNXSYSTM:00/LNXSYBUS:00/VMBUS:01/guid-2/pci0002:00/0002:00:00.0", GPU);
    assert_groups("");
}

static void an_old_bridge_on_bus_0_is_no_switch(void **state)
{
    (void)state;
    bridge("pci0000:00/0000:00:1e.0", -1); /* QEMU's pci-bridge */
    add("pci0000:00/0000:00:1e.0/0000:01:01.0", GPU);
    add("pci0000:00/0000:00:1e.0/0000:01:02.0", GPU);
    assert_groups("");
}

/* A domain inside a device of another domain. */
static void devices_below_intel_vmd(void **state)
{
    (void)state;
#define V "pci0000:5d/0000:5d:05.5/pci10000:00/10000:00:02.0"
    add("pci0000:5d/0000:5d:05.5", "0x010400", "0x8086");
    add(V, BRIDGE);
    add(V "/10000:01:00.0", GPU);
    pipc__topo_t *t = read_root();
    assert_non_null(object(t, "10000:01:00.0"));
    assert_string_equal(t->objs[1].name, "10000:00");
    pipc__topo_free(t);
}

/* ---- what is a GPU, what is a NIC -------------------------------------------------------------
 */

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
    assert_groups(""); /* no GPU, and one place only */
    add(S "/0000:19:08.0/0000:1b:00.0", GPU);
    pipc__topo_t *t = read_root();
    assert_string_equal(groups_text(t), "[1b | 1a]");
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), 2);
    assert_string_equal(object(t, "0000:1a:00.0")->netdev, "mlx5_0"); /* what UCX and NCCL take */
    assert_string_equal(object(t, "0000:1a:00.1")->netdev, "enp1");
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
    assert_int_equal(object(t, "0000:17:00.0")->kind, PIPC__TOPO_BRIDGE); /* not "many devices" */
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
    const pipc__topo_obj_t *g = object(t, "0000:00:05.0");
    assert_int_equal(g->minor, 3);
    assert_string_equal(g->uuid, "GPU-01234567-89ab-cdef-0123-456789abcdef");
    assert_ptr_equal(&t->objs[pipc__topo_gpu_by_minor(t, 3)], g);
    g = object(t, "0000:00:06.0"); /* not yet opened: not known */
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
        assert_int_equal(object(t, "0000:00:05.0")->link.speed_mts, cases[i].mts);
        assert_int_equal(object(t, "0000:00:05.0")->link.max_width, cases[i].lanes);
        assert_int_equal(object(t, "0000:00:05.0")->link.width, PIPC__UNKNOWN); /* no file */
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
        int numa = object(t, "0000:00:05.0")->numa;
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
    assert_int_equal(object(t, "0000:00:05.0")->numa, 0);
    assert_int_equal(t->ncores, 4);
    pipc__topo_free(t);
}

/* ---- captures and faults --------------------------------------------------------------------- */

/* A tree that was copied with its links followed: the bus below each bridge gives the hierarchy. */
static void folders_in_place_of_links(void **state)
{
    static const struct {
        const char *name, *class;
        int secondary;
    } devices[] = {
        {"0000:17:00.0", "0x060400", 0x18}, {"0000:18:00.0", "0x060400", 0x19},
        {"0000:19:04.0", "0x060400", 0x1a}, {"0000:19:08.0", "0x060400", 0x1b},
        {"0000:1a:00.0", "0x030200", 0},    {"0000:1b:00.0", "0x030200", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        char path[128];
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", devices[i].name);
        put(path, devices[i].class);
        snprintf(path, sizeof(path), "../bus/pci/devices/%s", devices[i].name);
        if (devices[i].secondary)
            put_config(path, -1, devices[i].secondary);
    }
    assert_groups("[1a 1b]");
}

static void a_sparse_capture_with_the_class_alone(void **state)
{
    (void)state;
    numa_node(0, "0-15\n");
    put("sys/bus/pci/devices/0004:05:00.0/class", "0x030000\n");
    put("sys/bus/pci/devices/0004:05:00.0/local_cpus", "0000,0000ffff\n");
    put("sys/bus/pci/devices/0035:04:00.0/class", "0x030000\n");
    pipc__topo_t *t = read_root();
    assert_string_equal(groups_text(t), "");
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), 2);
    assert_int_equal(object(t, "0004:05:00.0")->numa, 0);
    assert_int_equal(object(t, "0035:04:00.0")->numa, PIPC__UNKNOWN);
    assert_int_equal(object(t, "0035:04:00.0")->vendor, PIPC__UNKNOWN);
    pipc__topo_free(t);
}

/* An absolute link must not lead out of the captured tree into the machine that reads it. */
static void absolute_links_stay_below_the_root(void **state)
{
    (void)state;
    put_fact("pci0000:00/0000:00:05.0", "class", "0x030200");
    put_fact("pci0000:00/0000:00:05.0", "vendor", "0x10de");
    put_link("0000:00:05.0", "/sys/devices/pci0000:00/0000:00:05.0");
    pipc__topo_t *t = read_root();
    assert_int_equal(object(t, "0000:00:05.0")->vendor, 0x10de);
    pipc__topo_free(t);
}

static void no_pci_bus_is_an_error_that_names_the_folder(void **state)
{
    pipc__topo_t *t = (pipc__topo_t *)&t;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__topo_sysroot(&t, root, &err), PIPC_ERR_NOT_FOUND);
    assert_null(t);
    assert_non_null(strstr(err.text, root));
    assert_non_null(strstr(err.text, "sys/bus/pci/devices"));
}

static void an_empty_bus_is_a_machine_without_devices(void **state)
{
    (void)state;
    put("sys/bus/pci/devices/.keep", "");
    put("sys/bus/pci/devices/README", "not a device\n");
    pipc__topo_t *t = read_root();
    assert_int_equal(t->nobjs, 1);
    pipc__topo_free(t);
}

static void links_that_loop_or_contradict_each_other(void **state)
{
    char deep[4000] = "../../../devices/pci0000:00";

    (void)state;
    put_link("0000:01:00.0", "0000:01:00.0"); /* to itself */
    put_link("0000:02:00.0", "../../../devices/pci0000:00/0000:03:00.0/0000:02:00.0");
    put_link("0000:03:00.0", "../../../devices/pci0000:00/0000:02:00.0/0000:03:00.0");
    put_link("0000:04:00.0", "../../../devices/pci0000:00/0000:04:00.0/0000:04:00.0");
    put_link("0000:05:00.0", "somewhere/else");
    for (int bus = 6; bus < 0xa0; bus++) /* 150 levels */
        snprintf(deep + strlen(deep), 20, "/0000:%02x:00.0", bus);
    put_link("0000:9f:00.0", deep);
    for (int bus = 1; bus < 6; bus++) { /* with the driver's word they are all GPUs */
        char path[96];
        snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/0000:%02x:00.0/information", bus);
        put(path, "Device Minor: 0\n");
    }
    pipc__topo_free(read_root());
}

/* A chain as long as one can be written: every level a device that names the one above. */
static void endless_chains_are_cut(void **state)
{
    (void)state;
    for (int bus = 1; bus < 256; bus++) {
        char target[96], name[32];
        snprintf(name, sizeof(name), "0000:%02x:00.0", bus);
        snprintf(target, sizeof(target), "../pci0000:00/0000:%02x:00.0/%s", bus - 1, name);
        put_link(name, target);
    }
    add("pci0000:00/0000:ff:00.0/0000:ff:01.0", GPU);
    pipc__topo_free(read_root());
}

static void garbage_in_every_file(void **state)
{
    static const char *const files[] = {"class",          "vendor",
                                        "device",         "config",
                                        "numa_node",      "local_cpulist",
                                        "local_cpus",     "current_link_width",
                                        "max_link_width", "current_link_speed",
                                        "max_link_speed", "secondary_bus_number",
                                        "net/x/y",        "infiniband/x/y"};
    char garbage[70000];
    uint32_t seed = 1;

    for (int run = 0; run < 60; run++) {
        two_gpus_and_a_nic_below(run % 2 ? 4 : -1, run % 2 ? 5 : -1, run % 2 ? 6 : -1);
        for (size_t i = 0; i < COUNT(files); i++) {
            size_t n = run % 3 ? (size_t)(seed >> 16) % 300 : sizeof(garbage);
            for (size_t k = 0; k < n; k++) {
                seed = seed * 1664525u + 1013904223u;
                garbage[k] = (char)(run % 4 ? seed >> 24 : '0' + (seed >> 24) % 10);
            }
            char path[512];
            snprintf(path, sizeof(path), "sys/devices/%s/%s",
                     i % 2 ? S "/0000:19:08.0/0000:1b:00.0" : S "/0000:19:08.0", files[i]);
            put_bytes(path, garbage, n);
        }
        put_bytes("sys/devices/system/node/node0/cpulist", garbage, 200);
        put_bytes("proc/driver/nvidia/gpus/0000:1b:00.0/information", garbage, sizeof(garbage));
        pipc__topo_free(read_root());
        remove_root(state);
        make_root(state);
    }
}

/* Names become terminal output and JSON. */
static void names_are_made_printable(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:05.0", NIC);
    put_fact("pci0000:00/0000:00:05.0", "net/\x1b[31m\xff\xfe/mtu", "1");
    pipc__topo_t *t = read_root();
    assert_string_equal(object(t, "0000:00:05.0")->netdev, "?[31m??");
    FILE *f = fopen("/dev/null", "w");
    assert_non_null(f);
    assert_int_equal(pipc__topo_print_json(t, f, NULL), PIPC_OK);
    fclose(f);
    pipc__topo_free(t);
}

static void capability_lists_that_loop(void **state)
{
    unsigned char c[256] = {0xb5, 0x10};

    (void)state;
    two_gpus_and_a_nic_below(4, 5, 6);
    c[0x06] = 0x10;
    c[0x34] = 0x40;
    c[0x40] = 0x01;
    c[0x41] = 0x40;
    put_bytes("sys/devices/" S "/config", c, sizeof(c));
    assert_groups("[1b 1c | 1a]"); /* its downstream ports tell */
    memset(c, 0xff, sizeof(c));    /* fallen off the bus */
    put_bytes("sys/devices/" S "/config", c, sizeof(c));
    assert_groups("[1b 1c | 1a]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_switch_by_its_express_capability),
        TEST(a_switch_by_its_shape_when_config_has_64_bytes),
        TEST(upstream_and_downstream_ports_are_one_object),
        TEST(downstream_ports_tell_of_a_silent_upstream_port),
        TEST(a_bridge_known_from_links_only),
        TEST(nested_switches_make_nested_groups),
        TEST(a_switch_inside_the_card_is_not_shared),
        TEST(cards_with_switches_inside_below_a_shared_one),
        TEST(a_virtual_machine_with_all_on_bus_0_has_no_groups),
        TEST(a_virtual_machine_with_a_domain_a_device_has_no_groups),
        TEST(an_old_bridge_on_bus_0_is_no_switch),
        TEST(devices_below_intel_vmd),
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
        TEST(folders_in_place_of_links),
        TEST(a_sparse_capture_with_the_class_alone),
        TEST(absolute_links_stay_below_the_root),
        TEST(no_pci_bus_is_an_error_that_names_the_folder),
        TEST(an_empty_bus_is_a_machine_without_devices),
        TEST(links_that_loop_or_contradict_each_other),
        TEST(endless_chains_are_cut),
        TEST(garbage_in_every_file),
        TEST(names_are_made_printable),
        TEST(capability_lists_that_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
