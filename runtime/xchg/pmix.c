/* xchg/pmix.c - the exchange over PMIx (OpenPMIx 3.1 or newer; PMIx standard 3.1 and 4).
 *
 * Slurm's mpi/pmix serves Put, Commit, Fence, Get and abort; publish, lookup, spawn and connect it
 * does not, so nothing else is used here.
 */
#include <errno.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/xchg/xchg.h"

#define GET_TIMEOUT_SEC 30 /* after the fence the data is local; a server that loses it must not hang us */

struct pipc__xchg {
    pmix_proc_t me;
    int size, rank[PIPC__GROUP_MAX]; /* of the group, as ranks in the job */
};

/* Each exchange of a process has keys of its own: the second communicator must not read what the
 * first one left. Ranks create communicators in the same order, so the numbers agree. */
static _Atomic unsigned int exchanges;

static pipc_status_t fail_pmix(pipc__error_t *err, pmix_status_t rc, const char *what)
{
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "%s: %s (%d), library %s; start the job with "
                      "srun --mpi=pmix", what, PMIx_Error_string(rc), rc, PMIx_Get_version());
}

static pipc_status_t get_u32(const pmix_proc_t *proc, const char *key, int *out, pipc__error_t *err)
{
    pmix_value_t *v = NULL;
    pmix_status_t rc = PMIx_Get(proc, key, NULL, 0, &v);

    if (rc != PMIX_SUCCESS)
        return fail_pmix(err, rc, key);
    bool right = v->type == PMIX_UINT32;
    *out = (int)v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return right ? PIPC_OK : pipc__fail(err, PIPC_ERR_EXCHANGE, "%s has an unexpected type", key);
}

/* PMIx's list of this node's ranks; 0 where it is none. */
static int list_peers(const pmix_proc_t *me, int rank[PIPC__GROUP_MAX], pipc__error_t *err)
{
    pmix_value_t *v = NULL;
    pmix_proc_t job;

    PMIX_LOAD_PROCID(&job, me->nspace, PMIX_RANK_WILDCARD);
    pmix_status_t rc = PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &v);
    if (rc != PMIX_SUCCESS) {
        fail_pmix(err, rc, "PMIx_Get(PMIX_LOCAL_PEERS)");
        return 0;
    }
    int n = v->type == PMIX_STRING ? pipc__parse_ranks(v->data.string, rank) : -1;
    PMIX_VALUE_RELEASE(v);
    if (n <= 0)
        pipc__fail(err, PIPC_ERR_EXCHANGE, "PMIX_LOCAL_PEERS is no list of at most %d ranks",
                   PIPC__GROUP_MAX);
    return n > 0 ? n : 0;
}

/* Does PMIx, too, have whom[n] on this node? Several slurmd on one host are several nodes to it, and
 * what is put for the node alone does not come to the others. */
static bool has_near(const pipc__xchg_t *x, const int *whom, int n)
{
    int *peer = malloc(PIPC__GROUP_MAX * sizeof(*peer)), found = 0;
    pipc__error_t ignored;
    int npeers = peer ? list_peers(&x->me, peer, &ignored) : 0;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < npeers; k++)
            found += peer[k] == x->rank[whom[i]];
    free(peer);
    return found == n;
}

static pipc_status_t find_group(pipc__xchg_t *x, pipc__scope_t scope, pipc__group_t *g,
                                pipc__error_t *err)
{
    pmix_proc_t job;
    int local = 0;

    PMIX_LOAD_PROCID(&job, x->me.nspace, PMIX_RANK_WILDCARD);
    pipc_status_t st = get_u32(&job, PMIX_JOB_SIZE, &g->job_size, err);
    if (!st)
        st = get_u32(&job, PMIX_LOCAL_SIZE, &local, err);
    if (st)
        return st;
    g->one_node = scope == PIPC__SCOPE_NODE || local == g->job_size;
    if (scope == PIPC__SCOPE_NODE) {
        x->size = list_peers(&x->me, x->rank, err);
        if (!x->size)
            return err->status;
    } else {
        /* A job larger than a group still exchanges: its first ranks are enough to say why not. */
        x->size = g->job_size < PIPC__GROUP_MAX ? g->job_size : PIPC__GROUP_MAX;
        for (int i = 0; i < x->size; i++)
            x->rank[i] = i;
    }
    g->size = x->size;
    g->job_rank = (int)x->me.rank;
    g->self = -1;
    for (int i = 0; i < x->size; i++)
        if (x->rank[i] == g->job_rank)
            g->self = i;
    if (g->self < 0 && scope == PIPC__SCOPE_NODE)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "rank %u is not among its own local peers",
                          x->me.rank);
    return PIPC_OK;
}

static pipc_status_t pmix_open(pipc__xchg_t **out, const pipc__xchg_want_t *want,
                               pipc__group_t *group, pipc__error_t *err)
{
    pipc__xchg_t *x = calloc(1, sizeof(*x));

    *out = NULL;
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the exchange");
    pmix_status_t rc = PMIx_Init(&x->me, NULL, 0);
    if (rc != PMIX_SUCCESS) {
        free(x);
        return fail_pmix(err, rc, "PMIx_Init");
    }
    pipc_status_t st = find_group(x, want ? want->scope : PIPC__SCOPE_JOB, group, err);
    if (st) {
        PMIx_Finalize(NULL, 0);
        free(x);
        return st;
    }
    *out = x;
    return PIPC_OK;
}

/* The fence brings it to every node; what is @local is for the own one alone, and stays there. */
static pipc_status_t put_and_fence(const char *key, const void *mine, size_t bytes, bool local,
                                   pipc__error_t *err)
{
    bool collect = !local;
    pmix_info_t info;
    pmix_value_t v;

    PMIX_VALUE_CONSTRUCT(&v);
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo.size = bytes;
    v.data.bo.bytes = malloc(bytes);
    if (!v.data.bo.bytes)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a record");
    memcpy(v.data.bo.bytes, mine, bytes);
    pmix_status_t rc = PMIx_Put(local ? PMIX_LOCAL : PMIX_GLOBAL, key, &v);
    PMIX_VALUE_DESTRUCT(&v);
    if (rc != PMIX_SUCCESS)
        return fail_pmix(err, rc, "PMIx_Put");
    rc = PMIx_Commit();
    if (rc != PMIX_SUCCESS)
        return fail_pmix(err, rc, "PMIx_Commit");
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    rc = PMIx_Fence(NULL, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return rc == PMIX_SUCCESS ? PIPC_OK : fail_pmix(err, rc, "PMIx_Fence");
}

/* Of @least to @room bytes, with zeros behind them. */
static pipc_status_t get_record(const pipc__xchg_t *x, int rank, const char *key, size_t least,
                                size_t room, void *out, pipc__error_t *err)
{
    int seconds = GET_TIMEOUT_SEC;
    pmix_info_t info;
    pmix_value_t *v = NULL;
    pmix_proc_t proc;
    char what[64];

    PMIX_LOAD_PROCID(&proc, x->me.nspace, (pmix_rank_t)rank);
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t rc = PMIx_Get(&proc, key, &info, 1, &v);
    PMIX_INFO_DESTRUCT(&info);
    if (rc != PMIX_SUCCESS) {
        snprintf(what, sizeof(what), "PMIx_Get of rank %d's record", rank);
        return fail_pmix(err, rc, what);
    }
    size_t bytes = v->type == PMIX_BYTE_OBJECT ? v->data.bo.size : room + 1;
    bool right = bytes >= least && bytes <= room;
    if (right) {
        memcpy(out, v->data.bo.bytes, bytes);
        memset((char *)out + bytes, 0, room - bytes);
    }
    PMIX_VALUE_RELEASE(v);
    if (right)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d sent a record of another length than %zu bytes; "
                      "install the same pcie-ipc on every node", rank, room);
}

static void next_key(char key[32])
{
    snprintf(key, 32, "pcie-ipc.%u", atomic_fetch_add(&exchanges, 1));
}

static pipc_status_t pmix_exchange(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                                   pipc__error_t *err)
{
    char key[32];

    next_key(key);
    pipc_status_t st = put_and_fence(key, mine, bytes, false, err);
    for (int i = 0; !st && i < x->size; i++)
        st = get_record(x, x->rank[i], key, bytes, bytes, (char *)all + (size_t)i * bytes, err);
    return st;
}

static pipc_status_t pmix_pick(pipc__xchg_t *x, const void *mine, size_t bytes, size_t room,
                               const int *whom, int n, bool near, void *out, pipc__error_t *err)
{
    char key[32];

    next_key(key);
    pipc_status_t st = put_and_fence(key, mine, bytes, near && has_near(x, whom, n), err);
    for (int i = 0; !st && i < n; i++)
        st = get_record(x, x->rank[whom[i]], key, 0, room, (char *)out + (size_t)i * room, err);
    return st;
}

static void pmix_close(pipc__xchg_t *x)
{
    if (!x)
        return;
    PMIx_Finalize(NULL, 0);
    free(x);
}

const pipc__xchg_ops_t pipc__xchg_pmix = {
    .name = "pmix",
    .open = pmix_open,
    .exchange = pmix_exchange,
    .pick = pmix_pick,
    .close = pmix_close,
};
