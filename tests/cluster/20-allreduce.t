#!/bin/bash
# AllReduce under real Slurm and PMIx: right results, and what happens when ranks die, abort or come late
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

cluster_start GPUS=4 PLUGSTACK=none

# Built as a user would: with pkg-config's PMIx and the installed library.
test_expect_success 'a program builds against the installed headers and library' '
    gcc -std=c11 -D_GNU_SOURCE -DHAVE_PMIX -Wall -O2 -o faults "$cluster_dir/faults.c" \
        -I"$cluster_prefix/include" $(pkg-config --cflags pmix) \
        -L"$cluster_prefix/lib" -Wl,-rpath,"$cluster_prefix/lib" -lpcie-ipc $(pkg-config --libs pmix)'

# It has the last node to itself until the end of this file, where its result is looked at.
CLIENT_TIMEOUT=150 srun -w n4 --exclusive -n4 ./faults --late 2 60 --calls 3 >late &
# shellcheck disable=SC2034 # for the test's text
late=$!

# exits STATUS COMMAND...: it ends with that status
exits() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    test "$got" = "$want"
}

# all_zero FILE ROWS: the benchmark's table has ROWS rows and every #wrong in them is 0
all_zero() {
    awk -v want="$2" '/^ / { rows++; if ($9 != 0 || $13 != 0) bad++ } END { exit !(rows == want && !bad) }' "$1"
}

test_expect_success 'one communicator a node: every type, 8 ranks on 2 nodes, #wrong 0' '
    srun -N2 -n8 --ntasks-per-node=4 pcie-ipc-bench --per-node -b 8 -e 1M -f 16 -n 5 -d all >out &&
    all_zero out 50 && grep -q "^#  rank   3 .* on n1" out && grep -q "all results are right" out'

test_expect_success 'both plans, sizes that nothing divides, 3 ranks' '
    srun -N1 -n3 pcie-ipc-bench --plan one-shot -b 4 -e 3000000 -f 7 -n 3 >out && all_zero out 7 &&
    srun -N1 -n3 pcie-ipc-bench --plan two-shot -b 4 -e 3000000 -f 7 -n 3 >out && all_zero out 7'

test_expect_success 'one rank, and sixteen' '
    srun -N1 -n1 pcie-ipc-bench -b 0 -e 0 -n 1 >out && all_zero out 1 &&
    srun -N1 -n1 pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_zero out 3 &&
    srun -N1 -n16 pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_zero out 3'

test_expect_success 'an unprivileged user gets the same' '
    as_user srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --per-node -b 8 -e 64K -f 64 -n 2 >out && all_zero out 3'

# With UCX they are one communicator: 50-nodes.t
if ! grep -q 'define HAVE_UCX 1' "$cluster_build/config.h"; then
    test_expect_success 'ranks on two nodes are refused, and told what to do' '
        exits 2 srun -N2 -n2 pcie-ipc-bench -b 8 -e 8 2>err'
    like 'the refusal names the nodes and the remedy' "$(cat err)" 'different nodes \(n1, n2\).*without UCX.*--per-node'
fi

test_expect_success 'more ranks than a node can have are refused' '
    exits 2 srun -N1 -n17 --overcommit pcie-ipc-bench -b 8 -e 8 2>err'
like 'with the limit' "$(cat err)" 'at most 16 ranks on a node, and there are 17'

test_expect_success 'without anything to meet by there is a clear error' '
    exits 2 srun -N1 -n2 --mpi=none pcie-ipc-bench -b 8 -e 8 2>err'
like 'that names the remedies' "$(cat err)" 'srun --mpi=pmix, or with srun --pcie-ipc'

test_expect_success 'a wrong option is a usage error' '
    exits 64 pcie-ipc-bench --plan moon 2>err'
like 'that lists the right ones' "$(cat err)" 'one-shot, two-shot'

test_expect_success 'ranks that disagree are told so, all of them' '
    { srun -N1 -n4 ./faults --mismatch 2 >out 2>&1; test $? = 3; } &&
    test "$(grep -c "different plans" out)" = 4'

# named_in_time FILE N: faults.c printed N error lines; each names rank 1 and came within 5 seconds
named_in_time() {
    awk -v want="$2" '/^rank .*: error after/ { n++; if ($5 > 5000 || !/rank 1 \(process [0-9]+ on n[1-4]\)/) bad++ }
                      END { exit !(n == want && !bad) }' "$1"
}

test_expect_success 'a rank killed in mid-AllReduce is named by every other rank within 5 s' '
    srun -N1 -n4 --no-kill --kill-on-bad-exit=0 ./faults --kill 1 >out 2>&1; named_in_time out 3'

test_expect_success 'the same while the program holds PMIx: the error is out before Slurm ends the step' '
    srun -N1 -n4 --kill-on-bad-exit=0 ./faults --hold-pmix --kill 1 >out 2>&1; named_in_time out 3'

test_expect_success 'the same in small calls' '
    srun -N1 -n4 --kill-on-bad-exit=0 ./faults --bytes 64 --calls 20000 --kill 1 >out 2>&1; named_in_time out 3'

test_expect_success 'a rank that exits without destroying is a lost one too' '
    srun -N1 -n3 --kill-on-bad-exit=0 ./faults --exit 1 >out 2>&1; named_in_time out 2'

test_expect_success 'an abort reaches every rank' '
    srun -N1 -n3 --kill-on-bad-exit=0 ./faults --abort 1 >out 2>&1; named_in_time out 3 && grep -q aborted out'

test_expect_success 'late is not dead: a rank has slept 60 s first and the result is right' '
    wait "$late" && test "$(grep -c right late)" = 4'

is 'nothing is left in /dev/shm after all that' "$(shm_files n1)$(shm_files n2)$(shm_files n3)$(shm_files n4)" ''

test_expect_success 'PMIx held by the program does no harm when all goes well' '
    srun -N1 -n4 ./faults --hold-pmix --calls 20 >out && test "$(grep -c right out)" = 4'

cluster_stop
done_testing
