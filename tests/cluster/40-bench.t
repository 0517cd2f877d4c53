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
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 64 -f 2 -n 3 -J "$PWD/out.json" >out && ! ls out.json.* &&
    test "$(grep -c "\"bytes\"" out.json)" = 4 && grep -q "\"schema\": 1" out.json && grep -q "\"p99_usec\"" out.json'

test_expect_success '-J to a place that is none is an error, before the table' '
    { exits 2 srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 1 -J /nowhere/out.json >out 2>err; } && grep -q "/nowhere/out.json: cannot be written: No such file" err &&
    ! grep -q "^ " out'

# schema FILE: every key that runtime/tools/bench/json.c names is there, of its kind, and no other one
schema() {
    ! command -v python3 >/dev/null || python3 "$cluster_top/tests/cluster/bench_schema.py" "$1"
}

command -v python3 >/dev/null || skip 'the JSON document is what json.c says' 'no python3'
test_expect_success 'the JSON document is what json.c says, without a peer' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 64 -f 8 -n 3 -J "$PWD/out.json" >out && schema out.json'

test_expect_success '--rounds, --burst and --proto simple are heeded, and said' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 3 --rounds 4 --burst 7 --proto simple -J "$PWD/out.json" >out &&
    grep -q "iters 3 rounds 4.* burst 7" out && schema out.json &&
    grep -q "\"rounds\": 4" out.json && grep -q "\"burst\": 7" out.json'

test_expect_success '--beside has a line for each way, and --time and --drop are said' '
    srun -N1 -n2 pcie-ipc-bench -b 1K -e 1K -n 3 --rounds 4 --time 100 --drop 3 --beside same,two-shot -J "$PWD/out.json" >out &&
    grep -q "time 100 ms  drop 3" out && test "$(grep -c "^#   beside " out)" = 2 && schema out.json'

test_expect_success '--plot draws both panels, whole' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 64K -f 8 -n 1 --plot "$PWD/out.svg" --limit 12.5 >out && ! ls out.svg.* &&
    test "$(grep -c "<polyline" out.svg)" = 2 && grep -q ">limit 12.5 GB/s<" out.svg && grep -q ">time of a call<" out.svg &&
    { ! command -v xmllint >/dev/null || xmllint --noout out.svg; }'

test_expect_success '--plot to a place that is none is an error, before the table and the JSON' '
    rm -f out.json && { exits 2 srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 1 -J "$PWD/out.json" --plot /nowhere/x.svg >out 2>err; } &&
    grep -q "/nowhere/x.svg: cannot be written: No such file" err && ! grep -q "^ " out && test ! -e out.json'

if test -e "$cluster_prefix/lib/pcie-ipc/bench_mpi.so"; then
    test_expect_success 'MPI is timed in turns, in one communicator a node too' '
        srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --per-node --peer mpi -b 1K -e 1K -n 3 >out &&
        grep -q "peer .*MPI" out && awk "/^ / { rows++; if (\$18 <= 0 || \$19 <= 0 || \$9 != 0) bad++ } END { exit !(rows == 1 && !bad) }" out'

    test_expect_success 'the means, the JSON and the plot have the peer, too' '
        srun -N1 -n2 pcie-ipc-bench --peer mpi -b 1K -e 16K -f 4 -n 3 --rounds 2 -J "$PWD/out.json" --plot "$PWD/out.svg" >out &&
        grep -q "^#  mpi  *[0-9.]* *[0-9.]* *- *- *[0-9.]* *[0-9.]*$" out &&
        schema out.json && grep -q "\"peer_best\": \"default\"" out.json &&
        test "$(grep -c "<polyline" out.svg)" = 4 && grep -q ">mpi<" out.svg'

    test_expect_success 'an operation that the peer has not ends the run, with the reason' '
        { exits 2 srun -N1 -n2 pcie-ipc-bench --peer mpi -b 8 -e 8 -n 1 -o avg >out 2>err; } && grep -q "MPI has no avg" err'
else
    skip 'MPI is timed in turns' 'built without MPI'
fi
test_expect_success 'a library of the peer that is not there is named' '
    { exits 2 srun -N1 -n2 pcie-ipc-bench --peer mpi:/nowhere/bench_mpi.so -b 8 -e 8 >out 2>err; } && grep -q "/nowhere/bench_mpi.so" err'

if test ! -e /dev/nvidia0; then
    for options in '--peer nccl' '--peer nccl:best' '--peer nccl:host-tree' '-G 5' '--overlap' '--sms 4' '--sms max' \
        '--blocks 2' '--proto ll' '--proto ce'; do
        test_expect_success "$options needs GPUs, and says so" "
            { exits 2 srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 $options >out 2>err; } && grep -q 'needs GPUs' err"
    done
fi

test_expect_success 'without -c nothing is claimed' '
    srun -N1 -n2 pcie-ipc-bench -b 8 -e 8 -n 1 -c 0 >out && grep -q "N/A" out && grep -q "not checked" out'

cluster_stop
done_testing
