/* tests/unit/comm_fit.c - rows of a table that an executor can't run become others, simple in the
 * end, on all ranks alike
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/comm/choose.h"
#include "runtime/tune/file.h"
#include "tests/unit/rank_exec.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What the executors of two ranks can: protocols, from how many bytes and up to how many. */
typedef struct ability {
    bool asked; /* they have ops.can */
    struct {
        bool eager, graph;
        size_t least, most;
    } can[2][PIPC__PROTOS];
} ability_t;

typedef struct fit {
    const char *table, *after; /* rows alone, without "up-to " */
    ability_t is;
} fit_t;

static const ability_t *ability;
static int the_rank;

static bool can(const pipc__exec_t *exec, const pipc__plan_t *plan, pipc__proto_t proto,
                size_t bytes, bool in_graph)
{
    (void)exec;
    return !strcmp(plan->name, "one-shot") &&
           (in_graph ? ability->can[the_rank][proto].graph : ability->can[the_rank][proto].eager) &&
           bytes >= ability->can[the_rank][proto].least &&
           bytes <= ability->can[the_rank][proto].most;
}

static void rows_of(const pipc__table_t *t, char *buf, size_t cap)
{
    char a[PIPC__CHOICE_TEXT], b[PIPC__CHOICE_TEXT], max[32];

    *buf = '\0';
    for (int i = 0; i < t->nrows; i++) {
        size_t used = strlen(buf);
        snprintf(max, sizeof(max), t->row[i].max_bytes == SIZE_MAX ? "max" : "%zu",
                 t->row[i].max_bytes);
        snprintf(buf + used, cap - used, "%s%s %s %s", i ? "; " : "", max,
                 pipc__choice_text(t->row[i].eager, a), pipc__choice_text(t->row[i].graph, b));
    }
}

/* "8 ring ring; max ..." as a table. */
static bool parse(pipc__table_t *t, const char *rows)
{
    char text[512] = "table 1\n";

    while (*rows) {
        char max[32], a[32], b[32];
        int n = 0;
        if (sscanf(rows, "%31s %31s %31[^;]%n", max, a, b, &n) != 3)
            return false;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "up-to %s eager %s graph %s\n",
                 max, a, b);
        rows += n;
        rows += strspn(rows, "; ");
    }
    pipc__table_file_t f;
    pipc__error_t err;
    if (pipc__table_parse(&f, text, strlen(text), "t", false, &err))
        return false;
    *t = f.table;
    return true;
}

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# rank %d, line %d: %s\n", the_rank, __LINE__, #cond);                \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int fit(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t plans[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
                                        {PIPC__RING, PIPC__ALLREDUCE, SHAPE_FLAT}};
    const fit_t *f = arg;
    pipc_comm_t c = {.rank = rank, .size = 2, .local_rank = rank, .local_size = 2};
    pipc__exec_ops_t ops = pipc__exec_cpu;
    pipc__error_t err;
    char rows[512];
    rank_exec_t re;

    the_rank = rank;
    ability = &f->is;
    rank_exec_open(&re, &pipc__exec_cpu, 1 << 20, (rank_plans_t){plans, 2}, all, rank);
    ops.can = ability->asked ? can : NULL;
    pipc__exec_t fake = {&ops, re.ctl, false, false};
    c.ctl = re.ctl;
    c.exec = &fake;
    c.plan[PIPC__ONE_SHOT] = re.plans[0];
    c.plan[PIPC__RING] = re.plans[1];
    MUST(parse(&c.table, f->table));
    MUST(!pipc__choose_fit(&c, PIPC_OK, &err));
    rows_of(&c.table, rows, sizeof(rows));
    if (strcmp(rows, f->after))
        fprintf(stderr, "# rank %d: %s\n", rank, rows);
    MUST(!strcmp(rows, f->after));
    rank_exec_close(&re);
    return 0;
}

#define ALL                                                                                        \
    {                                                                                              \
        true, true, 0, SIZE_MAX                                                                    \
    }
#define LL_ONLY                                                                                    \
    {                                                                                              \
        [PIPC__PROTO_LL] = { true, true, 0, 1000 }                                                 \
    }

static void what_an_executor_lacks_is_simple(void **state)
{
    static const char wish[] = "1000 one-shot/ll one-shot/ll; 5000 ring one-shot/push/8; "
                               "max one-shot/ce/16 nccl";
    static const fit_t cases[] = {
        /* executors that say nothing */
        {wish, "1000 one-shot one-shot; 5000 ring one-shot; max one-shot nccl", {.asked = false}},
        /* all of it */
        {wish,
         wish,
         {true,
          {{[PIPC__PROTO_LL] = ALL, [PIPC__PROTO_PUSH] = ALL, [PIPC__PROTO_CE] = ALL},
           {[PIPC__PROTO_LL] = ALL, [PIPC__PROTO_PUSH] = ALL, [PIPC__PROTO_CE] = ALL}}}},
        /* LL up to the row's very end, and the others not */
        {wish,
         "1000 one-shot/ll one-shot/ll; 5000 ring one-shot; max one-shot nccl",
         {true, {LL_ONLY, LL_ONLY}}},
        /* one rank's lack is everybody's */
        {wish,
         "1000 one-shot/ll one-shot/ll; 5000 ring one-shot; max one-shot nccl",
         {true,
          {{[PIPC__PROTO_LL] = ALL, [PIPC__PROTO_PUSH] = ALL, [PIPC__PROTO_CE] = ALL}, LL_ONLY}}},
        /* both ends of a row count: 1001 is too small for push, and the last row goes on for ever
         */
        {wish,
         "1000 one-shot/ll one-shot/ll; 5000 ring one-shot; max one-shot nccl",
         {true,
          {{[PIPC__PROTO_LL] = ALL,
            [PIPC__PROTO_PUSH] = {true, true, 1002, SIZE_MAX},
            [PIPC__PROTO_CE] = {true, true, 0, (size_t)1 << 39}},
           {[PIPC__PROTO_LL] = ALL, [PIPC__PROTO_PUSH] = ALL, [PIPC__PROTO_CE] = ALL}}}},
        /* LL128 gives way to push, and that to simple, if need be */
        {"2000 one-shot/ll128/8 one-shot/ll128; max one-shot/push one-shot/ll",
         "2000 one-shot/push one-shot; max one-shot/push one-shot",
         {true,
          {{[PIPC__PROTO_LL128] = ALL, [PIPC__PROTO_PUSH] = {true, false, 0, SIZE_MAX}},
           {[PIPC__PROTO_LL128] = {false, false, 0, SIZE_MAX}, [PIPC__PROTO_PUSH] = ALL}}}},
        /* eager and graphs apart */
        {"max one-shot/push one-shot/push",
         "max one-shot/push one-shot",
         {true,
          {{[PIPC__PROTO_PUSH] = {true, false, 0, SIZE_MAX}},
           {[PIPC__PROTO_PUSH] = {true, false, 0, SIZE_MAX}}}}},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        fit_t f = cases[i];
        if (ranks_run(2, fit, &f, 20))
            fail_msg("case %zu", i);
    }
}

/* A rank that failed before is in step with the others, and keeps its error. */
static int fail_first(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT};
    pipc_comm_t c = {.rank = rank, .size = 2, .local_rank = rank, .local_size = 2};
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t own = PIPC_OK;
    rank_exec_t re;

    (void)arg;
    the_rank = rank;
    rank_exec_open(&re, &pipc__exec_cpu, 1 << 20, (rank_plans_t){&one, 1}, all, rank);
    c.ctl = re.ctl;
    c.exec = re.exec;
    c.plan[PIPC__ONE_SHOT] = re.plans[0];
    c.table = pipc__table_fixed(PIPC__ONE_SHOT);
    if (rank) {
        own = pipc__fail(&err, PIPC_ERR_NOMEM, "the moon is full");
        c.table.nrows = 0;
    }
    MUST(pipc__choose_fit(&c, own, &err) == own);
    MUST(!rank || !strcmp(err.text, "the moon is full"));
    rank_exec_close(&re);
    return 0;
}

static void a_rank_that_failed_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, fail_first, NULL, 20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_executor_lacks_is_simple),
        cmocka_unit_test(a_rank_that_failed_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
