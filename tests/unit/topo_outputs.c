/* tests/unit/topo_outputs.c - JSON and NCCL's XML that can be read back, the picture */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "runtime/topo/build.h"
#include "runtime/topo/files.h"
#include "runtime/topo/layout.h"
#include "runtime/topo/link.h"
#include "runtime/topo/relation.h"
#include "runtime/topo/source.h"
#include "runtime/topo/svg.h"
#include "runtime/topo/xml.h"
#include "runtime/topo/xml_out.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const shapes[] = {
    "[gpu]",
    "[nic]",
    "[4gpu+2nic]",
    "[sw:4gpu+1nic]",
    "2x[sw:4gpu+1nic]",
    "[sw:5gpu+1nic]+[sw:3gpu+1nic]",
    "[sw:2x[sw:2gpu]+nic]",
    "2x[2x[sw:2gpu]+1nic]",
    "4x[sw:2x[sw:2gpu+1nic]]",
    "[sw:2x[sw:gpu]]",
    "[0core+gpu]+[12core+gpu]",
    "[0core+gpu]", /* no NUMA node to place ranks on */
};

/* A tree with all facts that a source can tell. */
static pipc__topo_t *rich(void)
{
    pipc__topo_t *t = synthetic("2x[sw:2x[sw:2gpu+1nic]]");
    int gpu[8], n = pipc__topo_list(t, PIPC__TOPO_GPU, gpu, 8);

    for (int i = 1; i < t->nobjs; i++) {
        pipc__topo_obj_t *o = &t->objs[i];
        o->link = (pipc__link_t){16, 16, 2500, 32000};
        o->vendor = o->kind == PIPC__TOPO_GPU ? 0x10de : 0x15b3;
        o->device = 0x2330 + i;
        o->class_code = o->kind == PIPC__TOPO_GPU   ? 0x030200
                        : o->kind == PIPC__TOPO_NIC ? 0x020700
                                                    : 0x060400;
        if (o->kind == PIPC__TOPO_NIC)
            snprintf(o->netdev, sizeof(o->netdev), "mlx5_%d", i);
    }
    for (int i = 0; i < n; i++) {
        snprintf(t->objs[gpu[i]].uuid, PIPC__NAME_MAX, "GPU-%d", i);
        for (int j = 0; j < i; j++)
            assert_true(pipc__topo_set_nvlinks(t, gpu[i], gpu[j], i == j + 1 ? 4 : 0));
    }
    return t;
}

/* What @print prints, to free. */
static char *printed(const pipc__topo_t *t, pipc_status_t (*print)(const pipc__topo_t *, FILE *))
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(print(t, f), PIPC_OK);
    fclose(f);
    return text;
}

static pipc_status_t as_json(const pipc__topo_t *t, FILE *f)
{
    return pipc__topo_print_json(t, f, NULL);
}

static pipc_status_t as_xml(const pipc__topo_t *t, FILE *f)
{
    static const pipc__xml_cpu_t cpu = {"x86_64", "GenuineIntel", 6, 143};

    return pipc__topo_print_xml(t, &cpu, f, NULL);
}

static pipc_status_t as_svg(const pipc__topo_t *t, FILE *f)
{
    return pipc__topo_print_svg(t, "node17 <\"&'>", "made \x01 today", f, NULL);
}

typedef pipc_status_t reader_t(pipc__topo_t **, const char *, pipc__error_t *);

static pipc__topo_t *read_back(const char *text, reader_t *read, pipc__error_t *err)
{
    char path[] = "/tmp/pipc-topo-XXXXXX";
    pipc__topo_t *t = NULL;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    *err = (pipc__error_t){PIPC_OK, ""};
    pipc_status_t st = read(&t, path, err);
    assert_int_equal(st, err->status);
    assert_true((t == NULL) == (err->status != PIPC_OK));
    unlink(path);
    return t;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void check_json(const pipc__topo_t *t)
{
    pipc__error_t err;
    char *first = printed(t, as_json);
    pipc__topo_t *again = read_back(first, pipc__topo_json_file, &err);

    assert_string_equal(err.text, "");
    char *second = printed(again, as_json);
    assert_string_equal(first, second);
    assert_int_equal(again->ncores, t->ncores);
    free(first);
    free(second);
    pipc__topo_free(again);
}

static void json_makes_the_same_tree(void **state)
{
    pipc__topo_t *t;

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        t = synthetic(shapes[i]);
        check_json(t);
        pipc__topo_free(t);
    }
    t = rich();
    check_json(t);
    pipc__topo_free(t);
    assert_int_equal(pipc__topo_live(&t, NULL), PIPC_OK);
    check_json(t);
    pipc__topo_free(t);
}

#define OBJ "{\"kind\": \"machine\", \"name\": \"m\"}"
#define HOST ", {\"kind\": \"host_bridge\", \"name\": \"0000:00\", \"parent\": 0}"
#define JSON(numas, objects, rest)                                                                 \
    "{\"numa_nodes\": [" numas "], \"objects\": [" objects "], \"cores\": []" rest "}"

static void wrong_json_is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *says; /* NULL: it is right */
    } cases[] = {
        {JSON("", OBJ HOST, ""), NULL},
        {JSON("", "", ""), NULL},
        {"", "it is empty"},
        {"{", "line 1: "},
        {"[]", "no array \"numa_nodes\""},
        {"{\"numa_nodes\": 3}", "no array \"numa_nodes\""},
        {"{\"numa_nodes\": []}", "no array \"objects\""},
        {JSON("{\"cpus\": \"0-3\"}", OBJ, ""), "numa_nodes[0]: a NUMA node needs its number"},
        {JSON("{\"numa\": 0},{\"numa\": 0}", OBJ, ""), "numa_nodes[1]: this NUMA node stands"},
        {JSON("{\"numa\": 0, \"cpus\": \"0-99999999\"}", OBJ, ""), "not a list of CPUs"},
        {JSON("{\"numa\": 0, \"cpus\": 7}", OBJ, ""), "not a list of CPUs"},
        {JSON("", "{\"kind\": \"gpu\", \"name\": \"m\"}", ""), "objects[0]: the first object"},
        {JSON("", OBJ "," OBJ, ""), "objects[1]: the first object"},
        {JSON("", OBJ ", {\"kind\": \"toaster\", \"name\": \"t\"}", ""), "objects[1]: \"kind\""},
        {JSON("", OBJ ", 7", ""), "objects[1]: \"kind\""},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"parent\": 0}", ""), "objects[1]: \"name\""},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 1}", ""), "\"parent\""},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\"}", ""), "\"parent\""},
        {JSON("",
              OBJ HOST ", {\"kind\": \"nic\", \"name\": \"n\", \"parent\": 0}"
                       ", {\"kind\": \"nic\", \"name\": \"n\", \"parent\": 1}",
              ""),
         "objects[3]: \"parent\""}, /* no preorder */
        {JSON("",
              OBJ HOST ", {\"kind\": \"nic\", \"name\": \"0000:02:00.0\", \"parent\": 1}"
                       ", {\"kind\": \"nic\", \"name\": \"0000:01:00.0\", \"parent\": 1}",
              ""),
         "objects[3]: siblings"},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\\n\", \"parent\": 0}", ""), "\"name\""},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 0, \"numa\": 0}", ""),
         "objects[1]: its NUMA node"},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 0, \"minor\": -1}", ""),
         "\"minor\""},
        {JSON("", OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 0, \"vendor\": \"10\"}",
              ""),
         "\"vendor\""},
        {JSON("",
              OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 0, \"link\": {\"width\":"
                  " 99}}",
              ""),
         "\"width\""},
        {JSON("",
              OBJ ", {\"kind\": \"gpu\", \"name\": \"g\", \"parent\": 0, \"link\": "
                  "{\"speed_gts\": 1e300}}",
              ""),
         "\"speed_gts\""},
        {JSON("", OBJ, ", \"pairs\": [{\"a\": \"x\", \"b\": \"y\", \"nvlinks\": 4}]"),
         "pairs[0]: \"a\" and \"b\""},
        {JSON("", OBJ, ", \"cores\": []"), "duplicate"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__error_t err;
        pipc__topo_t *t = read_back(cases[i].text, pipc__topo_json_file, &err);
        pipc__topo_free(t);
        if (cases[i].says ? !strstr(err.text, cases[i].says) : err.status != PIPC_OK)
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

static void too_deep_json_is_refused(void **state)
{
    char text[16384];
    pipc__error_t err;
    size_t n = (size_t)sprintf(text, "{\"numa_nodes\": [], \"cores\": [], \"objects\": [" OBJ);

    (void)state;
    for (int i = 0; i < 70; i++)
        n += (size_t)sprintf(text + n, ", {\"kind\": \"switch\", \"name\": \"s\", \"parent\": %d}",
                             i);
    strcpy(text + n, "]}");
    assert_null(read_back(text, pipc__topo_json_file, &err));
    assert_non_null(strstr(err.text, "too deep"));
}

static void a_file_is_told_by_what_it_holds(void **state)
{
    pipc__topo_t *t = rich();
    static const struct {
        pipc_status_t (*print)(const pipc__topo_t *, FILE *);
        pipc__source_kind_t kind;
    } cases[] = {{as_json, PIPC__SOURCE_JSON}, {as_xml, PIPC__SOURCE_NCCL_XML}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[] = "/tmp/pipc-topo-XXXXXX";
        pipc__source_t source;
        FILE *f = fdopen(mkstemp(path), "w");
        assert_int_equal(cases[i].print(t, f), PIPC_OK);
        fclose(f);
        assert_int_equal(pipc__source_guess(&source, path, NULL), PIPC_OK);
        assert_int_equal(source.kind, cases[i].kind);
        unlink(path);
    }
    pipc__topo_free(t);
}

/* ---- NCCL's XML ---------------------------------------------------------------------------- */

static void check_xml(const pipc__topo_t *t)
{
    char *text = printed(t, as_xml), *groups = strdup(groups_text(t));
    pipc__error_t err;
    pipc__topo_t *again = read_back(text, pipc__topo_nccl_xml, &err);

    if (!pipc__xml_can_parse()) {
        assert_int_equal(err.status, PIPC_ERR_UNSUPPORTED);
    } else {
        assert_string_equal(err.text, "");
        assert_string_equal(groups_text(again), groups);
        assert_int_equal(pipc__topo_list(again, PIPC__TOPO_GPU, NULL, 0),
                         pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0));
    }
    free(text);
    free(groups);
    pipc__topo_free(again);
}

static void xml_has_the_same_groups(void **state)
{
    pipc__topo_t *t;

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        t = synthetic(shapes[i]);
        check_xml(t);
        pipc__topo_free(t);
    }
    t = rich();
    check_xml(t);
    pipc__topo_free(t);
}

static void xml_keeps_the_facts(void **state)
{
    pipc__topo_t *t = rich(), *again;
    pipc__error_t err;
    int a[8], b[8];
    char *text = printed(t, as_xml);

    (void)state;
    again = read_back(text, pipc__topo_nccl_xml, &err);
    if (again) {
        assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, a, 8), 8);
        assert_int_equal(pipc__topo_list(again, PIPC__TOPO_GPU, b, 8), 8);
        for (int i = 0; i < 8; i++) {
            const pipc__topo_obj_t *x = &t->objs[a[i]], *y = &again->objs[b[i]];
            assert_string_equal(x->name, y->name);
            assert_int_equal(x->vendor, y->vendor);
            assert_int_equal(x->device, y->device);
            assert_int_equal(x->class_code, y->class_code);
            assert_int_equal(x->link.max_width, y->link.max_width);
            assert_int_equal(x->link.max_speed_mts, y->link.max_speed_mts);
            assert_int_equal(t->numas[x->numa].os_index, again->numas[y->numa].os_index);
            for (int j = 0; j < 8; j++)
                assert_int_equal(pipc__topo_nvlinks(t, a[i], a[j]) > 0,
                                 pipc__topo_nvlinks(again, b[i], b[j]) > 0);
        }
        for (int i = 0; i < 2; i++)
            assert_true(hwloc_bitmap_isequal(t->numas[i].cpus, again->numas[i].cpus));
    }
    free(text);
    pipc__topo_free(t);
    pipc__topo_free(again);
}

/* NCCL's reader is a simple one, see xml_out.c. */
static void xml_is_what_nccl_takes(void **state)
{
    pipc__topo_t *t = synthetic("[sw:gpu+nic+40core]");
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_obj_t *nic = &t->objs[t->nobjs - 1], *sw = &t->objs[3];

    (void)state;
    strcpy(nic->netdev, "a&b");
    nic->vendor = 0x15b3;
    sw->link = (pipc__link_t){4, 16, 2500, 32000};
    t->objs[sw->parent].link = (pipc__link_t){4, 8, 2500, 16000}; /* what both ends can do */
    char *text = printed(t, as_xml);
    assert_string_equal(
        text, "<system version=\"1\">\n"
              "  <cpu numaid=\"0\" affinity=\"000000ff,ffffffff\" arch=\"x86_64\" "
              "vendor=\"GenuineIntel\" "
              "familyid=\"6\" modelid=\"143\">\n"
              "    <pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
              "link_width=\"8\">\n"
              "      <pci busid=\"0000:03:00.0\" class=\"0x030200\">\n"
              "        <gpu dev=\"0\"/>\n"
              "      </pci>\n"
              "      <pci busid=\"0000:04:00.0\" class=\"0x020700\" vendor=\"0x15b3\">\n"
              "        <nic><net name=\"a_b\" dev=\"0\"/></nic>\n"
              "      </pci>\n"
              "    </pci>\n"
              "  </cpu>\n"
              "</system>\n");
    free(text);
    int gpu = pipc__topo_gpu_by_minor(t, 0);
    t->objs[gpu].addr.domain = PIPC__UNKNOWN;
    FILE *f = fopen("/dev/null", "w");
    assert_int_equal(pipc__topo_print_xml(t, NULL, f, &err), PIPC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no PCI address"));
    fclose(f);
    pipc__topo_free(t);
}

/* ---- the picture --------------------------------------------------------------------------- */

static int count(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Well-formed as far as this build can tell, and as many boxes as the tree has. */
static void check_svg(const pipc__topo_t *t)
{
    const pipc__xml_t xml = {"picture", NULL, NULL, NULL};
    char *text = printed(t, as_svg);
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = pipc__xml_parse(&xml, text, strlen(text), &err);

    assert_true(st == PIPC_OK || st == PIPC_ERR_UNSUPPORTED);
    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    assert_int_equal(count(text, "<text"), count(text, "</text>"));
    assert_non_null(strstr(text, "node17 &lt;\"&amp;'&gt;"));
    assert_non_null(strstr(text, "made ? today"));
    assert_int_equal(count(text, "\">gpu"), pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0) + 1);
    assert_int_equal(count(text, ">nan"), 0);
    free(text);
}

static void pictures_are_well_formed(void **state)
{
    pipc__topo_t *t;

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        t = synthetic(shapes[i]);
        check_svg(t);
        pipc__topo_free(t);
    }
    t = rich();
    strcpy(t->objs[pipc__topo_end(t, 0) - 1].netdev, "<a&b>");
    check_svg(t);
    pipc__topo_free(t);
}

static void only_lost_lanes_are_red(void **state)
{
    static const struct {
        pipc__link_t card, port;
        int possible;
        bool red;
    } cases[] = {
        {{16, 16, 32000, 32000}, {16, 16, 32000, 32000}, 16, false},
        {{16, 16, 2500, 32000}, {-1, -1, -1, -1}, 16, false}, /* idle */
        {{8, 16, 32000, 32000}, {-1, -1, -1, -1}, 16, true},
        {{8, 16, 32000, 32000}, {8, 8, 32000, 32000}, 8, false}, /* a slot of 8 lanes */
        {{4, 16, 32000, 32000}, {4, 8, 32000, 32000}, 8, true},
        {{8, -1, -1, -1}, {16, 16, -1, -1}, -1, false},
        {{-1, 16, -1, -1}, {-1, -1, -1, -1}, 16, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic("[gpu]");
        int gpu = pipc__topo_gpu_by_minor(t, 0);
        t->objs[gpu].link = cases[i].card;
        t->objs[t->objs[gpu].parent].link = cases[i].port;
        assert_int_equal(pipc__link_possible_width(t, gpu), cases[i].possible);
        assert_int_equal(pipc__link_is_degraded(t, gpu), cases[i].red);
        char *text = printed(t, as_svg);
        assert_int_equal(count(text, "class=\"s r\">now x"), cases[i].red);
        free(text);
        pipc__topo_free(t);
    }
}

/* Boxes of one row do not overlap, children stand below their parents and within their room. */
static void the_layout_is_tidy(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        pipc__topo_t *t = synthetic(shapes[i]);
        pipc__layout_t l;
        assert_true(pipc__layout(t, &l));
        for (int a = 0; a < l.nnodes; a++) {
            const pipc__layout_node_t *x = &l.nodes[a];
            assert_in_range(x->row, 0, l.rows - 1);
            assert_in_range(x->right, x->left + PIPC__LEAF_WIDTH, l.width - PIPC__MARGIN);
            assert_int_equal(x->x, (x->left + x->right) / 2);
            if (x->parent >= 0) {
                const pipc__layout_node_t *p = &l.nodes[x->parent];
                assert_true(x->parent < a && p->row < x->row);
                assert_true(p->left <= x->left && x->right <= p->right);
            }
            for (int b = 0; b < a; b++)
                if (l.nodes[b].row == x->row)
                    assert_true(l.nodes[b].right < x->left || x->right < l.nodes[b].left);
        }
        free(l.nodes);
        free(l.numas);
        pipc__topo_free(t);
    }
}

static void a_full_disk_is_an_error(void **state)
{
    pipc__topo_t *t = rich();

    (void)state;
    for (int svg = 0; svg < 2; svg++) {
        FILE *f = fopen("/dev/full", "w");
        setvbuf(f, NULL, _IONBF, 0);
        assert_int_equal((svg ? as_svg : as_xml)(t, f), PIPC_ERR_SYSTEM);
        fclose(f);
    }
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_makes_the_same_tree),
        cmocka_unit_test(wrong_json_is_refused_with_the_place),
        cmocka_unit_test(too_deep_json_is_refused),
        cmocka_unit_test(a_file_is_told_by_what_it_holds),
        cmocka_unit_test(xml_has_the_same_groups),
        cmocka_unit_test(xml_keeps_the_facts),
        cmocka_unit_test(xml_is_what_nccl_takes),
        cmocka_unit_test(pictures_are_well_formed),
        cmocka_unit_test(only_lost_lanes_are_red),
        cmocka_unit_test(the_layout_is_tidy),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
