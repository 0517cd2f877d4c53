/* tests/unit/cuda_order.c - what keeps calls one after the other, as the driver is told: a driver
 * without GPUs that writes down what is enqueued
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"

/* --- the driver: a letter for what is enqueued, and the stream's name -------------------------- */

static char did[256];
static CUstreamCaptureStatus capture[256]; /* by the stream's name */

static CUstream stream_of(char name)
{
    return (CUstream)(uintptr_t)name;
}

static CUresult note(char what, CUstream stream)
{
    size_t used = strlen(did);

    snprintf(did + used, sizeof(did) - used, "%c%c ", what, (char)(uintptr_t)stream);
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream s, CUstreamCaptureStatus *status)
{
    *status = capture[(unsigned char)(uintptr_t)s];
    return CUDA_SUCCESS;
}

static CUresult get_id(CUstream s, unsigned long long *id)
{
    *id = (uintptr_t)s;
    return CUDA_SUCCESS;
}

static CUresult wait_event(CUstream s, CUevent event, unsigned int flags)
{
    (void)event;
    return note(flags == CU_EVENT_WAIT_EXTERNAL ? 'W' : 'w', s);
}

static CUresult record(CUevent event, CUstream s)
{
    (void)event;
    return note('r', s);
}

static CUresult record_with(CUevent event, CUstream s, unsigned int flags)
{
    (void)event, (void)flags;
    return note('R', s);
}

static CUresult wait_count(CUstream s, CUdeviceptr at, cuuint64_t value, unsigned int flags)
{
    (void)at, (void)flags;
    size_t used = strlen(did);
    snprintf(did + used, sizeof(did) - used, "c%c%llu ", (char)(uintptr_t)s,
             (unsigned long long)value);
    return CUDA_SUCCESS;
}

static const pipc__cuda_t cu = {.StreamIsCapturing = is_capturing,
                                .StreamGetId = get_id,
                                .StreamWaitEvent = wait_event,
                                .StreamWaitValue64 = wait_count,
                                .EventRecord = record,
                                .EventRecordWithFlags = record_with};

/* --- calls ------------------------------------------------------------------------------------ */

/* "ka" is a kernel of ours on stream a, "na" a call of NCCL's there; "(a" and ")a" begin and end a
 * capture. */
static void run(pipc__cuda_exec_t *x, const char *calls)
{
    memset(x, 0, sizeof(*x));
    memset(capture, 0, sizeof(capture));
    did[0] = '\0';
    x->cu = &cu;
    x->stream = stream_of('-');
    x->order.counts = true;
    for (const char *p = calls; *p; p += 2 + (p[2] == ' ')) {
        unsigned char s = (unsigned char)p[1];
        bool capturing;
        if (*p == '(' || *p == ')') {
            capture[s] = *p == '(' ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
            continue;
        }
        assert_int_equal(pipc__cuda_order_before(x, stream_of(p[1]), &capturing), CUDA_SUCCESS);
        note(*p, stream_of(p[1]));
        assert_int_equal(*p == 'k' ? pipc__cuda_order_after(x, stream_of(p[1]), capturing)
                                   : pipc__cuda_order_other(x, stream_of(p[1]), capturing),
                         CUDA_SUCCESS);
    }
}

static void each_call_waits_for_the_one_before(void **state)
{
    static const struct {
        const char *calls, *did;
    } cases[] = {
        {"ka ka", "ka ka "}, /* a stream's order is enough */
        {"ka kb ka", "ka cb1 kb ca2 ka "},
        {"na ka", "na ra ka "},
        {"na kb", "na ra wb kb "}, /* NCCL counts nothing: the event stands behind it */
        {"ka nb kc", "ka cb1 nb rb wc kc "},
        {"ka nb kb ka", "ka cb1 nb rb kb ca2 ka "},
        {"na nb", "na ra wb nb rb "},
        /* the first capture: the event comes behind all that was, and from then on behind each */
        {"ka (b kb )b kc", "ka c-1 r- Wb kb Rb wc kc rc "},
        {"na (b kb )b kc", "na ra Wb kb Rb wc kc rc "},
    };
    static pipc__cuda_exec_t x;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run(&x, cases[i].calls);
        if (strcmp(did, cases[i].did))
            fail_msg("%s: %s, not %s", cases[i].calls, did, cases[i].did);
    }
}

/* LL numbers its calls by the count, which must be the same on all ranks: a capture runs nothing,
 * so ranks may differ in what they do before and what behind it. */
static void no_order_of_captures_and_nccls_calls_moves_the_count(void **state)
{
    static const char *const ranks[] = {"(a ka )a nb kb kb", "nb (a ka )a kb kb", "nb kb (a ka )a kb",
                                        "nb kb kb (a ka )a"};
    static pipc__cuda_exec_t x;

    (void)state;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        run(&x, ranks[i]);
        if (x.order.launched != 2)
            fail_msg("%s: %llu", ranks[i], (unsigned long long)x.order.launched);
    }
}

static void a_spoilt_capture_is_refused_before_anything_is_done(void **state)
{
    static pipc__cuda_exec_t x;
    bool capturing;

    (void)state;
    run(&x, "ka");
    capture['b'] = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    did[0] = '\0';
    assert_int_equal(pipc__cuda_order_before(&x, stream_of('b'), &capturing),
                     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_string_equal(did, "");
    assert_false(x.order.captured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_waits_for_the_one_before),
        cmocka_unit_test(no_order_of_captures_and_nccls_calls_moves_the_count),
        cmocka_unit_test(a_spoilt_capture_is_refused_before_anything_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
