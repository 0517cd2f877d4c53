/* tests/unit/plan_json.c - plans as JSON and back, as text, and files that are no plans */
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

#include "runtime/plan/generate.h"
#include "runtime/plan/json.h"
#include "runtime/plan/text.h"
#include "tests/unit/plan_staged.h"

static char path[] = "/tmp/plan-json.XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* The plan as text in memory; the caller frees it. */
static char *json_of(const pipc__plan_t *p, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    assert_non_null(f);
    assert_int_equal(pipc__plan_write_json(p, f, NULL), PIPC_OK);
    fclose(f);
    return text;
}

/* --- round trip ------------------------------------------------------------------------------- */

static void same(const pipc__plan_t *a, const pipc__plan_t *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->collective, b->collective);
    assert_int_equal(a->nranks, b->nranks);
    assert_int_equal(a->nchunks, b->nchunks);
    assert_int_equal(a->nslots, b->nslots);
    assert_int_equal(a->nflags, b->nflags);
    assert_int_equal(a->nstages, b->nstages);
    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        for (int s = 0; s < PIPC__STAGES_MAX; s++) {
            const pipc__program_t *g = &a->program[r][s], *h = &b->program[r][s];
            assert_int_equal(g->nops, h->nops);
            if (g->nops)
                assert_memory_equal(g->ops, h->ops, (size_t)g->nops * sizeof(*g->ops));
        }
}

static void there_and_back(pipc__plan_t *p)
{
    size_t bytes;
    char *text = json_of(p, &bytes);
    pipc__plan_t *back;
    pipc__error_t err;

    put(text, bytes);
    if (pipc__plan_read_json(&back, path, &err))
        fail_msg("%s", err.text);
    same(p, back);
    free(text);
    pipc__plan_free(back);
    pipc__plan_free(p);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < PIPC__PLAN_KINDS_PLAIN; kind++)
        for (int n = 1; n <= PIPC__RANKS_MAX; n++) {
            pipc__plan_t *p;
            assert_int_equal(pipc__plan_make(&p, (pipc__plan_kind_t)kind, n, NULL), PIPC_OK);
            there_and_back(p);
        }
    for (int collective = 0; collective < 3; collective++)
        for (int host = 0; host < 2; host++)
            there_and_back(staged_plan((pipc__collective_t)collective, 3, 2, host));
    pipc__plan_t *p = staged_plan(PIPC__ALLREDUCE, 2, 1, false);
    strcpy(p->name, "a \"name\"\\");
    there_and_back(p);
}

static void what_has_no_form_is_not_written(void **state)
{
    FILE *null = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");
    pipc__error_t err;

    (void)state;
    assert_non_null(null);
    assert_non_null(full);
    pipc__plan_t *p = staged_plan(PIPC__ALLREDUCE, 2, 2, false);
    assert_int_equal(pipc__plan_write_json(p, full, &err), PIPC_ERR_SYSTEM);
    assert_int_equal(pipc__plan_print(p, full, &err), PIPC_ERR_SYSTEM);
    p->program[1][2].ops[1].dst.place = 9;
    assert_int_equal(pipc__plan_write_json(p, null, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "rank 1, stage 2, step 1 has no form"));
    p->program[1][2].ops[1].kind = 4;
    assert_int_equal(pipc__plan_write_json(p, null, &err), PIPC_ERR_INVALID);
    p->program[1][2].nops = 0;
    assert_int_equal(pipc__plan_write_json(p, null, &err), PIPC_OK);
    strcpy(p->name, "\xff");
    assert_int_equal(pipc__plan_write_json(p, null, &err), PIPC_ERR_INVALID);
    pipc__plan_free(p);
    fclose(null);
    fclose(full);
}

/* --- files that are no plans ------------------------------------------------------------------ */

/* One rank: output = input, reduced alone. */
static const char good[] =
    "{\"version\": 1, \"name\": \"x\", \"collective\": \"all-reduce\", \"ranks\": 1, \"stages\": 1,"
    " \"chunks\": 1, \"slots\": 1, \"flags\": 1, \"programs\": [{\"rank\": 0, \"stage\": 0, "
    "\"ops\":"
    " [{\"op\": \"reduce\", \"chunk\": 0, \"from\": [{\"place\": \"input\", \"pre\": true}], "
    "\"to\":"
    " {\"place\": \"output\"}, \"post\": true}]}]}";

/* The good file with its first @from replaced by @to. */
static const struct bad_file {
    const char *from, *to, *words;
} bad_files[] = {
    {"{\"version\"", "", "line 1"},
    {"]}]}", "]}]} x", "line 1"},
    {"\"version\": 1", "\"version\": 2", "\"version\" is 2, and must be 1 to 1"},
    {"\"version\": 1, ", "", "\"version\" is missing"},
    {"\"name\": \"x\"", "\"name\": \"\"", "\"name\" must be a string of 1 to 23"},
    {"\"name\": \"x\"", "\"name\": \"123456789012345678901234\"", "\"name\" must be a string of"},
    {"\"name\": \"x\"", "\"name\": \"\\u0007\"", "not printable"},
    {"\"name\": \"x\"", "\"name\": \"x\", \"name\": \"x\"", "duplicate"},
    {"\"name\": \"x\"", "\"name\": \"x\", \"shots\": 2", "the plan has an unknown key \"shots\""},
    {"\"name\": \"x\"", "\"name\": \"x\", \"\\u001b[2J\\u00e9\": 2", "unknown key \"?[2J??\""},
    {"all-reduce", "all-to-all", "\"collective\" can't be \"all-to-all\""},
    {"\"ranks\": 1", "\"ranks\": 0", "\"ranks\" is 0, and must be 1 to 16"},
    {"\"ranks\": 1", "\"ranks\": 17", "\"ranks\" is 17, and must be 1 to 16"},
    {"\"ranks\": 1", "\"ranks\": 4294967297", "\"ranks\" is 4294967297, and must"},
    {"\"ranks\": 1", "\"ranks\": 99999999999999999999", "line 1"},
    {"\"ranks\": 1", "\"ranks\": 1.5", "\"ranks\" is no whole number"},
    {"\"stages\": 1", "\"stages\": 6", "\"stages\" is 6, and must be 1 to 5"},
    {"\"chunks\": 1", "\"chunks\": 65", "\"chunks\" is 65, and must be 1 to 64"},
    {"\"slots\": 1", "\"slots\": -1", "\"slots\" is -1, and must be 0 to 64"},
    {"\"flags\": 1", "\"flags\": 113", "\"flags\" is 113, and must be 0 to 112"},
    {"\"programs\": [", "\"programs\": 7, \"ops\": [", "unknown key \"ops\""},
    {"[{\"rank\": 0", "[7, {\"rank\": 0", "programs[0]: the program is no object"},
    {"[{\"rank\": 0", "[{\"rank\": 1", "programs[0]: \"rank\" is 1, and must be 0 to 0"},
    {"\"stage\": 0", "\"stage\": 1", "programs[0]: \"stage\" is 1, and must be 0 to 0"},
    {"[{\"rank\"", "[{\"rank\": 0, \"stage\": 0, \"ops\": []}, {\"rank\"",
     "programs[1]: is a second program of this rank and stage"},
    {"\"op\": \"reduce\"", "\"op\": \"sum\"", "programs[0]: ops[0]: \"op\" can't be \"sum\""},
    {"\"op\": \"reduce\"", "\"op\": 1", "ops[0]: \"op\" is missing or no string"},
    {"\"op\": \"reduce\"", "\"op\": \"copy\"", "ops[0]: a copy has one place"},
    {"\"op\": \"reduce\"", "\"op\": \"wait\"", "ops[0]: the op has an unknown key \"chunk\""},
    {"\"chunk\": 0", "\"chunk\": 65536", "ops[0]: \"chunk\" is 65536, and must be 0 to 65535"},
    {"\"chunk\": 0", "\"chunk\": 1",
     "rank 0, step 0 (reduce chunk 1 from input, pre each, to its "
     "output, post): names a chunk that does not exist"},
    {"[{\"place\": \"input\", \"pre\": true}]", "{\"place\": \"input\"}",
     "ops[0]: a reduce has a list of places"},
    {"[{\"place\": \"input\", \"pre\": true}]", "[]", "has a wrong number of sources"},
    {"[{\"place\": \"input\", \"pre\": true}]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
     "ops[0]: \"from\" has more than 16 places"},
    {"[{\"place\": \"input\", \"pre\": true}]", "[\"input\"]", "ops[0]: \"from\" is no object"},
    {"\"input\"", "\"nowhere\"", "ops[0]: \"place\" can't be \"nowhere\""},
    {"\"pre\": true", "\"pre\": 1", "ops[0]: \"pre\" is neither true nor false"},
    {"\"pre\": true", "\"rank\": 16", "ops[0]: \"rank\" is 16, and must be 0 to 15"},
    {"\"pre\": true", "\"rank\": 3", "names a rank that does not exist"},
    {"{\"place\": \"output\"}", "{\"place\": \"slot\", \"slot\": 65536}", "\"slot\" is 65536"},
    {"{\"place\": \"output\"}", "{\"place\": \"slot\", \"slot\": 1}", "names a slot that does not"},
    {"{\"place\": \"output\"}", "{\"place\": \"output\", \"pre\": true}", "unknown key \"pre\""},
    {"\"op\": \"reduce\"", "\"op\": \"signal\", \"flag\": 0, \"rank\": 0, \"memory\": \"disk\"",
     "unknown key \"chunk\""},
};

static void refuse(const char *text, size_t bytes, const char *words)
{
    pipc__plan_t *p = (pipc__plan_t *)&p;
    pipc__error_t err = {PIPC_OK, ""};

    put(text, bytes);
    assert_int_equal(pipc__plan_read_json(&p, path, &err), PIPC_ERR_INVALID);
    assert_null(p);
    if (!strstr(err.text, words))
        fail_msg("instead of \"%s\": \"%s\"", words, err.text);
}

static void bad_files_are_refused_with_their_place(void **state)
{
    pipc__plan_t *p;
    pipc__error_t err;

    (void)state;
    put(good, strlen(good));
    assert_int_equal(pipc__plan_read_json(&p, path, &err), PIPC_OK);
    pipc__plan_free(p);
    for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
        const struct bad_file *b = &bad_files[i];
        const char *at = strstr(good, b->from);
        char text[2048];
        assert_non_null(at);
        int n = snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, b->to,
                         at + strlen(b->from));
        refuse(text, (size_t)n, b->words);
    }
    refuse("", 0, "line 1");
    refuse("[]", 2, "the plan is no object");
    refuse("{\0}", 3, "line 1");
}

static void files_that_cannot_be_read_are_told(void **state)
{
    pipc__plan_t *p;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_read_json(&p, "/tmp/no/such/plan", &err), PIPC_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "/tmp/no/such/plan: No such file"));
    assert_int_equal(pipc__plan_read_json(&p, "/tmp", &err), PIPC_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(pipc__plan_read_json(&p, "/dev/zero", &err), PIPC_ERR_INVALID);
    assert_null(p);
}

static void a_file_without_end_is_not_read_to_its_end(void **state)
{
    FILE *f = fopen(path, "w");
    pipc__plan_t *p;
    pipc__error_t err;

    (void)state;
    assert_non_null(f);
    for (int i = 0; i <= PIPC__PLAN_FILE_MAX / 64; i++)
        fprintf(f, "%64s", i ? "" : good); /* blanks */
    fclose(f);
    assert_int_equal(pipc__plan_read_json(&p, path, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "larger than"));
}

/* Any change of a byte, and any cut, gives a plan or an error, never a crash (run with the address
 * sanitizer, this is a small fuzzer). */
static void damaged_files_do_no_harm(void **state)
{
    pipc__plan_t *p = staged_plan(PIPC__ALLREDUCE, 2, 2, true), *q;
    size_t bytes;
    char *text = json_of(p, &bytes);
    uint32_t random = 1;
    int plans = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525u + 1013904223u;
        size_t at = (random >> 8) % bytes;
        char was = text[at];
        text[at] = "0123456789,:{}[]\" -x"[random % 20];
        put(text, i % 10 ? bytes : at + 1);
        if (!pipc__plan_read_json(&q, path, NULL))
            plans++;
        pipc__plan_free(q);
        text[at] = was;
    }
    assert_in_range(plans, 1, 2999);
    free(text);
    pipc__plan_free(p);
}

/* --- in words --------------------------------------------------------------------------------- */

static void a_plan_is_printed_a_line_a_step(void **state)
{
    pipc__plan_t *p = staged_plan(PIPC__REDUCE_SCATTER, 2, 1, true);
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    p->program[1][1].ops[1].pre = 2;
    assert_int_equal(pipc__plan_print(p, f, NULL), PIPC_OK);
    fclose(f);
    assert_string_equal(
        text, "plan staged: reduce-scatter of 2 ranks, 2 chunks a round, 2 stages, 4 slots, "
              "8 flags\n"
              "\nrank 0, stage 0\n"
              "    0  copy chunk 1 from its input to host slot 0 of rank 1\n"
              "    1  signal host flag 0 of rank 1\n"
              "    2  wait for its own flag 7\n"
              "\nrank 0, stage 1\n"
              "    0  wait for host flag 1 from rank 1\n"
              "    1  reduce chunk 0 from input, host slot 1, pre each, to its output, post\n"
              "    2  signal its own flag 7\n"
              "\nrank 1, stage 0\n"
              "    0  copy chunk 0 from its input to host slot 1 of rank 0\n"
              "    1  signal host flag 1 of rank 0\n"
              "    2  wait for its own flag 7\n"
              "\nrank 1, stage 1\n"
              "    0  wait for host flag 0 from rank 0\n"
              "    1  reduce chunk 1 from host slot 0, input pre, to its output, post\n"
              "    2  signal its own flag 7\n");
    free(text);
    pipc__plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_has_no_form_is_not_written),
        cmocka_unit_test(bad_files_are_refused_with_their_place),
        cmocka_unit_test(files_that_cannot_be_read_are_told),
        cmocka_unit_test(a_file_without_end_is_not_read_to_its_end),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(a_plan_is_printed_a_line_a_step),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
