/* tests/unit/spank_stepdir.c - the private folder of a step, and users who were there before */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>

#include "spank/stepdir.h"

#define ROOT_ONLY()                                                                                \
    if (geteuid())                                                                                 \
    skip()

#define USER 65534 /* of a step, where the tests run as root */

static char top[] = "/tmp/pipc-unit-XXXXXX", base[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(top + strlen(top) - 6, "XXXXXX");
    if (!mkdtemp(top) || chmod(top, 0755))
        return -1;
    snprintf(base, sizeof(base), "%s/run/steps", top);
    return 0;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf -- %s", top);
    return system(command);
}

static const char *in_base(const char *name)
{
    static char path[192];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    return path;
}

static struct stat look(const char *path)
{
    struct stat st = {.st_mode = 0};

    lstat(path, &st);
    return st;
}

static void prepare(void)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__stepdir_prepare(base, &err))
        fail_msg("%s", err.text);
}

/* What @act does as another user; its outcome. */
static int as_user(uid_t uid, int (*act)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (geteuid() == 0 && (setgid(uid) || setuid(uid)))
            _exit(99);
        _exit(act());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int make_it(void)
{
    return pipc__stepdir_make(base, "65534.17.2", 0, NULL);
}

static void base_is_roots_with_mode_1777_whatever_the_umask(void **state)
{
    mode_t mask = umask(077);

    (void)state;
    prepare();
    prepare(); /* again: it is there */
    umask(mask);
    assert_int_equal(look(base).st_mode, S_IFDIR | 01777);
    assert_int_equal(look(base).st_uid, geteuid());
    base[strlen(base) - strlen("/steps")] = '\0';
    assert_int_equal(look(base).st_mode, S_IFDIR | 0755);
}

static void a_wrong_base_is_refused(void **state)
{
    char run[64];
    pipc__error_t err;

    (void)state;
    snprintf(run, sizeof(run), "%s/run", top);
    assert_int_equal(mkdir(run, 0755), 0);
    for (int i = 0; i < 4; i++) {
        if (i == 0)
            assert_int_equal(mkdir(base, 0755), 0); /* not 1777 */
        else if (i == 1)
            assert_int_equal(symlink("/tmp", base), 0); /* 1777 and root's, but a link */
        else if (i == 2)
            assert_int_equal(mknod(base, S_IFREG | 0777, 0), 0);
        else if (geteuid() == 0)
            assert_int_equal(mkdir(base, 0700) || chmod(base, 01777) || chown(base, USER, USER), 0);
        else
            continue;
        assert_int_not_equal(pipc__stepdir_prepare(base, &err), PIPC_OK);
        assert_non_null(strstr(err.text, base));
        assert_int_not_equal(pipc__stepdir_make(base, "1.1.1", 0, &err), PIPC_OK);
        assert_int_equal(remove(base), 0);
    }
    snprintf(base, sizeof(base), "/dev/null/x/steps");
    assert_int_equal(pipc__stepdir_prepare(base, &err), PIPC_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "set rundir="));
}

static void names_and_bases(void **state)
{
    char name[PIPC__STEPDIR_NAME_MAX], host[64] = "", path[256], wanted[256];

    (void)state;
    pipc__stepdir_name(1000, 17, 2, name);
    assert_string_equal(name, "1000.17.2");
    pipc__stepdir_name(4294967294u, 4294967294u, 4294967289u, name);
    assert_string_equal(name, "4294967294.4294967294.4294967289");
    assert_true(pipc__stepdir_base("/run/x", path, sizeof(path)));
    assert_string_equal(path, "/run/x");
    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    snprintf(wanted, sizeof(wanted), "/run/%s.d/x", host);
    assert_true(pipc__stepdir_base("/run/%h.d/x", path, sizeof(path)));
    assert_string_equal(path, wanted);
    assert_false(pipc__stepdir_base("run/x", path, sizeof(path)));
    assert_false(pipc__stepdir_base("/run/xyz", path, 8));
}

static void all_tasks_get_the_same_private_folder(void **state)
{
    (void)state;
    ROOT_ONLY();
    prepare();
    for (int i = 0; i < 3; i++)
        assert_int_equal(as_user(USER, make_it), PIPC_OK);
    assert_int_equal(look(in_base("65534.17.2")).st_mode, S_IFDIR | 0700);
    assert_int_equal(look(in_base("65534.17.2")).st_uid, USER);
}

static int tight_umask(void)
{
    umask(0777);
    return make_it();
}

static void a_users_umask_does_not_change_it(void **state)
{
    (void)state;
    ROOT_ONLY();
    prepare();
    assert_int_equal(as_user(USER, tight_umask), PIPC_OK);
    assert_int_equal(look(in_base("65534.17.2")).st_mode, S_IFDIR | 0700);
}

/* What another user can put in the place of the folder before the step starts. */
static int their_folder(void)
{
    return mkdir(in_base("65534.17.2"), 0700);
}

static int their_link(void)
{
    return symlink("/etc", in_base("65534.17.2"));
}

static int their_link_to_a_folder_of_the_victim(void)
{
    return symlink("victims", in_base("65534.17.2"));
}

static int their_file(void)
{
    return mknod(in_base("65534.17.2"), S_IFREG | 0777, 0);
}

static void what_others_made_before_is_refused_and_left(void **state)
{
    static int (*const hostile[])(void) = {their_folder, their_link,
                                           their_link_to_a_folder_of_the_victim, their_file};
    struct stat before, after;

    (void)state;
    ROOT_ONLY();
    prepare();
    assert_int_equal(mkdir(in_base("victims"), 0700) || chown(in_base("victims"), USER, USER), 0);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        assert_int_equal(as_user(1000, hostile[i]), 0);
        before = look(in_base("65534.17.2"));
        assert_int_not_equal(as_user(USER, make_it), PIPC_OK);
        assert_int_not_equal(pipc__stepdir_remove(base, "65534.17.2", USER, NULL), PIPC_OK);
        after = look(in_base("65534.17.2"));
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(remove(in_base("65534.17.2")), 0);
    }
}

static int open_to_all(void)
{
    int rc = mkdir(in_base("65534.17.2"), 0755);

    return rc ? rc : chmod(in_base("65534.17.2"), 0777);
}

static void an_own_folder_that_is_open_to_others_is_refused(void **state)
{
    (void)state;
    ROOT_ONLY();
    prepare();
    assert_int_equal(as_user(USER, open_to_all), 0);
    assert_int_not_equal(as_user(USER, make_it), PIPC_OK);
}

static int leave_things(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (make_it() || fd < 0 || chdir(in_base("65534.17.2")))
        return 1;
    strcpy(name.sun_path, "rank.0");
    return bind(fd, (const struct sockaddr *)(const void *)&name, sizeof(name)) ||
           mknod("lock", S_IFREG | 0600, 0);
}

static void at_the_end_it_goes_with_what_a_runtime_leaves(void **state)
{
    (void)state;
    ROOT_ONLY();
    prepare();
    assert_int_equal(pipc__stepdir_remove(base, "65534.17.2", USER, NULL), PIPC_OK); /* none */
    assert_int_equal(as_user(USER, leave_things), 0);
    assert_int_equal(pipc__stepdir_remove(base, "65534.17.2", USER, NULL), PIPC_OK);
    assert_int_equal(look(in_base("65534.17.2")).st_mode, 0);
}

/* Root would be led astray by links and would wipe what others own: it takes neither. */
static int leave_traps(void)
{
    if (make_it() || chdir(in_base("65534.17.2")))
        return 1;
    return symlink("../../precious", "link") || symlink("/etc", "etc") || mkdir("folder", 0700) ||
           mknod("folder/deep", S_IFREG | 0600, 0) || mknod("own", S_IFREG | 0600, 0);
}

static void nothing_is_followed_and_nothing_of_others_is_removed(void **state)
{
    char precious[96];
    int fd;

    (void)state;
    ROOT_ONLY();
    prepare();
    snprintf(precious, sizeof(precious), "%s/run/precious", top);
    fd = open(precious, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(as_user(USER, leave_traps), 0);
    assert_int_equal(mknod(in_base("65534.17.2/roots"), S_IFREG | 0600, 0), 0);
    assert_int_not_equal(pipc__stepdir_remove(base, "65534.17.2", USER, NULL), PIPC_OK);
    assert_int_not_equal(look(precious).st_mode, 0);
    assert_int_not_equal(look(in_base("65534.17.2/roots")).st_mode, 0);
    assert_int_not_equal(look(in_base("65534.17.2/folder/deep")).st_mode, 0);
    assert_int_not_equal(look(in_base("65534.17.2/link")).st_mode, 0);
    assert_int_equal(look(in_base("65534.17.2/own")).st_mode, 0); /* that much is ours to do */
}

static void the_epilog_takes_all_steps_of_a_job_and_no_others(void **state)
{
    static const char *const made[] = {"65534.17.0", "65534.17.1", "65534.17.2",  "65534.18.0",
                                       "65534.17",   "x.17.0",     "65534.17.0.0"};

    (void)state;
    ROOT_ONLY();
    prepare();
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        assert_int_equal(mkdir(in_base(made[i]), 0700) || chown(in_base(made[i]), USER, USER), 0);
    assert_int_equal(mkdir(in_base("1000.17.0"), 0700), 0); /* root's, not 1000's */
    assert_int_equal(pipc__stepdir_sweep(base, 17), 3);
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        assert_int_equal(look(in_base(made[i])).st_mode != 0, i >= 3);
    assert_int_not_equal(look(in_base("1000.17.0")).st_mode, 0);
    assert_int_equal(pipc__stepdir_sweep("/nonexistent", 17), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(base_is_roots_with_mode_1777_whatever_the_umask),
        CASE(a_wrong_base_is_refused),
        CASE(names_and_bases),
        CASE(all_tasks_get_the_same_private_folder),
        CASE(a_users_umask_does_not_change_it),
        CASE(what_others_made_before_is_refused_and_left),
        CASE(an_own_folder_that_is_open_to_others_is_refused),
        CASE(at_the_end_it_goes_with_what_a_runtime_leaves),
        CASE(nothing_is_followed_and_nothing_of_others_is_removed),
        CASE(the_epilog_takes_all_steps_of_a_job_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
