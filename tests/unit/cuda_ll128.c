/* tests/unit/cuda_ll128.c - where protocol LL128 may run, asked of the CUDA executor's part without
 * a GPU: a line that comes in parts would be wrong data, so NVLink alone
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/plan/generate.h"

#define MB ((size_t)1 << 20)

/* Nothing is launched here. */
CUresult pipc__cuda_launch(const pipc__cuda_exec_t *x, CUstream stream, const pipc__cuda_grid_t *g,
                           void *args)
{
    (void)x, (void)stream, (void)g, (void)args;
    return CUDA_ERROR_NOT_INITIALIZED;
}

int pipc__cuda_blocks(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    (void)x, (void)call;
    return 1;
}

typedef struct place {
    const char *what;
    pipc__plan_kind_t kind;
    int nranks;
    bool nvlink;    /* joins all ranks' GPUs */
    bool by_host;   /* the first pair meets in host memory */
    size_t staging; /* bytes */
    bool can;
} place_t;

static pipc__plan_t *plan_of(const place_t *p)
{
    pipc__shape_t shape;
    pipc__plan_t *plan;
    pipc__error_t err;

    pipc__shape_flat(&shape, p->nranks);
    if (p->by_host) {
        shape.reach[0] &= (uint16_t)~2u;
        shape.reach[1] &= (uint16_t)~1u;
    }
    assert_int_equal(pipc__plan_make_for(&plan, p->kind, PIPC__ALLREDUCE, &shape, &err), PIPC_OK);
    return plan;
}

/* As connected and prepared for *plan, the one that it has; close_rank() frees both. */
static pipc__cuda_exec_t *open_rank(const place_t *p, int rank, pipc__plan_t **plan)
{
    pipc__cuda_exec_t *x = calloc(1, sizeof(*x));

    assert_non_null(x);
    x->base.nvlink = p->nvlink;
    x->rank = rank;
    x->size = p->nranks;
    x->layout = pipc__layout(p->staging, p->nranks);
    x->programs[0].plan = *plan = plan_of(p);
    pipc__cuda_ll128_prepare(x, 0);
    return x;
}

static void close_rank(pipc__cuda_exec_t *x, pipc__plan_t *plan)
{
    pipc__plan_free(plan);
    free(x);
}

/* What is asked before a call and what it is told must agree. */
static pipc_status_t try_bytes(const pipc__cuda_exec_t *x, size_t bytes)
{
    pipc__exec_call_t call = {.plan = x->programs[0].plan, .count = bytes, .dtype = PIPC_U8};
    pipc__error_t err;
    pipc_status_t st = pipc__cuda_ll128_check(x, &call, 0, &err);

    assert_int_equal(pipc__cuda_ll128_can(x, 0, bytes, false), !st);
    return st;
}

static void ll128_runs_over_nvlink_alone(void **state)
{
    static const place_t table[] = {
        {"two GPUs by NVLink", PIPC__ONE_SHOT, 2, true, false, 64 * MB, true},
        {"four GPUs by NVLink", PIPC__ONE_SHOT, 4, true, false, 64 * MB, true},
        {"two by PCIe", PIPC__ONE_SHOT, 2, false, false, 64 * MB, false},
        {"four, not all joined", PIPC__ONE_SHOT, 4, false, false, 64 * MB, false},
        {"two by host memory", PIPC__ONE_SHOT, 2, true, true, 64 * MB, false},
        {"a plan of two steps", PIPC__TWO_SHOT, 2, true, false, 64 * MB, false},
        {"staging that has no room", PIPC__ONE_SHOT, 2, true, false, 8 * MB, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (int rank = 0; rank < 2; rank++) {
            pipc__plan_t *plan;
            pipc__cuda_exec_t *x = open_rank(&table[i], rank, &plan);
            if (try_bytes(x, 4000) != (table[i].can ? PIPC_OK : PIPC_ERR_UNSUPPORTED))
                fail_msg("%s: rank %d", table[i].what, rank);
            close_rank(x, plan);
        }
}

static void long_messages_are_refused(void **state)
{
    const place_t p = {"", PIPC__ONE_SHOT, 2, true, false, 64 * MB, true};
    pipc__plan_t *plan;
    pipc__cuda_exec_t *x = open_rank(&p, 0, &plan);

    (void)state;
    assert_int_equal(try_bytes(x, pipc__ll128_bytes_max(2)), PIPC_OK);
    assert_int_equal(try_bytes(x, pipc__ll128_bytes_max(2) + 1), PIPC_ERR_INVALID);
    close_rank(x, plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ll128_runs_over_nvlink_alone),
        cmocka_unit_test(long_messages_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
