/* tests/unit/replay.c - the replayer of traces: two small protocols written by hand, and what is
 * said of each fault in them
 *
 *     words   a thread a rank; the flag lies in the word with the data, two areas in turns
 *     ring    a thread pushes and one sums, through a ring of one slot: a flag for arrival, one for
 *             the slot's return; in place a thread may not write what the other has yet to push
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/replay.h"

#define RANKS 2
#define CALLS 4
#define THREADS 2
#define EACH 64

enum { OWN, SUM, IN };      /* registers */
enum { PUSHED = 1, NOTED }; /* barriers */
enum { SLOT = 0, AREA = 1024, ARRIVED = 4096, RETURNED = 4160 };

typedef struct story {
    pipc__event_t event[CALLS][RANKS][THREADS][EACH];
    uint32_t count[CALLS][RANKS][THREADS];
    pipc__trace_t trace[CALLS][RANKS];
    int calls;
} story_t;

static story_t *blank(int calls, size_t bytes, bool in_place)
{
    story_t *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->calls = calls;
    for (int k = 0; k < calls; k++)
        for (int r = 0; r < RANKS; r++)
            s->trace[k][r] = (pipc__trace_t){
                .sink = {s->event[k][r][0], s->count[k][r], EACH},
                .blocks = 1,
                .block_threads = THREADS,
                .bytes = bytes,
                .in_place = in_place,
            };
    return s;
}

static pipc_status_t replay(const story_t *s, pipc__error_t *err)
{
    pipc__trace_t traces[CALLS * RANKS];

    for (int i = 0; i < s->calls * RANKS; i++)
        traces[i] = s->trace[i / RANKS][i % RANKS];
    return pipc__trace_replay(traces, s->calls, RANKS, err);
}

/* Who writes the story now. */
typedef struct teller {
    story_t *s;
    int call, rank, thread;
} teller_t;

static void tell(teller_t t, pipc__event_t e)
{
    t.s->event[t.call][t.rank][t.thread][t.s->count[t.call][t.rank][t.thread]++] = e;
}

static void data(teller_t t, int kind, int reg, int place, int rank, uint64_t at, uint32_t bytes)
{
    tell(t, (pipc__event_t){.kind = (uint8_t)kind,
                            .reg = (uint8_t)reg,
                            .place = (uint8_t)place,
                            .rank = (uint8_t)rank,
                            .at = at,
                            .bytes = bytes});
}

static void word(teller_t t, int kind, int reg, int rank, uint64_t at, uint64_t flag)
{
    tell(t, (pipc__event_t){.kind = (uint8_t)kind,
                            .how = PIPC__RELAXED,
                            .reg = (uint8_t)reg,
                            .place = PIPC__SLOT,
                            .rank = (uint8_t)rank,
                            .at = at,
                            .bytes = 4,
                            .value = flag});
}

static void flag(teller_t t, int kind, int rank, uint64_t at, uint64_t value)
{
    tell(t, (pipc__event_t){.kind = (uint8_t)kind,
                            .how = PIPC__ORDERED,
                            .place = PIPC__SLOT,
                            .rank = (uint8_t)rank,
                            .at = at,
                            .value = value});
}

static void alone(teller_t t, int kind, int reg, int from)
{
    tell(t, (pipc__event_t){.kind = (uint8_t)kind, .reg = (uint8_t)reg, .from = (uint8_t)from});
}

static void barrier(teller_t t, int kind, uint64_t number)
{
    tell(t, (pipc__event_t){.kind = (uint8_t)kind, .at = number, .value = 2});
}

/* --- words ----------------------------------------------------------------------------------- */

static void words_of(teller_t t)
{
    const pipc__trace_t *trace = &t.s->trace[t.call][t.rank];
    uint64_t area = (uint64_t)t.call % 2 * AREA, number = (uint64_t)t.call + 1;
    int in = trace->in_place ? PIPC__OUTPUT : PIPC__INPUT;

    data(t, PIPC__DID_READ, OWN, in, t.rank, 0, 4);
    word(t, PIPC__DID_WRITE, OWN, 1 - t.rank, area, number);
    for (int q = 0; q < RANKS; q++) {
        if (q != t.rank)
            word(t, PIPC__DID_READ, IN, t.rank, area, number);
        alone(t, q ? PIPC__DID_ADD : PIPC__DID_TAKE, SUM, q == t.rank ? OWN : IN);
    }
    data(t, PIPC__DID_WRITE, SUM, PIPC__OUTPUT, t.rank, 0, 4);
}

static story_t *words(bool in_place)
{
    story_t *s = blank(CALLS, 4, in_place);

    for (int k = 0; k < CALLS; k++)
        for (int r = 0; r < RANKS; r++)
            words_of((teller_t){s, k, r, 0});
    return s;
}

/* --- ring ------------------------------------------------------------------------------------ */

static int chunks(const story_t *s, int call)
{
    return (int)s->trace[call][0].bytes / 4;
}

/* Chunks of all calls before. */
static uint64_t base(const story_t *s, int call)
{
    return call ? base(s, call - 1) + (uint64_t)chunks(s, call - 1) : 0;
}

static void push(teller_t t)
{
    int in = t.s->trace[t.call][t.rank].in_place ? PIPC__OUTPUT : PIPC__INPUT;

    for (int c = 0; c < chunks(t.s, t.call); c++) {
        uint64_t number = base(t.s, t.call) + (uint64_t)c + 1;
        data(t, PIPC__DID_READ, OWN, in, t.rank, 4 * (uint64_t)c, 4);
        if (number > 1)
            flag(t, PIPC__DID_WAIT, t.rank, RETURNED, number - 1);
        data(t, PIPC__DID_WRITE, OWN, PIPC__SLOT, 1 - t.rank, SLOT, 4);
        flag(t, PIPC__DID_SIGNAL, 1 - t.rank, ARRIVED, number);
        barrier(t, PIPC__DID_ARRIVE, PUSHED);
        barrier(t, PIPC__DID_MEET, NOTED);
    }
}

static void sum(teller_t t)
{
    int in = t.s->trace[t.call][t.rank].in_place ? PIPC__OUTPUT : PIPC__INPUT;

    for (int c = 0; c < chunks(t.s, t.call); c++) {
        uint64_t number = base(t.s, t.call) + (uint64_t)c + 1, at = 4 * (uint64_t)c;
        data(t, PIPC__DID_READ, OWN, in, t.rank, at, 4);
        flag(t, PIPC__DID_WAIT, t.rank, ARRIVED, number);
        data(t, PIPC__DID_READ, IN, PIPC__SLOT, t.rank, SLOT, 4);
        flag(t, PIPC__DID_SIGNAL, 1 - t.rank, RETURNED, number);
        alone(t, PIPC__DID_TAKE, SUM, t.rank ? IN : OWN);
        alone(t, PIPC__DID_ADD, SUM, t.rank ? OWN : IN);
        barrier(t, PIPC__DID_MEET, PUSHED);
        barrier(t, PIPC__DID_ARRIVE, NOTED);
        data(t, PIPC__DID_WRITE, SUM, PIPC__OUTPUT, t.rank, at, 4);
    }
}

static story_t *ring(bool in_place)
{
    story_t *s = blank(3, 8, in_place);

    for (int r = 0; r < RANKS; r++) /* calls differ in size */
        s->trace[1][r].bytes = 12;
    for (int k = 0; k < s->calls; k++)
        for (int r = 0; r < RANKS; r++) {
            push((teller_t){s, k, r, 0});
            sum((teller_t){s, k, r, 1});
        }
    return s;
}

/* --- what is right --------------------------------------------------------------------------- */

typedef story_t *make_t(bool in_place);

static void what_is_right_passes(void **state)
{
    make_t *const all[] = {words, ring};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int in_place = 0; in_place < 2; in_place++) {
            story_t *s = all[i](in_place);
            pipc__error_t err;
            if (replay(s, &err))
                fail_msg("story %d, in place %d: %s", i, in_place, err.text);
            free(s);
        }
}

static void leave_out(story_t *s, int call, int rank, int thread, uint32_t event)
{
    pipc__event_t *e = s->event[call][rank][thread];
    uint32_t *n = &s->count[call][rank][thread];

    memmove(&e[event], &e[event + 1], (EACH - event - 1) * sizeof(*e));
    --*n;
}

/* How many events of @make's story it passes without: one at a time. */
static int needless(make_t *make, bool in_place)
{
    int passed = 0;

    for (int i = 0; i < CALLS * RANKS * THREADS * EACH; i++) {
        int call = i / (RANKS * THREADS * EACH), thread = i / EACH % THREADS;
        int rank = i / (THREADS * EACH) % RANKS;
        story_t *s = make(in_place);
        if ((uint32_t)(i % EACH) < s->count[call][rank][thread]) {
            leave_out(s, call, rank, thread, (uint32_t)(i % EACH));
            passed += !replay(s, NULL);
        }
        free(s);
    }
    return passed;
}

/* But for the return of the last call's last slot, which nobody waits for, and of each call's last
 * chunk the waits at the barriers that nothing comes after: NOTED, and PUSHED if it is not in
 * place. */
static void each_event_is_needed(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        assert_int_equal(needless(words, in_place), 0);
        assert_int_equal(needless(ring, in_place), RANKS + 3 * RANKS);
    }
}

/* --- faults ---------------------------------------------------------------------------------- */

/* The first event of its kind in a thread. */
static pipc__event_t *find(story_t *s, int call, int rank, int thread, int kind)
{
    pipc__event_t *e = s->event[call][rank][thread];

    while (e->kind != kind)
        e++;
    return e;
}

static void swap(pipc__event_t *a, pipc__event_t *b)
{
    pipc__event_t t = *a;

    *a = *b;
    *b = t;
}

static void one_area(story_t *s)
{
    for (int k = 0; k < s->calls; k++)
        for (int r = 0; r < RANKS; r++)
            for (uint32_t i = 0; i < s->count[k][r][0]; i++)
                if (s->event[k][r][0][i].at == AREA)
                    s->event[k][r][0][i].at = 0;
}
static void a_word_without_a_look_at_its_flag(story_t *s)
{
    pipc__event_t *e = find(s, 1, 1, 0, PIPC__DID_WRITE) + 1;

    e->how = PIPC__PLAIN;
}
static void a_word_that_happens_to_be_there(story_t *s)
{
    pipc__event_t *e = find(s, 1, 0, 0, PIPC__DID_WRITE) + 2;

    e->how = PIPC__PLAIN;
}
static void an_old_flag(story_t *s)
{
    find(s, 2, 0, 0, PIPC__DID_WRITE)->value = 1;
}
static void a_word_of_the_call_before(story_t *s)
{
    pipc__event_t *e = find(s, 3, 1, 0, PIPC__DID_WRITE) + 1;

    e->value = 3;
    e->at = 0;
}
static void other_order(story_t *s)
{
    pipc__event_t *e = find(s, 0, 0, 0, PIPC__DID_TAKE);

    e->from = IN;
    find(s, 0, 0, 0, PIPC__DID_ADD)->from = OWN;
    swap(e, e + 1);
}
static void own_contribution_twice(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_ADD)->from = OWN;
}
static void into_the_input(story_t *s)
{
    find(s, 0, 0, 1, PIPC__DID_WRITE)->place = PIPC__INPUT;
}
static void into_the_peers_output(story_t *s)
{
    find(s, 0, 0, 1, PIPC__DID_WRITE)->rank = 1;
}
static void behind_the_end(story_t *s)
{
    find(s, 0, 0, 1, PIPC__DID_WRITE)->at = 5;
}
static void signal_before_data(story_t *s)
{
    pipc__event_t *e = find(s, 0, 0, 0, PIPC__DID_SIGNAL);

    swap(e - 1, e);
}
static void return_before_reading(story_t *s)
{
    pipc__event_t *e = find(s, 0, 0, 1, PIPC__DID_SIGNAL);

    swap(e - 1, e);
}
static void a_relaxed_signal(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_SIGNAL)->how = PIPC__RELAXED;
}
static void a_relaxed_return(story_t *s)
{
    find(s, 0, 0, 1, PIPC__DID_SIGNAL)->how = PIPC__RELAXED;
}
static void data_that_was_only_loaded(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_SIGNAL)->how = PIPC__LOADED;
}
static void a_relaxed_wait(story_t *s)
{
    find(s, 0, 1, 1, PIPC__DID_WAIT)->how = PIPC__RELAXED;
}
static void a_number_again(story_t *s)
{
    find(s, 1, 0, 0, PIPC__DID_SIGNAL)->value = 2;
}
static void a_number_too_high(story_t *s)
{
    find(s, 2, 0, 1, PIPC__DID_WAIT)->value = 100;
}
static void chunks_swapped(story_t *s)
{
    pipc__event_t *e = s->event[0][0][0]; /* both pushes of rank 0 read the other's chunk */

    e[0].at = 4;
    find(s, 0, 0, 0, PIPC__DID_MEET)[1].at = 0;
}
static void output_too_early(story_t *s)
{
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < s->calls; k++)
            for (int t = 0; t < THREADS; t++)
                for (uint32_t i = s->count[k][r][t]; i-- > 0;)
                    if (s->event[k][r][t][i].kind >= PIPC__DID_MEET)
                        leave_out(s, k, r, t, i);
}
static void no_such_register(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_READ)->reg = PIPC__TRACE_REGISTERS;
}
static void no_such_barrier(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_ARRIVE)->at = 48;
}
static void a_barrier_without_its_answer(story_t *s)
{
    leave_out(s, 0, 0, 0, (uint32_t)(find(s, 0, 0, 0, PIPC__DID_MEET) - s->event[0][0][0]));
}
static void no_such_event(story_t *s)
{
    find(s, 0, 0, 0, PIPC__DID_READ)->kind = 77;
}
/* The tempting order: two senders may each believe that they are alone. */
static void two_signal_one_flag(story_t *s)
{
    find(s, 0, 0, 1, PIPC__DID_SIGNAL)->at = ARRIVED;
}

static void each_fault_is_named(void **state)
{
    static const struct {
        make_t *make;
        bool in_place;
        void (*fault)(story_t *s);
        const char *words;
    } table[] = {
        {words, false, one_area, "reused too early"},
        {words, false, a_word_without_a_look_at_its_flag, "nothing was written"},
        {words, false, a_word_that_happens_to_be_there, "may still write"},
        {words, false, an_old_flag, "waits for ever"},
        {words, false, a_word_of_the_call_before, "reads what call 2 left behind"},
        {words, false, other_order, "another order"},
        {words, true, own_contribution_twice, "is in the sum already"},
        {ring, false, into_the_input, "writes to the input"},
        {ring, false, into_the_peers_output, "another rank's user buffer"},
        {ring, false, behind_the_end, "behind the message's end"},
        {ring, false, signal_before_data, "may still write"},
        {ring, false, return_before_reading, "reused too early"},
        {ring, false, a_relaxed_signal, "may still write"},
        {ring, false, a_relaxed_return, "reused too early"},
        {ring, false, data_that_was_only_loaded, "may still write"},
        {ring, false, a_relaxed_wait, "may still write"},
        {ring, false, a_number_again, "has reached 2 already"},
        {ring, false, a_number_too_high, "waits for ever"},
        {ring, false, chunks_swapped, "adds byte"},
        {ring, true, output_too_early, "may still read"},
        {ring, false, no_such_register, "no register 8"},
        {ring, false, no_such_barrier, "no such barrier"},
        {ring, false, a_barrier_without_its_answer, "comes again"},
        {ring, false, no_such_event, "is no event"},
        {ring, false, two_signal_one_flag, "may come later"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        story_t *s = table[i].make(table[i].in_place);
        pipc__error_t err = {PIPC_OK, ""};
        table[i].fault(s);
        pipc_status_t st = replay(s, &err);
        if (st != PIPC_ERR_INVALID || !strstr(err.text, table[i].words))
            fail_msg("fault %zu (%s): '%s'", i, table[i].words, err.text);
        free(s);
    }
}

static void a_fault_is_told_with_its_place(void **state)
{
    story_t *s = ring(false);
    pipc__error_t err;

    (void)state;
    signal_before_data(s);
    replay(s, &err);
    assert_string_equal(err.text,
                        "call 0, rank 1, block 0, thread 1, event 2 (reads 4 bytes at "
                        "staging 1 + 0x0): reads what thread 0 of rank 0 may still write");
    free(s);
}

/* Out of place nobody has to wait until a chunk was pushed. */
static void what_is_not_needed_is_not_asked_for(void **state)
{
    story_t *s = ring(false);

    (void)state;
    output_too_early(s);
    assert_int_equal(replay(s, NULL), PIPC_OK);
    free(s);
}

/* The return of a slot need not be released: it tells of loads. Nor need the wait acquire. */
static void loads_are_through_when_they_were_used(void **state)
{
    story_t *s = ring(false);

    (void)state;
    for (int k = 0; k < s->calls; k++)
        for (int r = 0; r < RANKS; r++) {
            find(s, k, r, 1, PIPC__DID_SIGNAL)->how = PIPC__LOADED;
            find(s, k, r, 0, PIPC__DID_WAIT)->how = PIPC__RELAXED;
        }
    pipc__error_t err;
    if (replay(s, &err))
        fail_msg("%s", err.text);
    free(s);
}

/* A relaxed signal behind a fence, and a relaxed wait before one, are as good as the others; a
 * fence on the wrong side is not. */
static void fences_order_what_is_relaxed(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++)
        for (int waits = 0; waits < 2; waits++) {
            story_t *s = ring(false);
            pipc__event_t *e =
                waits ? find(s, 0, 1, 1, PIPC__DID_WAIT) : find(s, 0, 0, 0, PIPC__DID_SIGNAL);
            uint32_t *n = waits ? &s->count[0][1][1] : &s->count[0][0][0];
            bool before = waits ? wrong : !wrong;
            memmove(e + 1, e, (EACH / 2) * sizeof(*e));
            ++*n;
            e[before].how = PIPC__RELAXED;
            e[!before] = (pipc__event_t){.kind = PIPC__DID_FENCE};
            assert_int_equal(replay(s, NULL), wrong ? PIPC_ERR_INVALID : PIPC_OK);
            free(s);
        }
}

/* --- addresses ------------------------------------------------------------------------------- */

static void addresses_become_places(void **state)
{
    static const pipc__trace_region_t map[] = {
        {0x1000, 64, PIPC__INPUT, 1, 0},
        {0x1040, 64, PIPC__OUTPUT, 1, 0},
        {0x8000, 256, PIPC__SLOT, 0, 512},
    };
    static const struct {
        uint64_t address;
        uint32_t bytes;
        int place, rank; /* -1: nowhere */
        uint64_t at;
    } table[] = {
        {0x1000, 16, PIPC__INPUT, 1, 0},
        {0x103f, 1, PIPC__INPUT, 1, 63},
        {0x1040, 16, PIPC__OUTPUT, 1, 0},
        {0x80f0, 16, PIPC__SLOT, 0, 512 + 0xf0},
        {0x1038, 16, -1, 0, 0},
        {0x80f8, 16, -1, 0, 0},
        {0xfff, 1, -1, 0, 0},
        {0, 4, -1, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        story_t *s = blank(1, 64, false);
        pipc__error_t err = {PIPC_OK, ""};
        pipc__event_t *e = s->event[0][1][1];
        data((teller_t){s, 0, 1, 1}, PIPC__DID_READ, OWN, 0, 0, table[i].address, table[i].bytes);
        alone((teller_t){s, 0, 1, 1}, PIPC__DID_TAKE, SUM, OWN); /* has no address */
        pipc_status_t st = pipc__trace_locate(&s->trace[0][1], map, 3, &err);
        if (table[i].place < 0) {
            assert_int_equal(st, PIPC_ERR_INVALID);
            assert_non_null(strstr(err.text, "block 0, thread 1, event 0: "));
        } else {
            assert_int_equal(st, PIPC_OK);
            assert_int_equal(e->place, table[i].place);
            assert_int_equal(e->rank, table[i].rank);
            assert_int_equal(e->at, table[i].at);
        }
        free(s);
    }
}

static void lost_events_are_told(void **state)
{
    story_t *s = blank(1, 64, false);
    pipc__error_t err;

    (void)state;
    s->count[0][1][0] = EACH + 1;
    assert_int_equal(pipc__trace_locate(&s->trace[0][1], NULL, 0, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "there is room for 64"));
    free(s);
}

/* --- memory ---------------------------------------------------------------------------------- */

static int left = -1; /* allocations until one fails; -1: none does */

static bool gives(void)
{
    return left < 0 || left-- > 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return gives() ? __real_malloc(bytes) : NULL;
}
void *__wrap_calloc(size_t n, size_t bytes)
{
    return gives() ? __real_calloc(n, bytes) : NULL;
}
void *__wrap_realloc(void *p, size_t bytes)
{
    return gives() ? __real_realloc(p, bytes) : NULL;
}

static void every_allocation_may_fail(void **state)
{
    make_t *const all[] = {words, ring};

    (void)state;
    for (int i = 0; i < 2; i++) {
        story_t *s = all[i](false);
        pipc_status_t st = PIPC_ERR_NOMEM;
        int n = 0;
        for (; st; n++) {
            left = n;
            st = replay(s, NULL);
            left = -1;
            if (st)
                assert_int_equal(st, PIPC_ERR_NOMEM);
        }
        assert_true(n > 50);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes),
        cmocka_unit_test(each_event_is_needed),
        cmocka_unit_test(each_fault_is_named),
        cmocka_unit_test(a_fault_is_told_with_its_place),
        cmocka_unit_test(what_is_not_needed_is_not_asked_for),
        cmocka_unit_test(loads_are_through_when_they_were_used),
        cmocka_unit_test(fences_order_what_is_relaxed),
        cmocka_unit_test(addresses_become_places),
        cmocka_unit_test(lost_events_are_told),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
