/* tests/unit/rail_silence.c - who is silent: cases, and months of a network that loses packets, in
 * no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/rail/silence.h"

/* --- cases ----------------------------------------------------------------------------------- */

#define SOON 4999 /* msec before the question */

static const struct {
    const char *what;
    int64_t broke[PIPC__WATCHES]; /* msec before the question; 0: not */
    int64_t back, heard;          /* likewise: the first look after a pause; the last word */
    bool silent;
} cases[] = {
    {"nothing broke", {0}, 60000, 60000, false},
    {"one", {1}, 60000, 60000, false},
    {"two", {1, 1}, 60000, 60000, false},
    {"three: the fourth may have something on its way", {1, 1, 1}, 60000, 60000, true},
    {"any three", {0, 1, 1000, 3900}, 60000, 60000, true},
    {"all", {1, 1, 1, 1}, 60000, 60000, true},
    {"heard since", {1, 1, 1, 1}, 60000, 1900, false},
    {"heard before", {1, 1, 1, 1}, 60000, 2000, true},
    {"one has been laid anew, and stands", {1, 1, 4000}, 60000, 60000, false},
    {"all broke in a pause", {1, 1, 1, 1}, 1, 60000, false},
    {"found half a second after it", {1, 1, 1, 1}, 500, 60000, false},
    {"broke again since", {1, 1, 1, 1}, 3000, 60000, true},
    {"one of three in the pause", {1000, 1, 1}, 1200, 60000, false},
};

static void test_cases(void **state)
{
    int64_t now = 1000000;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__silence_t s = {{0}};
        pipc__looks_t looks = {now - cases[i].back, now - cases[i].back};
        for (int k = 0; k < PIPC__WATCHES; k++)
            if (cases[i].broke[k])
                pipc__silence_broke(&s, k, &looks, now - cases[i].broke[k]);
        if (pipc__is_silent(&s, now - cases[i].heard, now) != cases[i].silent)
            fail_msg("%s", cases[i].what);
    }
}

static void test_pauses(void **state)
{
    pipc__looks_t looks = {0};

    (void)state;
    for (int64_t t = 5000; t <= 9000; t += 1000)
        pipc__looks_at(&looks, t);
    assert_int_equal(looks.since, 5000);
    pipc__looks_at(&looks, 10001);
    assert_int_equal(looks.since, 10001);
    assert_int_equal(looks.last, 10001);
}

/* --- a network ------------------------------------------------------------------------------- */

/* As the kernel does it: a question a second after the last answer, three of them, and a second
 * more; two tries to connect, at once and after a second, and two more. */
typedef struct watch {
    bool up, broken;
    int missed;
    int64_t next;
} watch_t;

typedef struct net {
    watch_t watches[PIPC__WATCHES];
    pipc__silence_t silence;
    pipc__looks_t looks;
    uint32_t random;
    int lost; /* of 10000, each way */
    bool alive, looking;
    long breaks;
} net_t;

static bool passes(net_t *n)
{
    n->random = n->random * 1664525 + 1013904223;
    return n->random >> 8 >= (uint32_t)(((uint64_t)n->lost << 24) / 10000);
}

static bool answered(net_t *n)
{
    bool there = passes(n);

    return passes(n) && there && n->alive;
}

static void watch_turn(net_t *n, watch_t *w, int64_t now)
{
    if (w->broken || now < w->next)
        return;
    if (w->missed == (w->up ? 3 : 2)) {
        w->broken = true;
        n->breaks++;
    } else if (answered(n)) {
        w->up = true;
        w->missed = 0;
        w->next = now + 1000;
    } else {
        w->missed++;
        w->next = now + (w->up || w->missed == 1 ? 1000 : 2000);
    }
}

static bool look(net_t *n, int64_t now)
{
    pipc__looks_at(&n->looks, now);
    for (int i = 0; i < PIPC__WATCHES; i++)
        if (n->watches[i].broken) {
            pipc__silence_broke(&n->silence, i, &n->looks, now);
            n->watches[i] = (watch_t){.next = now};
        }
    return pipc__is_silent(&n->silence, 1, now);
}

/* From *@now until @end, or until the node is taken for silent. */
static bool silent_before(net_t *n, int64_t *now, int64_t end)
{
    for (; *now < end; *now += 50) {
        for (int i = 0; i < PIPC__WATCHES; i++)
            watch_turn(n, &n->watches[i], *now);
        if (n->looking && look(n, *now))
            return true;
    }
    return false;
}

static net_t network(uint32_t seed, int lost)
{
    return (net_t){.random = seed, .lost = lost, .alive = true, .looking = true};
}

/* Three days of which nothing is heard, with 5 % lost each way. */
static void test_a_live_node_is_not_silent(void **state)
{
    net_t n = network(1, 500);
    int64_t now = 3000;

    (void)state;
    assert_false(silent_before(&n, &now, INT64_C(3) * 86400 * 1000));
    assert_true(n.breaks > 500); /* it was put to the test */
}

static void test_a_dead_node_is(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 500; seed++) {
        net_t n = network(seed, seed % 2 ? 500 : 0);
        int64_t now = 3000;
        assert_false(silent_before(&n, &now, 20000 + seed * 10));
        n.alive = false;
        assert_true(silent_before(&n, &now, now + SOON));
    }
}

/* Hours in which nobody looks: all have broken at its end. */
static void test_after_a_pause(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 40; seed++) {
        net_t n = network(seed, 500);
        int64_t now = 3000;
        silent_before(&n, &now, 10000);
        n.looking = false;
        silent_before(&n, &now, 4 * 3600 * 1000);
        for (int i = 0; i < PIPC__WATCHES; i++)
            assert_true(n.watches[i].broken);
        n.looking = true;
        net_t dead = n, careless = n;
        int64_t then = now, since = now;
        assert_false(silent_before(&n, &now, now + 60000));
        dead.alive = false;
        assert_true(silent_before(&dead, &then, then + SOON));
        /* Without the pause in mind it would be: the test can fail. */
        careless.looks.since = 1;
        careless.looks.last = since;
        assert_true(silent_before(&careless, &since, since + 60000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_a_live_node_is_not_silent),
        cmocka_unit_test(test_a_dead_node_is),
        cmocka_unit_test(test_after_a_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
