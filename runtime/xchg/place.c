/* xchg/place.c - see place.h */
#include "runtime/xchg/place.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* A whole number from 0 on and where it ends; NULL when there is none. */
static const char *number(const char *p, int *out)
{
    char *end;

    if (!p || !isdigit((unsigned char)*p))
        return NULL;
    errno = 0;
    long v = strtol(p, &end, 10);
    if (errno || v > INT_MAX)
        return NULL;
    *out = (int)v;
    return end;
}

/* -1 where nobody tells, also by an empty text; and where it is no number, which is noted. */
static int variable(pipc__place_t *p, pipc__lookup_t lookup, void *arg, const char *name)
{
    const char *value = lookup(arg, name);
    int v;

    if (!value || !*value)
        return -1;
    const char *end = number(value, &v);
    if (end && !*end)
        return v;
    if (!p->wrong) {
        p->wrong = name;
        p->value = value;
    }
    return -1;
}

int pipc__tasks_of_node(const char *list, int node)
{
    const char *p = list;

    while (p && *p && node >= 0) {
        int tasks, nodes = 1;
        p = number(p, &tasks);
        if (p && p[0] == '(' && p[1] == 'x') {
            p = number(p + 2, &nodes);
            p = p && *p == ')' ? p + 1 : NULL;
        }
        if (!p || (*p && *p++ != ','))
            return -1;
        if (node < nodes)
            return tasks;
        node -= nodes;
    }
    return -1;
}

/* Batch scripts have no step number, or a reserved one beyond INT_MAX: -1 either way. */
static void read_step(pipc__place_t *p, pipc__lookup_t lookup, void *arg)
{
    int id;
    const char *end = number(lookup(arg, "SLURM_STEP_ID"), &id);

    if (!end || *end)
        return;
    p->job_rank = variable(p, lookup, arg, "SLURM_PROCID");
    p->job_size = variable(p, lookup, arg, "SLURM_STEP_NUM_TASKS");
    if (p->job_size < 0)
        p->job_size = variable(p, lookup, arg, "SLURM_NTASKS");
    if (p->local_rank < 0)
        p->local_rank = variable(p, lookup, arg, "SLURM_LOCALID");
    if (p->local_size < 0)
        p->local_size = pipc__tasks_of_node(lookup(arg, "SLURM_STEP_TASKS_PER_NODE"),
                                            variable(p, lookup, arg, "SLURM_NODEID"));
}

void pipc__place_read(pipc__place_t *p, pipc__lookup_t lookup, void *arg)
{
    const char *dir = lookup(arg, "PCIE_IPC_DIR"), *node = lookup(arg, "SLURMD_NODENAME");

    *p = (pipc__place_t){.job_rank = -1, .job_size = -1};
    int ompi = variable(p, lookup, arg, "OMPI_COMM_WORLD_SIZE");
    int pmi = variable(p, lookup, arg, "PMI_SIZE");
    p->dir = dir && *dir ? dir : NULL;
    p->node = node ? node : "";
    p->pmix = lookup(arg, "PMIX_NAMESPACE") != NULL;
    p->launched = ompi > pmi ? ompi : pmi;
    p->launched_local =
        variable(p, lookup, arg, ompi > pmi ? "OMPI_COMM_WORLD_LOCAL_RANK" : "MPI_LOCALRANKID");
    p->local_rank = variable(p, lookup, arg, "PCIE_IPC_LOCAL_RANK");
    p->local_size = variable(p, lookup, arg, "PCIE_IPC_LOCAL_SIZE");
    read_step(p, lookup, arg);
}

static const char *environment(void *arg, const char *name)
{
    (void)arg;
    return secure_getenv(name);
}

void pipc__place_here(pipc__place_t *place)
{
    pipc__place_read(place, environment, NULL);
}

int pipc__place_local(const pipc__place_t *p)
{
    if (p->launched_local >= 0 && p->launched > p->local_size && p->launched > p->job_size)
        return p->launched_local;
    return p->local_rank >= 0 ? p->local_rank : 0;
}

pipc_status_t pipc__place_told(const pipc__place_t *p, pipc__error_t *err)
{
    if (!p->wrong)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "%s=\"%.100s\" is no number, so who this process is among "
                      "the ranks is not known; unset it, or let the launcher set it", p->wrong, p->value);
}

bool pipc__place_single(const pipc__place_t *p)
{
    if (p->wrong || p->job_size > 1 || p->local_size > 1 || p->launched > 1)
        return false;
    if ((p->job_size < 0 && p->job_rank > 0) || p->local_rank > 0 || !p->local_size)
        return false;
    /* A launcher that offers PMIx and does not say how many ranks there are may have many. */
    return !p->pmix || p->job_size == 1 || p->launched == 1;
}

static pipc_status_t judge_numbers(const pipc__place_t *p, pipc__error_t *err)
{
    pipc_status_t st = pipc__place_told(p, err);

    if (st)
        return st;
    if (p->local_rank < 0 || p->local_size < 0)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "which of this node's ranks this process is, is not "
                          "known: PCIE_IPC_LOCAL_RANK and PCIE_IPC_LOCAL_SIZE are not set; start the "
                          "program itself with srun --pcie-ipc, or use srun --mpi=pmix");
    if (p->local_rank >= p->local_size || p->local_size > PIPC__GROUP_MAX)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_LOCAL_RANK %d of PCIE_IPC_LOCAL_SIZE %d: "
                          "no such rank; there are at most %d, from 0 on", p->local_rank,
                          p->local_size, PIPC__GROUP_MAX);
    if (p->job_size >= 0 && p->job_size < p->local_size)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "the job step has %d ranks and this node %d of them: "
                          "the environment is not this step's; unset PCIE_IPC_LOCAL_SIZE",
                          p->job_size, p->local_size);
    /* mpirun inside a step of one task: every process would be rank 0 of 1 and none would meet. */
    if (p->launched > p->local_size && p->launched > p->job_size)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "the job step has %d ranks, but another launcher "
                          "inside it started %d; start the ranks with srun, or give the exchange "
                          "callbacks (pipc_callbacks_t)", p->job_size, p->launched);
    return PIPC_OK;
}

pipc_status_t pipc__place_group(const pipc__place_t *p, pipc__scope_t scope, pipc__group_t *group,
                                pipc__error_t *err)
{
    pipc_status_t st = judge_numbers(p, err);
    int job_size = p->job_size < 0 ? p->local_size : p->job_size;

    if (st)
        return st;
    if (scope == PIPC__SCOPE_JOB && job_size != p->local_size)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "the job step has %d ranks, %d of them on this "
                          "node, and without PMIx only those of one node can meet: make a "
                          "communicator a node (scope node, or --per-node)", job_size, p->local_size);
    group->size = p->local_size;
    group->self = p->local_rank;
    group->job_size = job_size;
    group->one_node = true;
    group->job_rank = p->job_rank < 0 ? p->local_rank : p->job_rank;
    return PIPC_OK;
}
