/* tests/unit/spank_hooks.c - what the plugin does for the tasks of a step: devices, cores, and what
 * they are told */
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
    expect_hints(env("PCIE_IPC_HINTS"), "CUDA_DEVICE_ORDER"); /* invented NICs have no name */
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
         "NCCL_TUNER_PLUGIN CUDA_DEVICE_ORDER"},
        {"nccl:off", NULL, NULL, NULL, true, true, true, NULL, PIPC_NCCL_TUNER,
         "NCCL_TUNER_PLUGIN CUDA_DEVICE_ORDER"},
        {"tuner:off", NULL, NULL, NULL, true, true, true, PIPC_NCCL_HOOK, NULL, "CUDA_DEVICE_ORDER"},
        {"", NULL, NULL, NULL, false, true, true, NULL, PIPC_NCCL_TUNER,
         "NCCL_TUNER_PLUGIN CUDA_DEVICE_ORDER"},
        {"", NULL, NULL, NULL, true, false, true, PIPC_NCCL_HOOK, NULL, "CUDA_DEVICE_ORDER"},
        {"", "/x.so", "other", NULL, true, true, true, "/x.so:" PIPC_NCCL_HOOK, "other", "CUDA_DEVICE_ORDER"},
        {"", "/x.so:" PIPC_NCCL_HOOK, "", NULL, true, true, true, "/x.so:" PIPC_NCCL_HOOK, "",
         "CUDA_DEVICE_ORDER"},
        {"nccl:off,tuner:off", "/x.so", "other", NULL, true, true, true, "/x.so", "other", "CUDA_DEVICE_ORDER"},
        {"", NULL, NULL, "1", true, true, true, PIPC_NCCL_HOOK, NULL, "CUDA_DEVICE_ORDER"},
        {"", NULL, NULL, NULL, true, true, false, NULL, NULL, ""},
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
        expect_hints(env("PCIE_IPC_HINTS"), cases[i].hints);
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

static void make_port(const char *root, const char *name, const char *type, const char *state)
{
    char command[512];

    snprintf(command, sizeof(command),
             "d=%s/sys/class/infiniband/%s && mkdir -p $d/ports/1 && echo '%s' >$d/node_type && "
             "echo '%s' >$d/ports/1/state",
             root, name, type, state);
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
        {"rdmap16s29", "rdmap16s29,irdma0", "", PIPC__OPT_NIC_AUTO, NULL, NULL, ""}, /* EFA, iWARP */
        {"", "", "", PIPC__OPT_NIC_AUTO, NULL, NULL, ""},
    };
    static pipc__task_t t;
    char root[] = "/tmp/pipc-unit-XXXXXX", set[PIPC__HINTS_MAX], command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    make_port(root, "mlx5_0", "1: CA", "4: ACTIVE");
    make_port(root, "mlx5_1", "1: CA", "4: ACTIVE");
    make_port(root, "mlx5_2", "1: CA", "1: DOWN");
    make_port(root, "rdmap16s29", "7: unspecified", "4: ACTIVE");
    make_port(root, "irdma0", "4: RNIC", "4: ACTIVE");
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
        expect_hints(set, cases[i].set);
        expect_env("UCX_NET_DEVICES", cases[i].ucx);
        expect_env("NCCL_IB_HCA", cases[i].nccl);
    }
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };

    return cmocka_run_group_tests(tests, make_devices, remove_devices);
}
