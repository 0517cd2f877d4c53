/* tests/unit/health_watch.c - what a watch sees and keeps: rings, changes as records and as lines,
 * periods, what a window of time has
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/dips.h"
#include "prolog/diary.h"
#include "prolog/state.h"
#include "prolog/watch.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PORT "0000:00:01.0"
#define GPU "0000:01:00.0"

/* ---- the ring ------------------------------------------------------------------------------ */

static char joined[4096];

static bool join(void *arg, const char *text)
{
    (void)arg;
    strcat(joined, text);
    strcat(joined, " ");
    return true;
}

static int folder(void)
{
    int dir;

    assert_int_equal(pipc__state_open(tree, geteuid(), &dir, NULL), PIPC_OK);
    return dir;
}

/* Append the numbers from @first to @last to a ring of 8 places. */
static void append(int dir, int first, int last)
{
    pipc__ring_t ring;
    char text[16];

    assert_int_equal(pipc__ring_open(dir, "ring", geteuid(), 8, &ring, NULL), PIPC_OK);
    for (int i = first; i <= last; i++) {
        snprintf(text, sizeof(text), "%d", i);
        assert_int_equal(pipc__ring_append(&ring, text, NULL), PIPC_OK);
    }
    pipc__ring_close(&ring);
}

static const char *read_ring(int dir)
{
    joined[0] = '\0';
    assert_int_equal(pipc__ring_read(dir, "ring", geteuid(), join, NULL, NULL), PIPC_OK);
    return joined;
}

static void a_ring_keeps_the_newest(void **state)
{
    int dir = folder();
    struct stat st;

    (void)state;
    append(dir, 1, 3);
    assert_string_equal(read_ring(dir), "1 2 3 ");
    append(dir, 4, 8);
    append(dir, 9, 19); /* it goes on where another writer ended, and round */
    assert_string_equal(read_ring(dir), "12 13 14 15 16 17 18 19 ");
    assert_int_equal(fstatat(dir, "ring", &st, 0), 0);
    assert_int_equal(st.st_size, 8 * PIPC__RING_RECORD);
    assert_int_equal(st.st_mode & 0777, 0600);
    close(dir);
}

/* A record that was torn, at each of its bytes, is passed over, and the next is written after the
 * others. */
static void a_torn_record_is_passed_over(void **state)
{
    int dir = folder();

    (void)state;
    append(dir, 1, 5);
    int fd = openat(dir, "ring", O_RDWR);
    for (int at = 0; at < PIPC__RING_RECORD; at++) {
        char was, torn;
        assert_int_equal(pread(fd, &was, 1, 4 * PIPC__RING_RECORD + at), 1);
        torn = (char)(was ^ 1);
        assert_int_equal(pwrite(fd, &torn, 1, 4 * PIPC__RING_RECORD + at), 1);
        assert_string_equal(read_ring(dir), "1 2 3 4 ");
        assert_int_equal(pwrite(fd, &was, 1, 4 * PIPC__RING_RECORD + at), 1);
    }
    assert_string_equal(read_ring(dir), "1 2 3 4 5 ");
    assert_int_equal(pwrite(fd, "torn", 4, 4 * PIPC__RING_RECORD), 4);
    append(dir, 6, 6);
    assert_string_equal(read_ring(dir), "1 2 3 4 6 ");
    /* A whole record at another's place is none: who knows what wrote it. */
    char record[PIPC__RING_RECORD];
    assert_int_equal(pread(fd, record, sizeof(record), 0), (int)sizeof(record));
    assert_int_equal(pwrite(fd, record, sizeof(record), 6 * PIPC__RING_RECORD),
                     (int)sizeof(record));
    assert_string_equal(read_ring(dir), "1 2 3 4 6 ");
    close(fd);
    close(dir);
}

static void what_is_no_ring(void **state)
{
    pipc__error_t err = {PIPC_OK, ""};
    int dir = folder();
    pipc__ring_t ring;
    char text[PIPC__RING_TEXT_MAX + 1];

    (void)state;
    assert_int_equal(pipc__ring_read(dir, "ring", geteuid(), join, NULL, NULL), PIPC_ERR_NOT_FOUND);
    tree_put("ring", "of another size", 15); /* it is made anew */
    append(dir, 1, 1);
    assert_string_equal(read_ring(dir), "1 ");
    assert_int_equal(fchmodat(dir, "ring", 0666, 0), 0);
    assert_int_equal(pipc__ring_open(dir, "ring", geteuid(), 8, &ring, &err), PIPC_ERR_INVALID);
    assert_int_equal(ring.fd, -1);
    assert_int_equal(unlinkat(dir, "ring", 0), 0);
    assert_int_equal(symlinkat("elsewhere", dir, "ring"), 0);
    assert_int_equal(pipc__ring_open(dir, "ring", geteuid(), 8, &ring, &err), PIPC_ERR_SYSTEM);
    assert_int_equal(pipc__ring_open(dir, "ring", geteuid(), 0, &ring, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__ring_open(dir, "other", geteuid(), 8, &ring, &err), PIPC_OK);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(pipc__ring_append(&ring, text, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__ring_append(&ring, "two\nlines", &err), PIPC_ERR_INVALID);
    text[PIPC__RING_TEXT_MAX - 1] = '\0';
    assert_int_equal(pipc__ring_append(&ring, text, &err), PIPC_OK);
    pipc__ring_close(&ring);
    close(dir);
}

/* ---- changes ------------------------------------------------------------------------------- */

static const struct {
    pipc__change_t change;
    const char *record, *line;
} changes[] = {
    {{1764492837123, PIPC__CHANGE_WIDTH, GPU, PORT, 16, 8, {0}},
     "w 1764492837123 0000:01:00.0 0000:00:01.0 16 8",
     "2025-11-30T08:53:57.123Z 0000:01:00.0 (port 0000:00:01.0): link x16 -> x8"},
    {{1764492837000, PIPC__CHANGE_WIDTH, GPU, "", 16, -1, {0}},
     "w 1764492837000 0000:01:00.0 - 16 -1",
     "2025-11-30T08:53:57Z 0000:01:00.0: link x16 -> unknown"},
    {{1000, PIPC__CHANGE_SPEED, GPU, PORT, 16000, 2500, {0}},
     "s 1000 0000:01:00.0 0000:00:01.0 16000 2500",
     "1970-01-01T00:00:01Z 0000:01:00.0 (port 0000:00:01.0): 16 GT/s -> 2.5 GT/s"},
    {{1000, PIPC__CHANGE_ERRORS, GPU, PORT, 0, 0, {1, 2, 0, 0, 3, 0, 0, 1}},
     "e 1000 0000:01:00.0 0000:00:01.0 1 2 0 0 3 0 0 1",
     "1970-01-01T00:00:01Z 0000:01:00.0 (port 0000:00:01.0): 1 receiver error, 2 bad TLP, 3 replay "
     "timeout, 1 fatal error"},
    {{1000, PIPC__CHANGE_START, "", "", 1500, 0, {0}},
     "+ 1000 - - 1500 0",
     "1970-01-01T00:00:01Z node: the watch begins, a look every 1.5 s"},
};

static void changes_as_records_and_lines(void **state)
{
    char record[PIPC__RING_TEXT_MAX], line[400];
    pipc__change_t again;

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        pipc__change_format(&changes[i].change, record);
        assert_string_equal(record, changes[i].record);
        assert_string_equal(pipc__change_line(&changes[i].change, line, sizeof(line)),
                            changes[i].line);
        assert_true(pipc__change_parse(record, &again));
        assert_memory_equal(&again, &changes[i].change, sizeof(again));
    }
}

static void the_largest_change_fits(void **state)
{
    pipc__change_t c = {.ms = 9999999999999, .kind = PIPC__CHANGE_ERRORS}, again;
    char record[PIPC__RING_TEXT_MAX];

    (void)state;
    for (int k = 0; k < PIPC__COUNTS; k++)
        c.count[k] = INT64_MAX;
    strcpy(c.lower, "10000:e1:00.0");
    strcpy(c.upper, "10000:e0:06.0");
    pipc__change_format(&c, record);
    assert_true(pipc__change_parse(record, &again));
    assert_string_equal(again.lower, c.lower);
    assert_int_equal(again.count[PIPC__COUNT_FATAL], 999999);
    memset(c.lower, 'a', sizeof(c.lower) - 1);
    memset(c.upper, 'b', sizeof(c.upper) - 1);
    pipc__change_format(&c, record);
    assert_true(pipc__change_parse(record, &again));
    assert_string_equal(again.lower, "aaaaaaaaaaaaaaaaaaaa");
    assert_string_equal(again.upper, "");
}

static void what_is_no_change(void **state)
{
    static const char *const wrong[] = {"",
                                        "x 1000 a b 1 2",
                                        "w",
                                        "w 1000",
                                        "w 1000 a b",
                                        "w 1000 a b 1",
                                        "w 1000 a b -2 1",
                                        "w -1 a b 1 2",
                                        "w 999999999999999999 a b 1 2",
                                        "e 1000 a b 1 2 3 4 5 6 7",
                                        "e 1000 a b 1 2 3 4 5 6 7 -8",
                                        "e 1000 a b 1 2 3 4 5 6 7 9999999"};
    pipc__change_t c;

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (pipc__change_parse(wrong[i], &c))
            fail_msg("\"%s\" is a change", wrong[i]);
}

/* ---- periods ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double at[12]; /* minutes; ends with a negative one */
    double period; /* minutes */
} periods[] = {
    {"every 30 minutes", {0, 30, 60, 90, 120, 150, -1}, 30},
    {"give or take a look", {0, 30.2, 59.9, 90.1, 120, 149.8, -1}, 29.96},
    {"some were not seen", {0, 30, 60, 120, 150, 240, 270, -1}, 30},
    {"each of them is several", {0, 0.2, 0.5, 30, 30.3, 60, 90, 90.1, 120, 120.4, -1}, 30},
    {"one of six at another time", {0, 30, 60, 73, 90, 120, 150, 180, 210, 240, 270, -1}, 30},
    {"four are too few", {0, 30, 60, 90, -1}, 0},
    {"none", {-1}, 0},
    {"no period", {0, 7, 43, 51, 112, 130, 201, -1}, 0},
    {"more and more often", {0, 60, 100, 125, 140, 150, -1}, 0},
    {"one dip that lasts", {0, 0.2, 0.4, 0.6, 0.8, 0.9, -1}, 0},
};

static void finds_periods(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(periods); i++) {
        double seconds[12], want = periods[i].period * 60;
        int n = 0;
        for (; periods[i].at[n] >= 0; n++)
            seconds[n] = 1764492837 + periods[i].at[n] * 60;
        double is = pipc__period(seconds, n);
        if (is < want - 1 || is > want + 1)
            fail_msg("%s: %g s, expected %g s", periods[i].name, is, want);
    }
}

static void add(pipc__changes_t *list, int64_t ms, pipc__change_kind_t kind, const char *lower,
                int from, int to)
{
    pipc__change_t c = {.ms = ms, .kind = kind, .from = from, .to = to};

    snprintf(c.lower, sizeof(c.lower), "%s", lower);
    if (kind == PIPC__CHANGE_ERRORS)
        c.count[PIPC__COUNT_BAD_TLP] = 2;
    assert_true(pipc__changes_add(list, &c));
}

/* Two links fall together every half an hour, each losing lanes or speed; a third one, idle now and
 * then, is well. */
static void a_power_dip_every_30_minutes(void **state)
{
    pipc__changes_t list = {.n = 0};
    pipc__dips_list_t dips;
    char *text;
    size_t size;

    (void)state;
    for (int i = 0; i < 48; i++) {
        int64_t ms = 1764492837000 + i * 1800000LL;
        add(&list, ms, PIPC__CHANGE_WIDTH, "0000:41:00.0", 16, 8);
        add(&list, ms + 1000, PIPC__CHANGE_WIDTH, "0000:42:00.0", 16, 4);
        add(&list, ms + 5000, PIPC__CHANGE_WIDTH, "0000:41:00.0", 8, 16);
        add(&list, ms + 5000, PIPC__CHANGE_WIDTH, "0000:42:00.0", 4, 16);
        if (i % 2)
            add(&list, ms + 20000 * i * (i % 11), PIPC__CHANGE_SPEED, "0000:43:00.0", 16000, 2500);
    }
    add(&list, 1764999999000, PIPC__CHANGE_ERRORS, "0000:41:00.0", 0, 0);
    add(&list, 1764999999000, PIPC__CHANGE_WIDTH, "0000:43:00.0", 16, -1);
    assert_true(pipc__dips(&list, &dips));
    assert_int_equal(dips.n, 3);
    assert_true(dips.node.period > 1799 && dips.node.period < 1801);
    FILE *f = open_memstream(&text, &size);
    pipc__dips_print(&dips, f);
    fclose(f);
    assert_string_equal(text,
                        "0000:41:00.0: fewer lanes 48 times, down to x8, every 30 min\n"
                        "0000:41:00.0: 2 bad TLP\n"
                        "0000:42:00.0: fewer lanes 48 times, down to x4, every 30 min\n"
                        "0000:43:00.0: not to be read 1 times\n"
                        "0000:43:00.0: 24 changes of speed, down to 2.5 GT/s; idle GPUs make them\n"
                        "node: links lose lanes every 30 min: look at its power and cooling\n");
    free(text);
    pipc__dips_free(&dips);
    pipc__changes_free(&list);
}

/* ---- the record ---------------------------------------------------------------------------- */

static void put(pipc__diary_t *r, int64_t ms, pipc__change_kind_t kind)
{
    pipc__change_t c = {.ms = ms, .kind = kind, .from = 16, .to = 8};

    if (kind != PIPC__CHANGE_START && kind != PIPC__CHANGE_STOP)
        strcpy(c.lower, GPU);
    assert_int_equal(pipc__diary_add(r, &c, NULL), PIPC_OK);
}

static int window(int64_t from, int64_t to, bool speeds, pipc__watched_t *watched)
{
    const pipc__window_t w = {from, to, speeds};
    pipc__changes_t list;

    assert_int_equal(pipc__diary_read(tree, geteuid(), &w, &list, watched, NULL), PIPC_OK);
    int n = list.n;
    for (int i = 1; i < n; i++)
        assert_true(list.list[i].ms >= list.list[i - 1].ms);
    pipc__changes_free(&list);
    return n;
}

static void a_window_of_the_record(void **state)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__diary_t r, second;
    pipc__watched_t watched;

    (void)state;
    assert_int_equal(window(0, 9000, true, &watched), 0);
    assert_int_equal(watched, PIPC__WATCHED_NOT);
    assert_int_equal(pipc__diary_open(&r, tree, geteuid(), NULL), PIPC_OK);
    put(&r, 1000, PIPC__CHANGE_START);
    put(&r, 2000, PIPC__CHANGE_WIDTH);
    put(&r, 4000, PIPC__CHANGE_WIDTH);
    put(&r, 3000, PIPC__CHANGE_SPEED);
    assert_int_equal(window(1500, 4000, false, &watched), 2);
    assert_int_equal(watched, PIPC__WATCHED_WHOLE);
    assert_int_equal(window(1500, 4000, true, &watched), 3);
    assert_int_equal(window(2001, 2500, true, &watched), 0);
    assert_int_equal(watched, PIPC__WATCHED_WHOLE);
    assert_int_equal(window(500, 4000, true, &watched), 3);
    assert_int_equal(watched, PIPC__WATCHED_PARTLY);
    assert_int_equal(pipc__diary_open(&second, tree, geteuid(), &err), PIPC_ERR_NOT_FOUND);
    pipc__diary_close(&second);
    pipc__diary_close(&r); /* killed: no STOP, and nobody has the lock */
    assert_int_equal(window(1500, 4000, false, &watched), 2);
    assert_int_equal(watched, PIPC__WATCHED_PARTLY);
    assert_int_equal(window(5000, 6000, false, &watched), 0);
    assert_int_equal(watched, PIPC__WATCHED_NOT);
}

/* ---- watching ------------------------------------------------------------------------------ */

static char seen[4096];

static void note(void *arg, const pipc__change_t *c)
{
    char line[400];

    (void)arg;
    strcat(seen, strchr(pipc__change_line(c, line, sizeof(line)), ' ') + 1);
    strcat(seen, "\n");
}

#define SEES(w, text)                                                                              \
    do {                                                                                           \
        seen[0] = '\0';                                                                            \
        assert_int_equal(pipc__watch_look(w, NULL), PIPC_OK);                                      \
        assert_string_equal(seen, text);                                                           \
    } while (0)

static void remove_gpu(void)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:02:00.0", tree);
    assert_int_equal(unlink(path), 0);
}

static void a_watch_tells_what_changes(void **state)
{
    pipc__watch_t w, again;

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    tree_put("sys/bus/pci_express/drivers/aer/" PORT ":pcie002", "", 0);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 5\n");
    seen[0] = '\0';
    assert_int_equal(pipc__watch_begin(&w, tree, NULL, note, NULL, NULL), PIPC_OK);
    assert_string_equal(seen, "");
    SEES(&w, "");
    tree_gpu(1, 8);
    SEES(&w, "0000:01:00.0 (port 0000:00:01.0): link x16 -> x8\n");
    SEES(&w, "");
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 7\n");
    SEES(&w, "0000:01:00.0 (port 0000:00:01.0): 2 bad TLP\n");
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 8\n");
    SEES(&w, ""); /* within a minute: later, or at the end */
    tree_fact(PORT, "current_link_width", "16\n");
    tree_fact(PORT, "current_link_speed", "16.0 GT/s PCIe\n");
    SEES(&w, "0000:01:00.0 (port 0000:00:01.0): link x8 -> x16\n"
             "0000:01:00.0 (port 0000:00:01.0): 2.5 GT/s -> 16 GT/s\n");
    remove_gpu(); /* its port still says something of the link, and then it is in no list */
    SEES(&w, "");
    tree_gpu(2, 16);
    SEES(&w, "0000:02:00.0 (port 0000:00:02.0): link unknown -> x16\n");
    seen[0] = '\0';
    pipc__watch_end(&w);
    assert_string_equal(seen, "0000:01:00.0 (port 0000:00:01.0): 1 bad TLP\n");
    tree_gpu(2, 4); /* while nobody watches */
    seen[0] = '\0';
    assert_int_equal(pipc__watch_begin(&again, tree, &w.last, note, NULL, NULL), PIPC_OK);
    assert_string_equal(seen, "0000:02:00.0 (port 0000:00:02.0): link x16 -> x4\n");
    pipc__watch_end(&again);
    pipc__counters_free(&again.last);
    pipc__counters_free(&w.last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ring_keeps_the_newest, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(a_torn_record_is_passed_over, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(what_is_no_ring, tree_make, tree_remove),
        cmocka_unit_test(changes_as_records_and_lines),
        cmocka_unit_test(the_largest_change_fits),
        cmocka_unit_test(what_is_no_change),
        cmocka_unit_test(finds_periods),
        cmocka_unit_test(a_power_dip_every_30_minutes),
        cmocka_unit_test_setup_teardown(a_window_of_the_record, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(a_watch_tells_what_changes, tree_make, tree_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
