#!/bin/bash
# Communicators over several nodes: a node that dies or is cut off, a cable that is pulled, a rank that is killed
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/nodes.sh
. "$cluster_dir/nodes.sh"

grep -q 'define HAVE_UCX 1' "$cluster_build/config.h" ||
    skip_all 'built without UCX: ranks on several nodes are refused (20-allreduce.t)'
cluster_start NODES=14 GPUS=0 PLUGSTACK=none ISOLATE=net

test_expect_success 'a program builds against the installed headers and library' 'build_faults'

# Each job meets its fault at once; they are judged below, when the kernel has had its time for all of them.
test_expect_success 'a cable is pulled while all ranks are silent for 6 s' '
    begin idle n13,n14 2 --bytes 1000 --gap 6 && idle=$(now_ms) && net_cut n14'
test_expect_success 'a node dies, with slurmd and its tasks' '
    begin dies n1,n2,n3 2 --bytes 100000 && dies=$(now_ms) && kill -KILL $(ip netns pids n2)'
test_expect_success 'a cable is pulled' '
    begin cable n4,n5,n6 2 --bytes 100000 && cable=$(now_ms) && net_cut n5'
test_expect_success 'a cable is pulled while large messages are on it' '
    begin large n7,n8 2 --bytes 16000000 && large=$(now_ms) && net_cut n8'
test_expect_success 'the power of a node goes: nobody hears the end of its processes' '
    begin power n9,n10 2 --bytes 100000 && power=$(now_ms) && net_cut n10 && kill -KILL $(ip netns pids n10)'
test_expect_success 'one rank is killed' '
    begin rank n11,n12 2 --bytes 100000 && rank=$(now_ms) && kill -KILL "$(pids_of n12 | head -n 1)"'

# What can be seen is an error within 5 s.  A silent node is seen after 4 s: three questions of the kernel's.
test_expect_success 'the node that died: every other rank names it within 5 s' 'named_in_time dies n2 "$dies" 5000 0 1 4 5'
test_expect_success 'the rank that was killed: those of its node and of the others name it within 5 s' '
    named_in_time rank n12 "$rank" 5000 0 1'
for name in cable:n5:'0 1 4 5' large:n8:'0 1' power:n10:'0 1'; do
    IFS=: read -r job node ranks <<<"$name"
    test_expect_success "$job: every rank of the other nodes names $node within 4 s and 5" "
        named_in_time $job $node \$$job 9000 $ranks"
done
# What broke while nobody looked proves nothing: who then calls finds in 3 s that nobody answers.
test_expect_success 'idle: the ranks of the other node name n14 within 3 s of their next call, and 5' '
    named_in_time idle n14 "$idle" 14000 0 1'

end_steps
cluster_stop
done_testing
