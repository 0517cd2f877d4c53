/* tests/unit/outfile.c - what an option for output names is written whole or not at all; devices,
 * pipes and links stay what they are
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/outfile.h"

static char folder[] = "/tmp/pipc_outfile.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return chdir("/") || system(command);
}

static pipc_status_t put(const char *path, const char *text, pipc__error_t *err)
{
    pipc__outfile_t out;
    pipc_status_t st = pipc__outfile_open(&out, path, 0, err);

    if (st)
        return st;
    fputs(text, out.f);
    return pipc__outfile_close(&out, err);
}

static void has(const char *path, const char *wanted)
{
    char text[64];
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, wanted);
}

static mode_t type_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) ? 0 : st.st_mode & S_IFMT;
}

/* Nothing was left beside what was written. */
static void no_part(void)
{
    assert_int_equal(system("! ls -A | grep part"), 0);
}

static void a_file_is_made_and_replaced(void **state)
{
    struct stat before, st;

    (void)state;
    assert_int_equal(pipc__outfile_try("a", 0, NULL), PIPC_OK);
    assert_int_equal(type_of("a"), 0);
    assert_int_equal(put("a", "one", NULL), PIPC_OK);
    assert_int_equal(stat("a", &before), 0);
    assert_int_equal(pipc__outfile_try("a", 0, NULL), PIPC_OK);
    has("a", "one");
    int reader = open("a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(put("a", "2", NULL), PIPC_OK);
    has("a", "2");
    assert_int_equal(fstat(reader, &st), 0); /* who reads has the old one, whole */
    assert_int_equal(st.st_size, 3);
    close(reader);
    no_part();
}

static void a_link_stays_one(void **state)
{
    pipc__error_t err;

    (void)state;
    assert_int_equal(mkdir("there", 0755), 0);
    assert_int_equal(put("there/a", "one", NULL), PIPC_OK);
    assert_int_equal(symlink("there/a", "link"), 0);
    assert_int_equal(pipc__outfile_try("link", 0, NULL), PIPC_OK);
    assert_int_equal(put("link", "two", NULL), PIPC_OK);
    assert_int_equal(type_of("link"), S_IFLNK);
    has("there/a", "two");
    assert_int_equal(symlink("nothing", "dangling"), 0);
    assert_int_equal(pipc__outfile_try("dangling", 0, NULL), PIPC_ERR_INVALID);
    assert_int_equal(put("dangling", "x", &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "dangling: a link to what is not there"));
    assert_int_equal(type_of("dangling"), S_IFLNK);
    no_part();
}

static void a_pipe_gets_what_is_written(void **state)
{
    char text[8];

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(pipc__outfile_try("pipe", 0, NULL), PIPC_OK); /* waits for nobody */
    pid_t child = fork();
    if (child == 0)
        _exit(put("pipe", "hello", NULL) != PIPC_OK);
    int fd = open("pipe", O_RDONLY | O_CLOEXEC), status;
    assert_int_equal(read(fd, text, sizeof(text)), 5);
    close(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(type_of("pipe"), S_IFIFO);
    no_part();
}

/* A device of our own, like /dev/full: the real one would be gone if this went wrong. */
static void a_device_stays_one(void **state)
{
    pipc__error_t err;

    (void)state;
    if (mknod("full", S_IFCHR | 0600, makedev(1, 7)))
        skip();
    int fd = open("full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip(); /* mounted nodev */
    close(fd);
    assert_int_equal(pipc__outfile_try("full", 0, NULL), PIPC_OK);
    assert_int_equal(put("full", "x", &err), PIPC_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "full: cannot be written: No space left"));
    assert_int_equal(type_of("full"), S_IFCHR);
    assert_int_equal(mknod("null", S_IFCHR | 0600, makedev(1, 3)), 0);
    assert_int_equal(put("null", "x", NULL), PIPC_OK);
    assert_int_equal(type_of("null"), S_IFCHR);
    no_part();
}

/* As "-J /dev/stdout >table" has it. */
static void what_was_printed_stays(void **state)
{
    (void)state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("table", "w", stdout))
            _exit(2);
        printf("printed ");
        bool bad = pipc__outfile_try("/dev/stdout", 0, NULL) || put("/dev/stdout", "json ", NULL);
        printf("and more");
        _exit(fflush(stdout) || bad);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    has("table", "printed json and more");
}

static void what_cannot_be_written_is_told_before(void **state)
{
    static const char *const paths[] = {"nowhere/a", ".", "/proc/a"};
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(pipc__outfile_try(paths[i], 0, &err), PIPC_ERR_SYSTEM);
        assert_memory_equal(err.text, paths[i], strlen(paths[i]));
        assert_int_equal(put(paths[i], "x", &err), PIPC_ERR_SYSTEM);
        assert_memory_equal(err.text, paths[i], strlen(paths[i]));
    }
    char longest[PATH_MAX + 8];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(pipc__outfile_try(longest, 0, &err), PIPC_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_made_and_replaced, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_link_stays_one, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_pipe_gets_what_is_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_device_stays_one, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_printed_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told_before, make_folder,
                                        remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
