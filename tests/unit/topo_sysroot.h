/* tests/unit/topo_sysroot.h - a machine's sysfs for a test to write: the few files that matter, in
 * a folder of its own
 */
#ifndef PIPC_TESTS_TOPO_SYSROOT_H
#define PIPC_TESTS_TOPO_SYSROOT_H

#include "runtime/topo/topo.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The folder of the moment; cmocka's set-up and tear-down. */
extern char root[64];
int make_root(void **state);
int remove_root(void **state);

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

/* A file below the root, with the folders above it. */
void put_bytes(const char *path, const void *bytes, size_t n);
void put(const char *path, const char *text);

/* A file of a device, by its folder below sys/devices. */
void put_fact(const char *device, const char *file, const char *text);

/* A link in sys/bus/pci/devices. */
void put_link(const char *name, const char *target);

/* A device: its folder below sys/devices, class and vendor, and the link to it. */
void add(const char *device, const char *class, const char *vendor);

#define BRIDGE "0x060400", "0x10b5"
#define GPU "0x030200", "0x10de"
#define NIC "0x020700", "0x15b3"

/* Config space. @port is an Express port type for 256 bytes, or -1 for the 64 that a capture
 * without privilege has. */
void put_config(const char *device, int port, int secondary);

void bridge(const char *device, int port);

#define R "pci0000:17/0000:17:00.0" /* root port, upstream port */
#define S R "/0000:18:00.0"

void numa_node(int n, const char *cpulist);

/* The tree of the root, which has to be right; the caller frees it. */
pipc__topo_t *read_root(void);

/* Its groups, as groups_text() (topo_text.h) writes them. */
void assert_root_groups(const char *expected);

/* The object at a PCI address, NULL where there is none. */
const pipc__topo_obj_t *object_at(const pipc__topo_t *t, const char *name);

#endif
