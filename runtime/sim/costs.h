/* sim/costs.h - what links and executors cost: the numbers of the simulator. They are measured
 * data and stand in etc/links.conf; what is built in here is the same, for where no file is.
 */
#ifndef PIPC_SIM_COSTS_H
#define PIPC_SIM_COSTS_H

#include <stddef.h>

#include "runtime/base/error.h"

/* A figure that depends on a size: straight lines over the logarithm of the size, flat beyond the
 * ends. One point without a size is a constant. */
#define PIPC__CURVE_MAX 12
typedef struct pipc__curve {
    int n;
    double bytes[PIPC__CURVE_MAX], value[PIPC__CURVE_MAX]; /* bytes ascend */
} pipc__curve_t;

double pipc__curve_at(const pipc__curve_t *curve, double bytes);

/* Who runs the plan, over what. */
typedef enum pipc__profile {
    PIPC__PROFILE_P2P,    /* "p2p": GPUs that write each other's memory over PCIe */
    PIPC__PROFILE_NVLINK, /* "nvlink": over NVLink */
    PIPC__PROFILE_HOST,   /* "host": GPUs that meet in host memory */
    PIPC__PROFILE_CPU,    /* "cpu": processes over shared memory */
    PIPC__PROFILES
} pipc__profile_t;

/* "p2p", ...; NULL outside the enumeration. Static. */
const char *pipc__profile_name(pipc__profile_t profile);

/* The executor's part. All lanes of a stage count as one. */
typedef struct pipc__exec_costs {
    double call_usec;   /* a call without any step: launch, first and last instruction */
    double op_usec;     /* beginning a copy or a sum, whatever its size */
    double step_usec;   /* from a signal at one rank until the wait at another one is over */
    double local_usec;  /* the same between two stages of a rank */
    double memory_gbps; /* a GPU's own memory, all reading and writing; CPU: not used */
    double engines;     /* stages of a rank that run at full speed at the same time */
    double drift;       /* 0: lanes of a rank stay in step; 1: over many rounds they drift so far
                           apart that one uses what others leave idle, until a resource is full */
    /* By the working set, which is what a rank reads and writes in a call: caches make small ones
     * faster, grids that are not full yet make them slower. 10^9 bytes a second. */
    pipc__curve_t copy_gbps;   /* bytes copied */
    pipc__curve_t reduce_gbps; /* bytes read, of all sources together */
} pipc__exec_costs_t;

typedef struct pipc__costs {
    /* [link] a PCIe link, where the topology does not tell, and what of it data gets */
    double speed_gts, width; /* GT/s a lane, lanes */
    double payload_bytes, overhead_bytes, credit;
    double duplex; /* both directions at once, as a part of twice the one */
    double nvlink_gbps, nvlink_duplex;
    double crowd, crowd_least;               /* [switch] */
    double root_p2p, root_usec;              /* [root] */
    double socket_gbps, socket_usec;         /* [socket] */
    double host_gbps;                        /* [memory] */
    double nic_gbps, nic_usec, nic_ranks;    /* [nic] */
    pipc__exec_costs_t exec[PIPC__PROFILES]; /* [p2p], [nvlink], [host], [cpu] */
} pipc__costs_t;

typedef enum pipc__cost_type { PIPC__COST_NUMBER, PIPC__COST_CURVE } pipc__cost_type_t;

typedef struct pipc__cost_key {
    const char *section, *key;
    pipc__cost_type_t type;
    const char *unit;
    const char *def; /* as it would stand in the file */
    double least, most;
    size_t offset; /* in pipc__costs_t: double or pipc__curve_t */
} pipc__cost_key_t;

extern const pipc__cost_key_t pipc__cost_keys[]; /* ends with a key of NULL */

void pipc__costs_default(pipc__costs_t *out);

/* Fill @out from the file at @path; keys that it does not name keep their defaults. On failure
 * @out has all defaults, and @err says "PATH:LINE: what is wrong and what would be right":
 * PIPC_ERR_SYSTEM: it can't be read; PIPC_ERR_INVALID: it is wrong. */
pipc_status_t pipc__costs_read(pipc__costs_t *out, const char *path, pipc__error_t *err);

/* The same from a text; @name stands for the path in messages. */
pipc_status_t pipc__costs_parse(pipc__costs_t *out, const char *text, const char *name,
                                pipc__error_t *err);

/* Bytes a second and direction that data gets of a PCIe link of @width lanes at @speed_mts, by
 *
 *     width * speed * code * payload / (payload + overhead) * credit
 *
 * code is 8b/10b up to 5 GT/s, 128b/130b above; the fraction is that of a TLP; credit is what
 * acknowledgements, flow control and the devices at both ends leave. */
double pipc__pcie_rate(const pipc__costs_t *costs, int speed_mts, int width);

#endif
