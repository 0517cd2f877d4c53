/* rail/nccl.c - the rail of GPUs: an NCCL communicator over one rank of each node. See rail.h
 *
 * Node 0's end makes NCCL's id, which travels as its address; the addresses of the others hold the
 * version of their library alone. The communicator is made by join() and not by connect(): NCCL
 * waits for all its ranks, and until all nodes have voted any of them may have given up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rail/nccl_comm.h"
#include "runtime/rail/rail.h"

#define OTHERS 256 /* bytes that name the other ends */

struct pipc__rail {
    pipc__nccl_comm_t *comm;
    pipc__nccl_id_t id; /* of node 0's end, once connected */
    int self, nodes;
    char others[OTHERS]; /* "rank 4 on n2", "rank 4 on n2, rank 8 on n3" */
};

/* What travels. */
typedef struct address {
    char version[PIPC__NCCL_VERSION_TEXT];
    pipc__nccl_id_t id; /* node 0's; else zeros */
} address_t;

_Static_assert(sizeof(address_t) <= PIPC__RAIL_ADDRESS_MAX, "an address fits");

static void close_rail(pipc__rail_t *r);

static pipc_status_t open_rail(pipc__rail_t **rail, pipc__rail_address_t *address, int self,
                               pipc__rail_sum_t *sum, pipc__error_t *err)
{
    pipc__rail_t *r = calloc(1, sizeof(*r));
    const char *path = secure_getenv("PCIE_IPC_NCCL"); /* it is code that runs here */
    address_t mine;

    (void)sum;
    *rail = NULL;
    if (!r)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a rail");
    memset(&mine, 0, sizeof(mine));
    pipc_status_t st = pipc__nccl_comm_open(&r->comm, path && *path ? path : NULL, NULL, err);
    if (!st && self == 0)
        st = pipc__nccl_comm_id(r->comm, &mine.id, err);
    if (st) {
        close_rail(r);
        return st;
    }
    snprintf(mine.version, sizeof(mine.version), "%s", pipc__nccl_comm_version(r->comm));
    memcpy(address->data, &mine, sizeof(mine));
    address->bytes = sizeof(mine);
    *rail = r;
    return PIPC_OK;
}

/* All but the own one, as far as there is room. */
static void name_others(pipc__rail_t *r, const char *const *names)
{
    size_t used = 0;

    for (int i = 0; i < r->nodes && used < sizeof(r->others); i++)
        if (i != r->self)
            used += (size_t)snprintf(r->others + used, sizeof(r->others) - used, "%s%s",
                                     used ? ", " : "", names[i]);
    if (used >= sizeof(r->others))
        memcpy(r->others + sizeof(r->others) - 4, "...", 4);
}

static pipc_status_t connect_to(pipc__rail_t *r, int self, int nodes,
                                const pipc__rail_address_t *const *peers, const char *const *names,
                                pipc__error_t *err)
{
    const char *mine = pipc__nccl_comm_version(r->comm);
    address_t a = {.version = ""};

    r->self = self;
    r->nodes = nodes;
    name_others(r, names);
    for (int i = nodes - 1; i >= 0; i--) {
        memcpy(&a, peers[i]->data, sizeof(a));
        if (peers[i]->bytes != sizeof(a))
            return pipc__fail(err, PIPC_ERR_MISMATCH,
                              "%s has another kind of rail; run the same "
                              "pcie-ipc on every node",
                              names[i]);
        if (strncmp(a.version, mine, sizeof(a.version)))
            return pipc__fail(err, PIPC_ERR_MISMATCH,
                              "%s has NCCL %.15s and this one %s; give every node the same library",
                              names[i], a.version, mine);
    }
    r->id = a.id; /* node 0's was the last one */
    return PIPC_OK;
}

/* @st as NCCL gave it, with who is at the other end. */
static pipc_status_t explain(const pipc__rail_t *r, pipc_status_t st, pipc__error_t *err)
{
    pipc__error_t why;

    if (!st)
        return st;
    why = *err;
    return pipc__fail(err, st, "rail to %s: %s", r->others, why.text);
}

static bool never(void *arg)
{
    (void)arg;
    return false; /* stop() aborts the communicator, which ends every wait */
}

static pipc_status_t join(pipc__rail_t *r, pipc__error_t *err)
{
    return explain(r, pipc__nccl_comm_init(r->comm, &r->id, r->self, r->nodes, never, NULL, err),
                   err);
}

/* Of an average the sum. */
static pipc_status_t enqueue(pipc__rail_t *r, const pipc__rail_job_t *jobs, int n, void *stream,
                             pipc__error_t *err)
{
    pipc__nccl_sum_t sum[PIPC__RAIL_JOBS_MAX];

    if (n > PIPC__RAIL_JOBS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%d jobs of a rail at a time, %d at most", n,
                          PIPC__RAIL_JOBS_MAX);
    for (int i = 0; i < n; i++)
        sum[i] = (pipc__nccl_sum_t){jobs[i].data, jobs[i].data, jobs[i].count, jobs[i].dtype,
                                    jobs[i].op == PIPC_AVG ? PIPC_SUM : jobs[i].op};
    return explain(r, pipc__nccl_comm_sum(r->comm, sum, n, stream, never, NULL, err), err);
}

static pipc_status_t look(pipc__rail_t *r, pipc__error_t *err)
{
    return explain(r, pipc__nccl_comm_poll(r->comm, err), err);
}

static void stop(pipc__rail_t *r)
{
    pipc__nccl_comm_abort(r->comm);
}

static void tell(pipc__rail_t *r, pipc_status_t status, const char *text)
{
    (void)status;
    (void)text; /* NCCL has no words for it */
    stop(r);
}

static void finish(pipc__rail_t *r)
{
    pipc__nccl_comm_finish(r->comm, never, NULL);
}

static void close_rail(pipc__rail_t *r)
{
    if (!r)
        return;
    pipc__nccl_comm_close(r->comm);
    free(r);
}

const pipc__rail_ops_t pipc__rail_nccl = {
    .name = "nccl",
    .open = open_rail,
    .connect = connect_to,
    .join = join,
    .enqueue = enqueue,
    .look = look,
    .stop = stop,
    .finish = finish,
    .tell = tell,
    .close = close_rail,
};
