#!/bin/bash
# The plugin where a task can open its own GPUs only (ConstrainDevices=yes)
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'
cluster_start_constrained NODES=2 SYNTHETIC='2x[sw:4gpu+1nic]' || skip_all "$cluster_reason"

# told FILE OPTIONS...: each task's number, its list, the minor it was told, the minors it can open
told() {
    srun -w n1 "${@:2}" sh -c '
        for file in "$0"/nvidia*; do test ! -w "$file" || open="$open${open:+,}${file##*nvidia}"; done
        echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES $PCIE_IPC_MINOR $open' "$devices" 2>err >out
    sort out >"$1"
}

told got -n4 --gpus-per-task=1 --pcie-ipc=verbose
is 'each task has "0", and its own GPU is found right' "$(xargs <got)" '0 0 0 0 1 0 1 1 2 0 2 2 3 0 3 3'
is 'hidden peers are reported in one line' "$(grep -c 'hides' err)" 1
like 'with their number and the remedy that Slurm 22.05 has' "$(cat err)" \
    '^pcie-ipc: n1: the device cgroup hides 3 of the step.s 4 GPUs .*(use --gpus-per-node=4 in place of --gpus-per-task|add --gres-flags=allow-task-sharing)'
like 'and each task is bound to its own' "$(cat err)" '^pcie-ipc: n1: rank 2 \(local 2\): GPU 0000:05:00.0 \(minor 2\), '
test_expect_success 'on two nodes it is one line a node' '
    srun -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1 --pcie-ipc true 2>err &&
    test "$(grep -c "^pcie-ipc: n1: .*hides" err)" = 1 && test "$(grep -c "^pcie-ipc: n2: .*hides" err)" = 1 &&
    test "$(grep -c pcie-ipc err)" = 2'

told got -n2 --gpus-per-task=2 --pcie-ipc
is '--gpus-per-task=2: the first of the own two' "$(xargs <got)" '0 0,1 0 0,1 1 0,1 2 2,3'
told got -n2 --gpus-per-node=4 --gpu-bind=map_gpu:3,1 --pcie-ipc
is "the user's own map" "$(xargs <got)" '0 0 3 3 1 0 1 1'
told got -n4 --gpus-per-node=4 --pcie-ipc
is '--gpus-per-node: one list, all can be opened' "$(xargs <got)" \
    '0 0,1,2,3 0 0,1,2,3 1 0,1,2,3 1 0,1,2,3 2 0,1,2,3 2 0,1,2,3 3 0,1,2,3 3 0,1,2,3'
unlike 'and nothing is hidden' "$(cat err)" hides
told got -n2 --gpus-per-node=2 --gpu-bind=none --pcie-ipc
is '--gpu-bind=none: the list that stands for all that can be opened' "$(xargs <got)" '0 0,1 0 0,1 1 0,1 1 0,1'
told got -n2 --pcie-ipc
is 'no GPU granted' "$(xargs <got)" '0 1'

/usr/bin/srun -w n1 -n1 --gpus-per-node=3 sleep 120 2>/dev/null &
other=$!
until_true 10 node_is n1 'mixed|allocated'
told got -n2 --gpus-per-node=5 --pcie-ipc
test_expect_success 'beside another job numbers stay relative, and the larger switch goes first' '
    test "$(cut -d" " -f1,3 got | xargs)" = "0 4 1 5" && test "$(cut -d" " -f2 got | cut -c1-4 | xargs)" = "1,2, 1,2," &&
    test "$(cut -d" " -f2 got | head -n 1 | tr , "\n" | sort | xargs)" = "0 1 2 3 4"'
told got -n2 --gpus-per-task=1 --pcie-ipc
test_expect_success 'own GPUs are found right beside another job' '
    test "$(wc -l <got)" = 2 && while read -r _ list minor open; do
        test "$list" = 0 && test "$minor" = "$open" && test "$minor" -gt 2; done <got'
kill "$other" && wait "$other" 2>/dev/null
wait_node n1 idle

# --- sbatch, salloc -----------------------------------------------------------------------------------
cat >script <<END
#!/bin/sh
#SBATCH --pcie-ipc=bind:spread -w n1 -n4 --gpus-per-node=8 -o $PWD/out -e /dev/null
srun sh -c 'echo \$SLURM_LOCALID \$PCIE_IPC_MINOR \$CUDA_VISIBLE_DEVICES' | sort
END
test_expect_success 'the option of a #SBATCH line reaches the steps' '
    id=$(sbatch --parsable script) && wait_job "$id" COMPLETED'
is 'and gives them the map' "$(xargs <out)" \
    '0 0 0,4,1,5,2,6,3,7 1 4 0,4,1,5,2,6,3,7 2 1 0,4,1,5,2,6,3,7 3 5 0,4,1,5,2,6,3,7'
is 'salloc the same' "$(salloc -Q -w n1 -n2 --gpus-per-node=8 --pcie-ipc=bind:spread srun sh -c 'echo $PCIE_IPC_MINOR' 2>err | sort | xargs)" '0 4'

# --- ipc:require ------------------------------------------------------------------------------------
test_expect_fail 'ipc:require fails the step where peers are hidden' '
    srun -w n1 -n4 --gpus-per-task=1 --pcie-ipc=ipc:require touch ran 2>err'
like 'and says why and what to do' "$(cat err)" 'hides 3 of the step.s 4 GPUs.*(use --gpus-per-node=4|allow-task-sharing)'
is 'and no task ran' "$(ls ran 2>&1)" "ls: cannot access 'ran': No such file or directory"
test_expect_success 'and the node is not drained' 'sleep 1; wait_node n1 idle && srun -w n1 true'
test_expect_success 'in a batch job too: the job ends, the node stays' '
    id=$(sbatch --parsable -w n1 -n4 -o /dev/null --wrap "srun -n4 --gpus-per-task=1 --pcie-ipc=ipc:require true") &&
    wait_job "$id" FAILED && sleep 1 && wait_node n1 idle && srun -w n1 true'
test_expect_success 'ipc:require runs where peers can be opened' '
    srun -w n1 -n4 --gpus-per-node=4 --pcie-ipc=ipc:require true 2>err && test ! -s err'
test_expect_success 'ipc:off does not ask' 'srun -w n1 -n4 --gpus-per-task=1 --pcie-ipc=ipc:off true 2>err && test ! -s err'
test_expect_success 'one task has no peers' '
    srun -w n1 -n1 --gpus-per-node=4 --gpu-bind=map_gpu:2 --pcie-ipc=ipc:require true 2>err && test ! -s err'
cluster_stop
done_testing
