/* tests/unit/copy.c - copies past the caches: right at every alignment and length, and nothing
 * beside
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/copy.h"

#define MOST 400
#define AROUND 128

static void check(size_t to, size_t from, size_t n)
{
    static _Alignas(64) char dst[MOST + 3 * AROUND], src[MOST + AROUND];

    memset(dst, '.', sizeof(dst));
    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (char)(i * 7 + i / 256);
    pipc__copy_past_caches(dst + AROUND + to, src + from, n);
    if (memcmp(dst + AROUND + to, src + from, n))
        fail_msg("%zu bytes from %zu to %zu are wrong", n, from, to);
    for (size_t i = 0; i < sizeof(dst); i++)
        if ((i < AROUND + to || i >= AROUND + to + n) && dst[i] != '.')
            fail_msg("%zu bytes from %zu to %zu: byte %zu was written", n, from, to, i);
}

static void every_alignment_and_length_is_copied(void **state)
{
    (void)state;
    for (size_t to = 0; to < 64; to += to < 34 ? 1 : 7)
        for (size_t from = 0; from < 64; from += 13)
            for (size_t n = 0; n <= MOST; n += n < 140 ? 1 : 17)
                check(to, from, n);
}

static void there_is_a_cache(void **state)
{
    (void)state;
    assert_true(pipc__copy_cache_bytes() >= 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_and_length_is_copied),
        cmocka_unit_test(there_is_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
