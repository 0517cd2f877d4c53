#!/bin/bash
# The examples in doc/ build as their first lines say, from an installed pcie-ipc, and run
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

cluster_start GPUS=4

export PKG_CONFIG_PATH=$cluster_prefix/lib/pkgconfig LD_LIBRARY_PATH=$cluster_prefix/lib

# right N: N ranks said so
right() {
    test "$(grep -c right out)" = "$1" && ! grep -q wrong out
}

test_expect_success 'pkg-config knows the version' '
    test "$(pkg-config --modversion pcie-ipc)" = "$(sed -n "s/^#define PIPC_VERSION_STRING \"\(.*\)\"/\1/p" \
        "$cluster_prefix/include/pcie-ipc/comm.h")"'
test_expect_success 'headers are C11 and C++ without a warning' '
    echo "#include <pcie-ipc/comm.h>" >one.c &&
    gcc -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags pcie-ipc) one.c &&
    { ! type g++ || g++ -x c++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags pcie-ipc) one.c; }'

test_expect_success 'example.c builds' '
    gcc -std=c11 -Wall -Wextra -Werror -o example "$cluster_top/doc/example.c" $(pkg-config --cflags --libs pcie-ipc)'
test_expect_success 'and runs alone, with PMIx, on two nodes' '
    ./example >out && right 1 &&
    srun -N1 -n4 --mpi=pmix ./example >out && right 4 &&
    srun -N2 -n6 --ntasks-per-node=3 --mpi=pmix ./example >out && right 6 && test "$(grep -c "of 3" out)" = 6'

if type mpicc >/dev/null 2>&1; then
    test_expect_success 'example-mpi.c builds' '
        mpicc -std=c11 -Wall -Wextra -o example-mpi "$cluster_top/doc/example-mpi.c" $(pkg-config --cflags --libs pcie-ipc)'
    export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_base_warn_component_unused=0
    test_expect_success 'and runs by srun, on one node and on two' '
        srun -N1 -n4 --mpi=pmix ./example-mpi >out && right 4 &&
        srun -N2 -n4 --ntasks-per-node=2 --mpi=pmix ./example-mpi >out && right 4 && test "$(grep -c "of 2 here" out)" = 4'
    test_expect_success 'and by mpirun, without Slurm' '
        timeout 60 mpirun --allow-run-as-root --oversubscribe --host localhost:2 -n 2 ./example-mpi >out && right 2'
else
    skip 'example-mpi.c' 'there is no mpicc'
fi

is 'nothing is left in /dev/shm' "$(shm_files n1 | grep pcie)$(shm_files n2 | grep pcie)" ''
cluster_stop
done_testing
