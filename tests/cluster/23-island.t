#!/bin/bash
# Plans for the machine's own shape: what the plugin tells each rank of its GPU's place becomes groups of ranks, and
# these an island plan, under real Slurm and PMIx
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'

# bench N KEYS OPTIONS...: the benchmark over N ranks of one node, its table in out, what the plugin says in err
bench() {
    srun -N1 -n"$1" --gpus-per-node=8 --pcie-ipc="$2" pcie-ipc-bench --backend cpu "${@:3}" >out 2>err
}

# groups_are TEXT: the ranks stand so
groups_are() {
    grep -qxF "#  groups  $1" out
}

# runs PLAN ROWS: the table has ROWS rows, each by PLAN, and every #wrong in them is 0
runs() {
    awk -v plan="$1" -v want="$2" '
        /^ / { rows++; if ($5 != plan || $9 != 0 || $13 != 0) bad++ } END { exit !(rows == want && !bad) }' out
}

cluster_start NODES=1 SYNTHETIC='2x[sw:4gpu+1nic]'

test_expect_success '8 ranks on two switches: from 1 MB on the island plan, and right' '
    bench 8 verbose -b 1M -e 4M -f 4 -n 2 && groups_are "2 groups of 4" && runs island 2 &&
    grep -q "rank 7 (local 7): GPU 0000:0e:00.0 .*, switch 0000:09:00.0" err'
test_expect_success 'below that the plans that wait less' '
    bench 8 bind:switch -b 8K -e 8K -n 2 && runs one-shot 1 && bench 8 bind:switch -b 512K -e 512K -n 2 && runs two-shot 1'
test_expect_success 'island at every size, type and operation when asked for' '
    bench 8 bind:switch --plan island -b 4 -e 700K -f 9 -n 2 && runs island 6 &&
    bench 8 bind:switch --plan island -b 1000 -e 1000 -d all -o all -n 1 && runs island 50'

for ranks in 5 6 7; do
    test_expect_success "$ranks ranks on two switches" "
        bench $ranks bind:switch -b 1M -e 1M -n 2 && ! groups_are flat && runs ring 1 &&
        bench $ranks bind:switch --plan island -b 1M -e 1M -n 2 && runs island 1"
done
test_expect_success '3 ranks, spread over two switches' '
    bench 3 bind:spread --plan island -b 1M -e 1M -n 2 && groups_are "groups of 2 and 1" && runs island 1'
test_expect_success '4 ranks on one switch are all alike' '
    bench 4 bind:switch -b 1M -e 1M -n 2 && groups_are flat && runs two-shot 1'
for ranks in 3 7; do
    test_expect_success "$ranks ranks by steps of one peer each, and round the ring" "
        bench $ranks bind:spread --plan permuted -b 100K -e 100K -n 2 && runs permuted 1 &&
        bench $ranks bind:spread --plan ring -b 100K -e 100K -n 2 && runs ring 1"
done

test_expect_success 'host memory between all, by the key and by the option' '
    bench 8 path:host -b 1M -e 1M -n 2 && groups_are "2 groups of 4  path host" && runs island 1 &&
    bench 3 bind:spread --path host --plan two-shot -b 100K -e 100K -n 2 && runs two-shot 1'

test_expect_success 'a place that is none makes the ranks equal, with one line a rank' '
    srun -N1 -n4 --gpus-per-node=8 --pcie-ipc=bind:spread sh -c "
        PCIE_IPC_WAY=moon exec pcie-ipc-bench --backend cpu -b 1M -e 1M -n 2" >out 2>err &&
    groups_are flat && runs two-shot 1 && test "$(grep -c "equally near" err)" = 4'

cluster_stop
cluster_start NODES=1 SYNTHETIC='2x[sw:2x[sw:2gpu]+1nic]'

test_expect_success 'switches in switches: groups in groups' '
    bench 8 bind:switch -b 1M -e 1M -n 2 && groups_are "2 groups of 4; 4 groups of 2" && runs island 1'
test_expect_success '7 ranks in them' '
    bench 7 bind:switch -b 1M -e 1M -n 2 && ! groups_are flat && runs ring 1 &&
    bench 7 bind:switch --plan island -b 1M -e 1M -n 2 && runs island 1'

cluster_stop
done_testing
