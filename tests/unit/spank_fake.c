/* tests/unit/spank_fake.c - see spank_fake.h */
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

#include "tests/unit/spank_fake.h"

/* --- Slurm ---------------------------------------------------------------------------------- */

struct slurm *slurm;

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

const char *env(const char *name)
{
    int i = var(name);

    return i < slurm->nenv ? slurm->env[i].value : NULL;
}

/* --- a node with eight device files ---------------------------------------------------------- */

char devdir[] = "/tmp/pipc-unit-XXXXXX";

void device(int minor, bool there)
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

int make_devices(void **state)
{
    (void)state;
    slurm = mmap(NULL, sizeof(*slurm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return slurm == MAP_FAILED || !mkdtemp(devdir);
}

int remove_devices(void **state)
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
int set_up(void **state)
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

static char line[WORDS][96];
char *words[] = {line[0], line[1], line[2], line[3]};

void init(const char *arg)
{
    snprintf(line[0], sizeof(line[0]), "devdir=%s", devdir);
    snprintf(line[1], sizeof(line[1]), "%s", arg ? arg : "synthetic=2x[sw:4gpu+1nic]");
    snprintf(line[2], sizeof(line[2]), "rundir=%s/run/steps", devdir);
    snprintf(line[3], sizeof(line[3]), "health=%s/health.json", devdir);
    slurm->init = slurm_spank_init(NULL, WORDS, words);
}

void run(const char *const *texts, const char *arg, change_t change)
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

int lines(const char *part)
{
    int n = 0;

    for (const char *at = slurm->log; (at = strstr(at, part)); at++)
        n++;
    return n;
}

void expect_env(const char *name, const char *value)
{
    const char *got = env(name);

    if (!value != !got || (value && strcmp(value, got)))
        fail_msg("%s is %s, not %s; log: %s", name, got ? got : "unset", value ? value : "unset",
                 slurm->log);
}

void expect_hints(const char *set, const char *names)
{
    char got[256] = "";
    size_t used = 0;

    for (const char *p = set; p && *p; p++) {
        if (*p == ':')
            p += strspn(p + 1, "0123456789abcdef");
        else
            got[used++] = *p;
    }
    if (strcmp(got, names))
        fail_msg("hints are %s, not %s", got, names);
}

void own_device_only(void)
{
    for (int i = 0; i < 8; i++)
        device(i, i == slurm->local);
    spank_setenv(NULL, "CUDA_VISIBLE_DEVICES", "0", 1);
}

void grant_four(void)
{
    for (int i = 4; i < 8; i++)
        device(i, false);
}
