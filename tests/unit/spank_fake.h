/* tests/unit/spank_fake.h - a Slurm that exists only here, for tests of the plugin's entry points
 *
 * A real slurmstepd is needed to see that the hooks come in time; this one can be any version, hand
 * over hostile texts, and lose device files between user_init and task_init as a cgroup would. Each
 * case runs in a process of its own, since the plugin's state lives as long as slurmstepd.
 */
#ifndef PIPC_TESTS_SPANK_FAKE_H
#define PIPC_TESTS_SPANK_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <slurm/spank.h>

#include "spank/env.h"

#define VARS 96
struct slurm {
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
};
extern struct slurm *slurm; /* shared with the process of the case */

/* A variable of the task, NULL if unset; fail the test where it is not @value. */
const char *env(const char *name);
void expect_env(const char *name, const char *value);

/* Fail the test where PCIE_IPC_HINTS, as @set says, are not those @names; digests don't matter. */
void expect_hints(const char *set, const char *names);

/* How often @part stands in what was said. */
int lines(const char *part);

/* A node with eight device files. */
extern char devdir[];
void device(int minor, bool there);
int make_devices(void **state);
int remove_devices(void **state);

/* Task 1 of 4 on a node with eight GPUs, --gpus-per-node=4, under PMIx. */
int set_up(void **state);
#define CASE(f) cmocka_unit_test_setup(f, set_up)

/* The plugin's line in plugstack.conf; as Slurm's, it lives as long as the process. */
#define WORDS 4
extern char *words[WORDS];
void init(const char *arg);

/* What a case changes between the hooks, as slurmstepd and the cgroup do. */
typedef void (*change_t)(void);

/* A whole step's life in a process of its own: init, the option if @texts (NULL-ended, as often as
 * Slurm calls), user_init, @change, task_init. The outcome is in *slurm. */
void run(const char *const *texts, const char *arg, change_t change);

#define RUN(arg, change, ...) run((const char *const[]){__VA_ARGS__, NULL}, arg, change)

/* --gpus-per-task=1 with ConstrainDevices=yes: each task has one device file, and "0". */
void own_device_only(void);
void grant_four(void);

#define DEFAULTS                                                                                   \
    "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:"    \
    "warn,report:"                                                                                 \
    "none"

#endif
