/* tests/unit/plan_nomem.c - every allocation of what makes, reads and checks plans fails once
 *
 * As in topo_nomem.c: each time the answer has to be PIPC_ERR_NOMEM, nothing may be left behind
 * (the sanitizer build looks), and nothing may crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/json.h"

static long left = -1; /* allocations until one fails; -1: none fails */
static bool failed;

static bool fails(void)
{
    if (left < 0 || left-- > 0)
        return false;
    failed = true;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* Run @once, which returns a status, with each allocation failing in turn. */
static void sweep(pipc_status_t (*once)(void *), void *arg)
{
    for (long nth = 0;; nth++) {
        left = nth;
        failed = false;
        pipc_status_t st = once(arg);
        left = -1;
        assert_int_equal(st, failed ? PIPC_ERR_NOMEM : PIPC_OK);
        if (!failed)
            break;
        assert_true(nth < 10000);
    }
}

static pipc_status_t make_once(void *plan)
{
    pipc__plan_t **p = plan;
    pipc__shape_t shape;

    pipc__plan_free(*p);
    pipc__shape_flat(&shape, 4);
    pipc_status_t st = pipc__plan_make_for(p, PIPC__ISLAND, PIPC__ALLREDUCE, &shape, NULL);
    assert_int_equal(*p == NULL, st != PIPC_OK);
    return st;
}

static pipc_status_t check_once(void *plan)
{
    pipc__check_call_t call = {plan, 3, 2, true};

    return pipc__plan_check(&call, 1, PIPC__BUFFERS, NULL);
}

static pipc_status_t read_once(void *path)
{
    pipc__plan_t *p;
    pipc_status_t st = pipc__plan_read_json(&p, path, NULL);

    assert_int_equal(p == NULL, st != PIPC_OK);
    pipc__plan_free(p);
    return st;
}

static void plans(void **state)
{
    char path[] = "/tmp/plan-nomem.XXXXXX";
    pipc__plan_t *p = NULL;

    (void)state;
    sweep(make_once, &p);
    sweep(check_once, p);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_int_equal(pipc__plan_write_json(p, f, NULL), PIPC_OK);
    fclose(f);
    sweep(read_once, path);
    unlink(path);
    pipc__plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
