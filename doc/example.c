/* example.c - every rank gives a vector, every rank gets the sum.
 *
 *     cc -o example example.c $(pkg-config --cflags --libs pcie-ipc)
 *     srun -N1 -n4 --mpi=pmix ./example      or      srun -N1 -n4 --pcie-ipc ./example
 */
#include <stdio.h>
#include <stdlib.h>

#include <pcie-ipc/comm.h>

#define COUNT 1000

static void check(pipc_status_t status)
{
    if (status == PIPC_OK)
        return;
    fprintf(stderr, "example: %s: %s\n", pipc_status_string(status), pipc_last_error());
    exit(1);
}

int main(void)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;
    float x[COUNT], sum[COUNT];

    config.backend = PIPC_BACKEND_CPU; /* x and sum are in host memory */
    config.scope = PIPC_SCOPE_NODE;    /* one communicator a node */
    check(pipc_comm_create(&comm, &config));

    int rank = pipc_comm_rank(comm), size = pipc_comm_size(comm);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i + rank);
    check(pipc_allreduce(comm, x, sum, COUNT, PIPC_F32, PIPC_SUM, NULL));

    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != (float)(i * size + size * (size - 1) / 2);
    printf("rank %d of %d: %s\n", rank, size, wrong ? "wrong" : "right");
    check(pipc_comm_destroy(comm));
    return wrong != 0;
}
