/* tests/unit/spank_option.c - the plugin's option, and what it does in srun */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/hints.h"
#include "tests/unit/spank_fake.h"

/* --- the option ----------------------------------------------------------------------------- */

static int local_call(spank_context_t context, const char *text)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        slurm->context = context;
        init(NULL);
        _exit(slurm->option->cb(slurm->option->val, text, 0) < 0);
    }
    waitpid(pid, &status, 0);
    return -status;
}

static void wrong_values_are_refused_before_an_allocation(void **state)
{
    (void)state;
    assert_true(local_call(S_CTX_LOCAL, "bind:moon") < 0);
    assert_string_equal(
        slurm->log, "error: pcie-ipc: bind: unknown value \"moon\"; use one of: switch, spread, "
                    "numa, none, map:N,...\n");
    assert_true(local_call(S_CTX_LOCAL, "bind:map:0,64") < 0);
    assert_non_null(strstr(slurm->log, "error: pcie-ipc: bind:map: \"64\" is no number"));
    assert_int_equal(local_call(S_CTX_LOCAL, "bind:map:0,63"), 0); /* what is granted decides */
    static const char *const splits[] = {"nodes:split:0", "nodes:split:17", "nodes:split:2x"};
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        assert_true(local_call(S_CTX_LOCAL, splits[i]) < 0);
        assert_non_null(strstr(slurm->log, "takes how many ranks are a node"));
    }
    assert_int_equal(local_call(S_CTX_LOCAL, "nodes:split:16"), 0);
    assert_true(local_call(S_CTX_ALLOCATOR, "color:red") < 0);
    assert_non_null(strstr(slurm->log,
                           "the keys are: bind, mem, nic, ipc, path, nodes, nccl, tuner, "
                           "health, report, off, verbose, help"));
    assert_true(local_call(S_CTX_LOCAL, "bind:\x1b[2Jx\n") < 0);
    assert_null(strchr(slurm->log, '\x1b'));
}

static void no_value_in_any_form_means_defaults(void **state)
{
    (void)state;
    assert_int_equal(local_call(S_CTX_LOCAL, NULL), 0);
    assert_int_equal(local_call(S_CTX_LOCAL, ""), 0);
    assert_int_equal(local_call(S_CTX_LOCAL, "(null)"), 0);
    assert_string_equal(slurm->log, "");
}

static void slurmd_and_prologs_register_nothing(void **state)
{
    (void)state;
    slurm->context = S_CTX_SLURMD;
    init("frobnicate=1");
    assert_int_equal(slurm->init, 0);
    assert_null(slurm->option);
    assert_int_equal(lines("argument \"frobnicate=1\" ignored"), 1);
    slurm->context = S_CTX_JOB_SCRIPT;
    init(NULL);
    assert_int_equal(slurm->init, 0);
    assert_null(slurm->option);
}

static void a_second_empty_call_does_not_wipe_the_first(void **state)
{
    (void)state;
    RUN(NULL, NULL, "bind:none,ipc:off", "");
    expect_env("PCIE_IPC_MODE",
               "bind:none,mem:local,nic:auto,ipc:off,path:auto,nodes:auto,nccl:auto,tuner:"
               "auto,health:warn,report:none");
}

static void a_later_text_replaces_an_earlier_one(void **state)
{
    (void)state;
    RUN(NULL, NULL, "bind:none", "ipc:off");
    expect_env("PCIE_IPC_MODE",
               "bind:switch,mem:local,nic:auto,ipc:off,path:auto,nodes:auto,nccl:auto,tuner:"
               "auto,health:warn,report:none");
}

/* srun and this node may hold different versions of the plugin. */
static void a_text_of_a_newer_plugin_leaves_the_step_alone(void **state)
{
    (void)state;
    slurm->local = 0, slurm->rank = 0;
    spank_setenv(NULL, "PCIE_IPC_TASK", "an outer step's", 1);
    RUN(NULL, NULL, "bind:switch,memo:local\nerror: fake,ipc:require");
    assert_int_equal(slurm->task_init, 0);
    assert_int_equal(lines("--pcie-ipc ignored: unknown key \"memo\""), 1);
    expect_env("PCIE_IPC_TASK", NULL); /* the runtime shall find no marker */
    expect_env("PCIE_IPC_MODE", NULL);
    assert_int_equal(lines("\n"), 1); /* one line, however the text tries */
    expect_env("CUDA_VISIBLE_DEVICES", "0,1,2,3");
    expect_env("PCIE_IPC_BDF", NULL);
}

static void off_undoes_what_the_job_was_given(void **state)
{
    (void)state;
    RUN(NULL, NULL, "verbose,bind:none", "off");
    assert_string_equal(slurm->log, "");
    expect_env("PCIE_IPC_TASK", NULL);
    set_up(NULL);
    RUN(NULL, NULL, "off", "verbose"); /* and srun's own option undoes that */
    expect_env("PCIE_IPC_MODE", DEFAULTS ",verbose");
}

static void endless_texts_are_no_danger(void **state)
{
    static char text[1 << 20];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    RUN(NULL, NULL, text);
    assert_int_equal(slurm->task_init, 0);
}

/* --- srun ---------------------------------------------------------------------------------------
 */

static int srun_with(const char *text)
{
    slurm->context = S_CTX_LOCAL;
    init(NULL);
    if (text && slurm->option->cb(slurm->option->val, text, 0))
        return -1;
    return slurm_spank_init_post_opt(NULL, WORDS, words) ||
           slurm_spank_local_user_init(NULL, WORDS, words);
}

static const char *of_srun(const char *name)
{
    return getenv(name) ? getenv(name) : "-";
}

static int srun_that(const char *text)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int rc = srun_with(text);
        spank_setenv(NULL, "wanted", of_srun("PCIE_IPC_WANTED"), 1);
        spank_setenv(NULL, "task", of_srun("PCIE_IPC_TASK"), 1);
        spank_setenv(NULL, "bdf", of_srun("PCIE_IPC_BDF"), 1);
        spank_setenv(NULL, "hint", of_srun("UCX_NET_DEVICES"), 1);
        spank_setenv(NULL, "tuner", of_srun("NCCL_TUNER_PLUGIN"), 1);
        spank_setenv(NULL, "tres", of_srun("SLURMD_TRES_BIND"), 1);
        spank_setenv(NULL, "preload", of_srun("LD_PRELOAD"), 1);
        spank_setenv(NULL, "wishes", of_srun("SLURM_PCIE_IPC"), 1);
        _exit(rc != 0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void srun_says_that_it_was_wanted(void **state)
{
    (void)state;
    assert_int_equal(srun_that("bind:none"), 0);
    expect_env("wanted", PACKAGE_VERSION);
    expect_env("wishes", "-");
    setenv("SLURM_CPU_BIND", "none", 1);
    assert_int_equal(srun_that(""), 0);
    expect_env("wishes", "cpu_bind");
    unsetenv("SLURM_CPU_BIND");
    assert_int_equal(srun_that(NULL), 0);
    expect_env("wanted", "-");
    expect_env("wishes", "-");
    assert_int_equal(srun_that("off"), 0);
    expect_env("wanted", "-");
}

static void srun_forgets_what_a_step_around_it_was_told(void **state)
{
    char hints[PIPC__HINTS_MAX] = "";

    (void)state;
    setenv("PCIE_IPC_TASK", "1.0:0.0", 1);
    setenv("PCIE_IPC_WANTED", "0.0", 1);
    setenv("PCIE_IPC_BDF", "outer", 1);
    pipc__hints_note(hints, sizeof(hints), "UCX_NET_DEVICES", "outer");
    pipc__hints_note(hints, sizeof(hints), "NCCL_TUNER_PLUGIN", "outer");
    setenv("PCIE_IPC_HINTS", hints, 1);
    setenv("UCX_NET_DEVICES", "outer", 1);
    setenv("NCCL_TUNER_PLUGIN", "the user's, of a shell in that step", 1);
    setenv("LD_PRELOAD", PIPC_NCCL_HOOK, 1);
    assert_int_equal(srun_that(NULL), 0);
    expect_env("wanted", "-");
    expect_env("task", "-");
    expect_env("bdf", "-");
    expect_env("hint", "-");
    expect_env("tuner", "the user's, of a shell in that step");
    expect_env("preload", "-");
    setenv("LD_PRELOAD", "/x.so:" PIPC_NCCL_HOOK, 1);
    assert_int_equal(srun_that(NULL), 0);
    expect_env("preload", "/x.so");
    unsetenv("PCIE_IPC_TASK");
    assert_int_equal(srun_that(NULL), 0); /* no marker: the user's own */
    expect_env("bdf", "outer");
    expect_env("hint", "outer");
    expect_env("preload", "/x.so:" PIPC_NCCL_HOOK);
    unsetenv("LD_PRELOAD");
}

/* slurmstepd sets it for a step with --gpu-bind, and leaves an inherited one to others. */
static void a_gpu_bind_of_a_step_around_it_is_not_this_ones(void **state)
{
    (void)state;
    setenv("SLURMD_TRES_BIND", "gpu:map_gpu:1", 1);
    assert_int_equal(srun_that(NULL), 0);
    expect_env("tres", "gpu:map_gpu:1"); /* without the flag: untouched */
    assert_int_equal(srun_that(""), 0);
    expect_env("tres", "-");
    unsetenv("SLURMD_TRES_BIND");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(wrong_values_are_refused_before_an_allocation),
        CASE(no_value_in_any_form_means_defaults),
        CASE(slurmd_and_prologs_register_nothing),
        CASE(a_second_empty_call_does_not_wipe_the_first),
        CASE(a_later_text_replaces_an_earlier_one),
        CASE(a_text_of_a_newer_plugin_leaves_the_step_alone),
        CASE(endless_texts_are_no_danger),
        CASE(off_undoes_what_the_job_was_given),
        CASE(srun_says_that_it_was_wanted),
        CASE(srun_forgets_what_a_step_around_it_was_told),
        CASE(a_gpu_bind_of_a_step_around_it_is_not_this_ones),
    };

    return cmocka_run_group_tests(tests, make_devices, remove_devices);
}
