/* rail/ucx.c - sums over nodes by UCX: see rail.h, schedule.h for the algorithms, ucx_net.h for the
 * nodes.
 *
 * A job is cut into pieces. Each piece goes through the steps of the schedule alone, in a slot,
 * with a buffer for what is added; so many are on their way at once, of one job or of several:
 *
 *     jobs    | 0 | 1        | 2 ...          in the order of their start
 *     pieces  | 0 | 0  1  2  | 0 ...          taken in that order, each by the first slot that is
 * free slots     a   b  c  d
 *
 * No circle of nodes that wait: the oldest piece that is not done anywhere is in a slot of every
 * node that has yet to do it. The slots' buffers are all the memory, SLOTS * PIPC__RAIL_SEGMENT = 2
 * MB, made when connecting. What comes before a slot waits for it is kept by UCX: a node is at most
 * the slots' worth of messages ahead of another.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/rail/rail.h"
#include "runtime/rail/schedule.h"
#include "runtime/rail/ucx_net.h"

#define SLOTS 16

typedef struct job {
    pipc__rail_job_t job;
    pipc__rail_cut_t cut;
    uint32_t sequence;
    int begun, ended; /* pieces */
    bool used;
} job_t;

typedef struct slot {
    pipc__rail_t *rail;
    job_t *job; /* NULL: free */
    int piece, step;
    pipc__rail_step_t now;
    char *data; /* of the piece */
    size_t count;
    void *buffer;
    pipc__ucx_peer_t *to, *from; /* with whom the step is */
    void *sending, *receiving;   /* requests of UCX, or errors; NULL: nothing is awaited */
} slot_t;

struct pipc__rail {
    pipc__ucx_net_t net;
    pipc__rail_sum_t *sum;
    job_t jobs[PIPC__RAIL_JOBS_MAX];
    int queue[PIPC__RAIL_JOBS_MAX]; /* of jobs with pieces that are not begun, from head on */
    int head, queued;
    uint32_t sequence;
    slot_t slots[SLOTS];
    int busy; /* slots */
    char *buffers;
};

/* --- open and connect ------------------------------------------------------------------------ */

static void ucx_close(pipc__rail_t *rail);

static pipc_status_t ucx_open(pipc__rail_t **out, pipc__rail_address_t *address, int self,
                              pipc__rail_sum_t *sum, pipc__error_t *err)
{
    pipc__rail_t *rail = calloc(1, sizeof(*rail));

    (void)self;
    *out = NULL;
    address->bytes = 0;
    if (!rail)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a rail");
    rail->sum = sum;
    pipc_status_t st = pipc__ucx_net_open(&rail->net, address, err);
    if (st)
        ucx_close(rail);
    else
        *out = rail;
    return st;
}

static pipc_status_t ucx_connect(pipc__rail_t *rail, int self, int nodes,
                                 const pipc__rail_address_t *const *peers, const char *const *names,
                                 pipc__error_t *err)
{
    if (rail->net.peers || nodes < 1 || nodes > PIPC__RAIL_NODES_MAX || self < 0 || self >= nodes)
        return pipc__fail(err, PIPC_ERR_INVALID, "node %d of %d cannot be connected to a rail%s",
                          self, nodes, rail->net.peers ? " for the second time" : "");
    if (posix_memalign((void **)&rail->buffers, 4096, SLOTS * PIPC__RAIL_SEGMENT))
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the %zu bytes of a rail",
                          SLOTS * PIPC__RAIL_SEGMENT);
    for (int i = 0; i < SLOTS; i++) {
        rail->slots[i].rail = rail;
        rail->slots[i].buffer = rail->buffers + (size_t)i * PIPC__RAIL_SEGMENT;
    }
    return pipc__ucx_net_connect(&rail->net, self, nodes, peers, names, err);
}

/* --- messages -------------------------------------------------------------------------------- */

/*  bits 62-36 job, 35-12 piece, 11-0 step. No two that are on their way are the same: jobs are, at
 * most, twice PIPC__RAIL_JOBS_MAX apart, and pieces the slots. The sender needs no mention, since
 * in each step a node hears from one. */
static ucp_tag_t tag(const slot_t *s)
{
    return (uint64_t)(s->job->sequence & 0x7ffffff) << 36 |
           (uint64_t)((uint32_t)s->piece & 0xffffff) << 12 | (uint32_t)s->step;
}

/* Has *@request, with @peer, ended? It is freed then. No callbacks: UCX may call one before the
 * call that begins the request has returned. What ended in an error, or never began, stays, so that
 * it has not ended: why a peer can't be sent to may be on its way still. */
static bool ended(slot_t *s, void **request, pipc__ucx_peer_t *peer)
{
    pipc__ucx_net_t *net = &s->rail->net;
    ucs_status_t status = UCS_PTR_IS_PTR(*request) ? net->lib.request_check_status(*request)
                                                   : UCS_PTR_STATUS(*request);

    if (!status && *request) {
        net->lib.request_free(*request);
        *request = NULL;
    }
    if (!status)
        return true;
    if (status != UCS_INPROGRESS && !peer->broken)
        peer->broken = status;
    if (peer->broken)
        pipc__ucx_net_missed(peer);
    return false;
}

/* Elements of @s's piece before block @block. */
static size_t before(const slot_t *s, int block)
{
    const pipc__rail_t *rail = s->rail;
    int blocks = pipc__rail_blocks(s->job->cut.algo, rail->net.nodes);
    size_t size = pipc_dtype_bytes(s->job->job.dtype);

    return pipc__rail_part(s->count, blocks, block, PIPC__RAIL_GRAIN / size);
}

/* The bytes of blocks @first to @first + @n: where they begin is returned. */
static char *blocks_of(const slot_t *s, int first, int n, size_t *bytes)
{
    size_t size = pipc_dtype_bytes(s->job->job.dtype), at = before(s, first);

    *bytes = (before(s, first + n) - at) * size;
    return s->data + at * size;
}

static void receive_blocks(slot_t *s)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                       .memory_type = UCS_MEMORY_TYPE_HOST};
    pipc__ucx_net_t *net = &s->rail->net;
    size_t bytes;
    char *to = blocks_of(s, s->now.recv, s->now.nrecv, &bytes);

    s->receiving = net->lib.tag_recv_nbx(net->data.worker, s->now.sum ? s->buffer : to, bytes,
                                         tag(s), UINT64_MAX, &param);
}

static void send_blocks(slot_t *s)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                       .memory_type = UCS_MEMORY_TYPE_HOST};
    pipc__ucx_net_t *net = &s->rail->net;
    size_t bytes;
    const char *from = blocks_of(s, s->now.send, s->now.nsend, &bytes);

    s->sending = net->lib.tag_send_nbx(s->to->ep, from, bytes, tag(s), &param);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Begin the step that s->step names. The receive first, so that what is there already need not be
 * kept. */
static void begin(slot_t *s)
{
    pipc__ucx_net_t *net = &s->rail->net;

    s->now = pipc__rail_step(s->job->cut.algo, net->nodes, net->self, s->step);
    s->to = s->now.to < 0 ? NULL : net->peers[s->now.to];
    s->from = s->now.from < 0 ? NULL : net->peers[s->now.from];
    if (s->from)
        receive_blocks(s);
    if (s->to)
        send_blocks(s);
}

/* What came into the buffer is added. Of doubling both nodes of a pair must add in one order, or
 * NaNs could differ: where the other's is the left operand the sum comes to stand in the buffer. */
static void add(slot_t *s)
{
    const pipc__rail_job_t *j = &s->job->job;
    size_t bytes;
    char *own = blocks_of(s, s->now.recv, s->now.nrecv, &bytes);
    size_t count = bytes / pipc_dtype_bytes(j->dtype);

    if (!s->now.left || s->job->cut.algo != PIPC__RAIL_DOUBLING) {
        s->rail->sum(own, s->buffer, count, j->dtype, j->op);
        return;
    }
    s->rail->sum(s->buffer, own, count, j->dtype, j->op);
    memcpy(own, s->buffer, bytes);
}

/* Has the step ended on both sides? A peer that is gone matters here alone: to those that wait for
 * it. Whoever needs nothing more from it goes on. */
static bool step_ended(slot_t *s)
{
    if (!ended(s, &s->receiving, s->from) || !ended(s, &s->sending, s->to))
        return false;
    if (s->from)
        pipc__ucx_net_heard(s->from);
    return true;
}

/* Go on with a slot as far as it gets. */
static void advance(slot_t *s)
{
    pipc__rail_t *rail = s->rail;
    int steps = pipc__rail_steps(s->job->cut.algo, rail->net.nodes);

    while (!rail->net.failed.status && step_ended(s)) {
        if (s->from && s->now.sum)
            add(s);
        if (++s->step < steps) {
            begin(s);
            continue;
        }
        s->job->ended++;
        s->job = NULL;
        rail->busy--;
        return;
    }
}

/* The next piece of the oldest job that has one; its step is before the first. */
static void take(slot_t *s)
{
    pipc__rail_t *rail = s->rail;
    job_t *j = &rail->jobs[rail->queue[rail->head]];
    size_t size = pipc_dtype_bytes(j->job.dtype), grain = PIPC__RAIL_GRAIN / size;
    size_t first = pipc__rail_part(j->job.count, j->cut.pieces, j->begun, grain);

    s->job = j;
    s->piece = j->begun++;
    s->step = -1;
    s->from = s->to = NULL;
    s->data = (char *)j->job.data + first * size;
    s->count = pipc__rail_part(j->job.count, j->cut.pieces, j->begun, grain) - first;
    rail->busy++;
    if (j->begun == j->cut.pieces) {
        rail->head = (rail->head + 1) % PIPC__RAIL_JOBS_MAX;
        rail->queued--;
    }
}

static void advance_all(pipc__rail_t *rail)
{
    for (int i = 0; i < SLOTS && (rail->busy || rail->queued); i++) {
        slot_t *s = &rail->slots[i];
        if (!s->job && rail->queued)
            take(s);
        if (s->job)
            advance(s);
    }
}

/* --- calls ----------------------------------------------------------------------------------- */

static pipc_status_t failure(const pipc__rail_t *rail, pipc__error_t *err)
{
    return pipc__fail(err, rail->net.failed.status, "%s", rail->net.failed.text);
}

static job_t *free_job(pipc__rail_t *rail, int *id)
{
    for (int i = 0; i < PIPC__RAIL_JOBS_MAX; i++)
        if (!rail->jobs[i].used) {
            *id = i;
            return &rail->jobs[i];
        }
    return NULL;
}

static pipc_status_t ucx_start(pipc__rail_t *rail, const pipc__rail_job_t *job, int *id,
                               pipc__error_t *err)
{
    size_t size = pipc_dtype_bytes(job->dtype);

    /* What has come is read first: sending on a connection that the other has closed would lose its
     * last words. */
    if (rail->net.peers)
        pipc__ucx_net_progress(&rail->net);
    if (rail->net.failed.status)
        return failure(rail, err);
    if (!rail->net.peers || !size || job->count > SIZE_MAX / size)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          rail->net.peers
                              ? "%zu elements of type %d cannot be summed"
                              : "%zu elements of type %d for a rail that is not connected",
                          job->count, (int)job->dtype);
    job_t *j = free_job(rail, id);
    if (!j)
        return pipc__fail(err, PIPC_ERR_INVALID, "%d jobs are on their way: poll for them first",
                          PIPC__RAIL_JOBS_MAX);
    *j = (job_t){.job = *job, .sequence = rail->sequence++, .used = true};
    if (job->count && rail->net.nodes > 1) {
        j->cut = pipc__rail_cut(rail->net.nodes, job->count * size, job->message);
        rail->queue[(rail->head + rail->queued++) % PIPC__RAIL_JOBS_MAX] = *id;
        advance_all(rail);
    }
    return PIPC_OK;
}

static pipc_status_t ucx_poll(pipc__rail_t *rail, int id, bool *done, pipc__error_t *err)
{
    *done = false;
    if (id < 0 || id >= PIPC__RAIL_JOBS_MAX || !rail->jobs[id].used)
        return pipc__fail(err, PIPC_ERR_INVALID, "job %d is not on its way", id);
    pipc__ucx_net_progress(&rail->net);
    if (!rail->net.failed.status)
        advance_all(rail);
    if (rail->net.failed.status)
        return failure(rail, err);
    *done = rail->jobs[id].ended == rail->jobs[id].cut.pieces;
    rail->jobs[id].used = !*done;
    return PIPC_OK;
}

static void ucx_rest(pipc__rail_t *rail, int usec)
{
    pipc__ucx_net_rest(&rail->net, usec);
}

static void ucx_tell(pipc__rail_t *rail, pipc_status_t status, const char *text)
{
    pipc__ucx_net_tell(&rail->net, status, text);
    pipc__ucx_net_progress(&rail->net);
}

static pipc_status_t ucx_look(pipc__rail_t *rail, pipc__error_t *err)
{
    if (rail->net.peers)
        pipc__ucx_net_progress(&rail->net);
    return rail->net.failed.status ? failure(rail, err) : PIPC_OK;
}

static void ucx_close(pipc__rail_t *rail)
{
    if (!rail)
        return;
    for (int i = 0; i < SLOTS; i++) {
        pipc__ucx_net_drop(&rail->net, rail->slots[i].receiving);
        pipc__ucx_net_drop(&rail->net, rail->slots[i].sending);
    }
    pipc__ucx_net_close(&rail->net);
    free(rail->buffers);
    free(rail);
}

const pipc__rail_ops_t pipc__rail_ucx = {
    .name = "ucx",
    .open = ucx_open,
    .connect = ucx_connect,
    .start = ucx_start,
    .poll = ucx_poll,
    .rest = ucx_rest,
    .tell = ucx_tell,
    .look = ucx_look,
    .close = ucx_close,
};
