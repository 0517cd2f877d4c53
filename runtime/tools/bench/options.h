/* tools/bench/options.h - the command line of pcie-ipc-bench: nccl-tests' letters and meanings.
 */
#ifndef PIPC_BENCH_OPTIONS_H
#define PIPC_BENCH_OPTIONS_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>

typedef struct bench_options {
    size_t min_bytes, max_bytes;
    int factor;
    int iterations, warmup;
    int dtype;  /* pipc_dtype_t, or -1 for all */
    bool check;
    pipc_backend_t backend;
    const char *plan;
    bool per_node;
    bool peer_nccl;
    const char *nccl_path; /* "libnccl.so.2" unless given */
} bench_options_t;

/* Parse argv. Returns -1 to go on, else the exit status (0 after --help and --version, 64 after a
 * usage error, which is on stderr by then). */
int bench_options_parse(bench_options_t *o, int argc, char **argv);

#endif
