#!/bin/bash
# The plugin where a task can open every GPU of the node (ConstrainDevices=no)
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'

cluster_start NODES=2 SYNTHETIC='2x[sw:4gpu+1nic]' PLUGIN_ARGS="rundir=$run/steps.%h"

# plugin_lines FILE: what the plugin said, without the node's name, in order of the ranks
plugin_lines() {
    sed -n 's/^pcie-ipc: n[0-9]: //p' "$1" | sort -t' ' -k1,1 -k2n
}

# last_job: the id that Slurm gave last
last_job() {
    scontrol show job -o | grep -o '^JobId=[0-9]*' | cut -d= -f2 | sort -n | tail -n 1
}

# --- the option -----------------------------------------------------------------------------------
before=$(srun sh -c 'echo $SLURM_JOB_ID')
test_expect_fail 'srun refuses a wrong value' 'srun --pcie-ipc=bind:moon true 2>refused'
like 'and lists the right ones' "$(cat refused)" \
    '^srun: error: pcie-ipc: bind: unknown value "moon"; use one of: switch, spread, numa, none, map:N,\.\.\.$'
test_expect_fail 'srun refuses an unknown key' 'srun --pcie-ipc=bind:none,color:red true 2>refused'
like 'and lists the keys' "$(cat refused)" 'unknown key "color"; the keys are: bind, mem, nic, ipc, path, nodes, nccl, tuner, health, report, off, verbose, help'
test_expect_fail 'sbatch refuses it too' 'sbatch --pcie-ipc=bind:moon --wrap true 2>refused'
like 'with the same words' "$(cat refused)" 'bind: unknown value "moon"; use one of: switch, spread, numa, none, map:N'
test_expect_fail 'help ends srun without running anything' 'srun --pcie-ipc=help touch ran >help 2>/dev/null'
for key in 'bind:switch\|spread\|numa\|none\|map:N,...' 'mem:local\|none' 'nic:auto\|none' 'ipc:auto\|require\|off' \
    'path:auto\|p2p\|host' 'nccl:auto\|off' 'tuner:auto\|off' 'health:warn\|require' \
    'report:none\|summary\|json\[:TEXT\]' off verbose help; do
    like "help shows $key" "$(cat help)" "^  $key "
done
is 'help ran nothing' "$(ls ran 2>&1)" "ls: cannot access 'ran': No such file or directory"
is 'no job was made by any of these' "$(last_job)" "$before"
like "srun --help names the option" "$(srun --help)" '--pcie-ipc=\[KEY:VALUE|--pcie-ipc'

# --- nothing without the flag ---------------------------------------------------------------------
test_expect_success 'a step without the flag sees nothing of the plugin' '
    srun -n2 --gpus-per-node=4 env >out 2>err && ! grep -E "PCIE_IPC_(TASK|MODE|BDF)|CUDA_DEVICE_ORDER" out &&
    ! grep -q pcie-ipc err'
test_expect_success 'a step with the flag and PMIx is quiet' '
    srun -n2 --gpus-per-node=4 --pcie-ipc true >out 2>&1 && test ! -s out'

# --- the map --------------------------------------------------------------------------------------
for n in 1 2 5 8; do
    test_expect_success "the map of $n tasks: neighbours under one switch, the second after the first" '
        srun -N1 -n$n --gpus-per-node=8 --pcie-ipc=verbose true 2>err && plugin_lines err >map &&
        test "$(grep -c "^rank" map)" = '"$n"
    if [ "$n" = 1 ]; then
        like 'one task has all eight, in switch order' "$(cat map)" \
            '^rank 0 \(local 0\): 8 GPUs in this order: 0000:03:00.0 0000:04:00.0 .* 0000:0e:00.0, cores '
        continue
    fi
    for ((rank = 0; rank < n; rank++)); do
        wanted="^rank $rank \(local $rank\): GPU [0-9a-f:.]+ \(minor $rank\), "
        if [ "$rank" -lt 4 ]; then
            wanted+='switch 0000:01:00.0, NUMA node 0, cores [-0-9,]+( \(none.*\))?(, memory of node 0 preferred)?, NIC 0000:07:00.0$'
        else
            wanted+='switch 0000:09:00.0, NUMA node 1, cores [-0-9,]+( \(none.*\))?(, memory .*)?, NIC 0000:0f:00.0$'
        fi
        grep -Eq -e "$wanted" map || like "rank $rank of $n" "$(cat map)" "$wanted"
    done
    like "the node in one line, $n tasks" "$(cat map)" \
        "^bind:switch,.*,verbose: $n tasks, 8 GPUs, all tasks see the same list; topology: synthetic$"
done
test_expect_success 'two nodes with four tasks each: local ranks, and one line a node' '
    srun -N2 -n8 --ntasks-per-node=4 --gpus-per-node=4 --pcie-ipc=verbose true 2>err &&
    grep -q "^pcie-ipc: n2: rank 7 (local 3): GPU .* (minor 3)" err &&
    test "$(grep -c "4 tasks, 4 GPUs" err)" = 2 && test "$(grep -c "^pcie-ipc: n[12]: rank " err)" = 8'
test_expect_success 'more tasks than GPUs take them in turn' '
    srun -N1 -n4 --gpus-per-node=2 --pcie-ipc sh -c "echo \$SLURM_LOCALID \$PCIE_IPC_MINOR" | sort | xargs >out &&
    test "$(cat out)" = "0 0 1 1 2 0 3 1"'
test_expect_success 'a step without GPUs is told so and runs' '
    srun -n2 --pcie-ipc=verbose sh -c "test -z \"\$PCIE_IPC_BDF\${CUDA_VISIBLE_DEVICES-}\"" 2>err &&
    grep -q "2 tasks, no GPU granted" err && grep -q "rank 1 (local 1): no GPU" err'

# --- lists ----------------------------------------------------------------------------------------
# lists FILE OPTIONS...: each task's number, list and GPU
lists() {
    srun -w n1 "${@:2}" sh -c 'echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $PCIE_IPC_MINOR' 2>err >out
    sort out >"$1"
}
lists got -n2 --gpus-per-task=1 --pcie-ipc
is '--gpus-per-task=1: own lists stay' "$(xargs <got)" '0 0 PCI_BUS_ID 0 1 1 PCI_BUS_ID 1'
lists got -n2 --gpus-per-task=2 --pcie-ipc
is '--gpus-per-task=2: the first is the own' "$(xargs <got)" '0 0,1 PCI_BUS_ID 0 1 2,3 PCI_BUS_ID 2'
lists got -n2 --gpus-per-node=4 --gpu-bind=map_gpu:3,1 --pcie-ipc
is "the user's own map stays" "$(xargs <got)" '0 3 PCI_BUS_ID 3 1 1 PCI_BUS_ID 1'
lists got -n2 --gres=gpu:4 --gpu-bind=none --pcie-ipc
is '--gpu-bind=none: the list of the step' "$(xargs <got)" '0 0,1,2,3 PCI_BUS_ID 0 1 0,1,2,3 PCI_BUS_ID 1'

lists got -n4 --gpus-per-node=8 --pcie-ipc=bind:spread
is 'bind:spread: switches in turn' "$(cut -d' ' -f4 got | xargs)" '0 4 1 5'
is '... and in the list of every task' "$(cut -d' ' -f2 got | sort -u)" 0,4,1,5,2,6,3,7
lists got -n4 --gpus-per-node=8 --pcie-ipc=bind:numa
is 'bind:numa: one NUMA node before the next' "$(cut -d' ' -f4 got | xargs)" '0 1 2 3'
lists got -n2 --gpus-per-node=8 --gpu-bind=mask_gpu:0xff,0xff --pcie-ipc=bind:spread
is "the order of the user's own mask stays" "$(cut -d' ' -f2,4 got | xargs)" '0,1,2,3,4,5,6,7 0 0,1,2,3,4,5,6,7 1'

/usr/bin/srun -w n1 -n1 --gpus-per-node=3 sleep 120 2>/dev/null &
other=$!
until_true 10 node_is n1 'mixed|allocated'
# The two tasks' GPUs first, all of the step's five there, for both tasks alike
larger_switch_first() {
    test "$(cut -d' ' -f4 got | xargs)" = '4 5' && test "$(cut -d' ' -f2 got | uniq | wc -l)" = 1 &&
        cut -d' ' -f2 got | grep -q '^4,5,' && test "$(head -n 1 got | cut -d' ' -f2 | tr , '\n' | sort | xargs)" = '3 4 5 6 7'
}
lists got -n2 --gpus-per-node=5 --pcie-ipc
ok 'beside another job: its GPUs stay out, the larger switch goes first' larger_switch_first
lists got -n2 --gpus-per-node=5 --gpu-bind=none --pcie-ipc
ok '... also where Slurm shows no list' larger_switch_first
lists got -n2 --gpus-per-node=5 --pcie-ipc=bind:none
is 'bind:none leaves the list and tells the GPU' "$(xargs <got)" '0 3,4,5,6,7 3 1 3,4,5,6,7 4'
lists got -n2 --gpus-per-task=1 --pcie-ipc
test_expect_success 'own lists beside another job: the GPU is the one that the list names' '
    test "$(wc -l <got)" = 2 && while read -r _ list _ minor; do test "$list" = "$minor" && test "$list" -gt 2; done <got'
kill "$other" && wait "$other" 2>/dev/null

# --- what a task is told ---------------------------------------------------------------------------
test_expect_success 'facts of a task in its environment' '
    srun -w n1 -n8 --gpus-per-node=8 --pcie-ipc=verbose sh -c "test \$SLURM_LOCALID != 5 || env" 2>/dev/null |
        grep -E "^PCIE_IPC(_(TASK|MODE|VERBOSE|LOCAL_RANK|LOCAL_SIZE|BDF|UUID|MINOR|NUMA|SWITCH|NIC))?=" | sort >facts'
version=$(sed -n 's/^PCIE_IPC=//p' facts)
for fact in BDF=0000:0c:00.0 LOCAL_RANK=5 LOCAL_SIZE=8 MINOR=5 MODE=bind:switch,.*,verbose NIC=0000:0f:00.0 \
    NUMA=1 SWITCH=0000:09:00.0 VERBOSE=1; do
    like "PCIE_IPC_$fact" "$(cat facts)" "^PCIE_IPC_$fact$"
done
like 'the marker names job, step and version' "$(cat facts)" "^PCIE_IPC_TASK=[0-9]+\.[0-9]+:$version$"
unlike 'what is not known is not there: a synthetic GPU has no UUID' "$(cat facts)" UUID
test_expect_success 'what the environment brought along is not believed' '
    PCIE_IPC_BDF=forged PCIE_IPC_UUID=forged PCIE_IPC_TASK=forged PCIE_IPC_LOCAL_RANK=99 PCIE_IPC_NIC=forged \
    PCIE_IPC_VERBOSE=forged CUDA_DEVICE_ORDER=FASTEST_FIRST srun -n1 --gpus-per-node=1 --pcie-ipc env >out &&
    ! grep -E "forged|=99|FASTEST" out'
test_expect_success '... nor with bind:none or without GPUs' '
    PCIE_IPC_BDF=forged PCIE_IPC_SWITCH=forged srun -n2 --pcie-ipc=bind:none env >out && ! grep forged out'
test_expect_success 'an unprivileged user gets the same' '
    as_user srun -w n1 -n2 --gpus-per-node=2 --pcie-ipc sh -c "echo \$PCIE_IPC_MINOR" | sort | xargs >out &&
    test "$(cat out)" = "0 1"'

# --- PMIx -----------------------------------------------------------------------------------------
test_expect_success 'without PMIx on two nodes one line names the remedy, and the step runs' '
    srun -N2 -n4 --gpus-per-node=2 --mpi=none --pcie-ipc echo ran >out 2>err && test "$(grep -c ran out)" = 4 &&
    test "$(grep -c pcie-ipc err)" = 1 && grep -q "without PMIx.*use srun --mpi=pmix" err'
test_expect_fail 'without PMIx ipc:require fails the step' '
    srun -N2 -n4 --gpus-per-node=2 --mpi=none --pcie-ipc=ipc:require touch ran 2>err'
like 'and names the remedy' "$(cat err)" 'use srun --mpi=pmix'
is 'and ran nothing' "$(ls ran 2>&1)" "ls: cannot access 'ran': No such file or directory"
test_expect_success 'and drains no node' 'wait_node n1 idle && wait_node n2 idle'
test_expect_success 'ipc:off asks for nothing' '
    srun -n2 --gpus-per-node=2 --mpi=none --pcie-ipc=ipc:off true 2>err && ! grep pcie-ipc err'
test_expect_success 'one task has nobody to exchange with' '
    srun -n1 --gpus-per-node=2 --mpi=none --pcie-ipc=ipc:require true 2>err && ! grep pcie-ipc err'
test_expect_success 'on one node the private folder is as good' '
    srun -N1 -n2 --gpus-per-node=2 --mpi=none --pcie-ipc=ipc:require true 2>err && ! grep pcie-ipc err'
test_expect_success 'under PMIx ipc:require runs' 'srun -N2 -n4 --gpus-per-node=2 --pcie-ipc=ipc:require true'

# --- steps that are not srun's ---------------------------------------------------------------------
test_expect_success 'the batch step is left alone, and nothing breaks in it' '
    id=$(sbatch --parsable -n2 --pcie-ipc=verbose,ipc:require --gpus-per-node=2 -o batch.out --wrap "env; srun -n2 true") &&
    wait_job "$id" COMPLETED && ! grep -E "^PCIE_IPC_(TASK|MODE|BDF)=" batch.out'
test_expect_success "salloc's shell is left alone" '
    salloc -n1 --pcie-ipc=ipc:require sh -c "env | grep PCIE_IPC_TASK || true" >out 2>&1 && ! grep PCIE_IPC_TASK out'

cluster_stop

cluster_start NODES=1 SLURM_CONF_EXTRA='PrologFlags=Contain' PROCTRACK=proctrack/linuxproc
test_expect_success 'the extern step is left alone' '
    id=$(sbatch --parsable --pcie-ipc=verbose,ipc:require -o /dev/null -n2 --wrap "srun -n2 --pcie-ipc true") &&
    wait_job "$id" COMPLETED && wait_node n1 idle && ! node_log n1 | grep -E "extern.*pcie-ipc|pcie.ipc.*fail"'
cluster_stop

done_testing
