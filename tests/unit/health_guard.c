/* tests/unit/health_guard.c - the prolog fails open: checks that crash, hang, lie or are not there
 *
 * Each check is a small script that gets "gate NONCE GPUS" and writes its record to descriptor 3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/epilog.h"
#include "prolog/guard.h"
#include "prolog/prolog.h"
#include "prolog/start.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DEADLINE_MS 1500
#define REFUSE "echo pcie-ipc-verdict 1 $2 refuse >&3\n"
#define PASS "echo pcie-ipc-verdict 1 $2 pass >&3\n"

static char folder[64], script[96];
static const char *gpus_of_job;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pipc-guard-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(script, sizeof(script), "%s/check", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(script);
    return rmdir(folder);
}

static void write_script(const char *text)
{
    FILE *f = fopen(script, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s", text);
    fclose(f);
    assert_int_equal(chmod(script, 0755), 0);
}

/* The prolog in a process of its own, as slurmd runs it: until its end, and until nobody holds its
 * output any more. What it printed is in @out. */
static int prolog(const char *checker, char *out, size_t cap)
{
    int ends[2], status;
    size_t have = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        setenv("SPANK_PCIE_IPC", "forged", 1);
        setenv("LD_PRELOAD", "", 1);
        _exit(pipc__prolog(checker, gpus_of_job, DEADLINE_MS));
    }
    close(ends[1]);
    while ((n = read(ends[0], out + have, cap - 1 - have)) > 0)
        have += (size_t)n;
    out[have] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct {
    const char *name, *check;
    int status;
    const char *says; /* "": nothing at all */
} cases[] = {
    {"passes", PASS, 0, ""},
    {"refuses", "echo 'pcie-ipc: 41: link is x8' >&2\n" REFUSE, 1, "pcie-ipc: 41: link is x8\n"},
    {"a status alone refuses nothing", "exit 1\n", 0,
     "the check ended with status 1; the job runs"},
    {"... nor with the record", REFUSE "exit 1\n", 0, "ended with status 1; the job runs"},
    {"... nor a crash after it", REFUSE "kill -SEGV $$\n", 0, "was killed by signal 11"},
    {"crashes", "kill -SEGV $$\n", 0,
     "pcie-ipc: prolog: the check was killed by signal 11; the job"},
    {"is killed", "kill -KILL $$\n", 0, "was killed by signal 9"},
    {"says nothing", "exit 0\n", 0, "the check gave no verdict; the job runs"},
    {"says something", "echo refuse >&3\n", 0, "gave no verdict"},
    {"the word on stdout", "echo pcie-ipc-verdict 1 $2 refuse\n", 0, "gave no verdict"},
    {"the word of another run", "echo pcie-ipc-verdict 1 0123456789abcdef refuse >&3\n", 0,
     "gave no verdict"},
    {"the word twice", REFUSE REFUSE, 0, "gave no verdict"},
    {"half of the word", "printf 'pcie-ipc-verdict 1 %s refuse' $2 >&3\n", 0, "gave no verdict"},
    {"much garbage", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo garbage$i >&3; done\n", 0,
     "gave no verdict"},
    {"much on stderr", "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo garbage$i >&2; done\n" PASS,
     0, "garbage1\n"},
    {"control characters", "printf 'a\\033[2Jb\\n' >&2\n" PASS, 0, "pcie-ipc: a?[2Jb\n"},
    {"hangs", "/bin/sleep 100\n", 0, "the check gave no answer in 1.5 s; the job runs"},
    {"refuses and hangs", REFUSE "/bin/sleep 100\n", 0, "gave no answer in 1.5 s"},
    {"will not be stopped", "trap '' TERM INT HUP; while :; do :; done\n", 0, "gave no answer"},
    {"leaves a child that holds its files", "/bin/sleep 100 &\n" PASS, 0, ""},
    {"has a clean environment",
     "test -z \"$SPANK_PCIE_IPC$LD_PRELOAD$HOME\" && test \"$LC_ALL\" = C && " PASS, 0, ""},
    {"has no file of the caller's", "test ! -e /proc/self/fd/4 && " PASS, 0, ""},
    {"reads nothing",
     "test \"$(readlink /proc/self/fd/0 2>/dev/null || echo /dev/null)\" = /dev/null && " PASS, 0,
     ""},
};

static void fails_open(void **state)
{
    char out[65536];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_script(cases[i].check);
        int status = prolog(script, out, sizeof(out));
        bool said = cases[i].says[0] ? strstr(out, cases[i].says) != NULL : !out[0];
        if (status != cases[i].status || !said)
            fail_msg("a check that %s: status %d, said \"%s\"", cases[i].name, status, out);
    }
}

static void what_cannot_be_run_lets_the_job_run(void **state)
{
    char out[65536];

    (void)state;
    assert_int_equal(prolog("/nonexistent/gate", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "/nonexistent/gate: No such file or directory\n"));
    assert_non_null(strstr(out, "ended with status 127; the job runs"));
    write_script(REFUSE);
    assert_int_equal(chmod(script, 0644), 0);
    assert_int_equal(prolog(script, out, sizeof(out)), 0);
    assert_int_equal(prolog(folder, out, sizeof(out)), 0);
}

/* Whatever is open when slurmd starts it, nothing of it is lost or mixed up. */
static void closed_standard_files(void **state)
{
    int status;

    (void)state;
    write_script(REFUSE);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(0);
        close(1);
        close(2);
        pipc__fail_open(10);
        _exit(pipc__prolog(script, NULL, DEADLINE_MS));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 1);
}

/* A check that SIGKILL does not end, as one that sleeps in a driver: it is left alone in time. */
static bool cannot_kill;

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    return cannot_kill ? 0 : __real_kill(pid, number);
}

static void what_cannot_be_killed_is_not_waited_for(void **state)
{
    struct timespec start, end;
    char out[65536];

    (void)state;
    write_script("exec /bin/sleep 30\n");
    cannot_kill = true;
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(prolog(script, out, sizeof(out)), 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cannot_kill = false;
    assert_non_null(strstr(out, "gave no answer in 1.5 s; the job runs"));
    assert_true(end.tv_sec - start.tv_sec < 20);
}

/* A fault of the prolog itself, and its own hang. */
static void its_own_crash_lets_the_job_run(void **state)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM};
    int status;

    (void)state;
    for (size_t i = 0; i < COUNT(signals); i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            pipc__fail_open(10);
            raise(signals[i]);
            _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- how slurmd starts them ---------------------------------------------------------------- */

static char run_folder[80], off_file[80];

/* What slurmd runs, in a process of its own: its status, and what it printed in @out. */
static int start(int (*what)(const pipc__start_t *), char *out, size_t cap)
{
    const pipc__start_t here = {script, {off_file, "/nonexistent/off"}, run_folder, geteuid()};
    int ends[2], status;
    size_t have = 0;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        _exit(what(&here));
    }
    close(ends[1]);
    while ((n = read(ends[0], out + have, cap - 1 - have)) > 0)
        have += (size_t)n;
    out[have] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, 0644), 0);
}

static void a_file_switches_all_off(void **state)
{
    char out[4096];

    (void)state;
    snprintf(run_folder, sizeof(run_folder), "%s/run", folder);
    snprintf(off_file, sizeof(off_file), "%s/disabled", folder);
    write_script("echo 'pcie-ipc: it ran' >&2\n" REFUSE);
    assert_int_equal(start(pipc__start_prolog, out, sizeof(out)), 1);
    put_file(off_file, "");
    assert_int_equal(start(pipc__start_prolog, out, sizeof(out)), 0);
    assert_null(strstr(out, "it ran"));
    assert_non_null(strstr(out, "switched off by "));
    assert_int_equal(unlink(off_file), 0);
    assert_int_equal(rmdir(run_folder), 0);
}

static void the_deadline_is_what_the_last_check_left(void **state)
{
    static const struct {
        const char *text;
        int ms;
    } left[] = {{"1\n", 1000}, {"60\n", 60000}, {"61\n", 3000},     {"0\n", 3000},
                {"", 3000},    {"x", 3000},     {"999999999", 3000}};
    char path[128];

    (void)state;
    snprintf(run_folder, sizeof(run_folder), "%s/run", folder);
    snprintf(path, sizeof(path), "%s/deadline", run_folder);
    const pipc__start_t here = {script, {NULL, NULL}, run_folder, geteuid()};
    assert_int_equal(pipc__start_deadline_ms(&here), 3000);
    for (size_t i = 0; i < COUNT(left); i++) {
        put_file(path, left[i].text);
        assert_int_equal(pipc__start_deadline_ms(&here), left[i].ms);
    }
    put_file(path, "1\n");
    assert_int_equal(chmod(path, 0666), 0); /* not root's alone */
    assert_int_equal(pipc__start_deadline_ms(&here), 3000);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(run_folder), 0);
}

static void the_job_s_gpus_go_to_the_check(void **state)
{
    char out[4096], many[400];

    (void)state;
    snprintf(run_folder, sizeof(run_folder), "%s/run", folder);
    write_script("echo \"gpus($4)\" >&2\n" PASS);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "2,3", 1), 0);
    assert_int_equal(start(pipc__start_prolog, out, sizeof(out)), 0);
    assert_string_equal(out, "pcie-ipc: gpus(2,3)\n");
    assert_int_equal(setenv("SLURM_JOB_GPUS", "5,6", 1), 0);
    start(pipc__start_prolog, out, sizeof(out));
    assert_string_equal(out, "pcie-ipc: gpus(5,6)\n");
    memset(many, '1', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    assert_int_equal(setenv("SLURM_JOB_GPUS", many, 1), 0); /* cut, it would be another list */
    start(pipc__start_prolog, out, sizeof(out));
    assert_string_equal(out, "pcie-ipc: gpus()\n");
    unsetenv("SLURM_JOB_GPUS");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(rmdir(run_folder), 0);
}

static void the_healthcheck_never_fails(void **state)
{
    char out[8192];

    (void)state;
    assert_int_equal(setenv("SLURMD_NODENAME", "n7", 1), 0);
    write_script("echo \"pcie-ipc: $1 $2 $3\" >&2\n");
    assert_int_equal(start(pipc__start_healthcheck, out, sizeof(out)), 0);
    assert_string_equal(out, "pcie-ipc: healthcheck --node=n7 \n");
    write_script("kill -SEGV $$\n");
    assert_int_equal(start(pipc__start_healthcheck, out, sizeof(out)), 0);
    assert_string_equal(
        out, "pcie-ipc: healthcheck: the check was killed by signal 11; nothing is changed\n");
    unsetenv("SLURMD_NODENAME");
}

/* ---- a program's output -------------------------------------------------------------------- */

static void what_is_read_has_a_bound(void **state)
{
    static char zone[] = "TZ=UTC0";
    char *const argv[] = {script, NULL}, *const environment[] = {zone, NULL};
    char buf[64];
    pipc__guard_t g;

    (void)state;
    write_script("echo \"$TZ$HOME\"; echo no >&2; test ! -e /proc/self/fd/3 || exit 1\n");
    assert_int_equal(pipc__guard_read(script, argv, environment, DEADLINE_MS, buf, 64, &g), 5);
    assert_string_equal(buf, "UTC0\n");
    assert_true(g.clean);
    assert_string_equal(g.said, "no\n");
    write_script("i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo line$i; done\n");
    assert_int_equal(pipc__guard_read(script, argv, environment, DEADLINE_MS, buf, 64, &g), 63);
    assert_true(g.clean);
    write_script("echo half; /bin/sleep 100\n");
    assert_int_equal(pipc__guard_read(script, argv, environment, 300, buf, 64, &g), 5);
    assert_false(g.clean);
    assert_string_equal(g.why, "gave no answer in 0.3 s");
}

/* ---- the epilog ---------------------------------------------------------------------------- */

/* Make <folder>/steps/NAME, with a socket's stand-in in it. */
static void leave(const char *name)
{
    char path[192];

    snprintf(path, sizeof(path), "%s/steps/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/steps/%s/rank0", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

static bool is_there(const char *name)
{
    char path[192];

    snprintf(path, sizeof(path), "%s/steps/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void the_epilog_removes_what_the_job_left(void **state)
{
    static const char *const no_job[] = {NULL, "",   "0",  "-7",         "+7",
                                         " 7", "7 ", "7x", "4294967296", "*"};
    char base[96], own[32], other[32];
    unsigned int me = geteuid();

    (void)state;
    snprintf(base, sizeof(base), "%s/steps", folder);
    assert_int_equal(pipc__epilog(base, "7"), 0); /* no step ever was here */
    assert_int_equal(mkdir(base, 0700), 0);
    assert_int_equal(chmod(base, 01777), 0);
    snprintf(own, sizeof(own), "%u.7.0", me);
    snprintf(other, sizeof(other), "%u.77.0", me);
    leave(own);
    leave(other);
    for (size_t i = 0; i < COUNT(no_job); i++)
        assert_int_equal(pipc__epilog(base, no_job[i]), 0);
    assert_true(is_there(own));
    assert_int_equal(pipc__epilog(base, "7"), 0);
    assert_false(is_there(own));
    assert_true(is_there(other));
    assert_int_equal(pipc__epilog(base, "77"), 0);
    assert_int_equal(rmdir(base), 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fails_open, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_lets_the_job_run, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(closed_standard_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_killed_is_not_waited_for, make_folder,
                                        remove_folder),
        cmocka_unit_test(its_own_crash_lets_the_job_run),
        IN_FOLDER(a_file_switches_all_off),
        IN_FOLDER(the_deadline_is_what_the_last_check_left),
        IN_FOLDER(the_job_s_gpus_go_to_the_check),
        IN_FOLDER(the_healthcheck_never_fails),
        IN_FOLDER(what_is_read_has_a_bound),
        cmocka_unit_test_setup_teardown(the_epilog_removes_what_the_job_left, make_folder,
                                        remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
