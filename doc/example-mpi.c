/* example-mpi.c - an MPI program lets the ranks of each node meet by MPI_Allgather, whatever started
 * it. MPI goes on between the nodes: here it adds up what each node has summed.
 *
 *     mpicc -o example-mpi example-mpi.c $(pkg-config --cflags --libs pcie-ipc)
 *     srun -N2 -n8 --mpi=pmix ./example-mpi      or      mpirun -n 4 ./example-mpi
 */
#include <stdio.h>

#include <mpi.h>
#include <pcie-ipc/comm.h>

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    MPI_Comm *comm = ctx;

    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *comm);
}

static void check(pipc_status_t status)
{
    if (status == PIPC_OK)
        return;
    fprintf(stderr, "example-mpi: %s: %s\n", pipc_status_string(status), pipc_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    pipc_callbacks_t callbacks = PIPC_CALLBACKS_INIT;
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    MPI_Comm node, twins; /* the ranks of this node; those with the same number on each node */
    pipc_comm_t *comm;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &callbacks.rank);
    MPI_Comm_size(node, &callbacks.size);
    MPI_Comm_split(MPI_COMM_WORLD, callbacks.rank, rank, &twins);

    callbacks.allgather = allgather;
    callbacks.ctx = &node;
    config.backend = PIPC_BACKEND_CPU;
    config.callbacks = &callbacks;
    check(pipc_comm_create(&comm, &config));

    float x = (float)(rank + 1), sum;
    check(pipc_allreduce(comm, &x, &sum, 1, PIPC_F32, PIPC_SUM, NULL));
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_FLOAT, MPI_SUM, twins);
    int right = sum == (float)(size * (size + 1) / 2); /* nodes with as many ranks each */
    printf("rank %d of %d, %d of %d here: %s\n", rank, size, callbacks.rank, callbacks.size,
           right ? "right" : "wrong");

    check(pipc_comm_destroy(comm));
    MPI_Comm_free(&twins);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return !right;
}
