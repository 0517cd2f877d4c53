/* tests/unit/cuda_pin.c - ranges that are pinned once in a process, whoever asks for them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/exec/cuda_pin.h"

/* A driver that, as the real one, refuses to pin what is pinned. */
static struct {
    const void *pinned[4];
    int pins, unpins;
    CUresult no_pointer;
} driver;

static const void **slot_of(const void *p)
{
    for (int i = 0; i < 4; i++)
        if (driver.pinned[i] == p)
            return &driver.pinned[i];
    return NULL;
}

static CUresult host_register(void *p, size_t bytes, unsigned int flags)
{
    (void)bytes;
    assert_int_equal(flags, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
    if (slot_of(p))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    *slot_of(NULL) = p;
    driver.pins++;
    return CUDA_SUCCESS;
}

static CUresult host_unregister(void *p)
{
    assert_non_null(slot_of(p));
    *slot_of(p) = NULL;
    driver.unpins++;
    return CUDA_SUCCESS;
}

static CUresult device_pointer(CUdeviceptr *there, void *p, unsigned int flags)
{
    (void)flags;
    *there = (CUdeviceptr)(uintptr_t)p + 1;
    return driver.no_pointer;
}

static const pipc__cuda_t cu = {.MemHostRegister = host_register,
                                .MemHostUnregister = host_unregister,
                                .MemHostGetDevicePointer = device_pointer};
static char a[64], b[64];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        driver.pinned[i] = NULL;
    driver.pins = driver.unpins = 0;
    driver.no_pointer = CUDA_SUCCESS;
    return 0;
}

static void a_range_is_pinned_for_the_first_and_goes_with_the_last(void **state)
{
    CUdeviceptr first = 0, second = 0, other = 0;

    (void)state;
    assert_int_equal(pipc__cuda_pin(&cu, a, 64, &first), CUDA_SUCCESS);
    assert_int_equal(pipc__cuda_pin(&cu, a, 64, &second), CUDA_SUCCESS);
    assert_int_equal(pipc__cuda_pin(&cu, b, 64, &other), CUDA_SUCCESS);
    assert_int_equal(first, (CUdeviceptr)(uintptr_t)a + 1);
    assert_int_equal(second, first);
    assert_int_equal(driver.pins, 2);
    pipc__cuda_unpin(&cu, a);
    assert_int_equal(driver.unpins, 0);
    pipc__cuda_unpin(&cu, a);
    assert_int_equal(driver.unpins, 1);
    pipc__cuda_unpin(&cu, b);
    assert_int_equal(driver.unpins, 2);
}

static void another_length_is_refused(void **state)
{
    CUdeviceptr there;

    (void)state;
    assert_int_equal(pipc__cuda_pin(&cu, a, 32, &there), CUDA_SUCCESS);
    assert_int_equal(pipc__cuda_pin(&cu, a, 64, &there),
                     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    pipc__cuda_unpin(&cu, a);
    assert_int_equal(driver.unpins, 1);
}

static void what_fails_leaves_nothing(void **state)
{
    CUdeviceptr there;

    (void)state;
    driver.no_pointer = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(pipc__cuda_pin(&cu, a, 64, &there), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver.unpins, 1);
    driver.no_pointer = CUDA_SUCCESS;
    assert_int_equal(host_register(b, 64, 3), CUDA_SUCCESS); /* by the program */
    assert_int_equal(pipc__cuda_pin(&cu, b, 64, &there),
                     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    pipc__cuda_unpin(&cu, b); /* not ours: it stays */
    pipc__cuda_unpin(&cu, NULL);
    assert_int_equal(driver.unpins, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_range_is_pinned_for_the_first_and_goes_with_the_last, setup),
        cmocka_unit_test_setup(another_length_is_refused, setup),
        cmocka_unit_test_setup(what_fails_leaves_nothing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
