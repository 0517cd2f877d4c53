/* tests/unit/topo_sysfs.c - trees from sysfs below another root: switches, captures, faults
 *
 * Each test writes the few files that matter into a folder of its own: the shapes and the faults of
 * real captures, at their smallest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topo_sysroot.h"
#include "tests/unit/topo_text.h"

/* ---- switches -------------------------------------------------------------------------------- */

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
    assert_root_groups("[1b 1c | 1a]");
}

static void a_switch_by_its_shape_when_config_has_64_bytes(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(-1, -1, -1);
    assert_root_groups("[1b 1c | 1a]");
}

static void upstream_and_downstream_ports_are_one_object(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(4, 5, 6);
    pipc__topo_t *t = read_root();
    assert_null(object_at(t, "0000:19:08.0"));
    const pipc__topo_obj_t *sw = object_at(t, "0000:18:00.0"), *gpu = object_at(t, "0000:1b:00.0");
    assert_int_equal(sw->kind, PIPC__TOPO_SWITCH);
    assert_ptr_equal(&t->objs[gpu->parent], sw);
    assert_int_equal(object_at(t, "0000:17:00.0")->kind, PIPC__TOPO_BRIDGE);
    pipc__topo_free(t);
}

static void downstream_ports_tell_of_a_silent_upstream_port(void **state)
{
    (void)state;
    two_gpus_and_a_nic_below(-1, -1, 6);
    assert_root_groups("[1b 1c | 1a]");
}

static void a_bridge_known_from_links_only(void **state)
{
    (void)state;
    add(R, BRIDGE);
    add(S "/0000:19:08.0/0000:1b:00.0", GPU); /* no entry for 18:00.0, nor for 19:... */
    add(S "/0000:19:0c.0/0000:1c:00.0", GPU);
    assert_root_groups("[1b 1c]");
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
        assert_root_groups("[22 23 32 33 [22 23] [32 33]]");
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
    assert_root_groups("[22 25]");
}

static void a_virtual_machine_with_all_on_bus_0_has_no_groups(void **state)
{
    (void)state;
    add("pci0000:00/0000:00:05.0", GPU);
    add("pci0000:00/0000:00:06.0", GPU);
    add("pci0000:00/0000:00:07.0", NIC);
    assert_root_groups("");
}

static void a_virtual_machine_with_a_domain_a_device_has_no_groups(void **state)
{
    (void)state;
    add("LNXSYSTM:00/LNXSYBUS:00/VMBUS:01/guid-1/pci0001:00/0001:00:00.0", GPU);
    add("LNXSYSTM:00/LNXSYBUS:00/VMBUS:01/guid-2/pci0002:00/0002:00:00.0", GPU);
    assert_root_groups("");
}

static void an_old_bridge_on_bus_0_is_no_switch(void **state)
{
    (void)state;
    bridge("pci0000:00/0000:00:1e.0", -1); /* QEMU's pci-bridge */
    add("pci0000:00/0000:00:1e.0/0000:01:01.0", GPU);
    add("pci0000:00/0000:00:1e.0/0000:01:02.0", GPU);
    assert_root_groups("");
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
    assert_non_null(object_at(t, "10000:01:00.0"));
    assert_string_equal(t->objs[1].name, "10000:00");
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
    assert_root_groups("[1a 1b]");
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
    assert_int_equal(object_at(t, "0004:05:00.0")->numa, 0);
    assert_int_equal(object_at(t, "0035:04:00.0")->numa, PIPC__UNKNOWN);
    assert_int_equal(object_at(t, "0035:04:00.0")->vendor, PIPC__UNKNOWN);
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
    assert_int_equal(object_at(t, "0000:00:05.0")->vendor, 0x10de);
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
    assert_string_equal(object_at(t, "0000:00:05.0")->netdev, "?[31m??");
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
    assert_root_groups("[1b 1c | 1a]"); /* its downstream ports tell */
    memset(c, 0xff, sizeof(c));         /* fallen off the bus */
    put_bytes("sys/devices/" S "/config", c, sizeof(c));
    assert_root_groups("[1b 1c | 1a]");
}

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
