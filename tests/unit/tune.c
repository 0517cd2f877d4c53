/* tests/unit/tune.c - tables as text, the rule that admits plans, and what a table answers
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tune/admit.h"
#include "runtime/tune/file.h"
#include "tests/unit/comma.h"

#define HEAD "table 1\n"
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char whole[] = "# a comment before all else\n"
                            "table 1\n"
                            "topology 9f3a1c0d5e7b2468\n"
                            "gpu NVIDIA H200\n"
                            "gpus 0000:03:00.0 0000:04:00.0\n"
                            "driver 580.159.04\n"
                            "nccl 2.28.9\n"
                            "build 0.1.0\n"
                            "\n"
                            "up-to 65536 eager one-shot/ll/8 graph one-shot/ll   # wins\n"
                            " up-to 98304\teager one-shot graph one-shot//16\r\n"
                            "up-to max eager nccl graph one-shot/push/32\n"
                            "time 65536 eager one-shot/ll/8 3.610 3.800 200\n"
                            "time 65536 eager nccl:ring-ll 11.700 12.100 40";

/* --- text ------------------------------------------------------------------------------------ */

static pipc_status_t parse(pipc__table_file_t *f, const char *text, pipc__error_t *err)
{
    return pipc__table_parse(f, text, strlen(text), "t", true, err);
}

static void a_table_is_read(void **state)
{
    pipc__table_file_t f;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    assert_int_equal(parse(&f, whole, &err), PIPC_OK);
    assert_true(f.key.topology == 0x9f3a1c0d5e7b2468u);
    assert_string_equal(f.key.gpu, "NVIDIA H200");
    assert_string_equal(f.key.gpus, "0000:03:00.0 0000:04:00.0");
    assert_string_equal(f.key.driver, "580.159.04");
    assert_string_equal(f.key.nccl, "2.28.9");
    assert_string_equal(f.key.build, "0.1.0");
    assert_int_equal(f.table.nrows, 3);
    assert_int_equal(f.table.row[0].eager.proto, PIPC__PROTO_LL);
    assert_int_equal(f.table.row[0].eager.blocks, 8);
    assert_int_equal(f.table.row[1].graph.blocks, 16);
    assert_int_equal(f.table.row[2].eager.algo, PIPC__ALGO_NCCL);
    assert_int_equal(f.table.row[2].graph.proto, PIPC__PROTO_PUSH);
    assert_true(f.table.row[2].max_bytes == SIZE_MAX);
    assert_int_equal(f.ntimes, 2);
    assert_string_equal(f.times[1].variant, "ring-ll");
    assert_true(f.times[1].median_usec == 11.7 && f.times[1].samples == 40);
    pipc__table_file_free(&f);
    assert_int_equal(pipc__table_parse(&f, whole, strlen(whole), "t", false, &err), PIPC_OK);
    assert_null(f.times);
}

/* What is written reads back as the same, and is written the same again. */
static void a_table_survives_its_text(void **state)
{
    pipc__table_file_t f, again;
    pipc__error_t err;
    char *text[2] = {NULL};
    size_t len;

    (void)state;
    assert_int_equal(parse(&f, whole, &err), PIPC_OK);
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&text[i], &len);
        pipc__table_write(i ? &again : &f, out, NULL);
        fclose(out);
        if (!i)
            assert_int_equal(parse(&again, text[0], &err), PIPC_OK);
    }
    assert_string_equal(text[0], text[1]);
    assert_true(pipc__table_digest(&f.table) == pipc__table_digest(&again.table));
    assert_int_equal(again.ntimes, f.ntimes);
    pipc__table_file_free(&f);
    pipc__table_file_free(&again);
    free(text[0]);
    free(text[1]);
}

/* A program may have called setlocale(). */
static void a_table_is_the_same_where_decimals_have_a_comma(void **state)
{
    if (!comma_begin())
        skip();
    a_table_is_read(state);
    a_table_survives_its_text(state);
    comma_end();
}

#define MAX_ROW "up-to max eager ring graph ring\n"

static void a_wrong_table_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "t:1: there is no row"},
        {"up-to max eager ring graph ring\n", "t:1: the first line"},
        {"table 2\n" MAX_ROW, "t:1: the table has a form"},
        {"table x\n" MAX_ROW, "t:1: the first line"},
        {HEAD "moon 1\n" MAX_ROW, "t:2: no such line"},
        {HEAD "topology xyz\n" MAX_ROW, "t:2: topology"},
        {HEAD "topology 11112222333344445\n" MAX_ROW, "t:2: topology"},
        {HEAD "\n\nup-to 12x eager ring graph ring\n" MAX_ROW, "t:4: a row goes"},
        {HEAD "up-to -1 eager ring graph ring\n" MAX_ROW, "t:2: a row goes"},
        {HEAD "up-to 99999999999999999999 eager ring graph ring\n" MAX_ROW, "t:2: a row goes"},
        {HEAD "up-to 12 eager ring\n" MAX_ROW, "t:2: a row is"},
        {HEAD "up-to 12 eager ring graph ring more\n" MAX_ROW, "t:2: a row is"},
        {HEAD "up-to 12 graph ring eager ring\n" MAX_ROW, "t:2: a row is"},
        {HEAD "up-to 12 eager moon graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager ring/moon graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager ring/ll graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager ring/push graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager two-shot/ce graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager one-shot/ce graph one-shot/ce\n" MAX_ROW, "t:2: protocol ce can't be"},
        {HEAD "up-to 12 eager ring//0 graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager ring//1025 graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager nccl/simple graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager nccl:tree graph ring\n" MAX_ROW, "t:2: no such choice"},
        {HEAD "up-to 12 eager ring graph ring\nup-to 12 eager ring graph ring\n" MAX_ROW,
         "t:3: rows must go"},
        {HEAD MAX_ROW MAX_ROW, "t:3: rows must go"},
        {HEAD "up-to 12 eager ring graph ring\n", "there is no row"},
        {HEAD MAX_ROW "time 8 eager ring 1 nan 1\n", "t:3: a time is"},
        {HEAD MAX_ROW "time 8 moon ring 1 1 1\n", "t:3: a time is"},
        {HEAD MAX_ROW "time 8 eager ring -1 1 1\n", "t:3: a time is"},
        {HEAD MAX_ROW "time 8 eager ring:x 1 1 1\n", "t:3: no such choice"},
        {HEAD "gpu 0123456789012345678901234567890123456789012345678901234567890123\n" MAX_ROW,
         "t:2: is longer"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__table_file_t f;
        pipc__error_t err = {PIPC_OK, ""};
        if (parse(&f, cases[i].text, &err) != PIPC_ERR_INVALID || !strstr(err.text, cases[i].words))
            fail_msg("case %zu: %s", i, err.text);
        assert_non_null(strstr(err.text, "pcie-ipc-tune"));
    }
}

static void a_table_has_a_limit_of_rows_and_no_zeros(void **state)
{
    char text[8192] = HEAD;
    pipc__table_file_t f;
    pipc__error_t err;

    (void)state;
    for (int i = 1; i <= PIPC__TABLE_ROWS; i++)
        sprintf(text + strlen(text), "up-to %d eager ring graph ring\n", i);
    strcat(text, MAX_ROW);
    assert_int_equal(parse(&f, text, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "too many rows"));
    assert_int_equal(
        pipc__table_parse(&f, HEAD "\0" MAX_ROW, sizeof(HEAD MAX_ROW), "t", true, &err),
        PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "is not text"));
}

/* Bytes changed at random: refused, or a table that holds what tables promise. */
static void damage_never_makes_a_table_that_is_none(void **state)
{
    unsigned int seed = 1, refused = 0;
    pipc__error_t err;

    (void)state;
    for (int turn = 0; turn < 20000; turn++) {
        pipc__table_file_t f;
        char text[sizeof(whole)];
        size_t len = sizeof(whole) - 1;
        memcpy(text, whole, sizeof(whole));
        for (int k = rand_r(&seed) % 4; k >= 0; k--)
            text[(size_t)rand_r(&seed) % len] = (char)rand_r(&seed);
        if (rand_r(&seed) % 4 == 0)
            len = (size_t)rand_r(&seed) % len;
        if (pipc__table_parse(&f, text, len, "t", true, &err)) {
            refused++;
            continue;
        }
        assert_true(f.table.nrows >= 1 && f.table.row[f.table.nrows - 1].max_bytes == SIZE_MAX);
        for (int i = 0; i < f.table.nrows; i++) {
            const pipc__table_row_t *r = &f.table.row[i];
            assert_true(!i || r->max_bytes > r[-1].max_bytes);
            assert_non_null(pipc__algo_name(r->eager.algo));
            assert_non_null(pipc__proto_name(r->graph.proto));
        }
        pipc__table_file_free(&f);
    }
    assert_true(refused > 1000);
}

static void a_key_tells_what_differs(void **state)
{
    static const pipc__table_key_t here = {7, "H200", "580.1", "2.28.9", "0.1.0", ""};
    static const struct {
        pipc__table_key_t there;
        const char *words; /* NULL: good here */
    } cases[] = {
        {{7, "H200", "580.1", "2.28.9", "0.1.0", ""}, NULL},
        {{7, "H200", "580.1", "", "0.1.0", ""}, NULL},
        {{8, "H200", "580.1", "2.28.9", "0.1.0", ""}, "topology"},
        {{7, "A100", "580.1", "2.28.9", "0.1.0", ""}, "GPU A100 there, H200 here"},
        {{7, "H200", "", "2.28.9", "0.1.0", ""}, "driver none there, 580.1 here"},
        {{7, "H200", "580.1", "2.27.3", "0.1.0", ""}, "NCCL 2.27.3"},
        {{7, "H200", "580.1", "2.28.9", "0.2.0", ""}, "pcie-ipc 0.2.0"},
    };
    char buf[160];

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        const char *got = pipc__table_key_differs(&cases[i].there, &here, buf, sizeof(buf));
        if (!got != !cases[i].words || (got && !strstr(got, cases[i].words)))
            fail_msg("case %zu: %s", i, got ? got : "no difference");
    }
}

/* --- choosing -------------------------------------------------------------------------------- */

static void rows_answer_for_their_sizes(void **state)
{
    static const struct {
        size_t bytes;
        bool in_graph;
        const char *choice;
    } cases[] = {
        {0, false, "one-shot/ll/8"},         {1, true, "one-shot/ll"},
        {65536, false, "one-shot/ll/8"},     {65537, false, "one-shot"},
        {98304, true, "one-shot/simple/16"}, {98305, false, "nccl"},
        {SIZE_MAX, true, "one-shot/push/32"},  {SIZE_MAX - 1, false, "nccl"},
    };
    pipc__table_file_t f;
    pipc__error_t err;
    char text[PIPC__CHOICE_TEXT];

    (void)state;
    assert_int_equal(parse(&f, whole, &err), PIPC_OK);
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__choice_t c = pipc__table_choose(&f.table, cases[i].bytes, cases[i].in_graph), back;
        if (strcmp(pipc__choice_text(c, text), cases[i].choice))
            fail_msg("case %zu: %s", i, text);
        assert_true(pipc__choice_parse(&back, text) && pipc__choice_equal(c, back));
    }
    assert_true(pipc__table_asks_graph(&f.table, 1));
    assert_true(pipc__table_names(&f.table, PIPC__ONE_SHOT));
    assert_false(pipc__table_names(&f.table, PIPC__RING));
    pipc__table_t ring = pipc__table_fixed(PIPC__RING);
    assert_false(pipc__table_asks_graph(&ring, 1));
    pipc__table_file_free(&f);
}

static void every_field_is_in_the_digest(void **state)
{
    pipc__table_t a = pipc__table_fixed(PIPC__RING), b;

    (void)state;
    for (int i = 0; i < 7; i++) {
        b = a;
        pipc__table_row_t *r = &b.row[0];
        *(i == 0   ? &r->eager.algo
          : i == 1 ? &r->graph.algo
          : i == 2 ? &r->eager.blocks
                   : &r->graph.blocks) += i < 4;
        r->eager.proto = i == 4 ? PIPC__PROTO_LL : r->eager.proto;
        r->graph.proto = i == 5 ? PIPC__PROTO_CE : r->graph.proto;
        r->max_bytes -= i == 6;
        assert_true(pipc__table_digest(&a) != pipc__table_digest(&b));
    }
}

/* NCCL taken out, and plans that end, put right. */
static void a_table_is_made_to_fit(void **state)
{
    static const struct {
        size_t ll_bytes;
        const char *words; /* the rows afterwards: "MAX EAGER GRAPH; ..." */
    } cases[] = {
        {65536, "65536 one-shot/ll/8 one-shot/ll; 98304 one-shot one-shot/simple/16; "
                "200000 ring one-shot/push/32; max two-shot one-shot/push/32; "},
        {1 << 20, "65536 one-shot/ll/8 one-shot/ll; 98304 one-shot one-shot/simple/16; "
                  "max two-shot one-shot/push/32; "},
        {1000, "1000 one-shot/ll/8 one-shot/ll; 65536 one-shot one-shot; "
               "98304 one-shot one-shot/simple/16; max two-shot one-shot/push/32; "},
        {0, "65536 one-shot one-shot; 98304 one-shot one-shot/simple/16; "
            "max two-shot one-shot/push/32; "},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__table_t without = pipc__table_fixed(PIPC__TWO_SHOT);
        if (cases[i].ll_bytes == 65536) { /* that has rows of its own */
            without.nrows = 2;
            without.row[1] = without.row[0];
            without.row[0].max_bytes = 200000;
            without.row[0].eager.algo = PIPC__RING;
        }
        pipc__table_file_t f;
        pipc__error_t err;
        char got[512] = "", a[PIPC__CHOICE_TEXT], b[PIPC__CHOICE_TEXT];
        assert_int_equal(parse(&f, whole, &err), PIPC_OK);
        pipc__table_replace(&f.table, PIPC__ALGO_NCCL, &without);
        pipc__table_end(&f.table, PIPC__PROTO_LL, cases[i].ll_bytes);
        for (int k = 0; k < f.table.nrows; k++) {
            const pipc__table_row_t *r = &f.table.row[k];
            size_t used = strlen(got);
            if (r->max_bytes == SIZE_MAX)
                snprintf(got + used, sizeof(got) - used, "max");
            else
                snprintf(got + used, sizeof(got) - used, "%zu", r->max_bytes);
            used = strlen(got);
            snprintf(got + used, sizeof(got) - used, " %s %s; ", pipc__choice_text(r->eager, a),
                     pipc__choice_text(r->graph, b));
        }
        if (strcmp(got, cases[i].words))
            fail_msg("case %zu: %s", i, got);
        pipc__table_file_free(&f);
    }
}

/* --- admission ------------------------------------------------------------------------------- */

typedef struct admission {
    const char *times, *rows; /* rows NULL: refused */
} admission_t;

#define T(bytes, mode, choice, median, p99)                                                        \
    "time " #bytes " " #mode " " choice " " #median " " #p99 " 9\n"

static const admission_t admissions[] = {
    /* 3 % in the median, the tail no worse */
    {T(8, eager, "ring", 10.0, 11) T(8, eager, "nccl", 10.4, 11), "max ring"},
    {T(8, eager, "ring", 10.0, 11) T(8, eager, "nccl", 10.2, 11), "max nccl"},
    {T(8, eager, "ring", 10.0, 11.1) T(8, eager, "nccl", 20, 11), "max nccl"},
    /* the fastest admitted one, not the fastest one */
    {T(8, eager, "ring", 5, 30) T(8, eager, "two-shot", 6, 7) T(8, eager, "nccl", 10, 11),
     "max two-shot"},
    /* neighbours: 16 would win, 32 does not, so that 16 needs more; 8 stands for itself */
    {T(8, eager, "ring", 5, 5) T(8, eager, "nccl", 10, 11) T(16, eager, "ring", 9, 11)
         T(16, eager, "nccl", 10, 11) T(32, eager, "ring", 12, 12) T(32, eager, "nccl", 10, 11),
     "8 ring; max nccl"},
    /* level with NCCL is no evidence against it */
    {T(8, eager, "ring", 5, 5) T(8, eager, "nccl", 10, 11) T(16, eager, "ring", 9, 11)
         T(16, eager, "nccl", 10, 11) T(32, eager, "ring", 10.2, 12) T(32, eager, "nccl", 10, 11),
     "16 ring; max nccl"},
    {T(8, eager, "ring", 5, 5) T(8, eager, "nccl", 10, 11) T(16, eager, "ring", 9, 11)
         T(16, eager, "nccl", 10, 11) T(32, eager, "ring", 10.4, 12) T(32, eager, "nccl", 10, 11),
     "8 ring; max nccl"},
    /* one lucky size between two that lose; and one where NCCL is slow, beyond doubt */
    {T(8, eager, "ring", 11, 11) T(8, eager, "nccl", 10, 11) T(16, eager, "ring", 9, 10)
         T(16, eager, "nccl", 10, 11) T(32, eager, "ring", 12, 12) T(32, eager, "nccl", 10, 11),
     "max nccl"},
    {T(8, eager, "ring", 11, 11) T(8, eager, "nccl", 10, 11) T(16, eager, "ring", 9, 9.9)
         T(16, eager, "nccl", 10, 11) T(32, eager, "ring", 12, 12) T(32, eager, "nccl", 10, 11),
     "8 nccl; 16 ring; max nccl"},
    /* a protocol that ends: at its neighbour another own plan holds, or none does */
    {T(8, eager, "one-shot/ll", 2, 9.5) T(8, eager, "one-shot", 5, 5) T(8, eager, "nccl", 9, 9.9)
         T(16, eager, "one-shot", 9.2, 9.2) T(16, eager, "nccl", 9, 9),
     "8 one-shot/ll; max nccl"},
    {T(8, eager, "one-shot/ll", 2, 9.5) T(8, eager, "one-shot", 8, 9.5) T(8, eager, "nccl", 9, 9.9)
         T(16, eager, "one-shot", 9.4, 9.4) T(16, eager, "nccl", 9, 9),
     "max nccl"},
    /* it never has the row without an end */
    {T(8, eager, "one-shot/ll", 2, 2) T(8, eager, "one-shot", 5, 5) T(8, eager, "nccl", 9, 9),
     "8 one-shot/ll; max one-shot"},
    {T(8, eager, "one-shot/ll", 2, 2) T(8, eager, "nccl", 9, 9), "8 one-shot/ll; max nccl"},
    {T(8, eager, "one-shot/ll", 2, 2), NULL},
    {T(8, eager, "one-shot/ll128", 2, 2) T(8, eager, "one-shot/push", 5, 5),
     "8 one-shot/ll128; max one-shot/push"},
    /* without NCCL the best own; equals do not flutter */
    {T(8, eager, "ring", 5.0, 5) T(8, eager, "two-shot", 6, 6) T(16, eager, "ring", 7.05, 8)
         T(16, eager, "two-shot", 7, 7),
     "max ring"},
    {T(8, eager, "ring", 5.0, 5) T(8, eager, "two-shot", 6, 6) T(16, eager, "ring", 7.2, 8)
         T(16, eager, "two-shot", 7, 7),
     "8 ring; max two-shot"},
    /* what NCCL was told does not count: the runtime would call NCCL's own choice */
    {T(8, eager, "ring", 5, 5) T(8, eager, "nccl", 10, 10) T(8, eager, "nccl:ring-ll", 4, 4),
     "max ring"},
    /* graphs have a choice of their own; a mode that was not measured takes the other's */
    {T(8, eager, "ring", 5, 5) T(8, eager, "nccl", 10, 10) T(8, graph, "ring", 5, 5)
         T(8, graph, "nccl", 4, 4),
     "max ring|nccl"},
    {T(8, graph, "ring", 5, 5) T(8, graph, "nccl", 10, 10), "max ring"},
    {T(8, eager, "one-shot/ce", 4, 4) T(8, eager, "ring", 5, 5), "max one-shot/ce|ring"},
    {T(8, eager, "one-shot/ce", 4, 4) T(8, eager, "nccl", 5, 5), "max one-shot/ce|nccl"},
    {T(8, eager, "one-shot/ce", 4, 4), NULL},
    {T(8, eager, "nccl", 10, 10), "max nccl"},
    {"", NULL},
};

static void describe(const pipc__table_t *t, char *buf, size_t cap)
{
    char a[PIPC__CHOICE_TEXT], b[PIPC__CHOICE_TEXT];

    *buf = '\0';
    for (int i = 0; i < t->nrows; i++) {
        const pipc__table_row_t *r = &t->row[i];
        size_t used = strlen(buf);
        used += (size_t)snprintf(buf + used, cap - used, "%s", i ? "; " : "");
        if (r->max_bytes == SIZE_MAX)
            used += (size_t)snprintf(buf + used, cap - used, "max ");
        else
            used += (size_t)snprintf(buf + used, cap - used, "%zu ", r->max_bytes);
        used += (size_t)snprintf(buf + used, cap - used, "%s", pipc__choice_text(r->eager, a));
        if (!pipc__choice_equal(r->eager, r->graph))
            snprintf(buf + used, cap - used, "|%s", pipc__choice_text(r->graph, b));
    }
}

static void only_what_wins_is_admitted(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN(admissions); i++) {
        pipc__table_file_t f;
        pipc__table_t t;
        pipc__error_t err = {PIPC_OK, ""};
        char text[2048], got[512];
        snprintf(text, sizeof(text), HEAD MAX_ROW "%s", admissions[i].times);
        if (parse(&f, text, &err))
            fail_msg("case %zu: %s", i, err.text);
        pipc_status_t st = pipc__admit(&t, f.times, f.ntimes, &err);
        describe(&t, got, sizeof(got));
        if (!st != !!admissions[i].rows || (!st && strcmp(got, admissions[i].rows)))
            fail_msg("case %zu: %d %s: %s", i, st, got, err.text);
        pipc__table_file_free(&f);
    }
}

/* --- what is not worth measuring ------------------------------------------------------------- */

static void what_falls_back_is_hopeless(void **state)
{
    /* sizes 10, 20, 30, 40, 50; at: 1.. is asked for of ring. two-shot is the best one */
    static const struct {
        double ring[4], best[4]; /* 0: not measured */
        bool hopeless;           /* at 50 */
    } cases[] = {
        {{20, 30, 40, 50}, {10, 11, 12, 13}, true},
        {{20, 30, 40, 17}, {10, 11, 12, 13}, false},   /* 1.3 times: it comes back */
        {{20, 30, 13, 50}, {10, 11, 12, 13}, false},   /* far behind at one size only */
        {{20, 20, 20, 20}, {2, 3, 4, 5}, false},       /* grows less: it will win one day */
        {{20, 20.1, 20.2, 20.3}, {2, 2, 2, 2}, false}, /* nothing grows yet, noise aside */
        {{20, 30, 40, 0}, {10, 11, 12, 13}, true},     /* left out already */
        {{0, 0, 40, 50}, {10, 11, 12, 13}, false},     /* too new to tell */
        {{0, 0, 0, 0}, {10, 11, 12, 13}, false},       /* never there */
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        const size_t sizes[] = {10, 20, 30, 40, 50};
        pipc__table_time_t times[8];
        int n = 0;
        for (int k = 0; k < 4; k++) {
            pipc__table_time_t t = {.bytes = sizes[k], .samples = 9};
            t.choice.algo = PIPC__TWO_SHOT;
            t.median_usec = cases[i].best[k];
            times[n++] = t;
            t.choice.algo = PIPC__RING;
            t.median_usec = cases[i].ring[k];
            if (t.median_usec > 0)
                times[n++] = t;
        }
        pipc__choice_t ring = {PIPC__RING, PIPC__PROTO_SIMPLE, 0};
        if (pipc__time_hopeless(times, n, sizes, 4, false, ring) != cases[i].hopeless)
            fail_msg("case %zu", i);
        assert_false(pipc__time_hopeless(times, n, sizes, 4, true, ring));
        assert_false(pipc__time_hopeless(times, n, sizes, 0, false, ring));
    }
}

static void a_tail_is_p99_of_enough_samples(void **state)
{
    (void)state;
    assert_int_equal(pipc__table_tail(1), 90);
    assert_int_equal(pipc__table_tail(99), 90);
    assert_int_equal(pipc__table_tail(100), 99);
}

/* --- shipped ---------------------------------------------------------------------------------- */

/* Rows of GPUs, as "MAX EAGER|GRAPH"; the plans behind them are in comm_plans.c. */
static void gpus_begin_with_their_own_rows(void **state)
{
    static const struct {
        int ranks;
        bool host, nvlink;
        int blocks;
        const char *rows;
    } cases[] = {
        {2, false, false, 33, "524288 one-shot/ll; max one-shot/push"},
        {2, false, false, 132, "1048576 one-shot/ll; max one-shot/push"},
        {2, false, true, 7, "131072 one-shot/ll; 524288 one-shot/ll128; max one-shot/push"},
        {2, false, true, 8, "131072 one-shot/ll; 1048576 one-shot/ll128; max one-shot/push"},
        {2, false, true, 16, "131072 one-shot/ll; 4194304 one-shot/ll128; max one-shot/push"},
        {2, false, true, 33, "131072 one-shot/ll; 8388608 one-shot/ll128; max one-shot/push"},
        {2, true, false, 33, "262144 one-shot/ll; max one-shot/push/24"},
        {2, true, true, 33, "262144 one-shot/ll; max one-shot/push/24"},
        {4, false, false, 33, "65536 one-shot/ll; 262144 one-shot; max two-shot"},
        {4, false, true, 33, "65536 one-shot/ll; 262144 one-shot; max two-shot"},
        {8, true, false, 33, "65536 one-shot/ll; max two-shot"},
        {16, false, false, 33, "65536 one-shot/ll; max two-shot"},
        {1, false, false, 33, "max one-shot"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__shape_t shape;
        char got[512];
        pipc__shape_flat(&shape, cases[i].ranks);
        shape.nvlink = cases[i].nvlink;
        for (int r = 0; cases[i].host && r < cases[i].ranks; r++)
            shape.reach[r] = (uint16_t)(1u << r);
        pipc__table_t t = pipc__table_default(&shape, true, cases[i].blocks);
        describe(&t, got, sizeof(got));
        if (strcmp(got, cases[i].rows))
            fail_msg("case %zu: %s", i, got);
    }
}

/* A row that is longer than a protocol's messages is cut; other protocols go on. */
static void a_protocol_ends_where_its_memory_does(void **state)
{
    pipc__table_t t = pipc__table_fixed(PIPC__ONE_SHOT);
    char got[512];

    (void)state;
    t.row[0].eager.proto = t.row[0].graph.proto = PIPC__PROTO_LL128;
    pipc__table_end(&t, PIPC__PROTO_LL, 1000);
    pipc__table_end(&t, PIPC__PROTO_LL128, 8847360);
    describe(&t, got, sizeof(got));
    assert_string_equal(got, "8847360 one-shot/ll128; max one-shot");
}

static void cpus_copy_once_and_then_halve(void **state)
{
    static const struct {
        int ranks;
        const char *rows;
    } cases[] = {
        {2, "32768 one-shot; max two-shot"},
        {4, "16384 one-shot; max two-shot"},
        {16, "16384 one-shot; max two-shot"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__shape_t shape;
        char got[512];
        pipc__shape_flat(&shape, cases[i].ranks);
        pipc__table_t t = pipc__table_default(&shape, false, 0);
        describe(&t, got, sizeof(got));
        if (strcmp(got, cases[i].rows))
            fail_msg("case %zu: %s", i, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read),
        cmocka_unit_test(a_table_survives_its_text),
        cmocka_unit_test(a_table_is_the_same_where_decimals_have_a_comma),
        cmocka_unit_test(a_wrong_table_is_refused_with_its_line),
        cmocka_unit_test(a_table_has_a_limit_of_rows_and_no_zeros),
        cmocka_unit_test(damage_never_makes_a_table_that_is_none),
        cmocka_unit_test(a_key_tells_what_differs),
        cmocka_unit_test(rows_answer_for_their_sizes),
        cmocka_unit_test(every_field_is_in_the_digest),
        cmocka_unit_test(a_table_is_made_to_fit),
        cmocka_unit_test(only_what_wins_is_admitted),
        cmocka_unit_test(what_falls_back_is_hopeless),
        cmocka_unit_test(a_tail_is_p99_of_enough_samples),
        cmocka_unit_test(gpus_begin_with_their_own_rows),
        cmocka_unit_test(a_protocol_ends_where_its_memory_does),
        cmocka_unit_test(cpus_copy_once_and_then_halve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
