#!/bin/bash
# Communicators over several nodes: a node that dies, a cable that is pulled, a node that is slow
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

grep -q 'define HAVE_UCX 1' "$cluster_build/config.h" ||
    skip_all 'built without UCX: ranks on several nodes are refused (20-allreduce.t)'
cluster_start NODES=8 GPUS=0 PLUGSTACK=none ISOLATE=net

test_expect_success 'a program builds against the installed headers and library' '
    gcc -std=c11 -D_GNU_SOURCE -Wall -O2 -o faults "$cluster_dir/faults.c" -I"$cluster_prefix/include" \
        -L"$cluster_prefix/lib" -Wl,-rpath,"$cluster_prefix/lib" -lpcie-ipc'

# begin NAME NODES: a job on these nodes, 2 ranks each, that makes calls without end; returns when all are at it
begin() {
    local nodes
    nodes=$(tr ',' '\n' <<<"$2" | wc -l)
    /usr/bin/srun -w "$2" -N"$nodes" -n $((2 * nodes)) --ntasks-per-node=2 --no-kill --kill-on-bad-exit=0 -J "$1" \
        -o "$PWD/$1.%t" ./faults --until-lost --bytes "${3:-100000}" 2>"$1.err" &
    until_true 15 all_going "$1" $((2 * nodes))
}

all_going() {
    test "$(cat "$1".[0-9] 2>/dev/null | grep -c going)" = "$2"
}

end() {
    local id
    id=$(squeue -h -n "$1" -o %A)
    [ -z "$id" ] || scancel "$id"
}

test_30_s() {
    test "$SECONDS" -ge 30
}

now_ms() {
    date +%s%3N
}

# pids_of NODE: the ranks on it
pids_of() {
    local pid
    for pid in $(ip netns pids "$1"); do ! grep -qx faults "/proc/$pid/comm" || echo "$pid"; done
}

# lost_in_time NAME SINCE NODE RANK...: each rank has an error that names the node or a rank of it within $patience ms:
# 5 s, and where the network says nothing, as long again until the kernel has found that out
patience=5000
lost_in_time() {
    local name=$1 since=$2 node=$3 rank at
    shift 3
    for rank in "$@"; do
        until_true 12 grep -q 'error after' "$name.$rank" || { echo "rank $rank says nothing"; return 1; }
        cat "$name.$rank"
        at=$(sed -n 's/.*error after \([0-9]*\) ms.*/\1/p' "$name.$rank")
        grep 'error after' "$name.$rank" | grep -q "$node" && test $((at - since)) -le $patience || { echo "after $((at - since)) ms"; return 1; }
    done
}

# The slow node comes first and is let go last: 30 s pass meanwhile.
test_expect_success 'a job whose second node is stopped for 30 s' '
    begin slow n7,n8 && pids_of n8 >stopped && test -s stopped && kill -STOP $(cat stopped) && : >stopped.now'
SECONDS=0

test_expect_success 'a node dies, with slurmd and its tasks: every other rank names it within 5 s' '
    begin dies n1,n2,n3 && since=$(now_ms) && kill -KILL $(ip netns pids n2) &&
    lost_in_time dies "$since" n2 0 1 4 5; result=$?; end dies; test $result = 0'

patience=10000
test_expect_success 'the cable of a node is pulled: every other rank names it' '
    begin cable n4,n5,n6 && since=$(now_ms) && net_cut n5 &&
    lost_in_time cable "$since" n5 0 1 4 5; result=$?; net_mend n5; end cable; test $result = 0'

test_expect_success 'the same in large messages' '
    wait_node n4 idle && wait_node n6 idle && begin large n4,n6 16000000 && since=$(now_ms) && net_cut n6 &&
    lost_in_time large "$since" n6 0 1; result=$?; net_mend n6; end large; test $result = 0'

patience=5000
test_expect_success 'one rank is killed: those of its node and of the others say so within 5 s' '
    wait_node n1 idle && wait_node n3 idle && begin rank n1,n3 && since=$(now_ms) &&
    kill -KILL "$(pids_of n3 | head -n 1)" &&
    lost_in_time rank "$since" n3 0 1; result=$?; end rank; test $result = 0'

test_expect_success 'the slow node was waited for: nobody has lost anybody in 30 s' '
    until_true 35 test_30_s && test "$(cat slow.[0-3] | grep -c error)" = 0 && test "$(pids_of n7 | wc -l)" = 2'
test_expect_success 'and goes on, until it is killed: before that nobody says anything' '
    kill -CONT $(cat stopped) && sleep 1 && test "$(cat slow.[0-3] | grep -c error)" = 0 &&
    since=$(now_ms) && kill -KILL $(cat stopped) && lost_in_time slow "$since" n8 0 1; result=$?; end slow; test $result = 0'

cluster_stop
done_testing
