#!/bin/bash
# GPUs of two nodes under Slurm: two slurmd with half of this machine's GPUs each, host names, memory and, where the
# machine allows it, networks of their own; NCCL between them. A single GPU is shared by both: all is slower then, since
# the driver lets one after the other have it, and no less right. Skipped where there is none.
#   PCIE_IPC_BUILD=builddir [NCCL_TESTS=PATH/all_reduce_perf_mpi] tests/gpu/nodes.t
# builddir/prefix is where it is installed. NCCL_TESTS: that program, built with MPI, as an unmodified one.
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
: "${PCIE_IPC_BUILD:=${PIPC_BUILDDIR-}}"
[ -z "$PCIE_IPC_BUILD" ] || export PCIE_IPC_BUILD
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/../cluster/harness.sh"

[ "$(real_gpus)" -ge 1 ] || skip_all 'no GPU'
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all "no plugin in $cluster_prefix: make install"
if ! cluster_boot DEVICES=real REAL_NODES=2 ISOLATE=net 2>"$tap_log"; then
    diag "no network of its own for each node: $(head -n 1 "$tap_log")"
    cluster_halt
    cluster_start DEVICES=real REAL_NODES=2
fi
export PCIE_IPC_TABLE=none NCCL_DEBUG=${NCCL_DEBUG:-WARN}
gpus=${cluster_option[GPUS]} all=$((2 * cluster_option[GPUS]))
diag "two nodes of $gpus GPUs, ISOLATE=${cluster_option[ISOLATE]}"

# on_gpus OPTION COMMAND...: a rank a GPU, with --pcie-ipc=OPTION
on_gpus() {
    srun -N2 -n"$all" --ntasks-per-node="$gpus" --gpus-per-node="$gpus" --pcie-ipc="$1" "${@:2}"
}

# right ROWS WORDS ARGS...: the benchmark has ROWS rows with nothing wrong in them, and says WORDS; its rows are shown
right() {
    local rows=$1 words=$2
    shift 2
    on_gpus "${wish:-verbose}" pcie-ipc-bench --backend cuda "$@" >out 2>err || { cat out err; return 1; }
    cat out err
    grep -q -e "$words" out err &&
        awk -v want="$rows" '/^ / { rows++; if ($9 != 0 || $13 != 0) bad++ } END { exit !(rows == want && !bad) }' out
}

# times: what the last one took
times() {
    sed -n 's/^ */# /p' out
    grep '^#.*\(nodes\|rail\)' out
}

# its_gpus NODE: as CUDA has them there
its_gpus() {
    srun -w "$1" -N1 -n"$gpus" --gpus-per-node="$gpus" --pcie-ipc=verbose pcie-ipc-bench --backend cuda -b 8 -e 8 -n 1 -w 0 |
        sed -n 's/^#  rank .* GPU /# GPU /p'
}
{ its_gpus n1 && its_gpus n2; } >gpus
if [ "$(real_gpus)" = 1 ]; then
    test_expect_success 'both nodes have the one GPU' 'cat gpus && test "$(wc -l <gpus) $(sort -u gpus | wc -l)" = "2 1"'
else
    test_expect_success 'each node has its own GPUs' 'cat gpus && test "$(sort -u gpus | wc -l)" = $all'
fi
cat gpus
nodes="2 nodes of $gpus rank"
test_expect_success 'every type and operation' 'right 100 "$nodes" --plan nodes -b 72 -e 72000 -f 1000 -d all -o all -n 1 -w 0'
for plan in nodes nodes-one nccl; do
    test_expect_success "8 bytes to 64 MB by plan $plan" 'right 8 "$nodes" --plan $plan -b 8 -e 16777216 -f 8 -n 5'
    times
done
test_expect_success '64 MB, in place and not' 'right 1 "$nodes" --plan nodes -b 64M -e 64M -n 3'
times
test_expect_success 'sizes that nothing divides' 'right 4 "$nodes" --plan nodes -b 4 -e 3000000 -f 31 -n 3'
test_expect_success 'in graphs' 'right 5 "$nodes" --plan nodes -b 1K -e 4M -f 8 -n 3 -G 4'
times
wish=nodes:split,verbose
test_expect_success 'ranks may open no memory of each other: nodes:split' '
    right 8 "PCIE_IPC_NODES=split" --plan nodes -b 8 -e 16777216 -f 8 -n 5'
wish=verbose
test_expect_success 'without a wish NCCL does it all' 'right 4 "$nodes" -b 1K -e 1M -f 10 -n 3'
times

test_expect_success 'beside NCCL in all its ways' '
    right 3 "$nodes" --plan nodes -b 64K -e 4M -f 8 -n 3 --peer "nccl:best${PCIE_IPC_NCCL:+:$PCIE_IPC_NCCL}"'
times
if [ "$(real_gpus)" = 1 ]; then
    skip 'pcie-ipc-tune makes a table for them' 'one GPU for both nodes: each call waits for its turn, and it takes minutes'
    skip 'which the next job takes' 'no table was made'
else
    test_expect_success 'pcie-ipc-tune makes a table for them' '
        on_gpus verbose pcie-ipc-tune --backend cuda -b 1K -e 4M --time 10 -o "$PWD/table" >out 2>err; status=$?
        cat out err && test $status = 0 && test -s table'
    sed "/^#/d; s/^/#   /" table 2>/dev/null
    test_expect_success 'which the next job takes' 'PCIE_IPC_TABLE=$PWD/table right 5 "$nodes" -b 1K -e 4M -f 8 -n 5'
    times
fi

# An unmodified program: the plugin's preload, and our plan by the variable
report() {
    grep -o '"who": *"[a-z-]*"' report.json | sort | uniq -c
}
if [ -x "${NCCL_TESTS-}" ]; then
    test_expect_success 'an unmodified program, by our plan' '
        PCIE_IPC_PLAN=nodes on_gpus report:json:$PWD/report.json "$NCCL_TESTS" -b 4 -e 16M -f 8 -n 5 -w 2 -c 1 -d float -o all >out 2>err &&
        cat out err && grep -q "Out of bounds values *: *0 OK" out && report && grep -q "\"who\": *\"nodes" report.json'
    report | sed 's/^/# /'
    test_expect_success 'and by NCCL, where nothing is said' '
        on_gpus report:json:$PWD/report2.json "$NCCL_TESTS" -b 4 -e 16M -f 8 -n 5 -w 2 -c 1 -d float -o sum >out 2>err &&
        cat out err && grep -q "Out of bounds values *: *0 OK" out'
else
    skip 'an unmodified program, by our plan' 'NCCL_TESTS names no all_reduce_perf'
    skip 'and by NCCL, where nothing is said' 'NCCL_TESTS names no all_reduce_perf'
fi

cluster_stop
done_testing
