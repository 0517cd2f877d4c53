/* tests/unit/cuda_launch.c - which launches may begin before the kernel before them has ended, and
 * how the driver is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"

static void launches_begin_early_where_kernels_wait_themselves(void **state)
{
    static const struct {
        int driver, ptx;
        bool has_launch, early;
    } cases[] = {
        {12030, 90, true, true},   {13000, 100, true, true},
        {13000, 90, false, false}, /* no such launch */
        {13000, 80, true, false},  /* of older PTX: the kernel has no such wait */
        {12020, 90, true, false},  /* no such edges of graphs */
        {0, 90, true, false},      {13000, 0, true, false}, /* who knows */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            pipc__cuda_may_begin_early(cases[i].driver, cases[i].ptx, cases[i].has_launch),
            cases[i].early);
}

/* A driver with a kernel of each kind, made for what ptx[] says. */
static int ptx[4], driver_version;
static const void *function_of(int kind)
{
    return &ptx[kind];
}

static struct launch {
    bool early;
    unsigned int blocks, threads, shared;
    CUfunction kernel;
    CUstream stream;
    const void *args;
} last;

static CUresult function_attribute(int *value, CUfunction_attribute what, CUfunction f)
{
    if (what != CU_FUNC_ATTRIBUTE_PTX_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    *value = *(const int *)(const void *)f;
    return *value < 0 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult version(int *value)
{
    *value = driver_version;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction f, unsigned int x, unsigned int y, unsigned int z,
                       unsigned int threads, unsigned int ty, unsigned int tz, unsigned int shared,
                       CUstream s, void **params, void **extra)
{
    last = (struct launch){false, x * y * z, threads * ty * tz, shared, f, s, params[0]};
    return extra ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    last = (struct launch){
        c->numAttrs == 1 && c->attrs->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            c->attrs->value.programmaticStreamSerializationAllowed == 1,
        c->gridDimX * c->gridDimY * c->gridDimZ,
        c->blockDimX * c->blockDimY * c->blockDimZ,
        c->sharedMemBytes,
        f,
        c->hStream,
        params[0]};
    return extra ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static const pipc__cuda_t cu = {.FuncGetAttribute = function_attribute,
                                .DriverGetVersion = version,
                                .LaunchKernel = launch,
                                .LaunchKernelEx = launch_ex};

static bool begins_early(int simple, int ll, int ll128, int push, int driver)
{
    static pipc__cuda_exec_t x;
    pipc__cuda_grid_t g = {NULL, 33, 512, 1024};
    int args = 0;

    memset(&x, 0, sizeof(x));
    ptx[0] = simple, ptx[1] = ll, ptx[2] = ll128, ptx[3] = push, driver_version = driver;
    x.cu = &cu;
    x.kernel[PIPC_SUM][PIPC_F32] = (CUfunction)(uintptr_t)function_of(0);
    x.ll_kernel[PIPC_SUM][PIPC_F32] = (CUfunction)(uintptr_t)function_of(1);
    x.ll128_kernel[PIPC_SUM][PIPC_F32] = (CUfunction)(uintptr_t)function_of(2);
    x.push_kernel[PIPC_SUM][PIPC_F32] = (CUfunction)(uintptr_t)function_of(3);
    g.kernel = x.push_kernel[PIPC_SUM][PIPC_F32];
    pipc__cuda_launch_init(&x);
    assert_int_equal(pipc__cuda_launch(&x, (CUstream)(uintptr_t)&x, &g, &args), CUDA_SUCCESS);
    assert_int_equal(last.early, x.begins_early);
    assert_int_equal(last.blocks, 33);
    assert_int_equal(last.threads, 512);
    assert_int_equal(last.shared, 1024);
    assert_ptr_equal(last.kernel, g.kernel);
    assert_ptr_equal(last.stream, &x);
    assert_ptr_equal(last.args, &args);
    x.base.plain = true; /* the user does not want it */
    assert_int_equal(pipc__cuda_launch(&x, NULL, &g, &args), CUDA_SUCCESS);
    assert_false(last.early);
    return x.begins_early;
}

static void every_kernel_must_have_the_wait(void **state)
{
    (void)state;
    assert_true(begins_early(90, 90, 90, 90, 13000));
    assert_false(begins_early(90, 90, 90, 90, 12000));
    for (int old = 0; old < 4; old++)
        for (int what = -1; what <= 80; what += 81) /* not told; of older PTX */
            assert_false(begins_early(old == 0 ? what : 90, old == 1 ? what : 90,
                                      old == 2 ? what : 90, old == 3 ? what : 90, 13000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_begin_early_where_kernels_wait_themselves),
        cmocka_unit_test(every_kernel_must_have_the_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
