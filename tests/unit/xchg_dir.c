/* tests/unit/xchg_dir.c - see xchg_dir.h */
#include "tests/unit/xchg_dir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char dir[64];

int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/pcie-ipc-xchg.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

int remove_dir(void **state)
{
    char command[192];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s' '%s.done'", dir, dir);
    return system(command);
}

int entries(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d)
        closedir(d);
    return n;
}

void set_int(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

void be(const char *path, int rank, int n)
{
    setenv("PCIE_IPC_DIR", path, 1);
    setenv("SLURMD_NODENAME", "n/1", 1);
    set_int("PCIE_IPC_LOCAL_RANK", rank);
    set_int("PCIE_IPC_LOCAL_SIZE", n);
    setenv("SLURM_STEP_ID", "0", 1);
    set_int("SLURM_PROCID", 10 + rank);
    set_int("SLURM_STEP_NUM_TASKS", 10 + n);
    unsetenv("PMI_SIZE");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

static unsigned char byte_of(int rank, size_t i, int round)
{
    return (unsigned char)((size_t)rank * 31 + i * 7 + (size_t)round * 13);
}

pipc_status_t exchange_in(unsigned int tag, int round, bool *right, pipc__error_t *err)
{
    pipc__xchg_want_t want = {.scope = PIPC__SCOPE_NODE, .tag = tag};
    unsigned char mine[RECORD], all[16 * RECORD];
    pipc__group_t g;
    pipc__xchg_t *x;
    pipc_status_t st = pipc__xchg_socket.open(&x, &want, &g, err);

    *right = false;
    if (st)
        return st;
    for (size_t i = 0; i < RECORD; i++)
        mine[i] = byte_of(g.self, i, round);
    st = pipc__xchg_socket.exchange(x, mine, RECORD, all, err);
    pipc__xchg_socket.close(x);
    *right = !st && g.job_rank == 10 + g.self;
    for (int r = 0; !st && r < g.size; r++)
        for (size_t i = 0; i < RECORD; i++)
            *right &= all[(size_t)r * RECORD + i] == byte_of(r, i, round);
    return st;
}

pipc_status_t exchange(pipc__error_t *err)
{
    bool right;
    pipc_status_t st = exchange_in(0, 0, &right, err);

    if (st)
        return st;
    return right ? st : pipc__fail(err, PIPC_ERR_INTERNAL, "wrong data");
}
