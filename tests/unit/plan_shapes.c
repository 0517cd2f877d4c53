/* tests/unit/plan_shapes.c - ways through the machine become shapes, shapes get owners; ways and
 * shapes that are none are refused, and so are plans when memory runs out
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/generate.h"
#include "runtime/plan/owners.h"
#include "runtime/plan/shape.h"

#define WAYS 17

/* A shape as text: a letter a rank for each level's groups, then the order. */
static const char *text_of(const pipc__shape_t *s)
{
    static char text[256];
    char *at = text;

    for (int l = 0; l < s->nlevels; l++, *at++ = ' ')
        for (int r = 0; r < s->nranks; r++)
            *at++ = (char)('a' + s->group[l][r]);
    for (int i = 0; i < s->nranks; i++)
        *at++ = "0123456789ABCDEF"[s->order[i]];
    *at = '\0';
    return text;
}

static const struct right {
    const char *name, *ways[WAYS], *shape;
} rights[] = {
    {"one rank", {"numa0/0000:00/0000:01:00.0"}, "0"},
    {"nothing known", {"", "", ""}, "012"},
    {"all below one switch", {"numa0/0000:00/0000:01:00.0", "numa0/0000:00/0000:01:00.0"}, "01"},
    {"two nodes",
     {"numa0/0000:00", "numa1/0000:80", "numa0/0000:00", "numa1/0000:80"},
     "abab 0213"},
    {"two host bridges of one node are no groups",
     {"numa0/0000:00", "numa0/0000:40", "numa0/0000:00", "numa0/0000:40"},
     "0123"},
    {"one GPU a node", {"numa0/0000:00", "numa1/0000:80"}, "01"},
    {"a switch a node is one level",
     {"numa0/00/s1", "numa0/00/s1", "numa1/80/s2", "numa1/80/s2"},
     "aabb 0123"},
    {"4+4 below one node",
     {"numa0/00/s1", "numa0/00/s1", "numa0/00/s1", "numa0/00/s1", "numa0/40/s2", "numa0/40/s2",
      "numa0/40/s2", "numa0/40/s2"},
     "aaaabbbb 01234567"},
    {"unequal, interleaved",
     {"numa0/00/s1", "numa0/00/s2", "numa0/00/s2", "numa0/00/s2"},
     "abbb 0123"},
    {"two nodes of two switches",
     {"numa0/00/s1", "numa0/00/s1", "numa0/00/s2", "numa0/00/s2", "numa1/80/s3", "numa1/80/s3",
      "numa1/80/s4", "numa1/80/s4"},
     "aaaabbbb aabbccdd 01234567"},
    {"ranks in another order",
     {"numa1/80/s4", "numa0/00/s1", "numa1/80/s3", "numa0/00/s2", "numa1/80/s4", "numa0/00/s1",
      "numa1/80/s3", "numa0/00/s2"},
     "abababab acbdacbd 04261537"},
    {"nested switches",
     {"numa0/00/s1/s2", "numa0/00/s1/s2", "numa0/00/s1/s3", "numa0/00/s1/s3"},
     "aabb 0123"},
    {"one node cut further, the other not",
     {"numa0/00/s1", "numa0/00/s1", "numa0/00/s2", "numa0/00/s2", "numa1/80", "numa1/80"},
     "aaaabb aabbcd 012345"},
    {"a level below which all stand alone",
     {"numa0/00/s1", "numa0/00/s2", "numa1/80/s3"},
     "aab 012"},
    {"nodes not known, switches are",
     {"numa?/?/s1", "numa?/?/s1", "numa?/?/s2", "numa?/?/s2"},
     "aabb 0123"},
    {"an unknown name sets nothing together",
     {"numa0/00/?", "numa0/00/?", "numa1/00/?"},
     "aab 012"},
    {"one rank not known", {"numa0/00", "", "numa0/00", "numa1/00"}, "abac 0213"},
    {"equal names below different bridges",
     {"numa0/00/s", "numa0/00/s", "numa0/40/s", "numa0/40/s"},
     "aabb 0123"},
    {"five levels count as four",
     {"numa0/0/a/a/a/a", "numa0/0/a/a/a/a", "numa0/0/a/a/a/b", "numa0/0/a/a/b", "numa0/0/a/b",
      "numa0/0/b", "numa1/0"},
     "aaaaaab aaaaabc aaaabcd aaabcde 0123456"},
};

static pipc_status_t make(pipc__shape_t *s, const char *const ways[], int n, pipc__error_t *err)
{
    memset(s, 0xa5, sizeof(*s));
    return pipc__shape_from_ways(s, ways, n, err);
}

static void ways_become_shapes(void **state)
{
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        int n = 0;
        while (rights[i].ways[n])
            n++;
        if (make(&s, rights[i].ways, n, &err))
            fail_msg("%s: %s", rights[i].name, err.text);
        if (strcmp(text_of(&s), rights[i].shape))
            fail_msg("%s: \"%s\", not \"%s\"", rights[i].name, text_of(&s), rights[i].shape);
        for (int r = 0; r < n; r++)
            assert_int_equal(s.reach[r], (1 << n) - 1);
    }
}

static const struct wrong {
    const char *way, *words;
} wrongs[] = {
    {"0000:00", "NUMA node"},
    {"numa", "NUMA node"},
    {"numax/0000:00", "NUMA node"},
    {"numa0x/0000:00", "NUMA node"},
    {"numa-1/00", "NUMA node"},
    {"/numa0", "NUMA node"},
    {"numa0/", "without a name"},
    {"numa0//s", "without a name"},
    {"numa0/00/s/", "without a name"},
    {"numa0/0 0", "other characters"},
    {"numa0/00/a\"b", "other characters"},
    {"numa0/00/?x", "other characters"},
    {"numa0/00/\xc3\xa4", "other characters"},
    {" ", "NUMA node"},
};

static void what_is_no_way_is_refused(void **state)
{
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        const char *ways[] = {"numa0/00", wrongs[i].way};
        assert_int_equal(make(&s, ways, 2, &err), PIPC_ERR_INVALID);
        if (!strstr(err.text, wrongs[i].words) || strncmp(err.text, "rank 1: ", 8))
            fail_msg("\"%s\": %s", wrongs[i].way, err.text);
    }
}

static void a_way_has_an_end(void **state)
{
    char way[PIPC__WAY_TEXT + 1];
    const char *ways[] = {way};
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    memset(way, 'x', sizeof(way));
    memcpy(way, "numa0/", 6);
    way[PIPC__WAY_TEXT] = '\0';
    assert_int_equal(make(&s, ways, 1, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "too long"));
    way[PIPC__WAY_TEXT - 1] = '\0';
    assert_int_equal(make(&s, ways, 1, &err), PIPC_OK);
    for (size_t i = 7; i < PIPC__WAY_TEXT - 1; i += 2) /* the most places that fit */
        way[i] = '/';
    assert_int_equal(make(&s, ways, 1, &err), PIPC_OK);
}

static void one_to_16_ranks_have_a_shape(void **state)
{
    const char *ways[WAYS];
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    for (int i = 0; i < WAYS; i++)
        ways[i] = i % 2 ? "numa1" : "numa0";
    assert_int_equal(make(&s, ways, 0, &err), PIPC_ERR_INVALID);
    assert_int_equal(make(&s, ways, PIPC__RANKS_MAX + 1, &err), PIPC_ERR_INVALID);
    assert_int_equal(make(&s, ways, PIPC__RANKS_MAX, &err), PIPC_OK);
    assert_int_equal(s.reach[0], 0xffff);
    assert_int_equal(pipc__shape_groups(&s, 0), 2);
    assert_int_equal(pipc__shape_groups(&s, 1), 1); /* no such level */
    pipc__shape_flat(&s, PIPC__RANKS_MAX);
    assert_int_equal(pipc__shape_groups(&s, 0), 1);
    assert_int_equal(s.reach[15], 0xffff);
}

/* --- the tree of a shape, and owners ---------------------------------------------------------- */

static void groups_of_one_part_are_skipped(void **state)
{
    static const char *const ways[] = {"numa0/0/a/b", "numa0/0/a/b", "numa1/1/a/b", "numa1/1/a/c",
                                       "numa2/2"};
    pipc__parts_t parts;
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    assert_int_equal(make(&s, ways, 5, &err), PIPC_OK);
    pipc__parts_make(&parts, &s);
    assert_int_equal(parts.n, 5 + 3); /* {0 1}, {2 3}, all */
    const pipc__part_t *root = &parts.part[parts.root];
    assert_int_equal(root->nparts, 3);
    assert_int_equal(root->part[2], 4); /* a rank is its own part */
    assert_int_equal(parts.part[root->part[0]].ranks, 3);
    assert_int_equal(parts.part[root->part[1]].nparts, 2);
}

/* Equal islands: everybody has the same share. Unequal ones: everybody in an island has. */
static void owners_are_balanced(void **state)
{
    static const struct {
        const char *groups;
        int nturns, owned[PIPC__RANKS_MAX]; /* chunks in which the rank sums for others */
    } cases[] = {
        {"aaaabbbb", 16, {4, 4, 4, 4, 4, 4, 4, 4}}, {"aabb", 8, {4, 4, 4, 4}},
        {"aaaaabbb", 20, {4, 4, 4, 4, 4, 7, 7, 6}}, {"aaab", 12, {4, 4, 4, 0}},
        {"abbbbbbb", 28, {0, 4, 4, 4, 4, 4, 4, 4}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__shape_t s;
        pipc__owners_t o;
        int n = (int)strlen(cases[i].groups);
        pipc__shape_flat(&s, n);
        s.nlevels = 1;
        for (int r = 0; r < n; r++)
            s.group[0][r] = (uint8_t)(cases[i].groups[r] - 'a');
        pipc__owners_make(&o, &s, PIPC__ALLREDUCE);
        assert_int_equal(o.nturns, cases[i].nturns);
        for (int r = 0; r < n; r++) {
            int owned = 0;
            for (int t = 0; t < o.nturns; t++) {
                int below = 0;
                for (int q = 0; q < n; q++)
                    below += o.above[t][q] == r;
                owned += below > 0;
            }
            assert_int_equal(owned, cases[i].owned[r]);
        }
    }
}

/* --- no memory -------------------------------------------------------------------------------- */

static long left = -1; /* allocations until one fails; -1: none fails */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_calloc(size_t n, size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return left >= 0 && left-- == 0 ? NULL : __real_realloc(p, n);
}

/* Each allocation of each generator fails once; what was made is freed (sanitizers look). */
static void a_plan_without_memory_is_refused(void **state)
{
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    pipc__shape_flat(&s, 5);
    s.nlevels = 1;
    s.group[0][3] = s.group[0][4] = 1;
    for (int kind = 0; kind < PIPC__PLAN_KINDS; kind++) {
        pipc__plan_t *p = NULL;
        s.nrails = kind < PIPC__PLAN_KINDS_LOCAL ? 0 : 2;
        s.most = 5;
        int failures = -1;
        for (pipc_status_t st = PIPC_ERR_NOMEM; st; failures++) {
            left = failures + 1;
            st = pipc__plan_make_for(&p, (pipc__plan_kind_t)kind, PIPC__ALLREDUCE, &s, &err);
            left = -1;
            assert_int_equal(st, p ? PIPC_OK : PIPC_ERR_NOMEM);
        }
        assert_true(failures > s.nranks); /* a plan and a program a rank at least */
        pipc__plan_free(p);
    }
}

static void a_shape_that_is_none_is_refused(void **state)
{
    pipc__plan_t *p;
    pipc__shape_t s;
    pipc__error_t err;

    (void)state;
    pipc__shape_flat(&s, 4);
    s.order[2] = 1; /* twice */
    assert_int_equal(pipc__plan_make_for(&p, PIPC__RING, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_INVALID);
    assert_null(p);
    s.order[2] = 7;
    assert_int_equal(pipc__plan_make_for(&p, PIPC__RING, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_INVALID);
    pipc__shape_flat(&s, 4);
    s.nlevels = PIPC__LEVELS_MAX + 1;
    assert_int_equal(pipc__plan_make_for(&p, PIPC__ISLAND, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_INVALID);
    pipc__shape_flat(&s, 4);
    assert_int_equal(pipc__plan_make_for(&p, PIPC__ISLAND, (pipc__collective_t)3, &s, &err),
                     PIPC_ERR_INVALID);
    assert_int_equal(pipc__plan_make_for(&p, PIPC__ONE_SHOT, PIPC__ALLGATHER, &s, &err),
                     PIPC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "all-gather"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_become_shapes),
        cmocka_unit_test(what_is_no_way_is_refused),
        cmocka_unit_test(a_way_has_an_end),
        cmocka_unit_test(one_to_16_ranks_have_a_shape),
        cmocka_unit_test(groups_of_one_part_are_skipped),
        cmocka_unit_test(owners_are_balanced),
        cmocka_unit_test(a_plan_without_memory_is_refused),
        cmocka_unit_test(a_shape_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
