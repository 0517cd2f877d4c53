/* tests/unit/health_prometheus.c - what is left for Prometheus: its text, and its file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/prometheus.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What the parser has against @text; "" if it is right. */
static void parse(const char *text, char *out, size_t cap)
{
    char command[512];

    snprintf(command, sizeof(command), "python3 %s/tests/unit/prometheus_text.py >%s/said",
             getenv("PIPC_SRCDIR"), tree);
    FILE *to = popen(command, "w");
    assert_non_null(to);
    fputs(text, to);
    pclose(to);
    snprintf(command, sizeof(command), "%s/said", tree);
    FILE *f = fopen(command, "r");
    assert_non_null(f);
    out[fread(out, 1, cap - 1, f)] = '\0';
    fclose(f);
}

static pipc__finding_t finding(pipc__code_t code, pipc__severity_t severity, const char *object)
{
    pipc__finding_t f = {.code = code, .severity = severity};

    snprintf(f.object, sizeof(f.object), "%s", object);
    return f;
}

static pipc__counter_t counter(const char *name, int parent, int width)
{
    pipc__counter_t c = {
        .parent = parent, .gpu = parent >= 0, .link = parent >= 0, .width = width, .mts = 2500};

    snprintf(c.name, sizeof(c.name), "%s", name);
    for (int k = 0; k < PIPC__COUNTS; k++)
        c.count[k] = k;
    return c;
}

static char *text_of(bool counting)
{
    pipc__finding_t list[] = {
        finding(PIPC__CODE_WIDTH, PIPC__DRAIN, "0000:01:00.0"),
        finding(PIPC__CODE_STATUS, PIPC__WARN, "0000:01:00.0"),
        finding(PIPC__CODE_STATUS, PIPC__WARN, "0000:01:00.0"),
        finding(PIPC__CODE_STATUS, PIPC__NOTE, "0000:01:00.0"),
        finding(PIPC__CODE_LOG, PIPC__NOTE, "a \"b\" \\ c\nd"),
    };
    const pipc__findings_t findings = {list, COUNT(list), COUNT(list), PIPC__DRAIN};
    pipc__counter_t dev[] = {counter("0000:00:01.0", -1, 8), counter("0000:01:00.0", 0, 16)};
    const pipc__counters_t counters = {.dev = dev, .n = 2, .counting = counting};
    dev[0].counts = dev[1].counts = counting;
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    pipc__prometheus_print(&findings, &counters, 1790000000, out);
    fclose(out);
    return text;
}

static void the_text_is_as_prometheus_has_it(void **state)
{
    static const char *const has[] = {
        "\npcie_ipc_health_verdict{verdict=\"drain\"} 1\n",
        "\npcie_ipc_health_verdict{verdict=\"ok\"} 0\n",
        "findings{code=\"PCI001\",severity=\"drain\",object=\"0000:01:00.0\"} 1\n",
        "findings{code=\"PCI016\",severity=\"warn\",object=\"0000:01:00.0\"} 2\n",
        "findings{code=\"PCI016\",severity=\"note\",object=\"0000:01:00.0\"} 1\n",
        "object=\"a \\\"b\\\" \\\\ c\\nd\"} 1\n",
        "\npcie_ipc_health_check_timestamp_seconds 1790000000\n",
        "lanes{device=\"0000:01:00.0\",port=\"0000:00:01.0\",gpu=\"yes\"} 8\n", /* the port's word
                                                                                 */
        "per_second{device=\"0000:01:00.0\",port=\"0000:00:01.0\",gpu=\"yes\"} 2500000000\n",
        "total{device=\"0000:00:01.0\",kind=\"bad TLP\"} 1\n",
        "total{device=\"0000:00:01.0\",kind=\"receiver error\"} 0\n",
    };
    char said[1024], *text = text_of(true);

    (void)state;
    parse(text, said, sizeof(said));
    assert_string_equal(said, "");
    for (size_t i = 0; i < COUNT(has); i++)
        if (!strstr(text, has[i]))
            fail_msg("%s is not in %s", has[i], text);
    free(text);
    text = text_of(false);
    assert_null(strstr(text, "kind=\"receiver error\"} 0")); /* where nobody counts 0 is no count */
    assert_non_null(strstr(text, "\npcie_ipc_aer_counting 0\n"));
    free(text);
}

/* Faults made on purpose: the parser sees them. */
static void the_parser_is_strict(void **state)
{
#define G "# HELP a b\n# TYPE a gauge\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {G "a 1\n", ""},
        {G "a 1", "does not end"},
        {"a 1\n", "before its HELP"},
        {G "a 1\na 1\n", "twice"},
        {G "a{b=\"c\"} 1\na{b=\"c\"} 2\n", "twice"},
        {G "a{b=\"c\" } 1\n", "no line"},
        {G "a{b=\"c\"d\"} 1\n", "no line"},
        {G "a{b=\"c\\d\"} 1\n", "no line"},
        {G "a nil\n", "no line"},
        {G "a 1\n" G, "HELP twice"},
        {"# HELP a b\n# TYPE a counter\na 1\n", "_total"},
        {"# HELP a_total b\n# TYPE a_total gauge\na_total 1\n", "_total"},
        {G "a 1\n# HELP c d\n# TYPE c gauge\na{b=\"c\"} 1\n", "begins again"},
    };
    char said[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        parse(cases[i].text, said, sizeof(said));
        if (cases[i].says[0] ? !strstr(said, cases[i].says) : said[0] != '\0')
            fail_msg("%s: %s; wanted %s", cases[i].text, said, cases[i].says);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static int shell(const char *script, char *out, size_t cap)
{
    char command[2048];

    snprintf(command, sizeof(command), "cd %s; exec 2>&1; gate=%s/prolog/gate; %s", tree,
             getenv("PIPC_BUILDDIR"), script);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    out[fread(out, 1, cap - 1, f)] = '\0';
    return WEXITSTATUS(pclose(f));
}

static void the_file_is_written_whole_or_not_at_all(void **state)
{
#define CHECK "$gate check --sysroot=. --prometheus="
    static const struct {
        const char *script;
        int status;
        const char *says;
    } cases[] = {
        {"mkdir -m 755 prom; umask 077; " CHECK
         "prom/a.prom >/dev/null; cat prom/a.prom; stat -c %a "
         "prom/a.prom",
         0, "gpu=\"yes\"} 8\n"},
        {"stat -c %a prom/a.prom; ls -A prom", 0, "644\n.pcie-ipc-health.lock\na.prom\n"},
        {CHECK "nowhere/a.prom", 3, "nowhere: cannot be opened"},
        {"ls -d nowhere", 2, "nowhere"},
        {"chmod go+w prom; " CHECK "prom/a.prom", 3, "prom: not ours alone to write"},
        {"chmod go-w prom; ln -s prom link; " CHECK "link/a.prom", 3, "link: cannot be opened"},
        /* What is there and no regular file stays, before anything is looked at. */
        {"echo kept >file; ln -sf ../file prom/link.prom; " CHECK "prom/link.prom; test $? = 64 && "
         "readlink prom/link.prom && cat file",
         0, "../file\nkept\n"},
        {"mkfifo prom/fifo.prom; " CHECK "prom/fifo.prom", 64, "fifo.prom: is no regular file"},
        {"mkdir prom/folder.prom; " CHECK "prom/folder.prom", 64, "folder.prom: is no regular"},
        {"stat -c %F prom/fifo.prom prom/folder.prom", 0, "fifo\ndirectory\n"},
        {CHECK "prom/", 64, "prom/: does not end in .prom"},
        {CHECK "prom/a", 64, "prom/a: does not end in .prom"},
        {CHECK "prom/.prom", 64, "prom/.prom: does not end in .prom"},
        {"ls prom", 0, "a.prom\nfifo.prom\nfolder.prom\nlink.prom\n"},
        {"$gate check --dump=x --prometheus=y", 64, "a text has no links"},
    };
    char out[65536];

    (void)state;
    tree_gpu(1, 8);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status = shell(cases[i].script, out, sizeof(out));
        if (status != cases[i].status || !strstr(out, cases[i].says))
            fail_msg("%s: status %d, printed %s", cases[i].script, status, out);
    }
}

/* A round of the healthcheck has the path from its configuration, and judges it, too. */
static void what_is_no_file_is_not_replaced(void **state)
{
    const pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    char path[256];
    struct stat st;
    pipc__error_t err;

    (void)state;
    snprintf(path, sizeof(path), "%s/fifo.prom", tree);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pipc__prometheus_write(path, geteuid(), tree, &findings, &err),
                     PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "fifo.prom: is no regular file"));
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_text_is_as_prometheus_has_it, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(the_parser_is_strict, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(the_file_is_written_whole_or_not_at_all, tree_make,
                                        tree_remove),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_not_replaced, tree_make, tree_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
