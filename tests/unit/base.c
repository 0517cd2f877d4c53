/* tests/unit/base.c - errors, options, files, half precision */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pcie-ipc/types.h>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/half.h"
#include "runtime/base/nvlinks.h"
#include "runtime/base/option.h"

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int s = PIPC_OK; s <= PIPC_LEFT; s++)
        assert_string_not_equal(pipc_status_string((pipc_status_t)s), "unknown status");
    assert_string_equal(pipc_status_string((pipc_status_t)-1), "unknown status");
    assert_string_equal(pipc_status_string((pipc_status_t)9999), "unknown status");
}

static void errors_keep_errno_and_cut_long_texts(void **state)
{
    pipc__error_t err;
    char longer[2 * PIPC__ERROR_MAX];

    (void)state;
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    errno = ENOENT;
    assert_int_equal(pipc__fail(&err, PIPC_ERR_NOMEM, "%s", longer), PIPC_ERR_NOMEM);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(strlen(err.text), PIPC__ERROR_MAX - 1);
    assert_int_equal(pipc__fail_errno(&err, "/x/y"), PIPC_ERR_SYSTEM);
    assert_string_equal(err.text, "/x/y: No such file or directory");
    assert_int_equal(pipc__fail(NULL, PIPC_ERR_INVALID, "no text wanted"), PIPC_ERR_INVALID);
}

/* Each rank's list is its own GPU and those that NVLink joins to it, of those that it sees. */
static void nvlink_joins_ranks_that_see_each_other_by_it(void **state)
{
    static const struct {
        const char *ranks[4][5];
        bool joined;
    } cases[] = {
        {{{"0000:41:00.0", "0000:81:00.0"}, {"0000:81:00.0", "0000:41:00.0"}}, true},
        {{{"0000:41:00.0", "0000:42:00.0", "0000:81:00.0"}, {"0000:81:00.0", "0000:41:00.0"}},
         true},
        {{{"0000:41:00.0", "0000:42:00.0"}, {"0000:81:00.0", "0000:82:00.0"}}, false}, /* bridges */
        {{{"0000:41:00.0", "0000:81:00.0"}, {"0000:81:00.0"}}, false},
        {{{"0000:41:00.0"}, {"0000:81:00.0"}}, false}, /* each sees itself alone */
        {{{"0000:41:00.0"}, {"0000:41:00.0"}}, false}, /* or both the same GPU */
        {{{NULL}, {NULL}}, false},
        {{{"0000:41:00.0", "0001:41:00.0"}, {"0000:41:00.1", "0000:41:00.0"}}, false},
        {{{"10000:41:00.0", "0000:41:00.0"}, {"0000:41:00.0", "10000:41:00.0"}}, false},
        {{{"moon", "0000:41:00.0"}, {"0000:41:00.0", "moon"}}, false},
        {{{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}, /* a triangle */
          {"0000:02:00.0", "0000:01:00.0", "0000:03:00.0"},
          {"0000:03:00.0", "0000:01:00.0", "0000:02:00.0"}},
         true},
        {{{"0000:01:00.0", "0000:02:00.0"}, /* a chain */
          {"0000:02:00.0", "0000:01:00.0", "0000:03:00.0"},
          {"0000:03:00.0", "0000:02:00.0"}},
         false},
        {{{"0000:00:00.0", "0000:02:00.0"}, {"0000:02:00.0", "0000:00:00.0"}}, true},
        {{{"0000:41:00.0", "0000:81:00.0"}}, true}, /* one rank */
        {{{"0000:41:00.0"}}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__nvlinks_t links[4] = {{{0}}};
        const pipc__nvlinks_t *const list[] = {&links[0], &links[1], &links[2], &links[3]};
        int n = 0;
        for (; n < 4 && (n < 1 || cases[i].ranks[n][0] || (n < 2 && !cases[i].ranks[0][0])); n++)
            for (int k = 0; cases[i].ranks[n][k]; k++)
                pipc__nvlinks_add(&links[n], cases[i].ranks[n][k]);
        if (pipc__nvlinks_join(list, n) != cases[i].joined)
            fail_msg("case %zu", i);
    }
}

/* More than there is room for are not joined; nothing is written beyond. */
static void of_many_nvlinks_some_are_forgotten(void **state)
{
    struct {
        pipc__nvlinks_t links;
        uint32_t behind;
    } x = {{{0}}, 7};
    pipc__nvlinks_t last = {{0}};
    const pipc__nvlinks_t *const list[] = {&x.links, &last};
    char bdf[16];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(bdf, sizeof(bdf), "0000:%02x:00.0", i);
        pipc__nvlinks_add(&x.links, bdf);
    }
    pipc__nvlinks_add(&last, "0000:13:00.0");
    pipc__nvlinks_add(&last, "0000:00:00.0");
    assert_int_equal(x.behind, 7);
    assert_false(pipc__nvlinks_join(list, 2));
}

/* A small table of the kinds of option that exist. */
struct wants {
    int color;
    bool loud;
    pipc__option_list_t mix;
};
static const char *const colors[] = {"red", "green", NULL};
static const pipc__option_t table[] = {
    {"color", PIPC__OPTION_ENUM, 1, colors, offsetof(struct wants, color), "the color", NULL, 0},
    {"loud", PIPC__OPTION_FLAG, 0, NULL, offsetof(struct wants, loud), "say more", NULL, 0},
    {0},
};

static void option_texts(void **state)
{
    static const struct {
        const char *text;
        pipc_status_t status;
        int color;
        bool loud;
        const char *error;
    } cases[] = {
        {NULL, PIPC_OK, 1, false, NULL},
        {"", PIPC_OK, 1, false, NULL},
        {"(null)", PIPC_OK, 1, false, NULL},
        {"loud", PIPC_OK, 1, true, NULL},
        {"loud:yes", PIPC_OK, 1, true, NULL},
        {"loud,loud:no", PIPC_OK, 1, false, NULL},
        {"color:red,loud", PIPC_OK, 0, true, NULL},
        {",color:red,", PIPC_OK, 0, false, NULL},
        {"color:blue", PIPC_ERR_INVALID, 1, false,
         "color: unknown value \"blue\"; use one of: red, green"},
        {"loud,color:blue", PIPC_ERR_INVALID, 1, false, NULL}, /* nothing is half-set */
        {"color", PIPC_ERR_INVALID, 1, false,
         "color needs a value; use color:VALUE, one of: red, green"},
        {"color:", PIPC_ERR_INVALID, 1, false, NULL},
        {"loud:maybe", PIPC_ERR_INVALID, 1, false, NULL},
        {"size:3", PIPC_ERR_INVALID, 1, false, "unknown key \"size\"; the keys are: color, loud"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wants w;
        pipc__error_t err = {PIPC_OK, ""};
        pipc__options_default(table, &w);
        assert_int_equal(pipc__options_parse(table, cases[i].text, &w, &err), cases[i].status);
        assert_int_equal(w.color, cases[i].color);
        assert_int_equal(w.loud, cases[i].loud);
        if (cases[i].error)
            assert_string_equal(err.text, cases[i].error);
    }
}

static void option_lists(void **state)
{
    static const char *const kinds[] = {"none", "map", NULL};
    static const pipc__option_t mixing[] = {
        {"color", PIPC__OPTION_ENUM, 0, kinds, offsetof(struct wants, color), "the color", "map",
         offsetof(struct wants, mix)},
        {"loud", PIPC__OPTION_FLAG, 0, NULL, offsetof(struct wants, loud), "say more", NULL, 0},
        {0},
    };
    static const struct {
        const char *text, *mix; /* the list, or what the error says behind '!' */
        bool loud;
    } cases[] = {
        {"color:map:4,5,2,3", "4 5 2 3 ", false},
        {"color:map:4", "4 ", false},
        {"color:map:63,0,0,loud", "63 0 0 ", true},
        {"loud,color:map:1,2,loud:no", "1 2 ", false},
        {"color:map:1,2,color:map:3", "3 ", false}, /* the last one */
        {"color:map:1,2,color:none", "", false},
        {"color:map:07", "7 ", false},
        {"color:map", "!color:map: \"\" is no number from 0 to 63; use color:map:N,N,...", false},
        {"color:map:", "!color:map: \"\" is no number", false},
        {"color:map:64", "!color:map: \"64\" is no number from 0 to 63", false},
        {"color:map:1,64", "!color:map: \"64\" is no number", false},
        {"color:map:1,99999999999999999999", "!is no number", false},
        {"color:map:x", "!color:map: \"x\" is no number", false},
        {"color:map:-1", "!color:map: \"-1\" is no number", false},
        {"color:map:1+2", "!color:map: \"1+2\" is no number", false},
        {"color:map:0,,1", "!color:map: \"\" is no number", false},
        {"color:map:1,,loud", "!color:map: \"\" is no number", false},
        {"color:map:1,", "1 ", false},
        {",loud,,color:map:1", "1 ", true},
        {"color:map:1:2", "!color:map: \"1:2\" is no number", false},
        {"color:map:1,2x", "!unknown key \"2x\"; the keys are: color, loud", false},
        {"color:map:1,loud,2", "!unknown key \"2\"", false}, /* the list has ended */
        {"color:none,2", "!unknown key \"2\"", false},
        {"2", "!unknown key \"2\"", false},
        {"color:none:2", "!color: unknown value \"none:2\"; use one of: none, map:N,...", false},
        {"loud:yes:2", "!loud: unknown value \"yes:2\"; use one of: no, yes", false},
    };
    char many[512] = "color:map:0", help[256];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wants w, untouched;
        pipc__error_t err = {PIPC_OK, ""};
        char mix[256] = "";
        memset(&w, 0, sizeof(w));
        pipc__options_default(mixing, &w);
        untouched = w;
        if (pipc__options_parse(mixing, cases[i].text, &w, &err)) {
            if (cases[i].mix[0] != '!' || !strstr(err.text, cases[i].mix + 1))
                fail_msg("%s: %s", cases[i].text, err.text);
            assert_memory_equal(&w, &untouched, sizeof(w));
            continue;
        }
        for (int k = 0; k < w.mix.n; k++)
            snprintf(mix + strlen(mix), sizeof(mix) - strlen(mix), "%d ", w.mix.at[k]);
        assert_string_equal(mix, cases[i].mix);
        assert_int_equal(w.color, w.mix.n > 0);
        assert_int_equal(w.loud, cases[i].loud);
    }
    struct wants w;
    for (int i = 1; i < PIPC__OPTION_LIST_MAX; i++)
        strcat(many, ",1");
    assert_int_equal(pipc__options_parse(mixing, many, &w, NULL), PIPC_OK);
    assert_int_equal(w.mix.n, PIPC__OPTION_LIST_MAX);
    strcat(many, ",1");
    assert_int_equal(pipc__options_parse(mixing, many, &w, NULL), PIPC_ERR_INVALID);
    pipc__options_help(mixing, help, sizeof(help));
    assert_non_null(strstr(help, "color:none|map:N,... "));
}

static void option_text_of_a_value(void **state)
{
    struct named {
        int out;
        char file[PIPC__OPTION_TEXT_MAX];
        bool loud;
    };
    static const char *const kinds[] = {"none", "file", NULL};
    static const pipc__option_t naming[] = {
        {"out", PIPC__OPTION_NAMED, 0, kinds, offsetof(struct named, out), "where", "file",
         offsetof(struct named, file)},
        {"loud", PIPC__OPTION_FLAG, 0, NULL, offsetof(struct named, loud), "say more", NULL, 0},
        {0},
    };
    static const struct {
        const char *text, *file; /* the file, or what the error says behind '!' */
        int out;
        bool loud;
    } cases[] = {
        {"", "", 0, false},
        {"out:file", "", 1, false},
        {"out:file:/a/b:c,loud", "/a/b:c", 1, true},
        {"out:file:a,out:file", "", 1, false}, /* the last one */
        {"out:file:a,out:none", "", 0, false},
        {"out:file:4,loud", "4", 1, true},
        {"out:file:", "!out:file: the text behind it is empty", 0, false},
        {"out:none:a", "!out: unknown value \"none:a\"; use one of: none, file[:TEXT]", 0, false},
        {"out:file:4,5", "!unknown key \"5\"", 0, false}, /* no list */
    };
    char help[256], longest[300] = "out:file:";

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct named w = {0};
        pipc__error_t err = {PIPC_OK, ""};
        pipc__options_default(naming, &w);
        if (pipc__options_parse(naming, cases[i].text, &w, &err)) {
            if (cases[i].file[0] != '!' || !strstr(err.text, cases[i].file + 1))
                fail_msg("%s: %s", cases[i].text, err.text);
            continue;
        }
        assert_string_equal(w.file, cases[i].file);
        assert_int_equal(w.out, cases[i].out);
        assert_int_equal(w.loud, cases[i].loud);
    }
    struct named w = {0};
    memset(longest + strlen(longest), 'x', PIPC__OPTION_TEXT_MAX - 1);
    assert_int_equal(pipc__options_parse(naming, longest, &w, NULL), PIPC_OK);
    assert_int_equal(strlen(w.file), PIPC__OPTION_TEXT_MAX - 1);
    strcat(longest, "x");
    assert_int_equal(pipc__options_parse(naming, longest, &w, NULL), PIPC_ERR_INVALID);
    pipc__options_help(naming, help, sizeof(help));
    assert_non_null(strstr(help, "out:none|file[:TEXT] "));
    assert_non_null(strstr(help, "(default none)"));
}

static void an_endless_option_text_is_refused(void **state)
{
    char text[4096];
    struct wants w = {0};

    (void)state;
    memset(text, ',', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(pipc__options_parse(table, text, &w, NULL), PIPC_ERR_INVALID);
}

static void option_help_names_every_key_and_default(void **state)
{
    char help[512], cut[10];

    (void)state;
    size_t need = pipc__options_help(table, help, sizeof(help));
    assert_int_equal(need, strlen(help));
    assert_non_null(strstr(help, "color:red|green"));
    assert_non_null(strstr(help, "(default green)"));
    assert_non_null(strstr(help, "loud"));
    assert_int_equal(pipc__options_help(table, cut, sizeof(cut)), need);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

static void files_below_a_root(void **state)
{
    char root[] = "/tmp/pipc-unit-XXXXXX", path[64], line[32];
    int64_t v;

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/f", root);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("  8 GT/s \nnext\n", f);
    fclose(f);
    assert_true(pipc__file_line(root, line, sizeof(line), "%s", "f"));
    assert_string_equal(line, "8 GT/s");
    assert_true(pipc__file_int(root, &v, "/f")); /* an absolute path stays below the root */
    assert_int_equal(v, 8);
    assert_false(pipc__file_line(root, line, sizeof(line), "absent"));
    assert_int_equal(errno, ENOENT);
    f = fopen(path, "w");
    fputs("Unknown\n", f);
    fclose(f);
    assert_false(pipc__file_int(root, &v, "f"));
    assert_int_equal(errno, EINVAL);
    unlink(path);
    rmdir(root);
}

static void every_half_survives_the_way_through_float(void **state)
{
    (void)state;
    for (uint32_t h = 0; h <= 0xffff; h++) {
        bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        uint16_t back = pipc__float_to_half(pipc__half_to_float((uint16_t)h));
        assert_int_equal(back, nan ? (h | 0x200) : h);
    }
}

static void halves_round_to_nearest_even(void **state)
{
    static const struct {
        float in;
        uint16_t out;
    } cases[] =
        {
            {0x1p-24f, 0x0001},                           /* smallest subnormal */
            {0x1p-25f, 0x0000},                           /* tie to even: zero */
            {0x1.8p-25f, 0x0001},   {0x1.8p-24f, 0x0002}, /* tie between 1 and 2: even */
            {-0x1p-26f, 0x8000},    {0x1.ff8p-15f, 0x03ff},
            {0x1.ffcp-15f, 0x0400},                       /* tie: up, into the normals */
            {1.0f, 0x3c00},         {0x1.002p0f, 0x3c00}, /* tie: even */
            {0x1.006p0f, 0x3c02},   {65504.0f, 0x7bff},
            {65519.996f, 0x7bff},   {65520.0f, 0x7c00},
            {-1e9f, 0xfc00},
        };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(pipc__float_to_half(cases[i].in), cases[i].out);
}

static void types_have_names_and_sizes(void **state)
{
    (void)state;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++) {
        assert_true(pipc_dtype_bytes((pipc_dtype_t)t) > 0);
        assert_string_not_equal(pipc_dtype_string((pipc_dtype_t)t), "?");
    }
    assert_int_equal(pipc_dtype_bytes(PIPC_DTYPE_COUNT), 0);
    assert_string_equal(pipc_dtype_string((pipc_dtype_t)-1), "?");
    assert_string_equal(pipc_redop_string(PIPC_REDOP_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(errors_keep_errno_and_cut_long_texts),
        cmocka_unit_test(nvlink_joins_ranks_that_see_each_other_by_it),
        cmocka_unit_test(of_many_nvlinks_some_are_forgotten),
        cmocka_unit_test(option_texts),
        cmocka_unit_test(option_lists),
        cmocka_unit_test(option_text_of_a_value),
        cmocka_unit_test(an_endless_option_text_is_refused),
        cmocka_unit_test(option_help_names_every_key_and_default),
        cmocka_unit_test(files_below_a_root),
        cmocka_unit_test(every_half_survives_the_way_through_float),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(types_have_names_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
