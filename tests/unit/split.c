/* tests/unit/split.c - see split.h */
#include "tests/unit/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ranks_gather() takes 1 KB at a time. */
static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
    split_t *s = ctx;
    char part[16 * 1024];

    for (size_t at = 0; at < bytes; at += 1024) {
        size_t n = bytes - at < 1024 ? bytes - at : 1024;
        ranks_gather(s->all, s->rank, (const char *)mine + at, n, part);
        for (int r = 0; r < ranks_size(s->all); r++)
            memcpy((char *)all + (size_t)r * bytes + at, part + (size_t)r * n, n);
    }
    return s->calls++ == s->fail_at ? 42 : 0;
}

void split_set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

void split_alone(void)
{
    static const char *const names[] = {
        "PMIX_NAMESPACE",       "PCIE_IPC_DIR",        "SLURM_STEP_ID",       "PMI_SIZE",
        "OMPI_COMM_WORLD_SIZE", "PCIE_IPC_LOCAL_SIZE", "PCIE_IPC_LOCAL_RANK", "PCIE_IPC_PLAN",
        "PCIE_IPC_EXCHANGE",    "PCIE_IPC_TABLE",      "PCIE_IPC_NODES",      "PCIE_IPC_PATH"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    setenv("HOME", "/nowhere", 1); /* no table of the user's */
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
}

pipc_status_t split_create(split_t *s, const char *nodes, bool leave_nccl, pipc_comm_t **comm)
{
    pipc_callbacks_t calls = {sizeof(calls), s->rank, ranks_size(s->all), gather, s};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;

    split_set("PCIE_IPC_NODES", nodes);
    c.callbacks = &calls;
    c.backend = PIPC_BACKEND_CPU;
    c.leave_nccl = leave_nccl;
    return pipc_comm_create(comm, &c);
}

uint64_t split_calls(pipc_comm_t *comm, int first, int last)
{
    pipc_comm_stats_t s = PIPC_COMM_STATS_INIT;
    uint64_t n = 0;

    pipc_comm_stats(comm, &s);
    for (int k = first; k < last; k++)
        n += s.plan[k].calls;
    return n;
}

char split_dir[64];

int split_make_dir(void **state)
{
    (void)state;
    strcpy(split_dir, "/tmp/pcie-ipc-nodes.XXXXXX");
    return mkdtemp(split_dir) ? 0 : -1;
}

int split_remove_dir(void **state)
{
    (void)state;
    return rmdir(split_dir);
}
