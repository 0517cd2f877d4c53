/* tests/unit/health_limits.c - limits.conf: what is believed, what is refused whole, and what that
 * does to the judgement
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

#include "prolog/judge.h"
#include "runtime/base/ini.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static pipc__limits_t parse(const char *text)
{
    pipc__limits_t limits;
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__limits_parse("limits.conf", text, &limits, &err))
        fail_msg("\"%s\": %s", text, err.text);
    return limits;
}

/* ---- the text ------------------------------------------------------------------------------ */

static void keys_are_read(void **state)
{
    pipc__limits_t l = parse("# a comment\n[severity]\nPCI005 = note ; and another\nPCI015=drain\n"
                             "PCI017 = off\nPCI008 = warn\n[expect]\ngpus = 8\n"
                             "[thresholds]\nerrors_per_hour = 0\n"
                             "[model 10de:2330]\nwidth = 8\nignore = PCI005,PCI006 , PCI015\n"
                             "[device 0000:41:00.0]\nignore =\n");

    (void)state;
    assert_int_equal(l.severity[PIPC__CODE_ASPM], PIPC__NOTE);
    assert_int_equal(l.severity[PIPC__CODE_ACS], PIPC__DRAIN);
    assert_int_equal(l.severity[PIPC__CODE_COUNTER], PIPC__OK);
    assert_int_equal(l.severity[PIPC__CODE_UNCONFIRMED], PIPC__WARN);
    assert_int_equal(l.severity[PIPC__CODE_WIDTH], PIPC__DRAIN);
    assert_int_equal(l.gpus, 8);
    assert_int_equal(l.errors_per_hour, 0);
    assert_int_equal(l.exempts, 2);
    assert_int_equal(l.exempt[0].vendor, 0x10de);
    assert_int_equal(l.exempt[0].device, 0x2330);
    assert_int_equal(l.exempt[0].width, 8);
    assert_true(l.exempt[0].ignore ==
                (1ull << PIPC__CODE_ASPM | 1ull << PIPC__CODE_SLOT | 1ull << PIPC__CODE_ACS));
    assert_string_equal(l.exempt[1].name, "0000:41:00.0");
    assert_true(l.exempt[1].ignore == 0);
}

static void assert_same(const pipc__limits_t *a, const pipc__limits_t *b)
{
    assert_memory_equal(a->severity, b->severity, sizeof(a->severity));
    assert_int_equal(a->gpus, b->gpus);
    assert_int_equal(a->errors_per_hour, b->errors_per_hour);
    assert_int_equal(a->exempts, b->exempts);
}

/* One wrong line, and nothing of the file counts. */
static void wrong_text_is_refused_whole(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"PCI001 = note", "limits.conf: line 3: there is no key \"PCI001\" in section \"expect\""},
        {"[severity]\nPCI999 = note",
         "line 4: there is no code \"PCI999\"; pcie-ipc-health --help"},
        {"[severity]\nPCI001 = fatal",
         "PCI001: wrong value \"fatal\"; use off, note, unknown, warn"},
        {"[severity]\nPCI001 =", "PCI001: wrong value \"\""},
        {"[severity]\nPCI001 = note\nPCI001 = note", "line 5: PCI001 stands there twice"},
        {"[severity]\nPCI003 = drain", "PCI003: wrong value \"drain\"; use off, note, unknown or"},
        {"[severity]\nPCI008 = drain", "unknown or warn: never drain"},
        {"[severity]\nPCI016 = drain", "never drain"},
        {"[severity]\nPCI028 = drain", "never drain"},
        {"gpus = 8", "gpus stands there twice"},
        {"[expect]\ngpus = 8", "gpus stands there twice"},
        {"[thresholds]\nerrors_per_hour = -1", "errors_per_hour: wrong value \"-1\"; use 0 to"},
        {"[thresholds]\nerrors_per_hour = 9999999", "use 0 to 1000000"},
        {"[thresholds more]\nerrors_per_hour = 1", "there is no key"},
        {"[model 10de]\nwidth = 8", "[model 10de]: use [model VENDOR:DEVICE] or [device"},
        {"[model 10de:2330 x]\nwidth = 8", "use [model"},
        {"[model]\nwidth = 8", "use [model"},
        {"[device 41:00.0]\nwidth = 8", "use [model"},
        {"[device 0000:41:00.0]\nwidth = 33", "width: wrong value \"33\"; use 0 to 32"},
        {"[device 0000:41:00.0]\nignore = PCI005 PCI006", "use codes as in PCI005, PCI015"},
        {"[device 0000:41:00.0]\nignore = PCI00", "use codes"},
        {"[device 0000:41:00.0]\nwidth = 8\nwidth = 8", "width stands there twice"},
        {"[device 0000:41:00.0]\nwidths = 8", "there is no key \"widths\""},
        {"[expect", "line 3: neither"},
        {"gpus", "neither"},
    };
    const pipc__limits_t def = pipc__limits_default();
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__limits_t l;
        pipc__error_t err = {PIPC_OK, ""};
        snprintf(text, sizeof(text), "[expect]\ngpus = 4\n%s\n", cases[i].text);
        if (!pipc__limits_parse("limits.conf", text, &l, &err) || !strstr(err.text, cases[i].says))
            fail_msg("\"%s\": says \"%s\", wanted \"%s\"", cases[i].text, err.text, cases[i].says);
        assert_same(&l, &def);
    }
}

/* inih would cut a long name and take it for another. */
static void long_and_many(void **state)
{
    static char text[16384];
    pipc__limits_t l;
    pipc__error_t err = {PIPC_OK, ""};
    size_t n = 0;

    (void)state;
    assert_int_not_equal(
        pipc__limits_parse("f", "[device 0000:41:00.0                                   x]\n", &l,
                           &err),
        PIPC_OK);
    assert_non_null(strstr(err.text, "line 1: a name of more than 49 bytes"));
    for (int i = 0; i < PIPC__EXEMPT_MAX; i++)
        n += (size_t)sprintf(text + n, "[model 10de:%04x]\nwidth = 8\n", i);
    assert_int_equal(pipc__limits_parse("f", text, &l, &err), PIPC_OK);
    assert_int_equal(l.exempts, PIPC__EXEMPT_MAX);
    sprintf(text + n, "[model 1002:0001]\nwidth = 8\n");
    assert_int_not_equal(pipc__limits_parse("f", text, &l, &err), PIPC_OK);
    assert_non_null(strstr(err.text, "128 at most"));
}

/* ---- the file ------------------------------------------------------------------------------ */

static char path[128];

static void put(const char *text)
{
    tree_put("etc/limits.conf", text, strlen(text));
    snprintf(path, sizeof(path), "%s/etc/limits.conf", tree);
    assert_int_equal(chmod(path, 0644), 0);
}

static void assert_refused(uid_t owner, const char *says)
{
    pipc__limits_t l;
    pipc__error_t err = {PIPC_OK, ""};

    assert_int_not_equal(pipc__limits_read(path, owner, &l, &err), PIPC_OK);
    if (!strstr(err.text, says))
        fail_msg("wanted \"%s\", got \"%s\"", says, err.text);
    assert_int_equal(l.gpus, 0);
}

static void whose_file_it_is(void **state)
{
    static char large[70000];
    pipc__limits_t l;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    snprintf(path, sizeof(path), "%s/absent", tree);
    assert_int_equal(pipc__limits_read(path, geteuid(), &l, &err), PIPC_OK);
    assert_refused(PIPC__INI_ANYBODY, "cannot be opened"); /* the caller named it */
    put("[expect]\ngpus = 8\n");
    assert_int_equal(pipc__limits_read(path, geteuid(), &l, &err), PIPC_OK);
    assert_int_equal(l.gpus, 8);
    assert_refused(geteuid() + 1, "belongs to user");
    assert_int_equal(chmod(path, 0666), 0);
    assert_refused(geteuid(), "others can write the file");
    assert_int_equal(pipc__limits_read(path, PIPC__INI_ANYBODY, &l, &err), PIPC_OK);
    memset(large, '\n', sizeof(large) - 1);
    put(large);
    assert_refused(geteuid(), "not a text of less than 65536 bytes");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_refused(PIPC__INI_ANYBODY, "not a plain file"); /* and does not hang */
}

static char *slurp(const char *name)
{
    char full[512], *text = NULL;
    size_t size = 0;

    snprintf(full, sizeof(full), "%s/%s", getenv("PIPC_SRCDIR"), name);
    FILE *f = fopen(full, "r");
    assert_non_null(f);
    assert_true(getdelim(&text, &size, '\0', f) > 0);
    fclose(f);
    return text;
}

/* As installed it is right, and changes nothing; with its keys switched on neither. */
static void installed_is_default(char *file)
{
    const pipc__limits_t def = pipc__limits_default();
    pipc__limits_t l = parse(file);

    assert_same(&l, &def);
    for (char *p = file; (p = strstr(p, "\n#")); p++)
        if (p[2] != ' ' && p[2] != '\n')
            memmove(p + 1, p + 2, strlen(p + 1));
    l = parse(file);
    assert_memory_equal(l.severity, def.severity, sizeof(l.severity));
    assert_int_equal(l.errors_per_hour, def.errors_per_hour);
    assert_int_equal(l.exempts, 2); /* and they excuse nothing */
    for (int i = 0; i < l.exempts; i++)
        assert_true(l.exempt[i].width == 0 && l.exempt[i].ignore == 0);
}

/* Every key stands in the installed file, commented, at its default; and in the manual. */
static void every_key_is_documented(void **state)
{
    char want[256];

    (void)state;
    if (!getenv("PIPC_SRCDIR"))
        skip();
    char *file = slurp("etc/limits.conf"), *page = slurp("doc/pcie-ipc-limits.5");
    for (int c = 0; c < PIPC__CODES; c++) {
        const pipc__code_entry_t *e = &pipc__codes[c];
        snprintf(want, sizeof(want), "\n#%s = %s\n", e->name, pipc__severity_name(e->severity));
        if (!strstr(file, want))
            fail_msg("etc/limits.conf has no line \"#%s = %s\" in [severity]; add it", e->name,
                     pipc__severity_name(e->severity));
    }
    for (const pipc__limits_key_t *k = pipc__limits_keys; k->key; k++) {
        snprintf(want, sizeof(want), "\n#%s =%s%s\n", k->key, *k->def ? " " : "", k->def);
        if (!strstr(file, want))
            fail_msg("etc/limits.conf has no line \"%s\"", want);
        if (!strstr(file, k->help))
            fail_msg("etc/limits.conf: %s: no \"%s\"", k->key, k->help);
        snprintf(want, sizeof(want), ".It Cm %s No = ", k->key);
        if (!strstr(page, want))
            fail_msg("doc/pcie-ipc-limits.5 has no \"%s\"", want);
        snprintf(want, sizeof(want), "The default is\n.Ql %s .", k->def);
        if (*k->def && !strstr(page, want))
            fail_msg("doc/pcie-ipc-limits.5: %s: no \"%s\"", k->key, want);
    }
    installed_is_default(file);
    free(file);
    free(page);
}

/* ---- what it does -------------------------------------------------------------------------- */

/* A root port 8086:1 and a GPU 10de:2330 with 8 lanes of 16, ASPM on at the GPU; one error at some
 * time, which the kernel counted too. */
static void judged(const char *text, bool vm, char *out, size_t cap)
{
    pipc__fact_t dev[2];
    pipc__facts_t facts = {.dev = dev, .n = 2, .virtual_machine = vm};
    pipc__limits_t limits = parse(text);
    pipc__findings_t found;
    size_t n;

    memset(dev, 0, sizeof(dev));
    for (int i = 0; i < 2; i++) {
        dev[i].parent = i - 1;
        dev[i].errors = -1;
        dev[i].link = (pipc__express_t){i ? 0 : 4, 16, 16000, 8, 2500, -1, 0, -1, 0};
        dev[i].more = pipc__extended_unknown();
    }
    strcpy(dev[0].name, "0000:40:01.0");
    dev[0].vendor = 0x8086, dev[0].device = 1;
    strcpy(dev[1].name, "0000:41:00.0");
    dev[1].vendor = 0x10de, dev[1].device = 0x2330;
    dev[1].gpu = true;
    dev[1].link.aspm = 2;
    dev[1].more.corrected = PIPC__CE_RECEIVER;
    dev[1].errors = 7;
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    n = (size_t)snprintf(out, cap, "%s", pipc__severity_name(found.verdict));
    for (int i = 0; i < found.n; i++)
        n += (size_t)snprintf(out + n, cap - n, " %s", pipc__codes[found.list[i].code].name + 3);
    pipc__findings_free(&found);
}

static void what_limits_do(void **state)
{
    static const struct {
        const char *name, *limits;
        bool vm;
        const char *judged;
    } cases[] = {
        {"nothing said", "", false, "drain 001 005 003 016 017"},
        {"indented", "  [severity]\n  PCI001 = warn\n\t; and more\n\tPCI005 = note", false,
         "warn 001 005 003 016 017"},
        {"milder", "[severity]\nPCI001 = warn\nPCI005 = note", false, "warn 001 005 003 016 017"},
        {"off", "[severity]\nPCI001 = off\nPCI003 = ok\nPCI016 = off", false, "warn 005 017"},
        {"harder", "[severity]\nPCI001 = note\nPCI005 = drain\nPCI017 = warn", false,
         "drain 005 017 001 003 016"},
        {"a receiver error alone stays a note", "[severity]\nPCI001=off\nPCI005=off\nPCI016 = warn",
         false, "note 003 016 017"},
        {"as many GPUs", "[expect]\ngpus = 1", false, "drain 001 005 003 016 017"},
        {"more GPUs", "[expect]\ngpus = 2", false, "drain 020 001 005 003 016 017"},
        {"fewer GPUs than there are", "[expect]\ngpus = 1\n[severity]\nPCI001 = off", false,
         "warn 005 003 016 017"},
        {"a device ignores", "[device 0000:41:00.0]\nignore = PCI001, PCI017", false,
         "warn 005 003 016"},
        {"another device does not", "[device 0000:42:00.0]\nignore = PCI001", false,
         "drain 001 005 003 016 017"},
        {"a model ignores", "[model 10de:2330]\nignore = PCI005", false, "drain 001 003 016 017"},
        {"another model does not", "[model 10de:2331]\nignore = PCI005", false,
         "drain 001 005 003 016 017"},
        {"a device's width", "[device 0000:41:00.0]\nwidth = 8", false, "warn 005 003 016 017"},
        {"its port's", "[device 0000:40:01.0]\nwidth = 8", false, "warn 005 003 016 017"},
        {"a model's, of fewer lanes yet", "[model 10de:2330]\nwidth = 4", false,
         "warn 005 003 016 017"},
        {"more than there are", "[model 10de:2330]\nwidth = 16", false,
         "drain 001 005 003 016 017"},
        {"a device's beside its model's",
         "[model 10de:2330]\nwidth = 16\n[device 0000:41:00.0]\nwidth = 8", false,
         "warn 005 003 016 017"},
        {"in a virtual machine", "", true, "unknown 008 005 003 016 017"},
        {"a width there", "[model 10de:2330]\nwidth = 8", true, "note 005 003 016 017"},
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        judged(cases[i].limits, cases[i].vm, out, sizeof(out));
        if (strcmp(out, cases[i].judged) != 0)
            fail_msg("%s: is \"%s\", wanted \"%s\"", cases[i].name, out, cases[i].judged);
    }
}

/* Whatever a limits file says, what cannot be told drains no node; and the manual lists it. */
static void what_never_drains(void **state)
{
    static const pipc__code_t never[] = {
        PIPC__CODE_SPEED,  PIPC__CODE_UNCONFIRMED, PIPC__CODE_NO_LINK, PIPC__CODE_ASLEEP,
        PIPC__CODE_SOURCE, PIPC__CODE_STATUS,      PIPC__CODE_COUNTER, PIPC__CODE_LOG,
        PIPC__CODE_STALE,  PIPC__CODE_RULES,
    };
    char text[64];
    pipc__limits_t l;

    (void)state;
    for (size_t i = 0; i < COUNT(never); i++) {
        snprintf(text, sizeof(text), "[severity]\n%s = drain\n", pipc__codes[never[i]].name);
        assert_int_not_equal(pipc__limits_parse("f", text, &l, NULL), PIPC_OK);
        snprintf(text, sizeof(text), "[severity]\n%s = warn\n", pipc__codes[never[i]].name);
        assert_int_equal(pipc__limits_parse("f", text, &l, NULL), PIPC_OK);
        assert_int_equal(l.severity[never[i]], PIPC__WARN);
    }
    for (int c = 0; c < PIPC__CODES; c++)
        assert_true(pipc__codes[c].severity <= pipc__code_most((pipc__code_t)c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(wrong_text_is_refused_whole),
        cmocka_unit_test(long_and_many),
        cmocka_unit_test_setup_teardown(whose_file_it_is, tree_make, tree_remove),
        cmocka_unit_test(every_key_is_documented),
        cmocka_unit_test(what_limits_do),
        cmocka_unit_test(what_never_drains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
