/* tests/unit/topo_nomem.c - every allocation of topo and bind fails once
 *
 * The linker puts the functions below in place of the library's calls (--wrap). A run is repeated
 * with the 1st, 2nd, 3rd ... allocation failing until none is left: each time the answer has to be
 * PIPC_ERR_NOMEM, nothing may be left behind (the sanitizer build looks), and nothing may crash.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "runtime/bind/bind.h"
#include "runtime/topo/build.h"
#include "runtime/topo/compare.h"
#include "runtime/topo/files.h"
#include "runtime/topo/svg.h"
#include "runtime/topo/topo.h"

static long left = -1; /* allocations until one fails; -1: none fails */
static bool failed;

static bool fails(void)
{
    if (left < 0 || left-- > 0)
        return false;
    failed = true;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
hwloc_bitmap_t __real_hwloc_bitmap_alloc(void);
hwloc_bitmap_t __real_hwloc_bitmap_dup(hwloc_const_bitmap_t set);
int __real_hwloc_bitmap_copy(hwloc_bitmap_t to, hwloc_const_bitmap_t from);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
hwloc_bitmap_t __wrap_hwloc_bitmap_alloc(void);
hwloc_bitmap_t __wrap_hwloc_bitmap_dup(hwloc_const_bitmap_t set);
int __wrap_hwloc_bitmap_copy(hwloc_bitmap_t to, hwloc_const_bitmap_t from);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

hwloc_bitmap_t __wrap_hwloc_bitmap_alloc(void)
{
    return fails() ? NULL : __real_hwloc_bitmap_alloc();
}

hwloc_bitmap_t __wrap_hwloc_bitmap_dup(hwloc_const_bitmap_t set)
{
    return fails() ? NULL : __real_hwloc_bitmap_dup(set);
}

int __wrap_hwloc_bitmap_copy(hwloc_bitmap_t to, hwloc_const_bitmap_t from)
{
    return fails() ? -1 : __real_hwloc_bitmap_copy(to, from);
}

/* Run @once, which returns a status, with each allocation failing in turn. */
static void sweep(pipc_status_t (*once)(void *), void *arg)
{
    for (long nth = 0;; nth++) {
        left = nth;
        failed = false;
        pipc_status_t st = once(arg);
        left = -1;
        assert_int_equal(st, failed ? PIPC_ERR_NOMEM : PIPC_OK);
        if (!failed)
            break;
        assert_true(nth < 10000);
    }
}

static pipc_status_t synthetic_once(void *text)
{
    pipc__topo_t *t;
    pipc_status_t st = pipc__topo_synthetic(&t, text, NULL);

    assert_int_equal(t == NULL, st != PIPC_OK);
    pipc__topo_free(t);
    return st;
}

static void synthetic(void **state)
{
    char text[] = "2x[sw:2x[sw:2gpu]+1nic+4core]";

    (void)state;
    sweep(synthetic_once, text);
}

static pipc_status_t sysroot_once(void *root)
{
    pipc__topo_t *t;
    pipc_status_t st = pipc__topo_sysroot(&t, root, NULL);

    assert_int_equal(t == NULL, st != PIPC_OK);
    pipc__topo_free(t);
    return st;
}

static void put(const char *root, const char *path, const char *text)
{
    char full[256];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(full, 0755);
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void sysroot(void **state)
{
    char root[] = "/tmp/pipc-nomem-XXXXXX", command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    put(root, "sys/devices/system/node/node0/cpulist", "0-3\n");
    put(root, "sys/devices/system/node/node1/cpulist", "4-7\n");
    put(root, "sys/bus/pci/devices/0000:00:05.0/class", "0x030200\n");
    put(root, "sys/bus/pci/devices/0000:00:05.0/numa_node", "-1\n");
    put(root, "sys/bus/pci/devices/0000:00:05.0/local_cpulist", "4-7\n");
    put(root, "sys/bus/pci/devices/0000:00:06.0/class", "0x020000\n");
    put(root, "sys/bus/pci/devices/0000:00:06.0/numa_node", "2\n"); /* a node of its own */
    sweep(sysroot_once, root);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* hwloc's own allocations are not wrapped; where it can't be had, sysfs takes its place. */
static pipc_status_t live_once(void *arg)
{
    pipc__topo_t *t;
    pipc_status_t st = pipc__topo_live(&t, NULL);

    (void)arg;
    pipc__topo_free(t);
    return st;
}

static void live(void **state)
{
    (void)state;
    sweep(live_once, NULL);
}

static pipc_status_t bind_once(void *arg)
{
    const pipc__topo_t *t = arg;
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH, .nranks = 3};
    pipc__binding_t b;

    req.ngpus = pipc__topo_list(t, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    return pipc__bind(t, &req, &b, NULL);
}

/* Ranks with CPUs of their own, which are tried in every order. */
static pipc_status_t bind_own_once(void *arg)
{
    const pipc__topo_t *t = arg;
    hwloc_const_bitmap_t cpus[] = {t->numas[1].cpus, t->numas[0].cpus, t->numas[0].cpus};
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH, .nranks = 3, .rank_cpus = cpus};
    pipc__bind_cost_t cost;
    pipc__binding_t b;
    pipc_status_t st;

    req.ngpus = pipc__topo_list(t, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    st = pipc__bind(t, &req, &b, NULL);
    return st ? st : pipc__bind_cost(t, &req, b.order, 3, &cost, NULL);
}

static pipc_status_t cores_once(void *arg)
{
    const pipc__topo_t *t = arg;
    pipc__binding_t b = {.nranks = 2, .norder = 2};
    static hwloc_bitmap_t out; /* made once, not swept */
    bool near;

    if (!out)
        out = __real_hwloc_bitmap_alloc();
    return pipc__bind_cores(t, &b, 1, t->numas[0].cpus, out, &near, NULL);
}

static void binding(void **state)
{
    pipc__topo_t *t;

    (void)state;
    assert_int_equal(pipc__topo_synthetic(&t, "2x[sw:4gpu+1nic]", NULL), PIPC_OK);
    sweep(bind_once, t);
    sweep(bind_own_once, t);
    sweep(cores_once, t);
    pipc__topo_free(t);
}

static pipc_status_t json_once(void *t)
{
    FILE *f = fopen("/dev/null", "w");
    pipc_status_t st;

    assert_non_null(f);
    st = pipc__topo_print_json(t, f, NULL);
    fclose(f);
    return st;
}

static void json(void **state)
{
    pipc__topo_t *t;

    (void)state;
    assert_int_equal(pipc__topo_synthetic(&t, "[sw:2x[sw:2gpu]+1nic]", NULL), PIPC_OK);
    json_set_alloc_funcs(__wrap_malloc, free);
    sweep(json_once, t);
    pipc__topo_free(t);
}

static char snapshot[] = "/tmp/pipc-nomem-XXXXXX";

static pipc_status_t json_file_once(void *arg)
{
    pipc__topo_t *t;
    pipc_status_t st = pipc__topo_json_file(&t, snapshot, NULL);

    (void)arg;
    assert_int_equal(t == NULL, st != PIPC_OK);
    pipc__topo_free(t);
    /* Jansson says where it stopped, not that it had no memory. */
    return st == PIPC_ERR_INVALID && failed ? PIPC_ERR_NOMEM : st;
}

static void json_file(void **state)
{
    pipc__topo_t *t;
    FILE *f = fdopen(mkstemp(snapshot), "w");

    (void)state;
    assert_int_equal(pipc__topo_synthetic(&t, "[sw:2x[sw:2gpu]+1nic]", NULL), PIPC_OK);
    assert_true(
        pipc__topo_set_nvlinks(t, pipc__topo_gpu_by_minor(t, 0), pipc__topo_gpu_by_minor(t, 1), 4));
    assert_int_equal(pipc__topo_print_json(t, f, NULL), PIPC_OK);
    fclose(f);
    sweep(json_file_once, NULL);
    unlink(snapshot);
    pipc__topo_free(t);
}

/* The other programs' files. Expat and hwloc allocate for themselves, so these are our own calls.
 */
typedef struct of_file {
    pipc_status_t (*load)(pipc__topo_t **topo, const char *path, pipc__error_t *err);
    const char *path;
} of_file_t;

static pipc_status_t file_once(void *arg)
{
    const of_file_t *f = arg;
    pipc__topo_t *t;
    pipc_status_t st = f->load(&t, f->path, NULL);

    assert_int_equal(t == NULL, st != PIPC_OK);
    pipc__topo_free(t);
    return st;
}

#define SETS "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\""

static void files(void **state)
{
    static const struct {
        pipc_status_t (*load)(pipc__topo_t **topo, const char *path, pipc__error_t *err);
        const char *text;
    } cases[] = {
        {pipc__topo_matrix, "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                            "GPU0\t X \tPIX\tPXB\t0-3\t0\t2\n"
                            "GPU1\tPIX\t X \tPXB\t0-3\t0\tN/A\n"
                            "NIC0\tPXB\tPXB\t X \n"},
        {pipc__topo_dump, "41:00.0 3D controller: NVIDIA\n"
                          "00: de 10 bb 20 07 04 10 00 a1 00 02 03 00 00 00 00\n"
                          "10: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                          "20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                          "30: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"},
        {pipc__topo_hwloc_xml,
         "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" gp_index=\"1\" " SETS
         " allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\">"
         "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" " SETS " local_memory=\"1\"/>"
         "<object type=\"Core\" os_index=\"0\" gp_index=\"3\" " SETS ">"
         "<object type=\"PU\" os_index=\"0\" gp_index=\"4\" " SETS "/></object>"
         "<object type=\"Bridge\" gp_index=\"5\" bridge_type=\"0-1\" depth=\"0\" "
         "bridge_pci=\"0000:[00-01]\"><object type=\"PCIDev\" gp_index=\"6\" "
         "pci_busid=\"0000:00:02.0\" pci_type=\"0302 [10de:1db1] [0000:0000] a1\" "
         "pci_link_speed=\"0\"/></object></object></topology>"},
#ifdef HAVE_EXPAT
        {pipc__topo_nccl_xml,
         "<system><cpu numaid=\"0\" affinity=\"f\"><pci busid=\"0000:10:00.0\" class=\"0x060400\">"
         "<pci busid=\"0000:11:00.0\" class=\"0x0302\"><gpu><nvlink target=\"0000:12:00.0\" "
         "count=\"4\"/></gpu></pci><pci busid=\"0000:12:00.0\" class=\"0x0302\"/>"
         "</pci></cpu></system>"},
#endif
    };
    char path[] = "/tmp/pipc-nomem-XXXXXX";

    (void)state;
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        of_file_t f = {cases[i].load, path};
        put("/tmp", path + strlen("/tmp/"), cases[i].text);
        sweep(file_once, &f);
    }
    unlink(path);
}

typedef struct two {
    pipc__topo_t *a, *b;
} two_t;

static pipc_status_t compare_once(void *arg)
{
    const two_t *two = arg;
    pipc__change_t *list;
    int n;
    pipc_status_t st = pipc__topo_compare(two->a, two->b, &list, &n, NULL);

    assert_int_equal(list == NULL, st != PIPC_OK);
    free(list);
    return st;
}

static void compare(void **state)
{
    two_t two;

    (void)state;
    assert_int_equal(pipc__topo_synthetic(&two.a, "2x[sw:2x[sw:4gpu]+1nic]", NULL), PIPC_OK);
    assert_int_equal(pipc__topo_synthetic(&two.b, "2x[sw:3x[sw:gpu]+4nic]", NULL), PIPC_OK);
    sweep(compare_once, &two);
    pipc__topo_free(two.a);
    pipc__topo_free(two.b);
}

static pipc_status_t svg_once(void *t)
{
    FILE *f = fopen("/dev/null", "w");
    pipc_status_t st;

    assert_non_null(f);
    st = pipc__topo_print_svg(t, "", "", f, NULL);
    fclose(f);
    return st;
}

static void svg(void **state)
{
    pipc__topo_t *t;

    (void)state;
    assert_int_equal(pipc__topo_synthetic(&t, "2x[sw:2gpu+1nic]", NULL), PIPC_OK);
    sweep(svg_once, t);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic), cmocka_unit_test(sysroot), cmocka_unit_test(live),
        cmocka_unit_test(binding),   cmocka_unit_test(json),    cmocka_unit_test(json_file),
        cmocka_unit_test(files),     cmocka_unit_test(compare), cmocka_unit_test(svg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
