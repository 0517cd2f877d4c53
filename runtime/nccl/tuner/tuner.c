/* nccl/tuner/tuner.c - libnccl-tuner-pcie-ipc.so: what stays with NCCL goes by the algorithm and
 * the protocol that pcie-ipc-tune has measured to be the fastest on this machine.
 *
 *     NCCL_TUNER_PLUGIN=/usr/lib/libnccl-tuner-pcie-ipc.so      set by srun --pcie-ipc
 *
 * NCCL hands over its own estimates, one for each algorithm and protocol, and takes the least. One
 * of them is made 0 where a measured table says so (tune/told.h), and nothing else is touched, the
 * number of channels included: measured is what NCCL makes of the algorithm by itself. What NCCL
 * has marked as not available stays so; it knows which protocols are safe over which links.
 *
 * Every function returns success: an error would fail the user's communicator over a matter of
 * speed.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pcie-ipc/export.h>

#include "runtime/nccl/tuner/abi.h"
#include "runtime/nccl/tuner/rules.h"

#define NAME "pcie-ipc"

static const char *environment(const char *name)
{
    return secure_getenv(name);
}

/* Rules of a communicator, or NULL where NCCL is left alone. */
static pipc__rules_t *begin(size_t nranks, size_t nnodes, tuner_log_t log, const void *caller)
{
    pipc__rules_t *rules = nnodes == 1 ? malloc(sizeof(*rules)) : NULL;
    pipc__seen_t *seen = rules ? malloc(sizeof(*seen)) : NULL;
    char nccl[16];

    if (!seen) {
        free(rules);
        return NULL;
    }
    pipc__seen_nccl(caller, nccl);
    pipc__seen_read(seen, nccl, environment, NULL);
    pipc__rules_find(rules, seen, nranks, environment);
    free(seen);
    if (!rules->n) {
        free(rules);
        return NULL;
    }
    if (log)
        log(TUNER_LOG_INFO, TUNER_LOG_TUNING, __FILE__, __LINE__, NAME ": AllReduce goes by %s",
            rules->from);
    return rules;
}

static int init_v4(size_t nranks, size_t nnodes, tuner_log_t log, void **context)
{
    *context = begin(nranks, nnodes, log, __builtin_return_address(0));
    return TUNER_SUCCESS;
}

static int init_v5(void **context, uint64_t comm, size_t nranks, size_t nnodes, tuner_log_t log,
                   void *domains, void *constants)
{
    (void)comm, (void)domains, (void)constants;
    *context = begin(nranks, nnodes, log, __builtin_return_address(0));
    return TUNER_SUCCESS;
}

/* The entry that @told names, of any protocol the cheapest one; NULL where NCCL has none. */
static float *entry(float *costs, int nalgo, int nproto, const pipc__told_t *told)
{
    float *best = NULL;

    if (told->algo >= nalgo || told->proto >= nproto)
        return NULL;
    for (int p = 0; p < nproto; p++) {
        float *at = &costs[told->algo * nproto + p];
        if ((told->proto == PIPC__TOLD_ANY || told->proto == p) && *at >= 0 &&
            (!best || *at < *best))
            best = at;
    }
    return best;
}

/* Several operations in one launch were not measured: they stay as they are. */
static int get(void *context, int collective, size_t bytes, int ops, float **costs, int nalgo,
               int nproto, int registered, int *nchannels)
{
    const pipc__told_t *told;
    float *at;

    (void)nchannels;
    if (!context || !costs || collective != TUNER_ALLREDUCE || ops > 1)
        return TUNER_SUCCESS;
    told = pipc__rules_look(context, bytes, registered != 0);
    at = told ? entry((float *)(void *)costs, nalgo, nproto, told) : NULL;
    if (at)
        *at = 0;
    return TUNER_SUCCESS;
}

static int end(void *context)
{
    free(context);
    return TUNER_SUCCESS;
}

PIPC_EXPORT extern const tuner_v4_t ncclTunerPlugin_v4;
PIPC_EXPORT extern const tuner_v5_t ncclTunerPlugin_v5;
PIPC_EXPORT extern const tuner_v6_t ncclTunerPlugin_v6;

const tuner_v4_t ncclTunerPlugin_v4 = {NAME, init_v4, get, end};
const tuner_v5_t ncclTunerPlugin_v5 = {NAME, init_v5, get, end};
const tuner_v6_t ncclTunerPlugin_v6 = {NAME, init_v5, get, end, NULL};
