/* kernels/probe.h - what the host and the kernels of kernels/probe.cu agree on: the probe of paths
 * that a communicator makes when it is created, and the measurements of pcie-ipc-p2p.
 *
 * A probe's slot, in the memory of the rank that is written to, one for each writer:
 *
 *     | flag, 64 bits, alone in 128 bytes | a pattern that differs by pair, step and position |
 *
 * The writer pushes the pattern and releases the flag; the owner polls the flag and compares every
 * word, as a plan's push and sum do with their data.
 */
#ifndef PIPC_KERNELS_PROBE_H
#define PIPC_KERNELS_PROBE_H

#include <stdint.h>

#define PIPC__PROBE_JOBS 32 /* of a launch: a push to and a check of each of 16 ranks */
#define PIPC__PROBE_THREADS 256
#define PIPC__PROBE_HEAD 128 /* bytes of a slot before its data */

/* Faults that test builds make (PIPC_PERTURB). */
enum { PIPC__PROBE_WHOLE, PIPC__PROBE_FLIPS, PIPC__PROBE_SILENT };

/* A thread block's work. Pushes stand before checks: blocks start in order, and a check that takes
 * the place of a push would wait for a peer that waits for it. */
typedef struct pipc__probe_job {
    char *slot;
    uint64_t seed;  /* of the pattern */
    uint32_t bytes; /* of the data, a multiple of 16 */
    uint32_t check; /* 0: push, 1: check */
    uint32_t fault; /* test builds */
} pipc__probe_job_t;

/* In host memory; a word that holds the step's token is set. */
typedef struct pipc__probe_result {
    uint64_t started, done;
    uint64_t came;         /* check: the flag was there */
    uint64_t wrong, first; /* check: 16-byte packs that differ; the lowest of them */
} pipc__probe_result_t;

typedef struct pipc__probe_page {
    uint64_t stop; /* the token: checks end without their flag */
    pipc__probe_result_t job[PIPC__PROBE_JOBS];
} pipc__probe_page_t;

typedef struct pipc__probe_args {
    pipc__probe_job_t job[PIPC__PROBE_JOBS];
    uint64_t token;        /* a step's number, from 1 on; also the flag's value */
    const uint64_t *abort; /* host memory: not 0 when a rank has gone; NULL: there is none */
    pipc__probe_page_t *page;
} pipc__probe_args_t;

/* pcie-ipc-p2p: counts of what a check of a whole buffer found; zeroed before. */
typedef struct pipc__probe_count {
    unsigned long long wrong, first; /* packs of 16 bytes; first: as ~index, so that 0 is none */
} pipc__probe_count_t;

#endif
