/* tests/unit/spank_hooks.c - the plugin's entry points against a Slurm that exists only here
 *
 * A real slurmstepd is needed to see that the hooks come in time; this one can be any version, hand
 * over hostile texts, and lose device files between user_init and task_init as a cgroup would. Each
 * case runs in a process of its own, since the plugin's state lives as long as slurmstepd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <slurm/spank.h>

#include "spank/env.h"
#include "spank/hints.h"

/* --- Slurm ---------------------------------------------------------------------------------- */

#define VARS 96
static struct slurm {
    spank_context_t context;
    uint32_t uid, job, step, rank, nodeid, nnodes, nlocal, ntasks;
    int local;
    const char *version;
    struct {
        char name[64], value[8192];
    } env[VARS];
    int nenv;
    char log[16384]; /* all lines, each with its newline */
    struct spank_option *option;
    bool opened; /* task_init was reached and returned */
    int init, post_opt, user_init, task_init, exit;
    struct stat dir; /* PCIE_IPC_DIR while the task runs */
} * slurm;           /* shared with the process of the case */

static void log_line(const char *prefix, const char *fmt, va_list ap)
{
    size_t used = strlen(slurm->log);

    used += (size_t)snprintf(slurm->log + used, sizeof(slurm->log) - used, "%s", prefix);
    vsnprintf(slurm->log + used, sizeof(slurm->log) - used, fmt, ap);
    strncat(slurm->log, "\n", sizeof(slurm->log) - strlen(slurm->log) - 1);
}

void slurm_spank_log(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line("", fmt, ap);
    va_end(ap);
}

void slurm_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line("error: ", fmt, ap);
    va_end(ap);
}

void slurm_info(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line("log only: ", fmt, ap);
    va_end(ap);
}

const char *spank_strerror(spank_err_t err)
{
    return err == ESPANK_SUCCESS ? "Success" : "Error";
}

spank_context_t spank_context(void)
{
    return slurm->context;
}

int spank_remote(spank_t sp)
{
    (void)sp;
    return slurm->context == S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *option)
{
    (void)sp;
    slurm->option = option;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
    const struct {
        spank_item_t item;
        uint32_t value;
    } numbers[] = {
        {S_JOB_UID, slurm->uid},
        {S_JOB_ID, slurm->job},
        {S_JOB_STEPID, slurm->step},
        {S_JOB_NNODES, slurm->nnodes},
        {S_JOB_NODEID, slurm->nodeid},
        {S_TASK_GLOBAL_ID, slurm->rank},
        {S_JOB_LOCAL_TASK_COUNT, slurm->nlocal},
        {S_TASK_ID, (uint32_t)slurm->local},
        {S_JOB_TOTAL_TASK_COUNT, slurm->ntasks},
    };
    spank_err_t rc = ESPANK_BAD_ARG;
    va_list ap;

    (void)sp;
    va_start(ap, item);
    if (item == S_SLURM_VERSION) {
        *va_arg(ap, const char **) = slurm->version;
        rc = ESPANK_SUCCESS;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].item != item)
            continue;
        *va_arg(ap, uint32_t *) = numbers[i].value;
        rc = ESPANK_SUCCESS;
        break;
    }
    va_end(ap);
    return rc;
}

static int var(const char *name)
{
    int i = 0;

    while (i < slurm->nenv && strcmp(slurm->env[i].name, name))
        i++;
    return i;
}

spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int len)
{
    int i = var(name);

    (void)sp;
    if (i == slurm->nenv)
        return ESPANK_ENV_NOEXIST;
    snprintf(buf, (size_t)len, "%s", slurm->env[i].value);
    return strlen(slurm->env[i].value) >= (size_t)len ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
    int i = var(name);

    (void)sp;
    if (i == slurm->nenv)
        slurm->nenv++;
    else if (!overwrite)
        return ESPANK_ENV_EXISTS;
    snprintf(slurm->env[i].name, sizeof(slurm->env[i].name), "%s", name);
    snprintf(slurm->env[i].value, sizeof(slurm->env[i].value), "%s", value);
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
    int i = var(name);

    (void)sp;
    if (i < slurm->nenv)
        slurm->env[i] = slurm->env[--slurm->nenv];
    return ESPANK_SUCCESS;
}

static const char *env(const char *name)
{
    int i = var(name);

    return i < slurm->nenv ? slurm->env[i].value : NULL;
}

/* --- a node with eight device files ---------------------------------------------------------- */

static char devdir[] = "/tmp/pipc-unit-XXXXXX";

static void device(int minor, bool there)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/nvidia%d", devdir, minor);
    if (!there) {
        unlink(path);
        return;
    }
    FILE *f = fopen(path, "w");
    if (f)
        fclose(f);
}

static int make_devices(void **state)
{
    (void)state;
    slurm = mmap(NULL, sizeof(*slurm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return slurm == MAP_FAILED || !mkdtemp(devdir);
}

static int remove_devices(void **state)
{
    (void)state;
    char path[96];

    for (int i = 0; i < 8; i++)
        device(i, false);
    snprintf(path, sizeof(path), "%s/health.json", devdir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/run/steps", devdir);
    rmdir(path);
    path[strlen(path) - strlen("/steps")] = '\0';
    rmdir(path);
    assert_int_equal(rmdir(devdir), 0); /* the step's folder is gone as well */
    return munmap(slurm, sizeof(*slurm));
}

/* Task 1 of 4 on a node with eight GPUs, --gpus-per-node=4, under PMIx. */
static int set_up(void **state)
{
    (void)state;
    memset(slurm, 0, sizeof(*slurm));
    slurm->context = S_CTX_REMOTE;
    slurm->uid = geteuid(), slurm->job = 17, slurm->step = 2;
    slurm->rank = 1, slurm->local = 1, slurm->nlocal = 4, slurm->ntasks = 4, slurm->nnodes = 1;
    slurm->version = "22.05.8";
    spank_setenv(NULL, "SLURMD_NODENAME", "n7", 1);
    spank_setenv(NULL, "PMIX_NAMESPACE", "slurm.pmix.17.2", 1);
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "0,1,2,3", 1);
    for (int i = 0; i < 8; i++)
        device(i, true);
    return 0;
}

/* The plugin's line in plugstack.conf; as Slurm's, it lives as long as the process. */
#define WORDS 4
static char line[WORDS][96], *words[] = {line[0], line[1], line[2], line[3]};

static void init(const char *arg)
{
    snprintf(line[0], sizeof(line[0]), "devdir=%s", devdir);
    snprintf(line[1], sizeof(line[1]), "%s", arg ? arg : "synthetic=2x[sw:4gpu+1nic]");
    snprintf(line[2], sizeof(line[2]), "rundir=%s/run/steps", devdir);
    snprintf(line[3], sizeof(line[3]), "health=%s/health.json", devdir);
    slurm->init = slurm_spank_init(NULL, WORDS, words);
}

/* What a case changes between the hooks, as slurmstepd and the cgroup do. */
typedef void (*change_t)(void);

/* A whole step's life in a process of its own: init, the option if @texts (NULL-ended, as often as
 * Slurm calls), user_init, @change, task_init. The outcome is in *slurm. */
static void run(const char *const *texts, const char *arg, change_t change)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        init(arg);
        for (; texts && *texts; texts++)
            slurm->option->cb(slurm->option->val, *texts, 1);
        slurm->post_opt = slurm_spank_init_post_opt(NULL, WORDS, words);
        slurm->user_init = slurm_spank_user_init(NULL, WORDS, words);
        if (change)
            change();
        slurm->task_init = slurm_spank_task_init(NULL, WORDS, words);
        if (env("PCIE_IPC_DIR"))
            lstat(env("PCIE_IPC_DIR"), &slurm->dir);
        slurm->exit = slurm_spank_exit(NULL, WORDS, words);
        slurm->opened = true;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(slurm->opened);
    assert_int_equal(slurm->init, 0);
    assert_int_equal(slurm->post_opt, 0);
    assert_int_equal(slurm->exit, 0);
    assert_int_equal(slurm->user_init, 0); /* a failure there drains the node */
}

#define RUN(arg, change, ...) run((const char *const[]){__VA_ARGS__, NULL}, arg, change)

static int lines(const char *part)
{
    int n = 0;

    for (const char *at = slurm->log; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void expect_env(const char *name, const char *value)
{
    const char *got = env(name);

    if (!value != !got || (value && strcmp(value, got)))
        fail_msg("%s is %s, not %s; log: %s", name, got ? got : "unset", value ? value : "unset",
                 slurm->log);
}

#define DEFAULTS                                                                                   \
    "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:warn,report:"   \
    "none"

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
    assert_non_null(strstr(slurm->log, "the keys are: bind, mem, nic, ipc, path, nodes, nccl, tuner, "
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
    expect_env("PCIE_IPC_MODE", "bind:none,mem:local,nic:auto,ipc:off,path:auto,nodes:auto,nccl:auto,tuner:"
                                "auto,health:warn,report:none");
}

static void a_later_text_replaces_an_earlier_one(void **state)
{
    (void)state;
    RUN(NULL, NULL, "bind:none", "ipc:off");
    expect_env("PCIE_IPC_MODE", "bind:switch,mem:local,nic:auto,ipc:off,path:auto,nodes:auto,nccl:auto,tuner:"
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

/* --- a step ---------------------------------------------------------------------------------- */

static void without_the_flag_nothing_happens(void **state)
{
    (void)state;
    spank_setenv(NULL, "PCIE_IPC_BDF", "the user's own", 1);
    run(NULL, NULL, NULL);
    assert_int_equal(slurm->task_init, 0);
    assert_string_equal(slurm->log, "");
    assert_int_equal(slurm->nenv, 4);
    assert_int_equal(slurm->dir.st_mode, 0);
    expect_env("PCIE_IPC_BDF", "the user's own");
    expect_env("CUDA_DEVICE_ORDER", NULL);
}

static void special_steps_are_skipped(void **state)
{
    static const uint32_t steps[] = {0xfffffffa, 0xfffffffb, 0xfffffffc, 0xfffffffd};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        set_up(NULL);
        slurm->step = steps[i];
        RUN(NULL, NULL, "verbose,ipc:require");
        assert_int_equal(slurm->task_init, 0);
        assert_string_equal(slurm->log, "");
        assert_int_equal(slurm->nenv, 3);
    }
}

static void what_a_task_is_told(void **state)
{
    (void)state;
    RUN(NULL, NULL, "verbose");
    assert_int_equal(slurm->task_init, 0);
    expect_env("PCIE_IPC", PACKAGE_VERSION);
    expect_env("PCIE_IPC_TASK", "17.2:" PACKAGE_VERSION);
    expect_env("PCIE_IPC_MODE", DEFAULTS ",verbose");
    expect_env("PCIE_IPC_VERBOSE", "1");
    expect_env("PCIE_IPC_LOCAL_RANK", "1");
    expect_env("PCIE_IPC_LOCAL_SIZE", "4");
    expect_env("PCIE_IPC_BDF", "0000:04:00.0");
    expect_env("PCIE_IPC_MINOR", "1");
    expect_env("PCIE_IPC_NUMA", "0");
    expect_env("PCIE_IPC_SWITCH", "0000:01:00.0");
    expect_env("PCIE_IPC_WAY", "numa0/0000:00/0000:01:00.0");
    expect_env("PCIE_IPC_NIC", "0000:07:00.0");
    expect_env("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    expect_env("PCIE_IPC_PATH", "auto");
    expect_env("PCIE_IPC_REPORT", "none");
    expect_env("PCIE_IPC_HINTS", NULL); /* invented NICs have no name */
    assert_int_equal(lines("pcie-ipc: n7: rank 1 (local 1): GPU 0000:04:00.0 (minor 1)"), 1);
    assert_int_equal(lines("pcie-ipc: n7: the node's health is not known"), 0);
    assert_int_equal(lines("pcie-ipc: n7: rank"), 1); /* the node's line is task 0's */
}

static void inherited_variables_are_never_believed(void **state)
{
    (void)state;
    for (int i = 0; i < PIPC__ENV_COUNT; i++)
        spank_setenv(NULL, pipc__env_names[i], "forged", 1);
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "", 1); /* no GPU: nothing to say about one */
    RUN(NULL, NULL, "");
    for (int i = 0; i < PIPC__ENV_COUNT; i++)
        if (env(pipc__env_names[i]))
            assert_string_not_equal(env(pipc__env_names[i]), "forged");
    expect_env("PCIE_IPC_BDF", NULL);
    expect_env("PCIE_IPC_VERBOSE", NULL);
    expect_env("CUDA_DEVICE_ORDER", NULL);
}

static void a_node_name_from_the_environment_must_be_one(void **state)
{
    (void)state;
    spank_setenv(NULL, "SLURMD_NODENAME", "n7\nerror: forged", 1);
    RUN(NULL, NULL, "verbose");
    assert_int_equal(lines("forged"), 0);
}

static void the_list_is_permuted(void **state)
{
    (void)state;
    slurm->nlocal = slurm->ntasks = 2;
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "3,4,5", 1);
    RUN(NULL, NULL, "");
    expect_env("CUDA_VISIBLE_DEVICES", "4,5,3");
    expect_env("PCIE_IPC_MINOR", "5");
}

static void own_device_only(void);

static void a_map_is_obeyed(void **state)
{
    static const struct {
        const char *text, *list, *minor;
    } cases[] = {
        {"bind:map:2,0", "5,3,4", "3"},
        {"bind:map:0,0", "4,3,5", "3"}, /* rank 1's device 1 is GPU 3 too */
        {"bind:map:1", "3,4,5", "4"},   /* gone through again */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        slurm->nlocal = slurm->ntasks = 2;
        spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "3,4,5", 1);
        RUN(NULL, NULL, cases[i].text);
        assert_string_equal(slurm->log, "");
        if (strcmp(cases[i].list, "3,4,5"))
            expect_env("CUDA_VISIBLE_DEVICES", cases[i].list);
        expect_env("PCIE_IPC_MINOR", cases[i].minor);
    }
}

/* What is wrong with a map can turn out on the node only: a line, and the step runs. */
static void a_map_that_does_not_fit_the_node_is_told(void **state)
{
    (void)state;
    slurm->rank = 0, slurm->local = 0;
    RUN(NULL, NULL, "bind:map:0,1,2,4");
    assert_int_equal(slurm->task_init, 0);
    assert_int_equal(lines("pcie-ipc: n7: bind:map: no GPU 4; the step has 4 here, counted from 0 "
                           "to 3 in bus order; the step runs unbound\n"),
                     1);
    expect_env("CUDA_VISIBLE_DEVICES", "0,1,2,3");
    expect_env("PCIE_IPC_MINOR", NULL);
    expect_env("PCIE_IPC_WAY", NULL);
    set_up(NULL);
    slurm->rank = 0, slurm->local = 0;
    RUN(NULL, own_device_only, "bind:map:1,0");
    assert_int_equal(lines("use --gpus-per-node in place of --gpus-per-task"), 1);
    assert_int_equal(slurm->task_init, 0);
}

/* Slurm's masks for the tasks: where two orders cost the same, the one that is near them. */
static void ranks_go_where_slurm_put_their_cpus(void **state)
{
    static const struct {
        const char *type, *list, *minors[4];
    } cases[] = {
        {"mask_cpu:", "0x100,0x200,0x1,0x2", {"4", "5", "0", "1"}},
        {"map_cpu:", "8,9,0,1", {"4", "5", "0", "1"}},
        {"threads,mask_cpu:", "0x1,0x2,0x100,0x200", {"0", "1", "4", "5"}},
        {"none", "0x100,0x200,0x1,0x2", {"0", "1", "4", "5"}},
        {"mask_cpu:", "0x100,0x2z0,0x1,0x2", {"0", "1", "4", "5"}}, /* one is wrong: none known */
        {NULL, "0x100,0x200,0x1,0x2", {"0", "1", "4", "5"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int r = 0; r < 4; r++) {
            set_up(NULL);
            slurm->rank = (uint32_t)r, slurm->local = r;
            spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "0,1,4,5", 1);
            if (cases[i].type)
                spank_setenv(NULL, "SLURM_CPU_BIND_TYPE", cases[i].type, 1);
            spank_setenv(NULL, "SLURM_CPU_BIND_LIST", cases[i].list, 1);
            RUN(NULL, NULL, "");
            expect_env("PCIE_IPC_MINOR", cases[i].minors[r]);
        }
}

static void bind_none_leaves_devices_alone(void **state)
{
    (void)state;
    slurm->nlocal = slurm->ntasks = 2;
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "3,4,5", 1);
    RUN(NULL, NULL, "bind:none");
    expect_env("CUDA_VISIBLE_DEVICES", "3,4,5");
    expect_env("CUDA_DEVICE_ORDER", NULL);
    expect_env("PCIE_IPC_MINOR", "4");
}

static void a_list_too_long_to_read_is_left_alone(void **state)
{
    static char text[8000];

    (void)state;
    memset(text, '1', sizeof(text) - 1);
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", text, 1);
    slurm->local = 0, slurm->rank = 0;
    RUN(NULL, NULL, "");
    assert_int_equal(slurm->task_init, 0);
    expect_env("CUDA_VISIBLE_DEVICES", text);
    assert_int_equal(lines("no plain list"), 1);
}

static void without_cudas_list_there_is_slurms(void **state)
{
    (void)state;
    slurm->nlocal = slurm->ntasks = 2;
    spank_unsetenv(NULL, "CUDA_VISIBLE_DEVICES");
    spank_setenv(NULL, "SLURM_STEP_GPUS", "3,4,5", 1);
    RUN(NULL, NULL, "");
    expect_env("CUDA_VISIBLE_DEVICES", "4,5,3");
    expect_env("PCIE_IPC_MINOR", "5");
}

/* --- the user's own binding ------------------------------------------------------------------- */

static void explicit_wishes_win(void **state)
{
    static const struct {
        const char *name, *value, *list, *line;
    } cases[] = {
        {"SLURM_PCIE_IPC", "moon", "4,5,3", "cores"},
        {"SLURM_PCIE_IPC", "cpu_bind", "4,5,3", "(--cpu-bind)"},
        {"SLURMD_TRES_BIND", "gpu:mask_gpu:0x38,0x38", "3,4,5", "cores"},
        {"SLURMD_TRES_BIND", "gpu:per_task:1", "4,5,3", "cores"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        slurm->nlocal = slurm->ntasks = 2;
        spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "3,4,5", 1);
        spank_setenv(NULL, cases[i].name, cases[i].value, 1);
        RUN(NULL, NULL, "verbose");
        expect_env("CUDA_VISIBLE_DEVICES", cases[i].list);
        expect_env("SLURM_PCIE_IPC", NULL); /* for the plugin alone */
        assert_int_equal(lines(cases[i].line) > 0, 1);
    }
    set_up(NULL);
    spank_setenv(NULL, "SLURM_MEM_BIND_TYPE", "none", 1);
    RUN(NULL, NULL, "verbose");
    assert_int_equal(lines("preferred"), 0);
    set_up(NULL);
    RUN(NULL, NULL, "verbose,mem:none");
    assert_int_equal(lines("preferred"), 0);
}

static void keys_of_the_runtime_are_handed_on(void **state)
{
    (void)state;
    RUN(NULL, NULL, "path:host,report:summary");
    expect_env("PCIE_IPC_PATH", "host");
    expect_env("PCIE_IPC_REPORT", "summary");
    expect_env("PCIE_IPC_NODES", "auto");
    RUN(NULL, NULL, "nodes:split");
    expect_env("PCIE_IPC_NODES", "split");
    RUN(NULL, NULL, "nodes:split:4,verbose");
    expect_env("PCIE_IPC_NODES", "split:4");
    RUN(NULL, NULL, "report:json");
    expect_env("PCIE_IPC_REPORT", "json");
    RUN(NULL, NULL, "report:json:/tmp/a.json,verbose");
    expect_env("PCIE_IPC_REPORT", "json:/tmp/a.json");
}

/* --- NCCL ---------------------------------------------------------------------------------------
 */

/* The two libraries, where PIPC_NCCL_HOOK and PIPC_NCCL_TUNER say: there or not. */
static void install(bool hook, bool tuner)
{
    const char *const paths[] = {PIPC_NCCL_HOOK, PIPC_NCCL_TUNER};
    const bool there[] = {hook, tuner};
    char folder[512];

    snprintf(folder, sizeof(folder), "%s", PIPC_NCCL_HOOK);
    *strrchr(folder, '/') = '\0';
    mkdir(folder, 0755);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        FILE *f = there[i] ? fopen(paths[i], "w") : NULL;
        assert_int_equal(f != NULL, there[i]);
        if (f)
            fclose(f);
    }
    if (!hook && !tuner)
        rmdir(folder);
}

static void nccls_libraries_where_they_are_installed(void **state)
{
    static const struct {
        const char *options, *preload, *plugin, *policy; /* the last three: the user's, or NULL */
        bool hook, tuner, gpus;                          /* is it installed; has the task GPUs */
        const char *got_preload, *got_plugin, *hints;
    } cases[] = {
        {"", NULL, NULL, NULL, true, true, true, PIPC_NCCL_HOOK, PIPC_NCCL_TUNER,
         "NCCL_TUNER_PLUGIN"},
        {"nccl:off", NULL, NULL, NULL, true, true, true, NULL, PIPC_NCCL_TUNER,
         "NCCL_TUNER_PLUGIN"},
        {"tuner:off", NULL, NULL, NULL, true, true, true, PIPC_NCCL_HOOK, NULL, NULL},
        {"", NULL, NULL, NULL, false, true, true, NULL, PIPC_NCCL_TUNER, "NCCL_TUNER_PLUGIN"},
        {"", NULL, NULL, NULL, true, false, true, PIPC_NCCL_HOOK, NULL, NULL},
        {"", "/x.so", "other", NULL, true, true, true, "/x.so:" PIPC_NCCL_HOOK, "other", NULL},
        {"", "/x.so:" PIPC_NCCL_HOOK, "", NULL, true, true, true, "/x.so:" PIPC_NCCL_HOOK, "",
         NULL},
        {"nccl:off,tuner:off", "/x.so", "other", NULL, true, true, true, "/x.so", "other", NULL},
        {"", NULL, NULL, "1", true, true, true, PIPC_NCCL_HOOK, NULL, NULL},
        {"", NULL, NULL, NULL, true, true, false, NULL, NULL, NULL},
        {"bind:none", NULL, NULL, NULL, true, true, true, PIPC_NCCL_HOOK, PIPC_NCCL_TUNER,
         "NCCL_TUNER_PLUGIN"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        install(cases[i].hook, cases[i].tuner);
        for (int d = 0; d < 8; d++)
            device(d, cases[i].gpus);
        if (cases[i].preload)
            spank_setenv(NULL, "LD_PRELOAD", cases[i].preload, 1);
        if (cases[i].plugin)
            spank_setenv(NULL, "NCCL_TUNER_PLUGIN", cases[i].plugin, 1);
        if (cases[i].policy)
            spank_setenv(NULL, "NCCL_CTA_POLICY", cases[i].policy, 1);
        RUN(NULL, NULL, cases[i].options);
        expect_env("LD_PRELOAD", cases[i].got_preload);
        expect_env("NCCL_TUNER_PLUGIN", cases[i].got_plugin);
        expect_env("PCIE_IPC_HINTS", cases[i].hints);
    }
    install(false, false);
}

static void a_list_of_libraries_too_long_to_read_is_left_alone(void **state)
{
    static char longest[8192];

    (void)state;
    install(true, false);
    memset(longest, 'x', sizeof(longest) - 2);
    spank_setenv(NULL, "LD_PRELOAD", longest, 1);
    RUN(NULL, NULL, "");
    expect_env("LD_PRELOAD", longest);
    install(false, false);
}

/* --- RDMA devices -------------------------------------------------------------------------------
 */

static void make_port(const char *root, const char *name, const char *state)
{
    char command[512];

    snprintf(command, sizeof(command),
             "mkdir -p %s/sys/class/infiniband/%s/ports/1 && echo '%s' >%s/sys/class/infiniband/%s/"
             "ports/1/state",
             root, name, state, root, name);
    assert_int_equal(system(command), 0);
}

static void hints_name_active_devices_unless_the_user_has(void **state)
{
    static const struct {
        const char *own, *node, *user; /* user: a variable that is set */
        int nic;
        const char *ucx, *nccl, *set;
    } cases[] = {
        {"mlx5_0", "mlx5_0,mlx5_1", "", PIPC__OPT_NIC_AUTO, "mlx5_0:1", "=mlx5_0,mlx5_1",
         "UCX_NET_DEVICES NCCL_IB_HCA"},
        {"mlx5_0,mlx5_1", "mlx5_0,mlx5_1", "NCCL_IB_HCA", PIPC__OPT_NIC_AUTO, "mlx5_0:1,mlx5_1:1",
         "user", "UCX_NET_DEVICES"},
        {"mlx5_0", "mlx5_0", "UCX_NET_DEVICES", PIPC__OPT_NIC_AUTO, "user", "=mlx5_0",
         "NCCL_IB_HCA"},
        {"mlx5_0", "mlx5_0", "", PIPC__OPT_NIC_NONE, NULL, NULL, ""},
        {"mlx5_2", "mlx5_2", "", PIPC__OPT_NIC_AUTO, NULL, NULL, ""}, /* no link */
        {"mlx5_0,mlx5_2", "mlx5_2,mlx5_0,mlx5_1", "", PIPC__OPT_NIC_AUTO, "mlx5_0:1",
         "=mlx5_0,mlx5_1", "UCX_NET_DEVICES NCCL_IB_HCA"}, /* two functions, one cable */
        {"mlx5_3", "mlx5_0", "", PIPC__OPT_NIC_AUTO, NULL, "=mlx5_0", "NCCL_IB_HCA"}, /* unknown */
        {"", "", "", PIPC__OPT_NIC_AUTO, NULL, NULL, ""},
    };
    static pipc__task_t t;
    char root[] = "/tmp/pipc-unit-XXXXXX", set[64], command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    make_port(root, "mlx5_0", "4: ACTIVE");
    make_port(root, "mlx5_1", "4: ACTIVE");
    make_port(root, "mlx5_2", "1: DOWN");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        memset(&t, 0, sizeof(t));
        t.in.bind = true;
        t.options.nic = cases[i].nic;
        snprintf(t.out.rdma, sizeof(t.out.rdma), "%s", cases[i].own);
        snprintf(t.out.rdma_node, sizeof(t.out.rdma_node), "%s", cases[i].node);
        if (*cases[i].user)
            spank_setenv(NULL, cases[i].user, "user", 1);
        pipc__hints_export(NULL, &t, root, set, sizeof(set));
        assert_string_equal(set, cases[i].set);
        expect_env("UCX_NET_DEVICES", cases[i].ucx);
        expect_env("NCCL_IB_HCA", cases[i].nccl);
    }
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
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
    (void)state;
    setenv("PCIE_IPC_TASK", "1.0:0.0", 1);
    setenv("PCIE_IPC_WANTED", "0.0", 1);
    setenv("PCIE_IPC_BDF", "outer", 1);
    setenv("PCIE_IPC_HINTS", "UCX_NET_DEVICES", 1);
    setenv("UCX_NET_DEVICES", "outer", 1);
    setenv("LD_PRELOAD", PIPC_NCCL_HOOK, 1);
    assert_int_equal(srun_that(NULL), 0);
    expect_env("wanted", "-");
    expect_env("task", "-");
    expect_env("bdf", "-");
    expect_env("hint", "-");
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

/* --- the private folder
 * ---------------------------------------------------------------------------- */

static void a_step_has_a_private_folder_and_no_longer(void **state)
{
    char path[96];

    (void)state;
    if (geteuid())
        skip(); /* the folder above is root's */
    RUN(NULL, NULL, "");
    snprintf(path, sizeof(path), "%s/run/steps/0.17.2", devdir);
    expect_env("PCIE_IPC_DIR", path);
    assert_int_equal(slurm->dir.st_mode, S_IFDIR | 0700);
    assert_int_equal(access(path, F_OK), -1);
    set_up(NULL);
    slurm->step = 0xfffffffb;
    RUN(NULL, NULL, "");
    expect_env("PCIE_IPC_DIR", NULL);
}

static void in_the_way(void)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/run/steps/0.17.2", devdir);
    if (symlink("/etc", path))
        abort();
}

static void a_folder_that_cannot_be_made_fails_nothing(void **state)
{
    char path[96];

    (void)state;
    if (geteuid())
        skip();
    slurm->local = 0, slurm->rank = 0;
    RUN(NULL, in_the_way, "verbose");
    assert_int_equal(slurm->task_init, 0);
    expect_env("PCIE_IPC_DIR", NULL);
    assert_int_equal(lines("no private folder for the step: "), 1);
    snprintf(path, sizeof(path), "%s/run/steps/0.17.2", devdir);
    assert_int_equal(unlink(path), 0); /* root has not followed or taken it */
}

static void a_folder_is_as_good_as_pmix_on_one_node(void **state)
{
    (void)state;
    if (geteuid())
        skip();
    slurm->local = 0, slurm->rank = 0;
    spank_unsetenv(NULL, "PMIX_NAMESPACE");
    RUN(NULL, NULL, "ipc:require");
    assert_int_equal(slurm->task_init, 0);
    assert_string_equal(slurm->log, "");
}

/* --- health
 * ------------------------------------------------------------------------------------------ */

static void snapshot(const char *verdict, mode_t mode)
{
    char path[96], boot_id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

    assert_true(f && fgets(boot_id, sizeof(boot_id), f) && fclose(f) == 0);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    snprintf(path, sizeof(path), "%s/health.json", devdir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"boot_id\":\"%s\",\"time\":%ld,\"verdict\":\"%s\",\"reason\":\"PCI001\"}",
            boot_id, (long)time(NULL), verdict);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void only_require_and_drain_end_a_step(void **state)
{
    static const struct {
        const char *verdict, *text, *line;
        mode_t mode;
        int rc;
    } cases[] = {
        {"drain", "health:require", "health check says drain: PCI001", 0644, -1},
        {"drain", "", "health check says drain: PCI001", 0644, 0},
        {"drain", "health:require", "the node's health is not known", 0666, 0}, /* anybody's */
        {"warn", "health:require", NULL, 0644, 0},
        {"moon", "health:require", "the node's health is not known", 0644, 0},
        {"unknown", "", NULL, 0644, 0},
    };

    (void)state;
    if (geteuid())
        skip(); /* the file has to be root's */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        slurm->local = 0, slurm->rank = 0;
        snapshot(cases[i].verdict, cases[i].mode);
        RUN(NULL, NULL, cases[i].text);
        assert_int_equal(slurm->task_init, cases[i].rc);
        if (cases[i].line)
            assert_int_equal(lines(cases[i].line), 1);
        else
            assert_string_equal(slurm->log, "");
    }
}

/* --- peers that can't be reached -------------------------------------------------------------- */

/* --gpus-per-task=1 with ConstrainDevices=yes: each task has one device file, and "0". */
static void own_device_only(void)
{
    for (int i = 0; i < 8; i++)
        device(i, i == slurm->local);
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "0", 1);
}

static void grant_four(void)
{
    for (int i = 4; i < 8; i++)
        device(i, false);
}

static void hidden_peers_are_told_once_a_node_with_the_remedy(void **state)
{
    static const struct {
        int local;
        const char *version, *remedy;
        int lines;
    } cases[] = {
        {0, "22.05.8", "use --gpus-per-node=4 in place of --gpus-per-task", 1},
        {0, "23.11.4", "add --gres-flags=allow-task-sharing", 1},
        {1, "22.05.8", "hides", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        grant_four();
        slurm->local = cases[i].local, slurm->rank = (uint32_t)cases[i].local;
        slurm->version = cases[i].version;
        RUN(NULL, own_device_only, "");
        assert_int_equal(slurm->task_init, 0);
        assert_int_equal(lines(cases[i].remedy), cases[i].lines);
        assert_int_equal(lines("hides 3 of the step's 4 GPUs"), cases[i].lines);
        expect_env("PCIE_IPC_MINOR", cases[i].local ? "1" : "0");
    }
}

static void require_fails_where_peers_are_hidden(void **state)
{
    (void)state;
    grant_four();
    RUN(NULL, own_device_only, "ipc:require");
    assert_true(slurm->task_init < 0);
}

static void off_asks_for_nothing(void **state)
{
    (void)state;
    grant_four();
    spank_unsetenv(NULL, "PMIX_NAMESPACE");
    slurm->local = 0, slurm->rank = 0;
    RUN(NULL, own_device_only, "ipc:off");
    assert_int_equal(slurm->task_init, 0);
    assert_string_equal(slurm->log, "");
}

static void without_pmix_one_line_or_an_end(void **state)
{
    static const struct {
        const char *text, *nspace;
        uint32_t rank, ntasks;
        int rc, lines;
    } cases[] = {
        /* on two nodes, as one has the private folder */
        {"", NULL, 0, 4, 0, 1},
        {"", NULL, 1, 4, 0, 0},              /* once a step */
        {"", "slurm.pmix.17.1", 0, 4, 0, 1}, /* inherited from another step */
        {"", NULL, 0, 1, 0, 0},              /* nobody to talk to */
        {"ipc:require", NULL, 0, 4, -1, 1},
        {"ipc:require", NULL, 1, 4, -1, 0},
        {"ipc:require", "slurm.pmix.17.2", 0, 4, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(NULL);
        spank_unsetenv(NULL, "PMIX_NAMESPACE");
        if (cases[i].nspace)
            spank_setenv(NULL, "PMIX_NAMESPACE", cases[i].nspace, 1);
        slurm->rank = cases[i].rank, slurm->local = (int)cases[i].rank;
        slurm->ntasks = slurm->nlocal = cases[i].ntasks;
        slurm->nnodes = 2;
        RUN(NULL, NULL, cases[i].text);
        assert_int_equal(slurm->task_init, cases[i].rc);
        assert_int_equal(lines("use srun --mpi=pmix"), cases[i].lines);
    }
}

/* --- a topology that can't be read ------------------------------------------------------------ */

static void a_wrong_topology_stops_nobody(void **state)
{
    (void)state;
    slurm->local = 0, slurm->rank = 0;
    RUN("synthetic=2x[", NULL, "verbose");
    assert_int_equal(slurm->task_init, 0);
    assert_int_equal(lines("; the step runs unbound"), 1);
    expect_env("CUDA_VISIBLE_DEVICES", "0,1,2,3");
    expect_env("PCIE_IPC_MODE", DEFAULTS ",verbose");
    expect_env("PCIE_IPC_BDF", NULL);
}

static void require_needs_a_topology(void **state)
{
    (void)state;
    RUN("sysroot=/nonexistent", NULL, "ipc:require");
    assert_true(slurm->task_init < 0);
}

#define CASE(f) cmocka_unit_test_setup(f, set_up)

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
        CASE(without_the_flag_nothing_happens),
        CASE(special_steps_are_skipped),
        CASE(what_a_task_is_told),
        CASE(inherited_variables_are_never_believed),
        CASE(a_node_name_from_the_environment_must_be_one),
        CASE(the_list_is_permuted),
        CASE(a_map_is_obeyed),
        CASE(a_map_that_does_not_fit_the_node_is_told),
        CASE(ranks_go_where_slurm_put_their_cpus),
        CASE(bind_none_leaves_devices_alone),
        CASE(without_cudas_list_there_is_slurms),
        CASE(a_list_too_long_to_read_is_left_alone),
        CASE(explicit_wishes_win),
        CASE(keys_of_the_runtime_are_handed_on),
        CASE(nccls_libraries_where_they_are_installed),
        CASE(a_list_of_libraries_too_long_to_read_is_left_alone),
        CASE(hints_name_active_devices_unless_the_user_has),
        CASE(srun_says_that_it_was_wanted),
        CASE(srun_forgets_what_a_step_around_it_was_told),
        CASE(a_step_has_a_private_folder_and_no_longer),
        CASE(a_folder_that_cannot_be_made_fails_nothing),
        CASE(a_folder_is_as_good_as_pmix_on_one_node),
        CASE(only_require_and_drain_end_a_step),
        CASE(hidden_peers_are_told_once_a_node_with_the_remedy),
        CASE(require_fails_where_peers_are_hidden),
        CASE(off_asks_for_nothing),
        CASE(without_pmix_one_line_or_an_end),
        CASE(a_wrong_topology_stops_nobody),
        CASE(require_needs_a_topology),
    };
    return cmocka_run_group_tests(tests, make_devices, remove_devices);
}
