/* tools/bench/options.h - the command line of pcie-ipc-bench: nccl-tests' letters and meanings.
 */
#ifndef PIPC_BENCH_OPTIONS_H
#define PIPC_BENCH_OPTIONS_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>

#include "runtime/tools/bench/peer.h"

typedef struct bench_options {
    size_t min_bytes, max_bytes;
    int factor;        /* next size = size * factor, when step_bytes is 0 */
    size_t step_bytes; /* next size = size + step_bytes */
    int iterations;    /* samples; with rounds, of a turn */
    int rounds;        /* turns of own and peer; 0: iterations, of one sample each */
    int time_msec;     /* about so long for a placement of a size, with fewer samples; 0: any */
    double drop; /* variants that take so many times the fastest one's time are out; 0: none */
    int burst;   /* calls of a sample; 0: by the message's size */
    size_t burst_bytes; /* that those calls move together; 0: 4 MB */
    int warmup;
    int dtype; /* pipc_dtype_t, or -1 for all */
    int op;    /* pipc_redop_t, or -1 for all */
    int graph; /* replays of a captured burst that make a sample; 0: eager */
    bool check;
    size_t check_max; /* results of larger messages are not checked; 0: all are */
    pipc_backend_t backend;
    const char *plan;
    pipc_path_t path;
    bool per_node;
    int proto;                /* pipc__proto_t for every call, or -1: as the table says */
    int blocks;               /* thread blocks of every call at most, or 0: as the table says */
    const char *sms;          /* PCIE_IPC_SMS: "16", "max"; NULL: as the environment says */
    bool overlap;             /* with arithmetic beside the calls, too */
    const char *beside;       /* other own ways (beside.h), or NULL */
    const bench_peer_t *peer; /* or NULL */
    const char *json_path;    /* or NULL */
    const char *plot_path;    /* or NULL */
    double limit_gbps;        /* a line in the plot; 0: none */
} bench_options_t;

/* Parse argv. Returns -1 to go on, else the exit status (0 after --help and --version, 64 after a
 * usage error, which is on stderr by then). */
int bench_options_parse(bench_options_t *o, int argc, char **argv);

/* The exit status of the rank that printed: @status, or 2 when what it printed could not be
 * written, which is on stderr by then. */
int bench_options_finish(int status);

#endif
