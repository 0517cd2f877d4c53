/* tests/unit/kernels.c - the kernels' own source on the CPU, under random schedules
 * (tests/emulate): values must be right, and the replayer must find what each thread did to be in
 * order. Each wait is taken out once: the replayer must see that in every schedule, and values must
 * go wrong in one.
 *
 *     kernels_perturb [--seed S] [--runs N]     other schedules, or more of them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ll.h"
#include "tests/emulate/world.h"

static uint64_t first_seed = 1;
static unsigned int runs = 300;

/* What is taken out. */
typedef struct lack {
    int drop_step, one_area;
    emulated_fault_t fault;
} lack_t;

#define STEPS 300000 /* the longest run that is right takes 21000 */

/* --- LL -------------------------------------------------------------------------------------- */

static const lack_t nothing = {.drop_step = -1};

typedef struct ll_calls {
    pipc__ll_args_t args[WORLD_CALLS][WORLD_RANKS];
} ll_calls_t;

static const void *ll_args(const void *all, int call, int rank)
{
    const ll_calls_t *c = all;

    return &c->args[call][rank];
}

/* The slot of @sender at @receiver; the pairs of one parity meet in host memory when @by_host. */
static char *ll_slot(const world_t *w, int receiver, int sender, bool by_host)
{
    char *const *memory = by_host && (receiver + sender) % 2 ? w->host : w->staging;

    return memory[receiver] +
           (size_t)pipc__ll_slot(receiver, sender) * pipc__ll_slot_bytes(w->nranks);
}

static void ll_fill(world_t *w, pipc__ll_args_t *a, int call, int rank, bool by_host,
                    const lack_t *lack)
{
    const world_part_t *p = &w->call[call].part[rank];

    memset(a, 0, sizeof(*a));
    a->send = p->send;
    a->recv = p->recv;
    a->bytes = w->call[call].bytes;
    a->rank = (uint32_t)rank;
    a->nranks = (uint32_t)w->nranks;
    a->nth = 1.0 / w->nranks;
    a->reciprocal = UINT64_MAX / (uint64_t)w->nranks;
    for (int i = 1; i < w->nranks; i++) {
        int to = (rank + i) % w->nranks;
        a->to[i - 1] = ll_slot(w, to, rank, by_host);
        a->from[to] = ll_slot(w, rank, to, by_host);
    }
    a->scrub[0] = w->staging[rank];
    a->scrub[1] = by_host ? w->host[rank] : NULL;
    a->slot_bytes = (uint32_t)pipc__ll_slot_bytes(w->nranks);
    for (int q = 0; q < w->nranks; q++)
        a->wait_step[q] = (uint16_t)q;
    a->state = &w->state[rank];
    a->abort = &w->abort;
    a->stalled_round = &w->stalled_round;
    a->stalled_step = &w->stalled_step;
    a->drop_step = lack->drop_step;
    a->one_area = lack->one_area;
    a->trace = w->trace[call][rank].sink;
}

/* No packet is as it was in the beginning when so many calls have been made. */
static void ll_grow_old(world_t *w)
{
    for (int r = 0; r < w->nranks; r++) {
        memset(w->staging[r], 0x77, w->staging_bytes);
        memset(w->host[r], 0x77, w->staging_bytes);
    }
}

/* Grids differ from rank to rank: nothing may depend on them. Now and then the number of calls is
 * about to come round. */
static int ll_run(uint64_t seed, const lack_t *lack, int ncalls, pipc__error_t *err)
{
    static ll_calls_t calls;
    int nranks = seed % 4 ? 2 : 3 + (int)(seed / 4 % 2);
    world_t *w = world_make(seed, nranks, ncalls, PIPC__LL_BYTES, 2000, emulated_ll);
    bool by_host = !world_random(w, 3);
    uint64_t before = world_random(w, 4) ? 0 : UINT32_MAX - 1;

    if (before)
        ll_grow_old(w);

    for (int r = 0; r < nranks; r++) {
        w->state[r].calls = before;
        for (int i = 0; i < ncalls; i++) {
            world_grid(w, i, r, 1 + world_random(w, 2), 32 * (1 + world_random(w, 2)));
            ll_fill(w, &calls.args[i][r], i, r, by_host, lack);
        }
    }
    int bad = world_run(w, ll_args, &calls, false, STEPS, lack->fault, err);
    world_free(w);
    return bad;
}

static void ll_is_right_in_every_schedule(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + runs; seed++) {
        pipc__error_t err = {PIPC_OK, ""};
        int bad = ll_run(seed, &nothing, 1 + (int)(seed % WORLD_CALLS), &err);
        if (bad)
            fail_msg("seed %llu:%s%s %s", (unsigned long long)seed,
                     bad & WORLD_WRONG ? " wrong values" : "", bad & WORLD_HANGS ? " a hang" : "",
                     err.text);
    }
}

/* --- controls -------------------------------------------------------------------------------- */

typedef int run_t(uint64_t seed, const lack_t *lack, int ncalls, pipc__error_t *err);

/* Without something that is needed every trace is refused, and in some schedule values go wrong,
 * too, or a wait is for ever. */
static void is_needed(run_t *run, lack_t lack, const char *what)
{
    unsigned int refused = 0, seen = 0, most = 100;

    for (uint64_t seed = first_seed; seed < first_seed + most; seed++) {
        pipc__error_t err;
        int bad = run(seed, &lack, 3, &err);
        refused += (bad & (WORLD_REFUSED | WORLD_HANGS)) != 0;
        seen += (bad & (WORLD_WRONG | WORLD_HANGS)) != 0;
    }
    if (refused != most || !seen)
        fail_msg("without %s: of %u schedules %u are refused, %u went wrong", what, most, refused,
                 seen);
}

static void each_check_of_ll_is_needed(void **state)
{
    (void)state;
    for (int q = 0; q < 2; q++)
        is_needed(ll_run, (lack_t){.drop_step = q}, "a look at packets");
}

static void the_second_area_of_ll_is_needed(void **state)
{
    (void)state;
    is_needed(ll_run, (lack_t){.drop_step = -1, .one_area = 1}, "the second area");
}

/* Were a flag and its data two words, the flag could come first: no trace can tell, values do. */
static void packets_have_to_be_words(void **state)
{
    const lack_t torn = {.drop_step = -1, .fault = EMULATED_TORN};
    unsigned int wrong = 0;

    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + 100; seed++) {
        pipc__error_t err;
        int bad = ll_run(seed, &torn, 3, &err);
        assert_int_equal(bad & ~WORLD_WRONG, 0);
        wrong += bad != 0;
    }
    assert_true(wrong > 0);
}

static void take_options(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            first_seed = strtoull(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--runs"))
            runs = (unsigned int)strtoul(argv[i + 1], NULL, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ll_is_right_in_every_schedule),
        cmocka_unit_test(each_check_of_ll_is_needed),
        cmocka_unit_test(the_second_area_of_ll_is_needed),
        cmocka_unit_test(packets_have_to_be_words),
    };

    take_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
