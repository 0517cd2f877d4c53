/* tools/bench/mpi_module.c - see mpi_module.h */
#include "runtime/tools/bench/mpi_module.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

static MPI_Comm comm = MPI_COMM_NULL;
static char library[MPI_MAX_LIBRARY_VERSION_STRING];

static int mpi_start(void)
{
    int done = 0, length = 0, rc = MPI_Initialized(&done);

    if (!rc && !done)
        rc = MPI_Init(NULL, NULL);
    if (!rc)
        rc = MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    for (char *p = library; *p; p++) /* "MPICH Version:\t4.0.2" */
        if (*p == '\t')
            *p = ' ';
    return rc;
}

static int mpi_open(int color, int key)
{
    return MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
}

static MPI_Datatype type_of(const char *name)
{
    if (!strcmp(name, "float"))
        return MPI_FLOAT;
    if (!strcmp(name, "double"))
        return MPI_DOUBLE;
    if (!strcmp(name, "int8"))
        return MPI_INT8_T;
    if (!strcmp(name, "uint8"))
        return MPI_UINT8_T;
    if (!strcmp(name, "int32"))
        return MPI_INT32_T;
    if (!strcmp(name, "uint32"))
        return MPI_UINT32_T;
    if (!strcmp(name, "int64"))
        return MPI_INT64_T;
    return !strcmp(name, "uint64") ? MPI_UINT64_T : MPI_DATATYPE_NULL;
}

static MPI_Op op_of(const char *name)
{
    if (!strcmp(name, "sum"))
        return MPI_SUM;
    if (!strcmp(name, "prod"))
        return MPI_PROD;
    if (!strcmp(name, "min"))
        return MPI_MIN;
    return !strcmp(name, "max") ? MPI_MAX : MPI_OP_NULL; /* it has no average */
}

static int mpi_allreduce(const void *send, void *recv, size_t count, const char *dtype,
                         const char *op)
{
    MPI_Datatype type = type_of(dtype);
    MPI_Op mpi_op = op_of(op);

    if (type == MPI_DATATYPE_NULL || mpi_op == MPI_OP_NULL || count > INT_MAX)
        return -1;
    return MPI_Allreduce(send == recv ? MPI_IN_PLACE : send, recv, (int)count, type, mpi_op, comm);
}

static const char *mpi_library(void)
{
    return library;
}

static void mpi_close(void)
{
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Finalize();
}

extern const bench_mpi_module_t pipc_bench_mpi;
__attribute__((visibility("default"))) const bench_mpi_module_t pipc_bench_mpi = {
    BENCH_MPI_VERSION, mpi_start, mpi_open, mpi_allreduce, mpi_library, mpi_close,
};
