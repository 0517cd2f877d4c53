/* tests/unit/cli.c - the command line of tools: what is taken, what is refused and how it is said
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cli.h"
#include "runtime/topo/source.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { OPT_LONG_ONLY = 256 };

static char taken[256]; /* "n=4 q long=x +word " */
static pipc__source_t source;

static int take(void *wants, int id, const char *value);

static const pipc__cli_option_t options[] = {{"number", "N", "a number", 'n'},
                                             {"quiet", NULL, "say less", 'q'},
                                             {"long-only", "X", "no letter", OPT_LONG_ONLY},
                                             {NULL, NULL, NULL, 0}};
static const pipc__cli_section_t sections[] = {
    {NULL, options}, {"Topology:", pipc__source_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = "tool",
                                .version = "1.2",
                                .usage = "[OPTION...] [WORD]",
                                .about = "This does things.\n",
                                .sections = sections,
                                .after = "Exit status: 0.\n",
                                .arguments = 1,
                                .output_failed = 7,
                                .take = take};

static int take(void *wants, int id, const char *value)
{
    size_t used = strlen(taken);

    assert_ptr_equal(wants, &taken);
    switch (id) {
    case 'n':
        if (atoi(value) < 1)
            return pipc__cli_usage(&cli, "--number", "needs a number above 0");
        snprintf(taken + used, sizeof(taken) - used, "n=%s ", value);
        return PIPC__CLI_GO_ON;
    case 'q':
        assert_null(value);
        snprintf(taken + used, sizeof(taken) - used, "q ");
        return PIPC__CLI_GO_ON;
    case OPT_LONG_ONLY:
        snprintf(taken + used, sizeof(taken) - used, "long=%s ", value);
        return PIPC__CLI_GO_ON;
    case PIPC__CLI_ARGUMENT:
        snprintf(taken + used, sizeof(taken) - used, "+%s ", value);
        return PIPC__CLI_GO_ON;
    default:
        return pipc__source_take(&cli, &source, id, value);
    }
}

/* Parse the words of @line; what was printed to @fd stands in @out. */
static int parse(const char *line, FILE *stream, char out[8192])
{
    char words[256], *argv[16] = {"tool"}, *save = NULL;
    int argc = 1, status, old = dup(fileno(stream));
    FILE *f = tmpfile();

    snprintf(words, sizeof(words), "%s", line);
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    taken[0] = '\0';
    source = (pipc__source_t){PIPC__SOURCE_LIVE, NULL};
    fflush(stream);
    assert_non_null(f);
    assert_true(dup2(fileno(f), fileno(stream)) >= 0);
    status = pipc__cli_parse(&cli, argc, argv, &taken);
    fflush(stream);
    assert_true(dup2(old, fileno(stream)) >= 0);
    close(old);
    rewind(f);
    out[fread(out, 1, 8191, f)] = '\0';
    fclose(f);
    return status;
}

static void what_is_taken(void **state)
{
    static const struct {
        const char *line, *taken;
        pipc__source_kind_t kind;
    } cases[] = {
        {"", "", PIPC__SOURCE_LIVE},
        {"-n 4 -q", "n=4 q ", PIPC__SOURCE_LIVE},
        {"-qn4", "q n=4 ", PIPC__SOURCE_LIVE},
        {"--number=4 word --quiet", "n=4 q +word ", PIPC__SOURCE_LIVE},
        {"--num 4", "n=4 ", PIPC__SOURCE_LIVE},
        {"--long-only -q", "long=-q ", PIPC__SOURCE_LIVE},
        {"-- -q", "+-q ", PIPC__SOURCE_LIVE},
        {"--synthetic [gpu] -q", "q ", PIPC__SOURCE_SYNTHETIC},
        {"--nccl-xml=F", "", PIPC__SOURCE_NCCL_XML},
        {"--topo-m F", "", PIPC__SOURCE_TOPO_M},
        {"--hwloc-xml F", "", PIPC__SOURCE_HWLOC_XML},
        {"--dump F", "", PIPC__SOURCE_DUMP},
        {"--sysroot D", "", PIPC__SOURCE_SYSROOT},
    };
    char out[8192];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse(cases[i].line, stderr, out), PIPC__CLI_GO_ON);
        assert_string_equal(out, "");
        assert_string_equal(taken, cases[i].taken);
        assert_int_equal(source.kind, cases[i].kind);
    }
}

static void what_is_refused(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--moon", "tool: --moon: no such option, or one that takes no value; see tool --help\n"},
        {"--quiet=yes", "tool: --quiet=yes: no such option, or one that takes no value; see tool "
                        "--help\n"},
        {"-x", "tool: -x: no such option; see tool --help\n"},
        {"-qx", "tool: -x: no such option; see tool --help\n"},
        {"-n", "tool: -n: needs a value; see tool --help\n"},
        {"-qn", "tool: -n: needs a value; see tool --help\n"},
        {"--number", "tool: --number: needs a value; see tool --help\n"},
        {"-n 0", "tool: --number: needs a number above 0; see tool --help\n"},
        {"one two", "tool: two: unexpected argument; see tool --help\n"},
        {"--dump F --sysroot D", "tool: --dump and --sysroot: one machine at a time; see tool "
                                 "--help\n"},
    };
    char out[8192];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse(cases[i].line, stderr, out), PIPC__CLI_USAGE);
        assert_string_equal(out, cases[i].says);
    }
}

static void help_and_version(void **state)
{
    char out[8192];

    (void)state;
    assert_int_equal(parse("--version", stdout, out), 0);
    assert_string_equal(out, "tool 1.2\n");
    assert_int_equal(parse("-V", stdout, out), 0);
    assert_int_equal(parse("-q --help --moon", stdout, out), 0);
    assert_int_equal(strncmp(out, "Usage: tool [OPTION...] [WORD]\nThis does things.\n\n", 45), 0);
    assert_non_null(strstr(out, "\n  -n, --number=N         a number\n"));
    assert_non_null(strstr(out, "\n      --long-only=X      no letter\n"));
    assert_non_null(strstr(out, "\n\nTopology:\n      --hwloc-xml=FILE  "));
    assert_non_null(strstr(out, "\n  -h, --help             print this and exit\n"));
    assert_non_null(strstr(out, "\n\nExit status: 0.\n"));
}

/* Without a letter of its own a tool takes none. */
static void a_tool_without_letters(void **state)
{
    static const pipc__cli_section_t long_only[] = {{NULL, options + 2}, {NULL, NULL}};
    pipc__cli_t c = cli;
    char *argv[] = {"tool", "-h", NULL};

    (void)state;
    c.sections = long_only;
    assert_int_equal(pipc__cli_parse(&c, 2, argv, &taken), PIPC__CLI_USAGE);
}

/* A disk that is full is told, and the status says so. */
static void output_that_is_lost(void **state)
{
    int old = dup(1);

    (void)state;
    fflush(stdout);
    assert_non_null(freopen("/dev/full", "w", stdout));
    printf("something\n");
    int status = pipc__cli_finish(&cli, 0);
    assert_true(dup2(old, 1) >= 0);
    clearerr(stdout);
    close(old);
    assert_int_equal(status, 7);
    assert_int_equal(pipc__cli_finish(&cli, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken),       cmocka_unit_test(what_is_refused),
        cmocka_unit_test(help_and_version),    cmocka_unit_test(a_tool_without_letters),
        cmocka_unit_test(output_that_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
