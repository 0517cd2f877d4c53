/* tests/unit/spank_health.c - the health snapshot: what it may be, whom it may belong to, what it
 * says */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/health.h"
#include "spank/snapshot.h"

#define NOW 1700000000

static void texts(void **state)
{
    static const struct {
        const char *text, *verdict, *reason; /* verdict NULL: refused */
    } cases[] = {
        {"{\"boot_id\":\"b\",\"time\":1,\"verdict\":\"ok\"}", "ok", ""},
        {"{\"boot_id\":\"b\",\"time\":1,\"verdict\":\"drain\",\"reason\":\"PCI001\",\"gpus\":[{}]}",
         "drain", "PCI001"},
        {"", NULL, ""},
        {"{}", NULL, ""},
        {"[]", NULL, ""},
        {"{\"boot_id\":\"b\",\"time\":1}", NULL, ""},
        {"{\"boot_id\":\"b\",\"time\":\"1\",\"verdict\":\"drain\"}", NULL, ""},
        {"{\"boot_id\":\"b\",\"time\":1,\"verdict\":5}", NULL, ""},
        {"{\"boot_id\":\"b\",\"time\":1,\"verdict\":\"drain\"", NULL, ""}, /* cut off */
        {"{\"verdict\":\"ok\",\"boot_id\":\"b\",\"time\":1,\"verdict\":\"drain\"}", NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__snapshot_t snapshot;
        pipc__error_t err = {PIPC_OK, ""};
        pipc_status_t st =
            pipc__snapshot_read(cases[i].text, strlen(cases[i].text), &snapshot, &err);
        assert_int_equal(st, cases[i].verdict ? PIPC_OK : PIPC_ERR_INVALID);
        if (!cases[i].verdict) {
            assert_string_not_equal(err.text, "");
            continue;
        }
        assert_string_equal(snapshot.verdict, cases[i].verdict);
        assert_string_equal(snapshot.reason, cases[i].reason);
    }
}

static void only_a_fresh_drain_of_this_boot_is_bad(void **state)
{
    static const struct {
        const char *boot_id, *verdict;
        int64_t time;
        pipc__health_t judged;
    } cases[] = {
        {"b", "ok", NOW, PIPC__HEALTH_GOOD},
        {"b", "note", NOW - 60, PIPC__HEALTH_GOOD},
        {"b", "warn", NOW - PIPC__HEALTH_FRESH, PIPC__HEALTH_GOOD},
        {"b", "drain", NOW - 60, PIPC__HEALTH_BAD},
        {"b", "drain", NOW - PIPC__HEALTH_FRESH - 1, PIPC__HEALTH_UNKNOWN}, /* stale */
        {"b", "drain", NOW + 301, PIPC__HEALTH_UNKNOWN},                    /* of the future */
        {"a", "drain", NOW, PIPC__HEALTH_UNKNOWN},                          /* another boot */
        {"", "drain", NOW, PIPC__HEALTH_UNKNOWN},
        {"b", "unknown", NOW, PIPC__HEALTH_UNKNOWN},
        {"b", "moon", NOW, PIPC__HEALTH_UNKNOWN},
        {"b", "drain", INT64_MAX, PIPC__HEALTH_UNKNOWN},
        {"b", "drain", INT64_MIN, PIPC__HEALTH_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__snapshot_t snapshot = {.time = cases[i].time};
        char why[128];
        strcpy(snapshot.boot_id, cases[i].boot_id);
        strcpy(snapshot.verdict, cases[i].verdict);
        pipc__health_t got = pipc__health_judge(&snapshot, "b", NOW, why, sizeof(why));
        if (got != cases[i].judged)
            fail_msg("case %zu: %d, %s", i, (int)got, why);
        assert_true(got != PIPC__HEALTH_UNKNOWN || *why);
    }
}

static void only_a_file_that_its_owner_alone_writes_is_read(void **state)
{
    char top[] = "/tmp/pipc-unit-XXXXXX", path[64], link[64], buf[8], why[256];
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof(path), "%s/health.json", top);
    snprintf(link, sizeof(link), "%s/link", top);
    assert_int_equal(pipc__health_text(path, geteuid(), buf, sizeof(buf), why, sizeof(why)), -1);
    assert_non_null(strstr(why, "there is no "));
    f = fopen(path, "w");
    assert_true(f && fputs("12345", f) >= 0 && fclose(f) == 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(pipc__health_text(path, geteuid(), buf, sizeof(buf), why, sizeof(why)), 5);
    assert_memory_equal(buf, "12345", 5);
    assert_int_equal(pipc__health_text(path, geteuid(), buf, 5, why, sizeof(why)), -1); /* long */
    assert_int_equal(pipc__health_text(path, geteuid() + 1, buf, 8, why, sizeof(why)), -1);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(pipc__health_text(link, geteuid(), buf, 8, why, sizeof(why)), -1);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(pipc__health_text(path, geteuid(), buf, 8, why, sizeof(why)), -1);
    assert_non_null(strstr(why, "only root can write"));
    assert_int_equal(unlink(path) || mkfifo(path, 0644), 0);
    assert_int_equal(pipc__health_text(path, geteuid(), buf, 8, why, sizeof(why)),
                     -1); /* at once */
    assert_int_equal(pipc__health_text(top, geteuid(), buf, 8, why, sizeof(why)), -1);
    unlink(path);
    unlink(link);
    rmdir(top);
}

static void without_the_second_object_it_is_not_known(void **state)
{
    char why[256];

    (void)state;
    assert_int_equal(pipc__health_of_node("/proc/self/status", NULL, why, sizeof(why)),
                     PIPC__HEALTH_UNKNOWN);
    assert_string_not_equal(why, "");
    assert_int_equal(pipc__health_of_node("/nonexistent", NULL, why, sizeof(why)),
                     PIPC__HEALTH_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(only_a_fresh_drain_of_this_boot_is_bad),
        cmocka_unit_test(only_a_file_that_its_owner_alone_writes_is_read),
        cmocka_unit_test(without_the_second_object_it_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
