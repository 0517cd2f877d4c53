/* sim/rails.c - see rails.h */
#include "runtime/sim/rails.h"

#include <math.h>

pipc__sim_net_t pipc__sim_net(const pipc__costs_t *costs, int nodes)
{
    return (pipc__sim_net_t){.nodes = nodes,
                             .rate = costs->nic_gbps * 1e9,
                             .step = costs->nic_usec * 1e-6,
                             .ranks = (int)costs->nic_ranks};
}

#define MANY 262144 /* bytes of a rail's message, likewise */
#define SHORT 65536 /* bytes of a job up to which doubling is taken: rail/schedule.c */
#define STEP 65536. /* bytes that count as much as a message's latency, likewise */

static int log2_below(int n)
{
    int k = 0;

    while (n >> (k + 1))
        k++;
    return k;
}

/* Nodes beyond a power of 2 give what they have to one within, and get the sum back. */
static bool has_rest(int n)
{
    return (n & (n - 1)) != 0;
}

/* Messages of recursive doubling over @n. */
static double doublings(int n)
{
    return log2_below(n) + 2 * has_rest(n);
}

typedef struct pipc__sim_way way_t;

/* Who takes in a rest sends it back, and gets no more than it sends. */
static void list_ways(way_t way[3], int nodes, double bytes)
{
    int k = log2_below(nodes);
    double n = nodes, core = 1 << k, rest = has_rest(nodes);

    way[0] = (way_t){"doubling", doublings(nodes), (k + rest) * bytes};
    way[1] = (way_t){"halving", 2 * k + 2 * rest, (2 * (core - 1) / core + rest) * bytes};
    way[2] = (way_t){"ring", 2 * (n - 1), 2 * (n - 1) / n * bytes};
}

/* A rest that is taken in comes before all that is sent of the others, and behind them: the ring
 * alone has none. */
static double cost(const way_t way[3], int i, bool rest, double all, double bytes)
{
    return way[i].steps * STEP + (way[i].bytes / bytes + (rest && i < 2)) * all;
}

pipc__sim_way_t pipc__sim_way_over(const pipc__sim_net_t *net, double bytes, double message)
{
    bool rest = has_rest(net->nodes);
    double all = rest ? fmax(bytes, message) : message;
    int best = 0;
    way_t way[3];

    if (net->nodes < 2)
        return (way_t){"nothing", 0, 0};
    list_ways(way, net->nodes, bytes);
    if (!rest && (bytes > SHORT || message > MANY))
        return way[1];
    if (bytes > 0 && cost(way, 1, rest, all, bytes) <= cost(way, 0, rest, all, bytes))
        best = 1;
    if (bytes > 0 && rest && cost(way, 2, rest, all, bytes) < cost(way, best, rest, all, bytes))
        best = 2;
    return way[best];
}

static int nics(const pipc__sim_net_t *net, int nranks)
{
    return (nranks + net->ranks - 1) / net->ranks;
}

double pipc__sim_flat_ring(const pipc__sim_net_t *net, int nranks, double link, double bytes,
                           double *nic)
{
    double n = (double)net->nodes * nranks, all = 2 * (n - 1) / n * bytes;

    *nic = all / nics(net, nranks);
    return 2 * (n - 1) * net->step + fmax(*nic / net->rate, all / link);
}

double pipc__sim_flat_doubling(const pipc__sim_net_t *net, int nranks, double link, double bytes,
                               double *nic)
{
    double k = doublings(net->nodes * nranks), over = doublings(net->nodes);

    *nic = over * bytes * nranks / nics(net, nranks);
    return k * net->step + fmax(*nic / net->rate, k * bytes / link);
}

/* --- jobs ------------------------------------------------------------------------------------- */

void pipc__sim_job_begin(pipc__sim_jobs_t *jobs, int chunk, pipc__sim_job_t job, double bytes)
{
    pipc__sim_way_t way = pipc__sim_way_over(&jobs->net, bytes, jobs->message);

    job.left = way.bytes;
    job.steps = way.steps * jobs->net.step;
    job.flows = true;
    jobs->job[chunk] = job;
}

static double rate_of(const pipc__sim_jobs_t *jobs, const pipc__sim_job_t *job)
{
    int n = 0;

    for (int c = 0; c < PIPC__CHUNKS_MAX; c++)
        n += jobs->job[c].flows &&
             jobs->job[c].rank / jobs->net.ranks == job->rank / jobs->net.ranks;
    return jobs->net.rate / n;
}

double pipc__sim_jobs_next(const pipc__sim_jobs_t *jobs)
{
    double next = INFINITY;

    for (int c = 0; c < PIPC__CHUNKS_MAX; c++)
        if (jobs->job[c].flows)
            next = fmin(next, jobs->job[c].left / rate_of(jobs, &jobs->job[c]));
    return next;
}

uint64_t pipc__sim_jobs_flow(pipc__sim_jobs_t *jobs, double seconds)
{
    uint64_t flown = 0;

    for (int c = 0; c < PIPC__CHUNKS_MAX; c++)
        if (jobs->job[c].flows)
            jobs->job[c].left -= seconds * rate_of(jobs, &jobs->job[c]);
    for (int c = 0; c < PIPC__CHUNKS_MAX; c++)
        if (jobs->job[c].flows && jobs->job[c].left <= 1e-3) {
            jobs->job[c].flows = false;
            flown |= (uint64_t)1 << c;
        }
    return flown;
}

double pipc__sim_job_ends(pipc__sim_jobs_t *jobs, int chunk, double now)
{
    const pipc__sim_job_t *job = &jobs->job[chunk];
    double *ends = &jobs->ends[job->rank];

    *ends = fmax(*ends, now + job->steps);
    return *ends;
}
