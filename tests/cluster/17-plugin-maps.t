#!/bin/bash
# Whole maps: which task gets which GPU, switch and NIC
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'
# The first NUMA node of the invented machine has CPUs 0 to 7.
first=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
[ "$first" -lt 8 ] || skip_all "none of CPUs 0 to 7 is granted here"

# plugin_map N OPTIONS...: what verbose prints for N tasks, without cores and memory, which are this machine's
plugin_map() {
    srun -N1 -n"$1" --gpus-per-node=8 "${@:2}" true </dev/null 2>&1 |
        sed -n 's/^pcie-ipc: n1: \(rank .*\)/\1/p' | sort -k2n |
        sed -E 's/, cores [-0-9]+(,[-0-9]+)*( \(none[^)]*\))?//; s/, memory of node [0-9]+ preferred//'
}

# map_is N OPTIONS... <EXPECTED
map_is() {
    is "the map of $1 task$([ "$1" = 1 ] || echo s), ${*:2}" "$(plugin_map "$@")" "$(cat)"
}

cluster_start NODES=1 SYNTHETIC='2x[sw:4gpu+1nic]'

map_is 1 --pcie-ipc=verbose <<END
rank 0 (local 0): 8 GPUs in this order: 0000:03:00.0 0000:04:00.0 0000:05:00.0 0000:06:00.0 0000:0b:00.0 0000:0c:00.0 0000:0d:00.0 0000:0e:00.0
END
map_is 2 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
END
map_is 3 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
END
map_is 4 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
END
map_is 5 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 4 (local 4): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
END
map_is 6 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 4 (local 4): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 5 (local 5): GPU 0000:0c:00.0 (minor 5), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
END
map_is 7 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 4 (local 4): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 5 (local 5): GPU 0000:0c:00.0 (minor 5), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 6 (local 6): GPU 0000:0d:00.0 (minor 6), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
END
map_is 8 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 4 (local 4): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 5 (local 5): GPU 0000:0c:00.0 (minor 5), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 6 (local 6): GPU 0000:0d:00.0 (minor 6), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 7 (local 7): GPU 0000:0e:00.0 (minor 7), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
END
map_is 3 --pcie-ipc=bind:spread,verbose <<END
rank 0 (local 0): GPU 0000:03:00.0 (minor 0), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 1 (local 1): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 2 (local 2): GPU 0000:04:00.0 (minor 1), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
END

# --- bind:map -------------------------------------------------------------------------------------
map_is 4 --pcie-ipc=bind:map:4,5,2,verbose <<END
rank 0 (local 0): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 1 (local 1): GPU 0000:0c:00.0 (minor 5), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
rank 2 (local 2): GPU 0000:05:00.0 (minor 2), switch 0000:01:00.0, NUMA node 0, NIC 0000:07:00.0
rank 3 (local 3): GPU 0000:0b:00.0 (minor 4), switch 0000:09:00.0, NUMA node 1, NIC 0000:0f:00.0
END
# told OPTIONS...: "local:list:minor" of each task
told() {
    srun -N1 "$@" sh -c 'echo $SLURM_LOCALID:$CUDA_VISIBLE_DEVICES:$PCIE_IPC_MINOR' 2>err | sort | xargs
}
is 'a map of eight is the list of all tasks' "$(told -n2 --gpus-per-node=8 --pcie-ipc=bind:map:4,5,2,3,6,7,0,1)" \
    '0:4,5,0,1,2,3,6,7:4 1:4,5,0,1,2,3,6,7:5'
is 'two tasks on one GPU: device SLURM_LOCALID is it for both' "$(told -n2 --gpus-per-node=3 --pcie-ipc=bind:map:2)" \
    '0:2,0,1:2 1:0,2,1:2'
is 'one task has its GPUs in the order of the map' "$(told -n1 --gpus-per-node=4 --pcie-ipc=bind:map:2,3,0,1)" '0:2,3,0,1:'
test_expect_fail 'srun refuses an entry that is no number' 'srun -n2 --gpus-per-node=2 --pcie-ipc=bind:map:0,1x true 2>err'
like 'and says which' "$(cat err)" 'error: pcie-ipc: unknown key "1x"'
test_expect_fail 'sbatch refuses one that is too large' 'sbatch --pcie-ipc=bind:map:64 --wrap true 2>err'
like 'and says so' "$(cat err)" 'bind:map: "64" is no number from 0 to 63; use bind:map:N,N,...'
test_expect_fail 'a map needs a list' 'srun -n2 --gpus-per-node=2 --pcie-ipc=bind:map true 2>err'
is 'one that the grant does not hold: the step runs' "$(told -n2 --gpus-per-node=2 --pcie-ipc=bind:map:0,2)" '0:0,1: 1:0,1:'
is 'and one line says so' "$(grep pcie-ipc err)" \
    'pcie-ipc: n1: bind:map: no GPU 2; the step has 2 here, counted from 0 to 1 in bus order; the step runs unbound'
is 'lists of their own' "$(told -n2 --gpus-per-task=1 --pcie-ipc=bind:map:1,0)" '0:0: 1:1:'
like 'are named with the remedy' "$(cat err)" 'bind:map: each task has GPUs of its own from Slurm; use --gpus-per-node'
test_expect_success 'neither drains the node' 'wait_node n1 idle'

# --- PCIE_IPC_WAY ---------------------------------------------------------------------------------
is 'the way of each GPU' "$(srun -N1 -n5 --gpus-per-node=8 --pcie-ipc sh -c 'echo $SLURM_LOCALID $PCIE_IPC_WAY' | sort | sed -n '1p;5p' | xargs)" \
    '0 numa0/0000:00/0000:01:00.0 4 numa1/0000:08/0000:09:00.0'
is 'none without a GPU, whatever was brought along' \
    "$(PCIE_IPC_WAY=numa0/forged srun -n2 --pcie-ipc sh -c 'echo ${PCIE_IPC_WAY-none}' | xargs)" 'none none'
is 'none for one task with several' "$(srun -n1 --gpus-per-node=2 --pcie-ipc sh -c 'echo ${PCIE_IPC_WAY-none}')" none
cluster_stop

# --- nested switches ------------------------------------------------------------------------------
# All CPUs that a machine may have are near the first NUMA node, so that cores decide alike everywhere.
cluster_start NODES=1 SYNTHETIC='[1024core+[sw:[sw:3gpu]+[sw:1gpu+1nic]]]+[sw:2x[sw:2gpu+1nic]]'
# minors N: the GPUs of tasks 0, 1, ...
minors() {
    srun -N1 -n"$1" --gpus-per-node=8 --pcie-ipc sh -c 'echo $SLURM_LOCALID $PCIE_IPC_MINOR' 2>err | sort -n | cut -d' ' -f2 | xargs
}
is 'one task: the GPU beside a NIC, its switch, the other one' "$(plugin_map 1 --pcie-ipc=verbose)" \
    'rank 0 (local 0): 8 GPUs in this order: 0000:0a:00.0 0000:05:00.0 0000:06:00.0 0000:07:00.0 0000:15:00.0 0000:16:00.0 0000:1a:00.0 0000:1b:00.0'
is '2 tasks: a pair below one inner switch' "$(minors 2)" '0 1'
is '3 tasks: the inner switch that holds three' "$(minors 3)" '0 1 2'
is '4 tasks: 3 and 1 have fewer pairs apart than 2 and 2' "$(minors 4)" '0 1 2 3'
is '5 tasks: four, and one across' "$(minors 5)" '0 1 2 3 4'
is '6 tasks: four, and a pair below one inner switch' "$(minors 6)" '0 1 2 3 4 5'
is '7 tasks: three below one inner switch, and all four across' "$(minors 7)" '0 1 2 4 5 6 7'
map_is 8 --pcie-ipc=verbose <<END
rank 0 (local 0): GPU 0000:05:00.0 (minor 0), switch 0000:03:00.0, NUMA node 0, NIC 0000:0b:00.0
rank 1 (local 1): GPU 0000:06:00.0 (minor 1), switch 0000:03:00.0, NUMA node 0, NIC 0000:0b:00.0
rank 2 (local 2): GPU 0000:07:00.0 (minor 2), switch 0000:03:00.0, NUMA node 0, NIC 0000:0b:00.0
rank 3 (local 3): GPU 0000:0a:00.0 (minor 3), switch 0000:08:00.0, NUMA node 0, NIC 0000:0b:00.0
rank 4 (local 4): GPU 0000:15:00.0 (minor 4), switch 0000:13:00.0, NUMA node 1, NIC 0000:17:00.0
rank 5 (local 5): GPU 0000:16:00.0 (minor 5), switch 0000:13:00.0, NUMA node 1, NIC 0000:17:00.0
rank 6 (local 6): GPU 0000:1a:00.0 (minor 6), switch 0000:18:00.0, NUMA node 1, NIC 0000:1c:00.0
rank 7 (local 7): GPU 0000:1b:00.0 (minor 7), switch 0000:18:00.0, NUMA node 1, NIC 0000:1c:00.0
END
is 'nested switches in the way' "$(srun -N1 -n8 --gpus-per-node=8 --pcie-ipc sh -c 'test $SLURM_LOCALID != 3 || echo $PCIE_IPC_WAY')" \
    'numa0/0000:00/0000:01:00.0/0000:08:00.0'
cluster_stop

# --- the CPUs that Slurm gave each task -----------------------------------------------------------
if [ "$(taskset -p $$ | sed 's/.*: //' | grep -c '[37bf]$')" = 1 ]; then
    cluster_start NODES=1 CPUS=2 GPUS=2 TASKPLUGIN=task/affinity SYNTHETIC='2x[1core+1gpu]'
    is 'cores in the order of the nodes: GPUs too' "$(told -n2 --gpus-per-node=2 --pcie-ipc)" '0:0,1:0 1:0,1:1'
    is 'the other way round: GPUs too, and nobody is far' "$(told -n2 --gpus-per-node=2 --cpu-bind=map_cpu:1,0 --pcie-ipc)" \
        '0:1,0:1 1:1,0:0'
    is '... silently' "$(cat err)" ''
    is 'as masks' "$(told -n2 --gpus-per-node=2 --cpu-bind=mask_cpu:0x2,0x1 --pcie-ipc)" '0:1,0:1 1:1,0:0'
    is 'a map has the last word' "$(told -n2 --gpus-per-node=2 --cpu-bind=map_cpu:1,0 --pcie-ipc=bind:map:0,1)" '0:0,1:0 1:0,1:1'
    cluster_stop
    cluster_start NODES=1 CPUS=2 GPUS=2 TASKPLUGIN=task/affinity SYNTHETIC='[1core+2gpu]+[1core+1nic]'
    is 'a task whose package has no GPU gets one of the other' "$(told -n2 --gpus-per-node=2 --pcie-ipc)" '0:0,1:0 1:0,1:1'
    is 'and is said to be far' "$(cat err)" \
        'pcie-ipc: n1: local task 1 has no granted core near its GPU; it keeps the cores that Slurm granted; --gres-flags=enforce-binding asks for near ones'
    cluster_stop
else
    ok 'tasks with CPUs of their own # SKIP CPUs 0 and 1 are not granted here' true
fi

done_testing
