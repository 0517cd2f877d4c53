/* tests/unit/health_state.c - files in root's folders: whole or not at all, and nobody else's
 */
#include <fcntl.h>
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

#include "prolog/state.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char base[64], folder[80];
static int dir;

static int make_folder(void **state)
{
    (void)state;
    strcpy(base, "/tmp/pipc-state-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof(folder), "%s/own", base);
    return pipc__state_open(folder, geteuid(), &dir, NULL);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a", ".a.new", "b", "lock"};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        if (unlinkat(dir, names[i], 0))
            unlinkat(dir, names[i], AT_REMOVEDIR);
    close(dir);
    return rmdir(folder) || rmdir(base);
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static void what_is_written_is_read(void **state)
{
    char *text;
    size_t n;
    mode_t before = umask(077);

    (void)state;
    assert_int_equal(pipc__state_write(dir, "a", 0644, "one\0two", 7, NULL), PIPC_OK);
    umask(before);
    assert_int_equal(mode_of("a"), 0644);
    assert_int_equal(mode_of("."), 0755);
    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 7, &text, &n, NULL), PIPC_OK);
    assert_int_equal(n, 7);
    assert_memory_equal(text, "one\0two", 8);
    free(text);
    assert_int_equal(pipc__state_write(dir, "a", 0600, "", 0, NULL), PIPC_OK);
    assert_int_equal(mode_of("a"), 0600);
    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 0, &text, &n, NULL), PIPC_OK);
    assert_int_equal(n, 0);
    free(text);
    assert_int_equal(pipc__state_read(dir, "b", geteuid(), 9, &text, &n, NULL), PIPC_ERR_NOT_FOUND);
    assert_null(text);
}

static void not_ours(void)
{
    pipc__error_t err;
    char *text;

    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 9, &text, NULL, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "a: not a plain file that is ours alone to write"));
    assert_null(text);
}

static void what_others_could_have_put_there_is_not_read(void **state)
{
    pipc__error_t err;
    char *text;

    (void)state;
    assert_int_equal(pipc__state_write(dir, "a", 0664, "x", 1, NULL), PIPC_OK);
    not_ours();
    assert_int_equal(pipc__state_write(dir, "a", 0646, "x", 1, NULL), PIPC_OK);
    not_ours();
    assert_int_equal(pipc__state_write(dir, "a", 0644, "x", 1, NULL), PIPC_OK);
    assert_int_equal(pipc__state_read(dir, "a", geteuid() + 1, 9, &text, NULL, &err),
                     PIPC_ERR_INVALID);
    assert_int_equal(unlinkat(dir, "a", 0), 0);
    assert_int_equal(mkfifoat(dir, "a", 0644), 0);
    not_ours(); /* and does not hang */
    assert_int_equal(unlinkat(dir, "a", 0), 0);
    assert_int_equal(mkdirat(dir, "a", 0755), 0);
    not_ours();
    assert_int_equal(unlinkat(dir, "a", AT_REMOVEDIR), 0);
    assert_int_equal(pipc__state_write(dir, "b", 0644, "x", 1, NULL), PIPC_OK);
    assert_int_equal(symlinkat("b", dir, "a"), 0);
    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 9, &text, NULL, &err), PIPC_ERR_SYSTEM);
    assert_int_equal(pipc__state_write(dir, "a", 0644, "y", 1, NULL), PIPC_OK);
    assert_int_equal(pipc__state_read(dir, "b", geteuid(), 9, &text, NULL, NULL), PIPC_OK);
    assert_string_equal(text, "x"); /* the link was replaced, not followed */
    free(text);
}

static void large_files_are_not_read(void **state)
{
    pipc__error_t err;
    char *text;

    (void)state;
    assert_int_equal(pipc__state_write(dir, "a", 0644, "12345678", 8, NULL), PIPC_OK);
    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 7, &text, NULL, &err), PIPC_ERR_INVALID);
    assert_string_equal(err.text, "a: larger than 7 bytes");
}

static void half_a_file_of_one_that_was_killed_is_no_obstacle(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(pipc__state_write(dir, ".a.new", 0600, "hal", 3, NULL), PIPC_OK);
    assert_int_equal(pipc__state_write(dir, "a", 0644, "whole", 5, NULL), PIPC_OK);
    assert_int_equal(pipc__state_read(dir, "a", geteuid(), 9, &text, NULL, NULL), PIPC_OK);
    assert_string_equal(text, "whole");
    free(text);
    assert_int_not_equal(faccessat(dir, ".a.new", F_OK, 0), 0);
}

static void names_and_folders_that_are_refused(void **state)
{
    static const char *const names[] = {
        "", "../a", "x/y", "a-name-of-more-than-sixty-three-bytes-which-nobody-here-would-give-it"};
    pipc__error_t err;
    char path[128];
    int fd;

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(pipc__state_write(dir, names[i], 0644, "x", 1, NULL), PIPC_ERR_INVALID);
    assert_int_equal(pipc__state_open(folder, geteuid() + 1, &fd, &err), PIPC_ERR_INVALID);
    assert_int_equal(fd, -1);
    assert_int_equal(chmod(folder, 0775), 0);
    assert_int_equal(pipc__state_open(folder, geteuid(), &fd, &err), PIPC_ERR_INVALID);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(pipc__state_open("/nonexistent/folder", geteuid(), &fd, &err),
                     PIPC_ERR_SYSTEM);
    snprintf(path, sizeof(path), "%s/link", base);
    assert_int_equal(symlink(folder, path), 0);
    assert_int_equal(pipc__state_open(path, geteuid(), &fd, &err), PIPC_ERR_SYSTEM);
    assert_int_equal(unlink(path), 0);
}

static void who_reads_makes_no_folder(void **state)
{
    pipc__error_t err;
    char path[128];
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/none", base);
    assert_int_equal(pipc__state_find(path, geteuid(), &fd, &err), PIPC_ERR_NOT_FOUND);
    assert_string_equal(err.text + strlen(path), ": there is none");
    assert_int_equal(fd, -1);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(pipc__state_find(folder, geteuid(), &fd, NULL), PIPC_OK);
    close(fd);
    assert_int_equal(pipc__state_find(folder, geteuid() + 1, &fd, &err), PIPC_ERR_INVALID);
    assert_int_equal(fd, -1);
    assert_int_equal(symlink(folder, path), 0);
    assert_int_equal(pipc__state_find(path, geteuid(), &fd, &err), PIPC_ERR_SYSTEM);
    assert_int_equal(unlink(path), 0);
}

static void a_lock_is_one_process_s(void **state)
{
    pipc__error_t err;
    int first, second;

    (void)state;
    assert_int_equal(pipc__state_lock(dir, "lock", 0, &first, &err), PIPC_OK);
    assert_int_equal(mode_of("lock"), 0600);
    assert_int_equal(pipc__state_lock(dir, "lock", 0, &second, &err), PIPC_ERR_NOT_FOUND);
    assert_int_equal(pipc__state_lock(dir, "lock", 50, &second, &err), PIPC_ERR_NOT_FOUND);
    assert_int_equal(second, -1);
    close(first);
    assert_int_equal(pipc__state_lock(dir, "lock", -1, &second, &err), PIPC_OK);
    close(second);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_written_is_read),
        IN_FOLDER(what_others_could_have_put_there_is_not_read),
        IN_FOLDER(large_files_are_not_read),
        IN_FOLDER(half_a_file_of_one_that_was_killed_is_no_obstacle),
        IN_FOLDER(names_and_folders_that_are_refused),
        IN_FOLDER(who_reads_makes_no_folder),
        IN_FOLDER(a_lock_is_one_process_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
