/* tests/unit/plan_halves.c - plans over nodes in two halves: each half runs to its end by itself,
 * the first one reaches as far as it can, and a plan that can't be cut is refused
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/generate.h"
#include "runtime/plan/halves.h"

/* A node of @ranks in groups of @group (0: all alike), of which the largest has @most and the
 * smallest as many as there are @rails. */
static pipc__plan_t *make(int ranks, int group, int rails, int most, pipc__plan_kind_t kind)
{
    pipc__shape_t s;
    pipc__plan_t *p;
    pipc__error_t err;

    pipc__shape_flat(&s, ranks);
    s.nrails = rails;
    s.most = most;
    s.nlevels = group && group < ranks;
    for (int r = 0; s.nlevels && r < ranks; r++)
        s.group[0][r] = (uint8_t)(r / group);
    if (pipc__plan_make_for(&p, kind, PIPC__ALLREDUCE, &s, &err))
        fail_msg("%s", err.text);
    return p;
}

/* Where all stages stand, and which flags are set. */
typedef struct walk {
    const pipc__plan_t *plan;
    int at[PIPC__RANKS_MAX][PIPC__STAGES_MAX];
    bool set[PIPC__RANKS_MAX][2][PIPC__FLAGS_MAX];
} walk_t;

static bool *flag(walk_t *w, int rank, const pipc__op_t *op)
{
    return &w->set[rank][op->dst.place == PIPC__HOST][op->flag];
}

/* One step; false: it waits. */
static bool step(walk_t *w, int r, int s, bool rails_end)
{
    const pipc__op_t *op = &w->plan->program[r][s].ops[w->at[r][s]];

    if (op->kind == PIPC__WAIT && !*flag(w, r, op) &&
        !(rails_end && pipc__plan_rail_of(w->plan, r, op)))
        return false;
    if (op->kind == PIPC__SIGNAL)
        *flag(w, op->peer, op) = true;
    w->at[r][s]++;
    return true;
}

/* Go on up to @to of each stage, or as far as it goes. Returns whether all came there. */
static bool walk(walk_t *w, const pipc__halves_t *to, bool rails_end)
{
    bool news = true, there = true;

    while (news) {
        news = false;
        there = true;
        for (int r = 0; r < w->plan->nranks; r++)
            for (int s = 0; s < w->plan->nstages; s++) {
                int end = to ? to->first[r][s] : w->plan->program[r][s].nops;
                while (w->at[r][s] < end && step(w, r, s, rails_end))
                    news = true;
                there = there && w->at[r][s] == end;
            }
    }
    return there;
}

static void judge(const pipc__plan_t *p, const char *what)
{
    walk_t w = {.plan = p};
    pipc__halves_t h;
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__plan_halve(&h, p, &err))
        fail_msg("%s: %s", what, err.text);
    if (!walk(&w, &h, false))
        fail_msg("%s: the first half waits for the second", what);
    walk_t further = w;
    walk(&further, NULL, false);
    if (memcmp(further.at, w.at, sizeof(w.at)) != 0)
        fail_msg("%s: the first half could go further", what);
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = h.first[r][s]; i < p->program[r][s].nops; i++)
                assert_int_not_equal(p->program[r][s].ops[i].kind, PIPC__RAIL);
    if (!walk(&w, NULL, true))
        fail_msg("%s: the second half does not end", what);
}

static void each_half_ends_by_itself(void **state)
{
    char what[64];

    (void)state;
    for (int ranks = 1; ranks <= PIPC__RANKS_MAX; ranks++)
        for (int rails = 1; rails <= ranks; rails++)
            for (int group = 0; group <= 4; group += 2)
                for (int one = 0; one < 2; one++) {
                    int most = ranks + rails % 3 < PIPC__RANKS_MAX ? ranks + rails % 3 : ranks;
                    pipc__plan_t *p =
                        make(ranks, group, rails, most, one ? PIPC__NODES_ONE : PIPC__NODES);
                    snprintf(what, sizeof(what), "%s of %d ranks, %d rails, groups of %d", p->name,
                             ranks, rails, group);
                    judge(p, what);
                    pipc__plan_free(p);
                }
}

/* The job of a rank that begins behind the wait for another one: it would take a third launch. */
static void a_job_behind_another_one_is_refused(void **state)
{
    pipc__plan_t *p = make(1, 0, 1, 1, PIPC__NODES);
    pipc__program_t *jobs = &p->program[0][0], *waits = &p->program[0][1];
    pipc__halves_t h;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_halve(&h, p, &err), PIPC_OK);
    assert_int_equal(jobs->ops[2].kind, PIPC__REDUCE); /* of chunk 1 */
    assert_int_equal(waits->ops[0].kind, PIPC__WAIT);
    jobs->ops[2] = waits->ops[0];
    assert_int_equal(pipc__plan_halve(&h, p, &err), PIPC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "step 3 of stage 0"));
    pipc__plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_half_ends_by_itself),
        cmocka_unit_test(a_job_behind_another_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
