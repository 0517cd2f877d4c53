/* tests/unit/cuda_capture.c - what a program may ask and end while one of its threads captures a
 * stream, told by a driver without GPUs that forbids as much as the real one (cuda_fake.c). PyTorch
 * asks for errors from a thread of its own, and NCCL at each call that the hook forwards.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/cuda_driver.h"
#include "runtime/exec/exec.h"

static pipc__control_t *ctl;
static pipc__exec_t *x;
static const pipc__cuda_t *cu;
static const int *live; /* pieces of the driver's memory */

static void make(void)
{
    uint8_t handle[PIPC__HANDLE_MAX];
    pipc__segment_handle_t segment;
    pipc__exec_place_t place;
    pipc__error_t err;

    assert_int_equal(pipc__control_create(&ctl, &segment, &err), PIPC_OK);
    if (pipc__exec_cuda.create(&x, ctl, 8 << 20, handle, &place, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pipc__cuda_open(&cu, &err), PIPC_OK);
}

static CUstreamCaptureMode mode_of_this_thread(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

    cu->ThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void errors_may_be_asked_for_beside_a_capture(void **state)
{
    pipc__error_t err;
    bool yes;

    (void)state;
    make();
    setenv("FAKE_CUDA_CAPTURES", "1", 1);
    assert_int_equal(cu->EventQuery(NULL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* the control */
    assert_int_equal(x->ops->poll(x, &err), PIPC_OK);
    assert_int_equal(x->ops->pending(x, &yes, &err), PIPC_OK);
    assert_int_equal(x->ops->drain(x, &err), PIPC_OK);
    assert_int_equal(mode_of_this_thread(), CU_STREAM_CAPTURE_MODE_GLOBAL); /* as it was */
    unsetenv("FAKE_CUDA_CAPTURES");
    x->ops->destroy(x);
    pipc__control_destroy(ctl);
}

/* A GPU that has nothing to do comes to an event a little after it was recorded. */
static void what_runs_is_told_from_what_is_about_to_end(void **state)
{
    static const struct {
        const char *busy;
        bool pending;
    } cases[] = {{NULL, false}, {"1", false}, {"20", false}, {"1000000", true}};
    pipc__error_t err;
    bool yes;

    (void)state;
    make();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].busy)
            setenv("FAKE_CUDA_BUSY", cases[i].busy, 1);
        assert_int_equal(x->ops->pending(x, &yes, &err), PIPC_OK);
        assert_int_equal(yes, cases[i].pending);
        unsetenv("FAKE_CUDA_BUSY");
        cu->EventQuery(NULL); /* it counts anew */
    }
    x->ops->destroy(x);
    pipc__control_destroy(ctl);
}

static void a_communicator_may_end_beside_a_capture(void **state)
{
    (void)state;
    make();
    setenv("FAKE_CUDA_CAPTURES", "1", 1);
    assert_true(*live > 0);
    x->ops->destroy(x);
    assert_int_equal(*live, 0);
    assert_int_equal(mode_of_this_thread(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    unsetenv("FAKE_CUDA_CAPTURES");
    pipc__control_destroy(ctl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_may_be_asked_for_beside_a_capture),
        cmocka_unit_test(what_runs_is_told_from_what_is_about_to_end),
        cmocka_unit_test(a_communicator_may_end_beside_a_capture),
    };
    const char *folder = getenv("PIPC_BUILDDIR"), *gencode = getenv("PIPC_CUDA_GENCODE");
    const char *code = gencode ? strstr(gencode, "sm_") : NULL;
    char path[4096], fits[32];

    if (!code) { /* PTX alone: which GPU it is for is not told */
        puts("1..0 # SKIP no machine code for a GPU in this build");
        return 77;
    }
    snprintf(fits, sizeof(fits), "13000 sm_%d", atoi(code + 3));
    setenv("FAKE_CUDA", fits, 1);
    snprintf(path, sizeof(path), "%s/tests/unit/.libs/libcuda.so.1", folder ? folder : ".");
    void *fake = dlopen(path, RTLD_NOW); /* what dlopen("libcuda.so.1") gives from now on */
    live = fake ? dlsym(fake, "fake_cuda_live") : NULL;
    if (!live) {
        fprintf(stderr, "# %s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
