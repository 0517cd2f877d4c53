/* tests/unit/kernels.c - the kernels' own source on the CPU, under random schedules
 * (tests/emulate): values must be right, and the replayer must find what each thread did to be in
 * order. Each wait is taken out once: the replayer must see that in every schedule, and values must
 * go wrong in one.
 *
 *     kernels_perturb [--seed S] [--runs N] [--only PATTERN]     other schedules, more of them
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
#include "kernels/ll128.h"
#include "kernels/push.h"
#include "tests/emulate/world.h"

static uint64_t first_seed = 1;
#ifdef __SANITIZE_ADDRESS__ /* which takes five times as long: no controls, which touch nothing else */
static unsigned int runs = 60;
#define ALL "*_is_right_*"
#else
static unsigned int runs = 300;
#define ALL "*"
#endif

/* What is taken out. */
typedef struct lack {
    int drop_step, one_area;
    bool in_place; /* it is needed there alone */
    bool by_most;  /* some messages are too short to need it */
    emulated_fault_t fault;
} lack_t;

#define STEPS 300000 /* the longest run that is right takes 21000 */

static const lack_t nothing = {.drop_step = -1};
typedef int run_t(uint64_t seed, const lack_t *lack, int ncalls, pipc__error_t *err);

static void is_right(run_t *run, unsigned int times)
{
    for (uint64_t seed = first_seed; seed < first_seed + times; seed++) {
        pipc__error_t err = {PIPC_OK, ""};
        int bad = run(seed, &nothing, 1 + (int)(seed % WORLD_CALLS), &err);
        if (bad)
            fail_msg("seed %llu:%s%s %s", (unsigned long long)seed,
                     bad & WORLD_WRONG ? " wrong values" : "", bad & WORLD_HANGS ? " a hang" : "",
                     err.text);
    }
}

/* Without something that is needed every trace is refused, or most are, and in some schedule values
 * go wrong, too, or a wait is for ever. */
static void is_needed(run_t *run, lack_t lack, unsigned int times, const char *what)
{
    unsigned int refused = 0, seen = 0;

    for (uint64_t seed = first_seed; seed < first_seed + times; seed++) {
        pipc__error_t err;
        int bad = run(seed, &lack, 3, &err);
        refused += (bad & (WORLD_REFUSED | WORLD_HANGS)) != 0;
        seen += (bad & (WORLD_WRONG | WORLD_HANGS)) != 0;
    }
    if (refused < (lack.by_most ? times * 3 / 4 : times) || !seen)
        fail_msg("without %s: of %u schedules %u are refused, %u went wrong", what, times, refused,
                 seen);
}

/* What the arguments of all kernels have, which are types of their own. */
#define BEGIN_FILL(a, w, number, me, lack)                                                         \
    do {                                                                                           \
        memset(a, 0, sizeof(*(a)));                                                                \
        (a)->send = (w)->call[number].part[me].send;                                               \
        (a)->recv = (w)->call[number].part[me].recv;                                               \
        (a)->bytes = (w)->call[number].bytes;                                                      \
        (a)->rank = (uint32_t)(me);                                                                \
        (a)->nranks = (uint32_t)(w)->nranks;                                                       \
        (a)->nth = 1.0 / (w)->nranks;                                                              \
        (a)->reciprocal = UINT64_MAX / (uint64_t)(w)->nranks;                                      \
        for (int q = 0; q < (w)->nranks; q++)                                                      \
            (a)->wait_step[q] = (uint16_t)q;                                                       \
        (a)->state = &(w)->state[me];                                                              \
        (a)->abort = &(w)->abort;                                                                  \
        (a)->stalled_round = &(w)->stalled_round;                                                  \
        (a)->stalled_step = &(w)->stalled_step;                                                    \
        (a)->drop_step = (lack)->drop_step;                                                        \
        (a)->trace = (w)->trace[number][me].sink;                                                  \
    } while (0)

/* --- LL -------------------------------------------------------------------------------------- */

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
    BEGIN_FILL(a, w, call, rank, lack);
    for (int i = 1; i < w->nranks; i++) {
        int to = (rank + i) % w->nranks;
        a->to[i - 1] = ll_slot(w, to, rank, by_host);
        a->from[to] = ll_slot(w, rank, to, by_host);
    }
    a->scrub[0] = w->staging[rank];
    a->scrub[1] = by_host ? w->host[rank] : NULL;
    a->slot_bytes = (uint32_t)pipc__ll_slot_bytes(w->nranks);
    a->one_area = lack->one_area;
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
    world_t *w =
        world_make(seed, nranks, ncalls, PIPC__LL_BYTES, 2000, lack->in_place, emulated_ll);
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
    is_right(ll_run, runs);
}

static void each_check_of_ll_is_needed(void **state)
{
    (void)state;
    for (int q = 0; q < 2; q++)
        is_needed(ll_run, (lack_t){.drop_step = q}, 100, "a look at packets");
}

static void the_second_area_of_ll_is_needed(void **state)
{
    (void)state;
    is_needed(ll_run, (lack_t){.drop_step = -1, .one_area = 1}, 100, "the second area");
}

/* What the trace can't tell, since it says what was meant: values have to. */
static void values_show(run_t *run, emulated_fault_t fault, unsigned int times)
{
    const lack_t lack = {.drop_step = -1, .fault = fault};
    unsigned int wrong = 0;

    for (uint64_t seed = first_seed; seed < first_seed + times; seed++) {
        pipc__error_t err;
        int bad = run(seed, &lack, 3, &err);
        assert_int_equal(bad & ~WORLD_WRONG, 0);
        wrong += bad != 0;
    }
    assert_true(wrong > 0);
}

/* Were a flag and its data two words, the flag could come first. */
static void packets_have_to_be_words(void **state)
{
    (void)state;
    values_show(ll_run, EMULATED_TORN, 100);
}

/* --- LL128 ------------------------------------------------------------------------------------ */

typedef struct ll128_calls {
    pipc__ll128_args_t args[WORLD_CALLS][WORLD_RANKS];
} ll128_calls_t;

static const void *ll128_args(const void *all, int call, int rank)
{
    const ll128_calls_t *c = all;

    return &c->args[call][rank];
}

static char *ll128_slot(const world_t *w, int receiver, int sender)
{
    return w->staging[receiver] +
           (size_t)pipc__ll_slot(receiver, sender) * pipc__ll128_slot_bytes(w->nranks);
}

static void ll128_fill(world_t *w, pipc__ll128_args_t *a, int call, int rank, const lack_t *lack)
{
    BEGIN_FILL(a, w, call, rank, lack);
    a->area_bytes = pipc__ll128_area_bytes(w->nranks);
    for (int i = 1; i < w->nranks; i++) {
        int to = (rank + i) % w->nranks;
        a->to[i - 1] = ll128_slot(w, to, rank);
        a->from[to] = ll128_slot(w, rank, to);
    }
    a->one_area = lack->one_area;
}

static int ll128_run(uint64_t seed, const lack_t *lack, int ncalls, pipc__error_t *err)
{
    static ll128_calls_t calls;
    int nranks = seed % 4 ? 2 : 3 + (int)(seed / 4 % 2);
    world_t *w = world_make(seed, nranks, ncalls, 2 * pipc__ll128_area_bytes(nranks), 3500,
                            lack->in_place, emulated_ll128);

    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < ncalls; i++) {
            world_grid(w, i, r, 1 + world_random(w, 2), 32 * (1 + world_random(w, 2)));
            ll128_fill(w, &calls.args[i][r], i, r, lack);
        }
    int bad = world_run(w, ll128_args, &calls, false, STEPS, lack->fault, err);
    world_free(w);
    return bad;
}

static void ll128_is_right_in_every_schedule(void **state)
{
    (void)state;
    is_right(ll128_run, runs / 3);
}

static void each_look_of_ll128_is_needed(void **state)
{
    (void)state;
    for (int q = 0; q < 2; q++)
        is_needed(ll128_run, (lack_t){.drop_step = q}, 30, "a look at lines");
}

static void the_second_area_of_ll128_is_needed(void **state)
{
    (void)state;
    is_needed(ll128_run, (lack_t){.drop_step = -1, .one_area = 1}, 30, "the second area");
}

/* Were a line no more than its words, the flag could come first. */
static void lines_have_to_be_whole(void **state)
{
    (void)state;
    values_show(ll128_run, EMULATED_TORN, 30);
}

/* --- push ------------------------------------------------------------------------------------ */

#define PUSH_SLOTS 8
#define PUSH_SLOT_BYTES 512

typedef struct push_calls {
    pipc__push_args_t args[WORLD_CALLS][WORLD_RANKS];
} push_calls_t;

static const void *push_args(const void *all, int call, int rank)
{
    const push_calls_t *c = all;

    return &c->args[call][rank];
}

static uint64_t *flags(char *region, size_t at)
{
    return (uint64_t *)(void *)(region + at);
}

/* As cuda_push.c does. */
static void push_wire(const world_t *w, pipc__push_args_t *a, int me, bool by_host)
{
    for (int i = 1; i < w->nranks; i++) {
        int n = w->nranks, peer = (me + i) % n;
        int here = pipc__push_index(me, peer), there = pipc__push_index(peer, me);
        char *const *memory = by_host && (me + peer) % 2 ? w->host : w->staging;
        char *peers = memory[peer], *own = memory[me];
        a->to[i - 1] = peers + pipc__push_ring(a->nslots, a->slot_bytes, n, there);
        a->arrival_to[i - 1] = flags(peers, pipc__push_arrivals(a->nslots, there));
        a->ack_from[i - 1] = flags(own, pipc__push_acks(a->nslots, n, here));
        a->from[peer] = own + pipc__push_ring(a->nslots, a->slot_bytes, n, here);
        a->arrival_from[peer] = flags(own, pipc__push_arrivals(a->nslots, here));
        a->ack_to[peer] = flags(peers, pipc__push_acks(a->nslots, n, there));
    }
}

static void push_fill(world_t *w, pipc__push_args_t *a, int call, int rank, bool by_host,
                      uint32_t chunk_bytes, const lack_t *lack)
{
    BEGIN_FILL(a, w, call, rank, lack);
    a->chunk_bytes = chunk_bytes;
    a->nchunks = (uint32_t)((a->bytes + chunk_bytes - 1) / chunk_bytes);
    a->nslots = PUSH_SLOTS;
    a->slot_bytes = PUSH_SLOT_BYTES;
    a->span = pipc__push_span(chunk_bytes, PUSH_SLOT_BYTES);
    a->moves = pipc__push_moves(a->nchunks, a->span);
    a->in_place = a->send == a->recv;
    push_wire(w, a, rank, by_host);
}

/* Chunks and slots are shorter than the host makes them, so that small messages have many: a ring
 * comes round several times, and calls whose chunks take a slot, two or four follow each other. */
static int push_run(uint64_t seed, const lack_t *lack, int ncalls, pipc__error_t *err)
{
    static push_calls_t calls;
    int nranks = seed % 6 ? 2 : 3;
    size_t region = pipc__push_ring(PUSH_SLOTS, PUSH_SLOT_BYTES, nranks, nranks - 1);
    world_t *w = world_make(seed, nranks, ncalls, region, 6000, lack->in_place, emulated_push);
    bool by_host = !world_random(w, 3);

    for (int i = 0; i < ncalls; i++) {
        uint32_t chunk_bytes = 256u << world_random(w, 4);
        for (int r = 0; r < nranks; r++) {
            world_grid(w, i, r, world_random(w, 4) ? 1 : 2, PIPC__PUSH_THREADS);
            push_fill(w, &calls.args[i][r], i, r, by_host, chunk_bytes, lack);
        }
    }
    int bad = world_run(w, push_args, &calls, true, STEPS, lack->fault, err);
    world_free(w);
    return bad;
}

static void push_is_right_in_every_schedule(void **state)
{
    (void)state;
    is_right(push_run, runs / 6);
}

static void each_wait_of_push_is_needed(void **state)
{
    (void)state;
    for (int q = 0; q < 2; q++)
        is_needed(push_run, (lack_t){.drop_step = q}, 12, "the wait for a chunk");
    is_needed(push_run, (lack_t){.drop_step = PIPC__PUSH_ACK_STEP}, 12, "the wait for a slot");
    is_needed(push_run, (lack_t){.drop_step = PIPC__PUSH_REST_STEP, .by_most = true}, 12,
              "the wait for all slots of a chunk");
    is_needed(push_run, (lack_t){.drop_step = PIPC__PUSH_PUSHED_STEP, .in_place = true}, 12,
              "the wait for the own push");
}

static void signals_have_to_be_releases(void **state)
{
    (void)state;
    values_show(push_run, EMULATED_UNORDERED, 12);
}

static void take_options(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            first_seed = strtoull(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--runs"))
            runs = (unsigned int)strtoul(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--only"))
            cmocka_set_test_filter(argv[i + 1]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ll_is_right_in_every_schedule),
        cmocka_unit_test(each_check_of_ll_is_needed),
        cmocka_unit_test(the_second_area_of_ll_is_needed),
        cmocka_unit_test(packets_have_to_be_words),
        cmocka_unit_test(ll128_is_right_in_every_schedule),
        cmocka_unit_test(each_look_of_ll128_is_needed),
        cmocka_unit_test(the_second_area_of_ll128_is_needed),
        cmocka_unit_test(lines_have_to_be_whole),
        cmocka_unit_test(push_is_right_in_every_schedule),
        cmocka_unit_test(each_wait_of_push_is_needed),
        cmocka_unit_test(signals_have_to_be_releases),
    };

    cmocka_set_test_filter(ALL);
    take_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
