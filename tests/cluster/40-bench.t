#!/bin/bash
# pcie-ipc-bench: steps, JSON, a peer in the same run, and options that do not go together
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

cluster_start NODES=2 GPUS=4 PLUGSTACK=none

# exits STATUS COMMAND...: it ends with that status
exits() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    test "$got" = "$want"
}

test_expect_success '-i adds a number of bytes, -f multiplies' '
    srun -N1 -n2 pcie-ipc-bench -b 100 -e 500 -i 200 -n 1 >out && test "$(awk "/^ / { print \$1 }" out | xargs)" = "100 300 500" &&
    srun -N1 -n2 pcie-ipc-bench -b 16 -e 300 -f 4 -n 1 >out && test "$(awk "/^ / { print \$1 }" out | xargs)" = "16 64 256"'

test_expect_success 'every operation and type that the library has gets a row, and is right' '
    srun -N1 -n3 pcie-ipc-bench -b 1000 -e 1000 -d all -o all -n 1 >out && awk "
        /^ / { rows++; seen[\$3] = seen[\$4] = 1; if (\$9 != 0 || \$13 != 0) bad++ }
        END { exit !(rows >= 3 && !bad && seen[\"float\"] && seen[\"half\"] && seen[\"int32\"] && seen[\"sum\"]) }" out'

test_expect_success '-J writes the same as JSON, whole' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 64 -f 2 -n 3 -J "$PWD/out.json" >out && test ! -e out.json.part &&
    test "$(grep -c "\"bytes\"" out.json)" = 4 && grep -q "\"schema\": 1" out.json && grep -q "\"p99_usec\"" out.json'

test_expect_success '-J to a place that is none is an error, after the table' '
    { exits 2 srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 1 -J /nowhere/out.json >out 2>err; } && grep -q "/nowhere/out.json: No such file" err'

if test -e "$cluster_prefix/lib/pcie-ipc/bench_mpi.so"; then
    test_expect_success 'MPI is timed in turns, in one communicator a node too' '
        srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --per-node --peer mpi -b 1K -e 1K -n 3 >out &&
        grep -q "peer .*MPI" out && awk "/^ / { rows++; if (\$16 <= 0 || \$17 <= 0 || \$9 != 0) bad++ } END { exit !(rows == 1 && !bad) }" out'
else
    skip 'MPI is timed in turns' 'built without MPI'
fi

if test ! -e /dev/nvidia0; then
    for options in '--peer nccl' '-G 5'; do
        test_expect_success "$options needs GPUs, and says so" "
            { exits 2 srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 $options >out 2>err; } && grep -q 'needs GPUs' err"
    done
fi

test_expect_success 'without -c nothing is claimed' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 1 -c 0 >out && grep -q "N/A" out && grep -q "not checked" out'

cluster_stop
done_testing
