#!/bin/bash
# Communicators over several nodes, each with a network namespace of its own: right results, and nobody lost who is late
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/nodes.sh
. "$cluster_dir/nodes.sh"

grep -q 'define HAVE_UCX 1' "$cluster_build/config.h" ||
    skip_all 'built without UCX: ranks on several nodes are refused (20-allreduce.t)'
# Jobs of several components are the backfill scheduler's.  n5 to n9 are for what takes long, beside the rest; the cable of
# n6 is a relay.
# A step begins behind the relay, too: Slurm's own connections give up after 2 s, and a SYN that is lost twice comes after 3.
cluster_start NODES=9 GPUS=0 PLUGSTACK=none ISOLATE=net SCHEDULER=backfill NET_RELAY=n6 SLURM_CONF_EXTRA=TCPTimeout=20

test_expect_success 'a node is a network of its own, and the wire counts' '
    srun -N2 -n2 readlink /proc/self/ns/net | sort -u | wc -l | grep -qx 2 &&
    before=$(net_bytes n1) && srun -w n1 -n1 true && test "$(net_bytes n1)" != "$before"'

test_expect_success 'a program builds against the installed headers and library' 'build_faults'

# --- late is not dead: what takes long begins here, and is judged at the end

# A network that loses 5 % of all frames each way, and is late by 20 ms.  First random values, bit by bit; then calls with 5 s
# of silence before each fifth, with nothing but the kernel's questions on the cable.
lossy() {
    local job
    job=$(squeue -h -n lossy -o %A)
    srun --jobid="$job" -w n5,n6 -N2 -n2 pcie-ipc-bench -b 8 -e 8000 -f 1000 -n 1 -w 0 >lossy.bench 2>&1
    exec /usr/bin/srun --jobid="$job" -N3 -n12 --ntasks-per-node=4 --no-kill --kill-on-bad-exit=0 -o "$PWD/lossy.%t" \
        ./faults --until-lost --gap 5 --bytes 10000 2>lossy.err
}

test_expect_success 'three nodes of their own, and a relay in the cable of one' '
    salloc -Q --no-shell --exclusive --no-kill -w n5,n6,n7 -N3 -n12 --ntasks-per-node=4 -J lossy && net_relay n6 5 20'
lossy &

# For longer than the kernel asks on any connection: 4 s on those that watch, 19 s on those of the data.
test_expect_success 'a job whose second node is stopped for 22 s, with full buffers' '
    begin slow n8,n9 2 --bytes 16000000 && pids_of n9 >stopped && test -s stopped && kill -STOP $(cat stopped)'
SECONDS=0

# --- right results: types, operations, sizes, nodes, ranks

test_expect_success 'every type and operation, 2 nodes of 2 ranks' '
    srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 72 -e 72000 -f 1000 -d all -o all -n 1 -w 0 >out && all_zero out 100'
like 'the benchmark names the nodes and the rails' "$(cat out)" 'nodes  2 nodes of 2 ranks, 2 rails'
like 'and their ends' "$(cat out)" 'rail  1  rank 1 on n1 \(any device\) - rank 3 on n2'

# What a rail costs is more than nothing and no more than it was busy: bench_schema.py.
command -v python3 >/dev/null || skip 'JSON has the rails, their NICs and times' 'no python3'
test_expect_success 'so has JSON, with the NIC of each; and the time within nodes and between them, apart' '
    UCX_NET_DEVICES=eth0 srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 2M -e 4M -n 2 -J "$PWD/out.json" >out &&
    all_zero out 2 && test "$(grep -c "^#   nodes  out intra .* us, inter .* us, rail busy .*; in intra " out)" = 2 &&
    grep -q "rail  1  rank 1 on n1 (eth0) - rank 3 on n2 (eth0)" out && grep -q "\"nic\": \"eth0\"" out.json &&
    { ! command -v python3 >/dev/null || python3 "$cluster_top/tests/cluster/bench_schema.py" out.json; }'

if command -v python3 >/dev/null; then
    test_expect_success 'what tests/measure-nodes makes of it: predicted times beside, and a flat ring' '
        "$cluster_top/tests/measure_nodes.py" out.json 1 30 1.2 >predicted && cat predicted &&
        grep -c "^| 4 MB | nodes | [0-9]" predicted | grep -qx 2 && grep -q "off by .* of 2 within 25 %" predicted'
else
    skip 'what tests/measure-nodes makes of it' 'no python3'
fi

# By hand it tries everything: HACKING.md.  Here, that it runs, and sees what is wrong.
nodes_all() {
    NODES_ALL_INSIDE=yes "$cluster_top/tests/nodes-all" --nodes 3 --ranks 2 --only nothing
}
test_expect_success 'nothing, of every type and operation: tests/nodes-all' 'nodes_all >out && grep -qx "ok .* 50 rows .*" out'
mkdir wrong && printf '%s\n' '#!/bin/sh' 'echo " 0 0 float sum nodes 1 1 1 0 1 1 1 7"' >wrong/pcie-ipc-bench && chmod +x wrong/pcie-ipc-bench
test_expect_fail 'which says where something is wrong' 'PATH=$PWD/wrong:$PATH nodes_all'
like 'and what' "$(cat "$tap_log")" 'not ok  3 nodes of 2: nothing'
for shape in 2x1 2x4 3x1 3x2 3x4 4x1 4x2 4x4; do
    test_expect_success "$shape: one element, sizes that nothing divides" "
        srun -N${shape%x*} -n$((${shape%x*} * ${shape#*x})) --ntasks-per-node=${shape#*x} pcie-ipc-bench \
            -b 4 -e 3000000 -f 31 -n 1 -w 0 >out && all_zero out 4"
done

test_expect_success '64 MB on 2 nodes of 2, in place and not' '
    srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 64M -e 64M -n 1 -w 0 >out && all_zero out 1'

test_expect_success 'ranks of a node in any order: cyclic' '
    srun -w n1,n2,n3 -N3 -n6 --ntasks-per-node=2 -m cyclic pcie-ipc-bench -b 1000 -e 1000000 -f 10 -n 1 >out && all_zero out 4 &&
    grep -q "rail  1  rank 3 on n1 .* rank 4 on n2 .* rank 5 on n3" out'

test_expect_success 'nodes of 4, 2 and 1 ranks' '
    srun -N3 -n7 -m arbitrary -w n1,n1,n1,n1,n2,n2,n3 pcie-ipc-bench -b 4 -e 4M -f 32 -n 1 -d float >out &&
    all_zero out 5 && grep -q "3 nodes of 1 to 4 ranks, 1 rail" out'

test_expect_success 'averages divide by the ranks of all nodes' '
    srun -N3 -n7 -m arbitrary -w n1,n1,n1,n1,n2,n2,n3 pcie-ipc-bench -b 8 -e 80000 -f 100 -n 1 -d all -o avg >out && all_zero out 30'

test_expect_success 'every plan, asked for, at sizes that the table does not give them' '
    srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --plan nodes -b 4 -e 4 -n 1 >out && all_zero out 1 &&
    srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --plan nodes-one -b 2M -e 2M -n 1 >out && all_zero out 1 &&
    srun -N3 -n6 --ntasks-per-node=2 pcie-ipc-bench --plan nodes-lean -b 4 -e 40000 -f 100 -n 1 >out && all_zero out 3'

test_expect_success 'a job of two components' '
    cat >het.sh <<END
#!/bin/bash
#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N2 -n2
srun --het-group=0,1 pcie-ipc-bench -b 4 -e 4M -f 32 -n 1
END
    id=$(sbatch --parsable -o het.out het.sh) &&
    { wait_job "$id" "COMPLETED|FAILED" 60 || { scontrol -o show job "$id"; sinfo -N; cat het.out; false; }; } &&
    cat het.out && all_zero het.out 5'

test_expect_success 'two slurmd of one host are two nodes to PMIx, and one that shares memory' '
    srun -N2 -n4 --ntasks-per-node=2 unshare --uts sh -c "hostname one; exec pcie-ipc-bench -b 8 -e 1M -f 32 -n 1" >out &&
    all_zero out 4 && test "$(grep -c "rank .* on one" out)" = 4 && ! grep -q rail out'

# PMIx knows that these ranks are of one node, and the library is told otherwise.
test_expect_success 'ranks of one node are taken as two, and none opens the memory of the other' '
    PCIE_IPC_NODES=split:2 srun -N1 -n4 pcie-ipc-bench -b 8 -e 1M -f 32 -n 1 -d all >out && all_zero out 40 &&
    grep -q "2 nodes of 2 ranks, 2 rails (PCIE_IPC_NODES=split)" out'

test_expect_success 'an unprivileged user gets the same' '
    as_user srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_zero out 3'

# --- late is not dead: verdicts

for_22_s() {
    test "$SECONDS" -ge 22
}

test_expect_success 'the slow node was waited for: nobody has lost anybody in 22 s' '
    until_true 22 for_22_s && test "$(said slow error)" = 0 && test "$(pids_of n8 | wc -l)" = 2'
test_expect_success 'and goes on, until it is killed: before that nobody says anything' '
    kill -CONT $(cat stopped) && sleep 1 && test "$(said slow error)" = 0 &&
    since=$(now_ms) && kill -KILL $(cat stopped) && named_in_time slow n9 "$since" 5000 0 1; result=$?; end slow; test $result = 0'

# A sum can't be there before what came last has crossed the cable.
test_expect_success 'with losses and delay sums are right, and take the time that the cable takes' '
    until_true 30 all_say lossy going 12 && cat lossy.bench && all_zero lossy.bench 2 &&
    awk "/^ / && (\$6 < 20000 || \$10 < 20000) { exit 1 }" lossy.bench'

# The first rank wrote its only line when it began.
lossy_for() {
    test $(($(date +%s) - $(stat -c %Y lossy.0))) -ge "$1"
}
test_expect_success 'nobody was lost in a minute, though frames were' '
    until_true "${LOSSY_SECONDS:-60}" lossy_for "${LOSSY_SECONDS:-60}" && cat lossy.err lossy.[0-9]* && all_say lossy "error\|wrong" 0 &&
    net_relay n6 5 20 && read -r _ passed dropped _ _ in_passed in_dropped _ < <(net_relayed n6) && echo $passed $dropped $in_passed $in_dropped &&
    test $passed -gt 1000 -a $dropped -gt 0 -a $in_dropped -gt 0'
# 4 s that the kernel asks; or, where it was gone before the call, the rest of the silence and 3 s; and a second for last words.
test_expect_success 'but who loses all of them is: the others name it' '
    since=$(now_ms) && net_relay n6 100 20 && named_in_time lossy n6 "$since" 10000 0 1 2 3 8 9 10 11'

net_relay n6 0 0
end_steps
cluster_stop
done_testing
