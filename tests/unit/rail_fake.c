/* tests/unit/rail_fake.c - see rail_fake.h */
#include "tests/unit/rail_fake.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/exec/exec.h"

#define RING 8 /* pieces of a node that others may still read; later ones wait */

typedef struct end {
    _Atomic uint64_t posted, taken; /* jobs */
    _Atomic int closed;
} end_t;

struct rail_fake {
    int nodes;
    size_t bytes; /* of a piece */
    end_t end[RAIL_FAKE_RAILS][RAIL_FAKE_NODES];
    char data[]; /* [rail][node][RING][bytes] */
};

struct pipc__rail {
    rail_fake_t *net;
    int l, node, slow;
    uint64_t begun, posted, ended;
    pipc__rail_job_t job[PIPC__RAIL_JOBS_MAX]; /* of number, modulo */
    unsigned int seed;
};

static int longest;

static size_t net_bytes(int nodes, size_t bytes)
{
    return sizeof(rail_fake_t) + (size_t)(RAIL_FAKE_RAILS * nodes * RING) * bytes;
}

rail_fake_t *rail_fake_new(int nodes, size_t bytes)
{
    rail_fake_t *net = mmap(NULL, net_bytes(nodes, bytes), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (net == MAP_FAILED)
        abort();
    net->nodes = nodes;
    net->bytes = bytes;
    return net;
}

void rail_fake_free(rail_fake_t *net)
{
    munmap(net, net_bytes(net->nodes, net->bytes));
}

pipc__rail_t *rail_fake_open(rail_fake_t *net, int l, int node, int slow)
{
    pipc__rail_t *r = calloc(1, sizeof(*r));

    if (!r || l >= RAIL_FAKE_RAILS || node >= RAIL_FAKE_NODES)
        abort();
    r->net = net;
    r->l = l;
    r->node = node;
    r->slow = slow;
    r->seed = (unsigned int)getpid();
    return r;
}

int rail_fake_longest_rest(void)
{
    return longest;
}

static end_t *end_of(const pipc__rail_t *r, int node)
{
    return &r->net->end[r->l][node];
}

static char *piece(const pipc__rail_t *r, int node, uint64_t number)
{
    size_t i = (size_t)((r->l * r->net->nodes + node) * RING) + number % RING;

    return r->net->data + i * r->net->bytes;
}

static size_t job_bytes(const pipc__rail_job_t *j)
{
    return j->count * pipc_dtype_bytes(j->dtype);
}

static pipc_status_t start(pipc__rail_t *r, const pipc__rail_job_t *job, int *id,
                           pipc__error_t *err)
{
    if (r->begun - r->ended == PIPC__RAIL_JOBS_MAX || job_bytes(job) > r->net->bytes)
        return pipc__fail(err, PIPC_ERR_INVALID, "too many jobs, or too much for one");
    *id = (int)(r->begun % PIPC__RAIL_JOBS_MAX);
    r->job[*id] = *job;
    r->begun++;
    return PIPC_OK;
}

/* Has every node done more than @number, as @what says? */
static bool all_have(const pipc__rail_t *r, bool posted, uint64_t number)
{
    for (int n = 0; n < r->net->nodes; n++)
        if ((posted ? end_of(r, n)->posted : end_of(r, n)->taken) <= number)
            return false;
    return true;
}

static void post(pipc__rail_t *r)
{
    while (r->posted < r->begun && (r->posted < RING || all_have(r, false, r->posted - RING))) {
        const pipc__rail_job_t *j = &r->job[r->posted % PIPC__RAIL_JOBS_MAX];
        memcpy(piece(r, r->node, r->posted), j->data, job_bytes(j));
        memset(j->data, 0x5a, job_bytes(j)); /* the engine's: whoever reads it sees */
        end_of(r, r->node)->posted = ++r->posted;
    }
}

static void take(pipc__rail_t *r)
{
    while (r->ended < r->posted && all_have(r, true, r->ended) &&
           rand_r(&r->seed) % (unsigned int)r->slow == 0) {
        const pipc__rail_job_t *j = &r->job[r->ended % PIPC__RAIL_JOBS_MAX];
        memcpy(j->data, piece(r, 0, r->ended), job_bytes(j));
        for (int n = 1; n < r->net->nodes; n++)
            pipc__exec_rail_sum(j->data, piece(r, n, r->ended), j->count, j->dtype, j->op);
        end_of(r, r->node)->taken = ++r->ended;
    }
}

static pipc_status_t poll_jobs(pipc__rail_t *r, int id, bool *done, pipc__error_t *err)
{
    post(r);
    take(r);
    uint64_t ahead =
        ((uint64_t)id - r->ended) % PIPC__RAIL_JOBS_MAX; /* of it, if it has not ended */
    *done = r->ended + ahead >= r->begun;
    for (int n = 0; n < r->net->nodes && !*done; n++)
        if (end_of(r, n)->closed && end_of(r, n)->posted <= r->ended)
            return pipc__fail(err, PIPC_ERR_PEER_LOST, "rail %d of node%d is lost", r->l, n);
    return PIPC_OK;
}

static void rest(pipc__rail_t *r, int usec)
{
    (void)r;
    longest = usec > longest ? usec : longest;
    usleep((unsigned int)usec);
}

static void close_rail(pipc__rail_t *r)
{
    if (!r)
        return;
    end_of(r, r->node)->closed = 1;
    free(r);
}

const pipc__rail_ops_t pipc__rail_fake = {
    .name = "fake", .start = start, .poll = poll_jobs, .rest = rest, .close = close_rail};
