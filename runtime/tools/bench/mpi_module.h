/* tools/bench/mpi_module.h - what the benchmark asks of MPI, as a module of its own.
 *
 * MPI has no common binary interface (a communicator is a pointer in one library and a number in
 * the other), so the few calls are compiled against the MPI that is there, into bench_mpi.so, and
 * the benchmark itself starts without any.
 */
#ifndef PIPC_BENCH_MPI_MODULE_H
#define PIPC_BENCH_MPI_MODULE_H

#include <stddef.h>

#define BENCH_MPI_VERSION 1
#define BENCH_MPI_SYMBOL "pipc_bench_mpi"

typedef struct bench_mpi_module {
    int version; /* BENCH_MPI_VERSION */
    /* MPI_Init, unless the program has called it. All functions return 0 or an MPI error code. */
    int (*start)(void);
    /* Make a communicator of the ranks with this @color in order of @key. */
    int (*open)(int color, int key);
    /* @dtype and @op by pcie-ipc's names; -1 when MPI has no such type. send == recv is in place.
     */
    int (*allreduce)(const void *send, void *recv, size_t count, const char *dtype, const char *op);
    const char *(*library)(void); /* "Open MPI v4.1.4" */
    void (*close)(void);
} bench_mpi_module_t;

#endif
