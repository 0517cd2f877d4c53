/* tests/unit/spank_needs.c - what a step needs and may not have: its folder, a healthy node, peers
 * in reach, PMIx, a topology */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/spank_fake.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
