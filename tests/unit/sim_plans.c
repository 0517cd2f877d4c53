/* tests/unit/sim_plans.c - the simulator with every plan, on known trees and random ones: all end
 * in a time that makes sense, and nobody waits for ever but where the checker finds so
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "tests/unit/sim_machine.h"

static uint32_t seed;

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

/* ---- properties ------------------------------------------------------------------------------ */

static const char *const trees[] = {
    "[sw:8gpu]",   "2x[sw:4gpu]", "[sw:5gpu]+[sw:3gpu]", "2x[2x[sw:2gpu]]", "[sw:2x[sw:4gpu]]",
    "4x[sw:2gpu]", "[8gpu]",      "[3gpu]+[sw:4gpu]",    "2x[sw:8gpu]",     "[sw:3gpu]+[1gpu]",
    "16x[1gpu]",
};

static const size_t counts[] = {0, 1, 7, 4097, (1 << 20) + 3};

/* Every plan, tree, size and number of ranks ends, in a time that makes sense, and bytes that leave
 * arrive: over the links of GPUs, as many go up as come down. In host memory they may be read
 * twice. */
static void all_plans_end(void **state)
{
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(trees); t++)
        for (int n = 1; n <= PIPC__RANKS_MAX; n++) {
            machine_t m;
            bool host = n % 5 == 4;
            put_on(&m, trees[t], n, &costs, host);
            for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
                pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
                for (size_t c = 0; plan && c < COUNT(counts); c++) {
                    pipc__sim_result_t r = run(&m, plan, counts[c], false);
                    uint64_t up = 0, down = 0;
                    for (int i = 0; i < m.fabric->nlinks; i++) {
                        const pipc__sim_link_t *l = &m.fabric->links[i];
                        if (l->kind != PIPC__SIM_GPU_LINK)
                            continue;
                        up += r.load[l->resource[0]].bytes;
                        down += r.load[l->resource[1]].bytes;
                    }
                    assert_true(host ? up <= down : up == down);
                    assert_true(r.usec > 0 && r.usec < 1e9);
                    for (int i = 0; i < m.fabric->nresources; i++)
                        assert_true(r.load[i].busy <= 1 + 1e-6);
                    pipc__sim_release(&r);
                }
                pipc__plan_free(plan);
            }
            take_off(&m);
        }
}

/* The same of trees that nobody thought of: groups of groups, 1 to 16 GPUs. */
static int draw_group(char *text, int depth, int gpus)
{
    int used = 0, parts = 1 + draw(3);

    strcat(text, "[sw:");
    for (int i = 0; i < parts && used < gpus; i++) {
        strcat(text, i ? "+" : "");
        if (depth < 2 && draw(3) == 0)
            used += draw_group(text, depth + 1, gpus - used);
        else {
            int n = 1 + draw(gpus - used < 4 ? gpus - used : 4);
            sprintf(text + strlen(text), "%dgpu", n);
            used += n;
        }
    }
    strcat(text, "]");
    return used;
}

static void random_trees(void **state)
{
    pipc__costs_t costs;

    (void)state;
    seed = 42;
    pipc__costs_default(&costs);
    for (int i = 0; i < 100; i++) {
        char text[1024] = "";
        machine_t m;
        for (int used = 0; used < 16 && (!used || draw(3)); strcat(text, "+"))
            used += draw_group(text, 0, 16 - used);
        text[strlen(text) - 1] = '\0';
        put_on(&m, text, 0, &costs, i % 4 == 3);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            pipc__sim_result_t r = run(&m, plan, (1 << 20) + 3, false);
            assert_true(r.usec > 0 && r.usec < 1e7);
            for (int j = 0; j < m.fabric->nresources; j++)
                assert_true(r.load[j].busy <= 1 + 1e-6);
            pipc__sim_release(&r);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
}

/* Faster links never make a plan slower. (Max-min sharing alone does not promise it; these do.) */
static void faster_links_help(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(trees); t++) {
        double last[PIPC__PLAN_KINDS_LOCAL] = {0};
        for (int speed = 8; speed <= 64; speed *= 2) {
            pipc__costs_t costs;
            machine_t m;
            pipc__costs_default(&costs);
            costs.speed_gts = speed;
            costs.socket_gbps = 2.0 * speed;
            put_on(&m, trees[t], 0, &costs, false);
            for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
                pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
                double usec = plan ? usec_of(&m, plan, 4 << 20) : 0;
                if (last[k] > 0 && usec > last[k] * 1.001)
                    fail_msg("%s, %s: %g us at %d GT/s, %g below it", trees[t], plan->name, usec,
                             speed, last[k]);
                last[k] = usec;
                pipc__plan_free(plan);
            }
            take_off(&m);
        }
    }
}

/* What is left out when rounds repeat is what they would have taken. */
static void repeated_rounds(void **state)
{
    pipc__costs_t costs;
    int left_out = 0;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(trees); t++) {
        machine_t m;
        put_on(&m, trees[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            pipc__sim_result_t some = run(&m, plan, 25 << 20, false);
            pipc__sim_result_t all = run(&m, plan, 25 << 20, true);
            left_out += some.simulated < all.simulated;
            assert_int_equal(all.simulated, all.rounds);
            NEAR(some.usec, all.usec, 0.01);
            pipc__sim_release(&some);
            pipc__sim_release(&all);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
    assert_true(left_out > 10);
}

/* The hierarchy pays where the links between switches are the limit, and is predicted to. */
static void the_choice_at_16_mb(void **state)
{
    static const char *const limited[] = {"2x[sw:4gpu]", "2x[sw:2gpu]", "2x[sw:8gpu]",
                                          "2x[sw:3gpu]"};
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(limited); t++) {
        machine_t m;
        double usec[PIPC__PLAN_KINDS_LOCAL] = {0};
        put_on(&m, limited[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            usec[k] = plan ? usec_of(&m, plan, 4 << 20) : 1e9;
            if (k != PIPC__ISLAND && usec[PIPC__ISLAND] > 0 && usec[k] < usec[PIPC__ISLAND])
                fail_msg("%s: %s before island", limited[t], plan->name);
            pipc__plan_free(plan);
        }
        assert_true(usec[PIPC__ISLAND] < usec[PIPC__RING]);
        assert_true(usec[PIPC__ISLAND] < usec[PIPC__TWO_SHOT]);
        take_off(&m);
    }
}

/* ---- agreement with the checker -------------------------------------------------------------- */

/* Move an op of some program elsewhere in it; false when it has but one. */
static bool disturb(pipc__plan_t *p)
{
    pipc__program_t *prog = &p->program[draw(p->nranks)][draw(p->nstages)];

    if (prog->nops < 2)
        return false;
    int from = draw(prog->nops), to = draw(prog->nops);
    pipc__op_t op = prog->ops[from];
    memmove(prog->ops + from, prog->ops + from + 1, (size_t)(prog->nops - from - 1) * sizeof(op));
    memmove(prog->ops + to + 1, prog->ops + to, (size_t)(prog->nops - 1 - to) * sizeof(op));
    prog->ops[to] = op;
    return true;
}

/* Steps in another order: where the checker finds that somebody waits for ever, so does the
 * simulator, and nowhere else. */
static void deadlocks_agree(void **state)
{
    pipc__costs_t costs;
    int stuck = 0, right = 0;

    (void)state;
    seed = 4711;
    pipc__costs_default(&costs);
    for (int i = 0; i < 2000; i++) {
        machine_t m;
        pipc__error_t err = {PIPC_OK, ""}, why = {PIPC_OK, ""};
        put_on(&m, trees[i % 4], 2 + i % 4, &costs, false);
        int kind = i / 4 % PIPC__PLAN_KINDS_LOCAL;
        pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)kind);
        if (plan && disturb(plan)) {
            const pipc__check_call_t one = {plan, 3, 1, false};
            pipc__sim_call_t call = {plan, 3000, 4, (size_t)plan->nslots * 8192, true, NULL};
            pipc__sim_result_t r;
            bool refused = pipc__plan_check(&one, 1, PIPC__BUFFERS, &err);
            bool waits = refused && strstr(err.text, "deadlock");
            bool ended = !pipc__simulate(&r, m.fabric, &call, &why);
            /* What else the checker refuses may end or not: it stops at the first fault. */
            if ((!refused && !ended) || (waits && ended))
                fail_msg("%s: checker: %s; simulator: %s", plan->name, refused ? err.text : "right",
                         ended ? "ends" : why.text);
            if (!ended)
                assert_true(strstr(why.text, "waits for ever") || strstr(why.text, plan->name));
            stuck += waits;
            right += !refused;
            pipc__sim_release(&r);
        }
        pipc__plan_free(plan);
        take_off(&m);
    }
    assert_true(stuck > 50 && right > 50); /* both were seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_plans_end),       cmocka_unit_test(random_trees),
        cmocka_unit_test(faster_links_help),   cmocka_unit_test(repeated_rounds),
        cmocka_unit_test(the_choice_at_16_mb), cmocka_unit_test(deadlocks_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
