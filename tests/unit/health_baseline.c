/* tests/unit/health_baseline.c - a machine against what it was: each change of it in a table,
 * beside the verdict; and the file
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/judge_baseline.h"
#include "runtime/base/ini.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a machine ----------------------------------------------------------------------------- */

/* A NIC below a switch, and two GPUs, each below a root port of its own; x16 at 32 GT/s. */
enum { NIC_ROOT, NIC_UP, NIC_PORT, NIC, PORT_A, GPU_A, PORT_B, GPU_B, ALL };

typedef struct machine {
    pipc__fact_t dev[ALL];
    pipc__facts_t facts;
    pipc__look_t look;
} machine_t;

static void device(pipc__fact_t *f, const char *name, int vendor, int model, uint64_t serial)
{
    memset(f, 0, sizeof(*f));
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->parent = -1;
    f->vendor = vendor;
    f->device = model;
    f->errors = -1;
    f->who.serial = serial;
    f->more = pipc__extended_unknown();
    f->link = (pipc__express_t){PIPC__EXPRESS_ROOT, 16, 32000, 16, 32000, 32000, 0, -1, 0};
}

static void make(machine_t *m)
{
    pipc__fact_t *d = m->dev;

    device(&d[NIC_ROOT], "0000:20:01.0", 0x8086, 1, 0);
    device(&d[NIC_UP], "0000:21:00.0", 0x1000, 2, 0);
    device(&d[NIC_PORT], "0000:22:00.0", 0x1000, 2, 0);
    device(&d[NIC], "0000:23:00.0", 0x15b3, 0x1021, 23);
    device(&d[PORT_A], "0000:40:01.0", 0x8086, 1, 0);
    device(&d[GPU_A], "0000:41:00.0", 0x10de, 0x2330, 41);
    device(&d[PORT_B], "0000:60:01.0", 0x8086, 1, 0);
    device(&d[GPU_B], "0000:61:00.0", 0x10de, 0x2330, 61);
    for (int i = NIC; i < ALL; i += 2) {
        d[i].parent = i - 1;
        d[i].link.port = PIPC__EXPRESS_ENDPOINT;
        d[i].nic = i == NIC;
        d[i].gpu = i != NIC;
        d[i].more.bar = d[i].gpu ? 64ll << 30 : -1;
        d[i - 1].more.acs = 0;
    }
    d[NIC_UP].parent = NIC_ROOT;
    d[NIC_UP].link.port = PIPC__EXPRESS_UPSTREAM;
    d[NIC_PORT].parent = NIC_UP;
    d[NIC_PORT].link.port = PIPC__EXPRESS_DOWNSTREAM;
    strcpy(d[GPU_A].who.uuid, "GPU-a");
    strcpy(d[GPU_B].who.uuid, "GPU-b");
    m->facts = (pipc__facts_t){.dev = d, .n = ALL, .bios = "2.3"};
    m->look = PIPC__LOOK_ALL;
}

static void learn(const pipc__facts_t *facts, bool class, pipc__baseline_t *out)
{
    assert_int_equal(pipc__baseline_learn(facts, class, out, NULL), PIPC_OK);
}

/* "VERDICT CODE:BUS ...", worst first */
static void judge(const machine_t *m, const pipc__baseline_t *then, const char *text, char *out,
                  size_t cap)
{
    pipc__limits_t limits;
    pipc__findings_t found;
    size_t n;

    assert_int_equal(pipc__limits_parse("limits", text ? text : "", &limits, NULL), PIPC_OK);
    assert_int_equal(pipc__judge(&m->facts, &limits, &found, NULL), PIPC_OK);
    assert_int_equal(pipc__judge_baseline(&m->facts, &limits, then, m->look, &found, NULL),
                     PIPC_OK);
    n = (size_t)snprintf(out, cap, "%s", pipc__severity_name(found.verdict));
    for (int i = 0; i < found.n; i++) {
        const char *object = found.list[i].object;
        n += (size_t)snprintf(out + n, cap - n, " %s:%.*s", pipc__codes[found.list[i].code].name,
                              strlen(object) > 7 ? 2 : 4, strlen(object) > 7 ? object + 5 : object);
    }
    pipc__findings_free(&found);
}

/* ---- what changed -------------------------------------------------------------------------- */

static void lanes(machine_t *m, int gpu, int width, int can)
{
    for (int i = gpu - 1; i <= gpu; i++) {
        m->dev[i].link.width = width;
        m->dev[i].link.max_width = can;
    }
}

static void nothing(machine_t *m)
{
    (void)m;
}
static void idle(machine_t *m)
{
    m->dev[PORT_A].link.mts = m->dev[GPU_A].link.mts = 2500;
}
static void bifurcated(machine_t *m)
{
    lanes(m, GPU_A, 8, 8);
}
static void lost_lanes(machine_t *m)
{
    lanes(m, GPU_A, 8, 16);
}
static void ends_differ(machine_t *m)
{
    bifurcated(m);
    m->dev[GPU_A].link.width = 4;
}
static void powered_down(machine_t *m)
{
    bifurcated(m);
    m->dev[GPU_A].link.d_state = 3;
}
static void bifurcated_in_vm(machine_t *m)
{
    bifurcated(m);
    m->facts.virtual_machine = true;
}
static void another_model(machine_t *m)
{
    bifurcated(m);
    m->dev[GPU_A].device = 0x20b0;
}
static void another_serial(machine_t *m)
{
    bifurcated(m);
    m->dev[GPU_A].who.serial = 7;
}
static void another_uuid(machine_t *m)
{
    bifurcated(m);
    m->dev[GPU_A].who.serial = 0;
    strcpy(m->dev[GPU_A].who.uuid, "GPU-c");
}
static void another_bios(machine_t *m)
{
    bifurcated(m);
    strcpy(m->facts.bios, "2.4");
}
static void another_port(machine_t *m)
{
    m->dev[PORT_A].device = 2;
}
/* As a prolog sees it: no serial number, no UUID. */
static void bifurcated_in_a_prolog(machine_t *m)
{
    bifurcated(m);
    m->look = PIPC__LOOK_LINKS;
    for (int i = 0; i < ALL; i++)
        memset(&m->dev[i].who, 0, sizeof(m->dev[i].who));
}
static void lower_target(machine_t *m)
{
    m->dev[PORT_A].link.target_mts = 16000;
}
static void lower_ability(machine_t *m)
{
    for (int i = PORT_A; i <= GPU_A; i++)
        m->dev[i].link.max_mts = m->dev[i].link.mts = m->dev[i].link.target_mts = 16000;
}
static void lower_target_of_another(machine_t *m)
{
    lower_target(m);
    m->dev[GPU_A].who.serial = 7;
}
static void smaller_bar(machine_t *m)
{
    m->dev[GPU_A].more.bar = 32ll << 30;
}
static void nic_lanes(machine_t *m)
{
    lanes(m, NIC, 8, 8);
}
static void nic_lost_lanes(machine_t *m)
{
    lanes(m, NIC, 8, 16);
}
static void nic_switch_lanes(machine_t *m)
{
    for (int i = NIC_ROOT; i <= NIC_UP; i++)
        m->dev[i].link.width = m->dev[i].link.max_width = 8;
}
static void no_answer(machine_t *m)
{
    m->dev[GPU_A].answer = PIPC__LOST;
    m->dev[GPU_A].link = pipc__express_unknown();
}

/* ---- who is there -------------------------------------------------------------------------- */

static void gpu_gone(machine_t *m)
{
    m->facts.n = GPU_B;
}
static void gpu_and_port_gone(machine_t *m)
{
    m->facts.n = PORT_B;
}
static void all_gpus_gone(machine_t *m)
{
    m->facts.n = PORT_A;
}
static void gpu_gone_in_excerpt(machine_t *m)
{
    gpu_gone(m);
    m->facts.excerpt = true;
}
static void gpu_gone_and_another_bios(machine_t *m)
{
    gpu_gone(m);
    strcpy(m->facts.bios, "2.4");
}
static void elsewhere(machine_t *m, int gpu, const char *port, const char *name)
{
    strcpy(m->dev[gpu - 1].name, port);
    strcpy(m->dev[gpu].name, name);
}
static void moved(machine_t *m)
{
    elsewhere(m, GPU_B, "0000:80:01.0", "0000:81:00.0");
}
static void replaced_elsewhere(machine_t *m)
{
    moved(m);
    m->dev[GPU_B].who = (pipc__identity_t){.serial = 7};
}
static void one_moved_one_gone(machine_t *m)
{
    elsewhere(m, GPU_A, "0000:80:01.0", "0000:81:00.0");
    gpu_and_port_gone(m);
}
static void renumbered(machine_t *m)
{
    strcpy(m->dev[GPU_A].name, "0000:45:00.0");
    strcpy(m->dev[GPU_B].name, "0000:66:00.0");
}
static void swapped(machine_t *m)
{
    pipc__identity_t a = m->dev[GPU_A].who;

    m->dev[GPU_A].who = m->dev[GPU_B].who;
    m->dev[GPU_B].who = a;
}
static void nic_gone(machine_t *m)
{
    m->facts.dev += PORT_A;
    m->facts.n -= PORT_A;
    for (int i = PORT_A + 1; i < ALL; i += 2)
        m->dev[i].parent -= PORT_A;
}
static void nics_not_looked_for(machine_t *m)
{
    nic_gone(m);
    m->look = PIPC__LOOK_LINKS;
}
/* Another node of the class: other cards, and a GPU more at the end. */
static void other_node(machine_t *m)
{
    for (int i = 0; i < ALL; i++)
        m->dev[i].who.serial += m->dev[i].who.serial ? 100 : 0;
    strcpy(m->dev[GPU_A].who.uuid, "GPU-x");
    strcpy(m->dev[GPU_B].who.uuid, "GPU-y");
}
static void other_node_bifurcated(machine_t *m)
{
    other_node(m);
    bifurcated(m);
}

enum { NODE, CLASS };

static void what_has_changed(void **state)
{
    static const struct {
        const char *name;
        void (*change)(machine_t *m);
        bool class;
        const char *limits, *judged;
    } cases[] = {
        {"nothing", nothing, NODE, NULL, "ok"},
        {"it is idle", idle, NODE, NULL, "note PCI003:41"},
        {"bifurcated: both ends say x8", bifurcated, NODE, NULL, "drain PCI026:41"},
        {"lanes lost: told by the ends, once", lost_lanes, NODE, NULL, "drain PCI001:41"},
        {"... where the site has it milder", lost_lanes, NODE, "[severity]\nPCI001 = note",
         "drain PCI026:41 PCI001:41"},
        {"the ends differ: nothing can be told", ends_differ, NODE, NULL, "unknown PCI008:41"},
        {"powered down: nothing can be told", powered_down, NODE, NULL, "ok"},
        {"a hypervisor's port", bifurcated_in_vm, NODE, NULL, "note PCI026:41"},
        {"in a prolog", bifurcated_in_a_prolog, NODE, NULL, "drain PCI026:41"},
        {"it does not answer: told once", no_answer, NODE, NULL, "drain PCI002:41"},

        {"stale: another model", another_model, NODE, NULL, "warn PCI028:41"},
        {"stale: another card of the model", another_serial, NODE, NULL, "warn PCI028:41"},
        {"stale: by its UUID", another_uuid, NODE, NULL, "warn PCI028:41"},
        {"stale: another BIOS", another_bios, NODE, NULL, "warn PCI028:node"},
        {"stale: another port", another_port, NODE, NULL, "warn PCI028:40"},
        {"stale, and its target is lower", lower_target_of_another, NODE, NULL,
         "warn PCI028:41 PCI004:40"},
        {"two cards swapped", swapped, NODE, NULL, "warn PCI028:41 PCI028:61"},

        {"lower target", lower_target, NODE, NULL, "warn PCI027:41 PCI004:40"},
        {"both ends can do less", lower_ability, NODE, NULL, "warn PCI027:41 PCI027:41"},
        {"a smaller BAR", smaller_bar, NODE, NULL, "warn PCI027:41"},
        {"a NIC's lanes", nic_lanes, NODE, NULL, "warn PCI026:23"},
        {"... told by the ends, once", nic_lost_lanes, NODE, NULL, "warn PCI001:23"},
        {"of a switch with no GPU below", nic_switch_lanes, NODE, NULL, "warn PCI026:21"},

        {"a GPU gone", gpu_gone, NODE, NULL, "drain PCI029:61"},
        {"and its port", gpu_and_port_gone, NODE, NULL, "drain PCI029:61"},
        {"all gone", all_gpus_gone, NODE, NULL, "drain PCI029:41 PCI029:61 PCI013:node"},
        {"not in an excerpt", gpu_gone_in_excerpt, NODE, NULL, "unknown PCI029:61"},
        {"gone with another BIOS", gpu_gone_and_another_bios, NODE, NULL,
         "warn PCI028:node PCI029:61"},
        {"moved", moved, NODE, NULL, "warn PCI028:61"},
        {"replaced, at another place", replaced_elsewhere, NODE, NULL, "warn PCI028:61 PCI028:81"},
        {"one moved, one gone", one_moved_one_gone, NODE, NULL, "drain PCI029:61 PCI028:41"},
        {"other numbers of buses", renumbered, NODE, NULL, "ok"},
        {"a NIC gone", nic_gone, NODE, NULL, "warn PCI029:23"},
        {"NICs that nobody looked for", nics_not_looked_for, NODE, NULL, "ok"},

        {"of a class: another node", other_node, CLASS, NULL, "ok"},
        {"of a class: bifurcated", other_node_bifurcated, CLASS, NULL, "drain PCI026:41"},
        {"of a class: a GPU gone", gpu_gone, CLASS, NULL, "drain PCI029:61"},
        {"of a class: as many at other places", moved, CLASS, NULL, "warn PCI028:61 PCI028:81"},
        {"of a class: fewer, at other places", one_moved_one_gone, CLASS, NULL,
         "drain PCI029:node PCI028:81"},
        {"the file of another node", other_node_bifurcated, NODE, NULL,
         "warn PCI028:23 PCI028:41 PCI028:61"},

        {"excused lanes", bifurcated, NODE, "[device 0000:41:00.0]\nwidth = 8", "ok"},
        {"of a model", bifurcated, NODE, "[model 10de:2330]\nwidth = 8", "ok"},
        {"more than there are", bifurcated, NODE, "[model 10de:2330]\nwidth = 16",
         "drain PCI026:41"},
        {"an excused code", gpu_gone, NODE, "[device 0000:61:00.0]\nignore = PCI029", "ok"},
        {"of a model that is gone", gpu_gone, NODE, "[model 10de:2330]\nignore = PCI029", "ok"},
        {"milder", bifurcated, NODE, "[severity]\nPCI026 = warn", "warn PCI026:41"},
        {"harder", lower_target, NODE, "[severity]\nPCI027 = drain\nPCI004 = off",
         "drain PCI027:41"},
        {"off", another_bios, NODE, "[severity]\nPCI028 = off", "ok"},
    };
    pipc__baseline_t then;
    machine_t m;
    char out[512];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        make(&m);
        learn(&m.facts, cases[i].class, &then);
        cases[i].change(&m);
        judge(&m, &then, cases[i].limits, out, sizeof(out));
        if (strcmp(out, cases[i].judged) != 0)
            fail_msg("%s: is \"%s\", wanted \"%s\"", cases[i].name, out, cases[i].judged);
        pipc__baseline_free(&then);
    }
}

/* The other way round: a baseline of a poorer machine. */
static void what_is_better_now(void **state)
{
    pipc__baseline_t then, none = {.there = false};
    machine_t m;
    char out[512];

    (void)state;
    make(&m);
    bifurcated(&m);
    lower_target(&m);
    smaller_bar(&m);
    m.facts.n = PORT_B;
    learn(&m.facts, false, &then);
    make(&m);
    judge(&m, &then, NULL, out, sizeof(out));
    assert_string_equal(out, "note PCI028:61"); /* a GPU more, which is in no baseline */
    pipc__baseline_free(&then);
    bifurcated(&m);
    judge(&m, &none, NULL, out, sizeof(out));
    assert_string_equal(out, "ok"); /* without a baseline nobody knows */
}

/* ---- the file ------------------------------------------------------------------------------ */

static char *printed(const pipc__baseline_t *b)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    pipc__baseline_print(b, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void never(void *arg, const char *object, const char *what)
{
    (void)arg;
    fail_msg("%s: %s", object, what);
}

static void count(void *arg, const char *object, const char *what)
{
    (void)object;
    (void)what;
    ++*(int *)arg;
}

static void a_text_that_git_can_keep(void **state)
{
    static const char want[] = "\n[baseline]\nclass = no\nbios = 2.3\n\n[0000:20:01.0]\n"
                               "kind = port\npath = 0000:20:01.0\ndevice = 8086:0001\n\n"
                               "[0000:21:00.0]\nkind = port\npath = 0000:20:01.0/00.0\n"
                               "device = 1000:0002\nwidth = 16\nmax_speed = 32 GT/s\n"
                               "target_speed = 32 GT/s\n\n[0000:22:00.0]\nkind = port\n"
                               "path = 0000:20:01.0/00.0/00.0\ndevice = 1000:0002\n"
                               "acs_redirect = off\n\n[0000:23:00.0]\nkind = nic\n"
                               "path = 0000:20:01.0/00.0/00.0/00.0\ndevice = 15b3:1021\n"
                               "serial = 00-00-00-00-00-00-00-17\nwidth = 16\n"
                               "max_speed = 32 GT/s\ntarget_speed = 2.5 GT/s\n\n";
    pipc__baseline_t then, again;
    machine_t m;

    (void)state;
    make(&m);
    m.dev[NIC_PORT].link.target_mts = 2500;
    strcpy(m.dev[GPU_A].who.slot, "Slot 3");
    learn(&m.facts, false, &then);
    char *text = printed(&then);
    if (!strstr(text, want))
        fail_msg("is %s", text);
    assert_non_null(strstr(text, "slot = Slot 3\ndevice = 10de:2330\n"));
    assert_non_null(strstr(text, "uuid = GPU-a\n"));
    assert_non_null(strstr(text, "memory_bar = 65536 MiB\n"));
    assert_int_equal(pipc__baseline_parse("f", text, &again, NULL), PIPC_OK);
    char *twice = printed(&again);
    assert_string_equal(text, twice);
    assert_int_equal(pipc__baseline_diff(&then, &again, never, NULL), 0);
    free(text);
    free(twice);
    pipc__baseline_free(&again);

    learn(&m.facts, true, &again);
    text = printed(&again);
    assert_non_null(strstr(text, "class = yes\n"));
    assert_null(strstr(text, "serial"));
    assert_null(strstr(text, "uuid"));
    free(text);
    pipc__baseline_free(&again);
    pipc__baseline_free(&then);
}

static void differences_are_told(void **state)
{
    pipc__baseline_t then, now;
    machine_t m;
    int n = 0;

    (void)state;
    make(&m);
    learn(&m.facts, false, &then);
    bifurcated(&m);
    strcpy(m.facts.bios, "2.4");
    m.dev[PORT_A].more.acs = PIPC__ACS_REQUEST;
    elsewhere(&m, GPU_B, "0000:80:01.0", "0000:81:00.0");
    learn(&m.facts, false, &now);
    /* BIOS, width, ACS, port and GPU away, port and GPU new */
    assert_int_equal(pipc__baseline_diff(&then, &now, count, &n), 7);
    assert_int_equal(n, 7);
    pipc__baseline_free(&then);
    pipc__baseline_free(&now);
}

static void wrong_text_is_refused_whole(void **state)
{
#define ENTRY "[0000:41:00.0]\nkind = gpu\npath = 0000:40:01.0/00.0\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[baseline]\nclass = maybe\n", "f: line 2: class: wrong value \"maybe\"; learn the"},
        {"[baseline]\nclass = no\nclass = no\n", "line 3: class stands there twice"},
        {"[baseline]\nwidth = 8\n", "there is no key \"width\" in section \"baseline\""},
        {"[baseline]\nbios =\n", "bios: wrong value \"\""},
        {ENTRY "bios = 2\n", "there is no key \"bios\" in section \"0000:41:00.0\""},
        {"[gpu]\nwidth = 8\n", "[gpu]: no address as 0000:41:00.0"},
        {"width = 8\n", "[]: no address"},
        {"[0000:41:00.0]\nkind = gpu\n", "f: [0000:41:00.0] has no kind or no path"},
        {"[0000:41:00.0]\npath = 1\n", "has no kind or no path"},
        {ENTRY "[0000:42:00.0]\nkind = gpu\npath = 0000:40:01.0/00.0\n",
         "[0000:42:00.0] has the path of another section"},
        {ENTRY "[0000:42:00.0]\nkind = nic\npath = 2\n[0000:41:00.0]\nkind = gpu\n",
         "line 8: kind stands there twice"},
        {ENTRY "kind = gpu\n", "twice"},
        {"[0000:41:00.0]\nkind = audio\n", "kind: wrong value \"audio\""},
        {ENTRY "width = 0\n", "width: wrong value"},
        {ENTRY "width = 33\n", "width: wrong value"},
        {ENTRY "width = x16\n", "width: wrong value"},
        {ENTRY "device = 10DE:2330\n", "device: wrong value"},
        {ENTRY "device = 10de\n", "device: wrong value"},
        {ENTRY "serial = 1234\n", "serial: wrong value"},
        {ENTRY "serial = 00-00-00-00-00-00-00-00\n", "serial: wrong value"},
        {ENTRY "serial = 00-11-22-33-44-55-66-77-88\n", "serial: wrong value"},
        {ENTRY "serial = zz-11-22-33-44-55-66-77\n", "serial: wrong value"},
        {ENTRY "max_speed = 32\n", "max_speed: wrong value"},
        {ENTRY "max_speed = 0 GT/s\n", "max_speed: wrong value"},
        {ENTRY "max_speed = -2.5 GT/s\n", "max_speed: wrong value"},
        {ENTRY "target_speed = 2.55 GT/s\n", "target_speed: wrong value"},
        {ENTRY "target_speed = 9999 GT/s\n", "target_speed: wrong value"},
        {ENTRY "acs_redirect = yes\n", "acs_redirect: wrong value"},
        {ENTRY "memory_bar = 32 GiB\n", "memory_bar: wrong value"},
        {ENTRY "memory_bar = 99999999999 MiB\n", "memory_bar: wrong value"},
        {ENTRY "memory_bar = MiB\n", "memory_bar: wrong value"},
        {ENTRY "uuid = GPU-00000000-0000-0000-0000-0000000000000000000000\n", "uuid: wrong value"},
        {ENTRY "slot =;3\n", "slot: wrong value"}, /* written, it would be a comment */
        {ENTRY "slot = a\tb\n", "slot: wrong value"},
        {ENTRY "slot = \xe2\x82\xac\n", "slot: wrong value"},
        {ENTRY "colour = red\n", "there is no key \"colour\""},
        {ENTRY "width\n", "line 4: neither"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__baseline_t b;
        pipc__error_t err = {PIPC_OK, ""};
        if (!pipc__baseline_parse("f", cases[i].text, &b, &err) || !strstr(err.text, cases[i].says))
            fail_msg("\"%s\": says \"%s\", wanted \"%s\"", cases[i].text, err.text, cases[i].says);
        assert_true(!b.there && b.n == 0);
        pipc__baseline_free(&b);
    }
}

static void whose_file_it_is(void **state)
{
    static const char text[] = ENTRY;
    char path[128];
    pipc__baseline_t b;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    snprintf(path, sizeof(path), "%s/baseline.conf", tree);
    assert_int_equal(pipc__baseline_read(path, geteuid(), &b, NULL), PIPC_OK);
    assert_false(b.there); /* absent: nothing is said */
    assert_int_equal(pipc__baseline_read(path, PIPC__INI_ANYBODY, &b, NULL), PIPC_ERR_NOT_FOUND);
    tree_put("baseline.conf", text, sizeof(text) - 1);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(pipc__baseline_read(path, geteuid(), &b, NULL), PIPC_OK);
    assert_true(b.there && b.n == 1);
    pipc__baseline_free(&b);
    assert_int_not_equal(pipc__baseline_read(path, geteuid() + 1, &b, &err), PIPC_OK);
    assert_non_null(strstr(err.text, "belongs to user"));
    assert_false(b.there);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_not_equal(pipc__baseline_read(path, geteuid(), &b, &err), PIPC_OK);
    assert_non_null(strstr(err.text, "others can write the file"));
}

/* More than any machine has is refused, and takes no time to refuse. */
static void too_many_entries(void **state)
{
    const int n = PIPC__BASELINE_MAX + 1;
    char *text = malloc((size_t)n * 64);
    size_t used = 0;
    pipc__baseline_t b;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < n; i++)
        used += (size_t)sprintf(text + used, "[%x]\nkind = gpu\npath = %x\n", i, i);
    assert_int_not_equal(pipc__baseline_parse("f", text, &b, &err), PIPC_OK);
    assert_non_null(strstr(err.text, "more than 2048 sections"));
    free(text);
}

/* Every key stands in the manual. */
static void every_key_is_documented(void **state)
{
    char path[512], want[128], *page = NULL;
    size_t size = 0;

    (void)state;
    if (!getenv("PIPC_SRCDIR"))
        skip();
    snprintf(path, sizeof(path), "%s/doc/pcie-ipc-baseline.5", getenv("PIPC_SRCDIR"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(getdelim(&page, &size, '\0', f) > 0);
    fclose(f);
    for (const pipc__baseline_key_t *k = pipc__baseline_keys; k->key; k++) {
        snprintf(want, sizeof(want), ".It Cm %s No = ", k->key);
        if (!strstr(page, want))
            fail_msg("%s has no \"%s\"", path, want);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_changed),
        cmocka_unit_test(what_is_better_now),
        cmocka_unit_test(a_text_that_git_can_keep),
        cmocka_unit_test(differences_are_told),
        cmocka_unit_test(wrong_text_is_refused_whole),
        cmocka_unit_test_setup_teardown(whose_file_it_is, tree_make, tree_remove),
        cmocka_unit_test(too_many_entries),
        cmocka_unit_test(every_key_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
