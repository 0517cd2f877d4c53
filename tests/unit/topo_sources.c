/* tests/unit/topo_sources.c - trees from lspci's dump and from folders, and what all sources that
 * are files have in common */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/topo_files.h"
#include "tests/unit/topo_nccl_text.h"

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
        {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology>\n",
         PIPC__SOURCE_HWLOC_XML},
        {"<!-- <topology of the house -->\n" SYSTEM(CPU("0", "ff", GPU("14"))),
         PIPC__SOURCE_NCCL_XML},
        {"\tGPU0\tGPU1\nGPU0\t X \tPIX\n", PIPC__SOURCE_TOPO_M},
        {dump, PIPC__SOURCE_DUMP},
        {"$ lspci -tv\n-+-[0000:e0]-+-00.0  Intel GPU0\n", PIPC__SOURCE_LSPCI_TREE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_topo_file(cases[i].input, strlen(cases[i].input));
        assert_int_equal(pipc__source_guess(&source, topo_file, &err), PIPC_OK);
        assert_int_equal(source.kind, cases[i].kind);
        assert_ptr_equal(source.text, topo_file);
    }
    assert_int_equal(pipc__source_guess(&source, "/tmp", &err), PIPC_OK);
    assert_int_equal(source.kind, PIPC__SOURCE_SYSROOT);
    put_topo_file("hello\n", 6);
    assert_int_equal(pipc__source_guess(&source, topo_file, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__source_guess(&source, "/nonexistent", &err), PIPC_ERR_SYSTEM);
    /* A pipe is empty when it is read again. */
    assert_int_equal(pipc__source_guess(&source, "/dev/null", &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "name its kind, as in topo-json:/dev/null"));
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
    const struct CMUnitTest tests[] = {
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
