/* tests/unit/health_breaker.c - what never passed is held: looks in a row, and what each of them
 * may drain
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/breaker.h"
#include "prolog/state.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LOOKS 6

/* A finding in short: "1:W" is lost lanes of device 1, "L" a lost device, "C" fewer GPUs, "G" one
 * that is gone; "u" what cannot be told of a link, "z" a device that sleeps, "s" a low speed, "r"
 * one that rose when its GPU was woken, "S" one that stayed low, "X" a machine that cannot be read,
 * "N" no GPU. */
static void add(pipc__findings_t *list, const char *device, char what)
{
    static const struct {
        char what;
        pipc__code_t code;
        pipc__severity_t severity;
    } of[] = {{'W', PIPC__CODE_WIDTH, PIPC__DRAIN},
              {'L', PIPC__CODE_LOST, PIPC__DRAIN},
              {'C', PIPC__CODE_MISSING, PIPC__DRAIN},
              {'G', PIPC__CODE_GONE, PIPC__DRAIN},
              {'u', PIPC__CODE_UNCONFIRMED, PIPC__SEV_UNKNOWN},
              {'z', PIPC__CODE_ASLEEP, PIPC__SEV_UNKNOWN},
              {'S', PIPC__CODE_STAYS_SLOW, PIPC__DRAIN},
              {'s', PIPC__CODE_SPEED, PIPC__NOTE},
              {'X', PIPC__CODE_SOURCE, PIPC__SEV_UNKNOWN},
              {'N', PIPC__CODE_NO_GPU, PIPC__NOTE},
              {'r', PIPC__CODE_SPEED, PIPC__NOTE}};
    pipc__finding_t f = {.code = 0};

    for (size_t i = 0; i < COUNT(of); i++)
        if (of[i].what == what) {
            f.code = of[i].code;
            f.severity = of[i].severity;
        }
    snprintf(f.object, sizeof(f.object), "%s", device);
    strcpy(f.expected, what == 'r' ? "" : "16 GT/s");
    strcpy(f.seen, "seen");
    strcpy(f.remedy, "remedy");
    assert_int_equal(pipc__findings_add(list, &f, NULL), PIPC_OK);
}

/* The devices of a look: "[1=a] ...", device 1 in place a; else three in places of their own. */
static struct pipc__viewed devices[4];

static pipc__in_view_t view_of(const char *text)
{
    pipc__in_view_t view = {devices, 0};

    for (const char *p = *text == '[' ? text + 1 : "1=a 2=b 3=c"; *p && *p != ']';
         p += 3 + (p[3] == ' ')) {
        struct pipc__viewed *v = &devices[view.n++];
        snprintf(v->name, sizeof(v->name), "%c", p[0]);
        snprintf(v->who, sizeof(v->who), "%c 10de:20f1", p[2]);
    }
    return view;
}

static void read_look(const char *text, pipc__findings_t *list)
{
    *list = (pipc__findings_t){NULL, 0, 0, PIPC__OK};
    const char *end = strchr(text, ']');
    for (const char *p = end ? end + 1 + (end[1] == ' ') : text; *p;
         p += strcspn(p, " "), p += *p == ' ') {
        const char device[] = {p[0], '\0'};
        add(list, device, p[2]);
    }
}

/* Each look: under which conditions, what it finds, and which devices may drain the node for it. */
static const struct {
    const char *name;
    struct {
        const char *conditions, *finds, *drains;
    } look[LOOKS]; /* ends with conditions of NULL */
} stories[] = {
    {"well, then sick", {{"k1", "", ""}, {"k1", "1:W", "1"}, {"k1", "1:W", "1"}}},
    {"sick from the first day", {{"k1", "1:W", ""}, {"k1", "1:W", ""}}},
    {"sick, repaired, sick", {{"k1", "1:W", ""}, {"k1", "", ""}, {"k1", "1:W", "1"}}},
    {"one is sick from the first day, another falls sick",
     {{"k1", "1:W", ""}, {"k1", "1:W 2:W", "2"}}},
    {"another fault of the same device", {{"k1", "1:W", ""}, {"k1", "1:L", "1"}}},
    {"a new kernel finds all of them sick",
     {{"k1", "", ""}, {"k2", "1:W 2:W", ""}, {"k2", "1:W 2:W", ""}, {"k2", "2:W", ""}}},
    {"back to the kernel before, which knew better",
     {{"k1", "", ""}, {"k2", "1:W", ""}, {"k1", "1:W", "1"}}},
    {"not to be told at first",
     {{"k1", "1:u", ""}, {"k1", "1:W", ""}, {"k1", "1:u", ""}, {"k1", "", ""}, {"k1", "1:W", "1"}}},
    {"a virtual machine's GPU is lost, whose link never told its width",
     {{"k1", "1:u", ""}, {"k1", "1:L", "1"}}},
    {"one that slept has answered nothing", {{"k1", "1:z", ""}, {"k1", "1:L", ""}, {"k1", "", ""}}},
    {"not to be told meanwhile is no pass",
     {{"k1", "1:W", ""}, {"k1", "1:u", ""}, {"k1", "1:W", ""}}},
    {"a look that reads nothing is none",
     {{"k1", "n:X", ""}, {"k1", "1:W", ""}, {"k1", "n:X", ""}, {"k1", "1:W", ""}}},
    {"nor one without a GPU", {{"k1", "1:W", ""}, {"k1", "n:N", ""}, {"k1", "1:W", ""}}},
    {"idle is no pass of the load's check alone",
     {{"k1", "1:s", ""}, {"k1", "1:W", "1"}, {"k1", "1:s", ""}, {"k1", "1:S", "1"}}},
    {"idle, then slow under load", {{"k1", "1:s", ""}, {"k1", "1:S", ""}}},
    {"it rose once, and then does not", {{"k1", "1:s", ""}, {"k1", "1:r", ""}, {"k1", "1:S", "1"}}},
    {"lost at the first look has passed nothing",
     {{"k1", "1:L", ""}, {"k1", "1:W", ""}, {"k1", "1:L", ""}, {"k1", "", ""}, {"k1", "1:W", "1"}}},
    {"narrow from the first day, lost for a while, narrow",
     {{"k1", "1:W", ""}, {"k1", "1:L", "1"}, {"k1", "1:W", ""}}},
    {"a device that is added later has a first look",
     {{"k1", "[1=a]", ""},
      {"k1", "2:W", ""},
      {"k1", "2:L", "2"},
      {"k1", "", ""},
      {"k1", "2:W", "2"}}},
    {"a device whose bus has another number is the same",
     {{"k1", "[1=a] 1:W", ""},
      {"k1", "[2=a] 2:W", ""},
      {"k1", "[2=a] 2:L", "2"},
      {"k1", "[2=a]", ""},
      {"k1", "[3=a] 3:W", "3"}}},
    {"another that has its number is another",
     {{"k1", "[1=a]", ""}, {"k1", "[1=b 2=a] 1:W 2:W", "2"}}},
    {"one that is away has not passed meanwhile",
     {{"k1", "1:W", ""}, {"k1", "[2=b]", ""}, {"k1", "1:W", ""}}},
    {"a GPU of the baseline is gone, which is in no view",
     {{"k1", "", ""}, {"k1", "9:G", "9"}, {"k2", "9:G", ""}}},
    {"limits that want more GPUs than any node has",
     {{"l1", "", ""}, {"l2", "n:C", ""}, {"l2", "n:C", ""}, {"l1", "", ""}}},
};

static void check_drains(const char *name, int look, const pipc__findings_t *found,
                         const char *drains)
{
    for (int i = 0; i < found->n; i++) {
        const pipc__finding_t *f = &found->list[i];
        bool may = f->severity == PIPC__DRAIN, held = strcmp(f->remedy, PIPC__BREAKER_HELD) == 0;
        if (may != (strstr(drains, f->object) != NULL) || (held && f->severity != PIPC__WARN))
            fail_msg("%s: look %d: device %s: %s", name, look, f->object,
                     pipc__severity_name(f->severity));
    }
    assert_int_equal(found->verdict, found->n ? found->list[0].severity : PIPC__OK);
}

static void stories_of_a_node(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(stories); s++) {
        json_t *book = pipc__breaker_new();
        for (int i = 0; i < LOOKS && stories[s].look[i].conditions; i++) {
            const char *now = stories[s].look[i].conditions;
            const pipc__in_view_t view = view_of(stories[s].look[i].finds);
            pipc__findings_t found;
            bool changed;
            read_look(stories[s].look[i].finds, &found);
            assert_int_equal(
                pipc__breaker_learn(book, now, false, 1, &view, &found, &changed, NULL), PIPC_OK);
            assert_true(pipc__breaker_hold(book, now, false, &view, &found) >= 0);
            check_drains(stories[s].name, i, &found, stories[s].look[i].drains);
            pipc__findings_free(&found);
        }
        json_decref(book);
    }
}

/* What is drained for a finding of either look, of which one sees more, has passed in that one. */
static void looks_have_pages_of_their_own(void **state)
{
    const pipc__in_view_t all = view_of("");
    json_t *book = pipc__breaker_new();
    pipc__findings_t well, sick;
    bool changed;

    (void)state;
    read_look("", &well);
    read_look("1:W", &sick);
    pipc__breaker_learn(book, "k1", false, 1, &all, &well, &changed, NULL);
    assert_true(changed);
    pipc__breaker_learn(book, "k1", false, 1, &all, &well, &changed, NULL);
    assert_false(changed); /* nothing to write, for each prolog */
    assert_int_equal(pipc__breaker_hold(book, "k1", true, &all, &sick), 1);
    pipc__findings_free(&sick);
    json_decref(book);
}

static void without_a_book_all_is_held(void **state)
{
    const pipc__in_view_t all = view_of("");
    pipc__findings_t sick;

    (void)state;
    read_look("1:W 2:L 3:s", &sick);
    assert_int_equal(pipc__breaker_hold(NULL, "k1", false, &all, &sick), 2);
    assert_int_equal(sick.verdict, PIPC__WARN);
    assert_int_equal(sick.n, 3);
    pipc__findings_free(&sick);
}

static void accepted_by_an_administrator(void **state)
{
    const pipc__in_view_t all = view_of("");
    json_t *book = pipc__breaker_new();
    pipc__findings_t sick;
    bool changed;

    (void)state;
    read_look("1:W 2:L", &sick);
    pipc__breaker_learn(book, "k1", false, 1, &all, &sick, &changed, NULL);
    assert_int_equal(pipc__breaker_accept(book, "k2", NULL), 0);
    assert_int_equal(pipc__breaker_accept(book, "k1", "PCI001"), 1);
    assert_int_equal(pipc__breaker_hold(book, "k1", false, &all, &sick), 1);
    assert_string_equal(sick.list[0].object, "1");
    assert_int_equal(sick.verdict, PIPC__DRAIN);
    pipc__findings_free(&sick);
    read_look("2:L", &sick);
    assert_int_equal(pipc__breaker_accept(book, "k1", NULL), 1);
    assert_int_equal(pipc__breaker_hold(book, "k1", false, &all, &sick), 0);
    pipc__findings_free(&sick);
    json_decref(book);
}

/* Kernels that are booted no more do not fill the book. */
static void pages_have_a_limit(void **state)
{
    const pipc__in_view_t all = view_of("");
    json_t *book = pipc__breaker_new();
    pipc__findings_t well, sick;
    char name[16];
    bool changed;

    (void)state;
    read_look("", &well);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        pipc__breaker_learn(book, name, false, 1, &all, &well, &changed, NULL);
    }
    assert_int_equal(json_array_size(json_object_get(book, "pages")), 8);
    read_look("1:W", &sick);
    assert_int_equal(pipc__breaker_hold(book, "k0", false, &all, &sick), 1); /* forgotten */
    pipc__findings_free(&sick);
    read_look("1:W", &sick);
    assert_int_equal(pipc__breaker_hold(book, "k19", false, &all, &sick), 0);
    pipc__findings_free(&sick);
    json_decref(book);
}

static void the_file(void **state)
{
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{\"schema\": 3, \"pages\": []}",
        "{\"schema\": 1}",
        "{\"schema\": 2, \"pages\": [1]}",
        "{\"schema\": 2, \"pages\": [{\"conditions\": \"k\", \"open\": []}]}",
        "{\"schema\": 2, \"pages\": [{\"conditions\": \"k\"}]}"};
    const pipc__in_view_t all = view_of("");
    char folder[] = "/tmp/pipc-breaker-XXXXXX";
    pipc__findings_t sick;
    pipc__error_t err;
    bool changed;
    int dir;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipc__state_open(folder, geteuid(), &dir, NULL), PIPC_OK);
    json_t *book = pipc__breaker_read(dir, geteuid(), NULL);
    read_look("1:W", &sick);
    pipc__breaker_learn(book, "k1", false, 1, &all, &sick, &changed, NULL);
    assert_int_equal(pipc__breaker_write(dir, book, NULL), PIPC_OK);
    json_t *back = pipc__breaker_read(dir, geteuid(), NULL);
    assert_true(json_equal(book, back));
    json_decref(back);
    json_decref(book);
    pipc__findings_free(&sick);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        pipc__state_write(dir, PIPC__BREAKER_FILE, 0644, wrong[i], strlen(wrong[i]), NULL);
        assert_null(pipc__breaker_read(dir, geteuid(), &err));
        assert_non_null(strstr(err.text, "remove it, it is begun anew"));
    }
    /* of a version that did not know devices: begun anew */
    pipc__state_write(dir, PIPC__BREAKER_FILE, 0644, "{\"schema\": 1, \"pages\": []}", 26, NULL);
    book = pipc__breaker_read(dir, geteuid(), NULL);
    assert_int_equal(pipc__breaker_hold(book, "k1", false, &all, &sick), 0);
    json_decref(book);
    pipc__state_write(dir, PIPC__BREAKER_FILE, 0666, "{}", 2, NULL);
    assert_null(pipc__breaker_read(dir, geteuid(), &err));
    unlinkat(dir, PIPC__BREAKER_FILE, 0);
    close(dir);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stories_of_a_node),
        cmocka_unit_test(looks_have_pages_of_their_own),
        cmocka_unit_test(without_a_book_all_is_held),
        cmocka_unit_test(accepted_by_an_administrator),
        cmocka_unit_test(pages_have_a_limit),
        cmocka_unit_test(the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
