#!/bin/bash
# Cores and memory: near the GPU where the user has not said otherwise.  Written for two cores that are both ours.
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'
[ "$(nproc)" = 2 ] && grep -qx 'Cpus_allowed_list:.0-1' /proc/self/status || skip_all 'the test is written for two cores'

# cores OPTIONS...: the cores of each task, in order of the tasks
cores() {
    srun "$@" sh -c 'echo $SLURM_LOCALID $(grep -o "^Cpus_allowed_list:.*" /proc/self/status | cut -f2)' 2>err | sort -n |
        cut -d' ' -f2 | xargs
}

# policy OPTIONS...: "prefer:0" or "default" of each task
policy() {
    srun "$@" sh -c 'echo $SLURM_LOCALID $(head -n 1 /proc/self/numa_maps | cut -d" " -f2)' 2>err | sort -n | cut -d' ' -f2 | xargs
}

# --- one mask for all tasks -----------------------------------------------------------------------------
cluster_start NODES=1 GPUS=8 SYNTHETIC='2x[sw:4gpu+1nic+1core]'
is 'each task runs on the cores of its switch' "$(cores -n8 --gpus-per-node=8 --pcie-ipc)" '0 0 0 0 1 1 1 1'
is 'bind:spread: in turn' "$(cores -n4 --gpus-per-node=8 --pcie-ipc=bind:spread)" '0 1 0 1'
is 'bind:none leaves the cores alone' "$(cores -n8 --gpus-per-node=8 --pcie-ipc=bind:none)" '0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1'
is 'one task with many GPUs keeps all' "$(cores -n1 --gpus-per-node=8 --pcie-ipc)" 0-1
is 'tasks with several GPUs each: those near any of them' \
    "$(cores -n2 --gpus-per-node=8 --gpu-bind=mask_gpu:0x3,0xc0 --pcie-ipc)" '0 1'
is 'an explicit --cpu-bind=none is obeyed' "$(cores -n4 --gpus-per-node=8 --cpu-bind=none --pcie-ipc)" '0-1 0-1 0-1 0-1'
if [ -e /proc/self/numa_maps ]; then
    is 'memory is preferred near the GPU, where that node is granted' "$(policy -n8 --gpus-per-node=8 --pcie-ipc | sed 's/ default$//')" \
        'prefer:0 prefer:0 prefer:0 prefer:0 default default default'
    is 'mem:none leaves memory alone' "$(policy -n1 --gpus-per-node=1 --pcie-ipc=mem:none)" default
    is 'bind:none too' "$(policy -n1 --gpus-per-node=1 --pcie-ipc=bind:none)" default
    is 'an explicit --mem-bind=none is obeyed' "$(policy -n1 --gpus-per-node=1 --mem-bind=none --pcie-ipc)" default
else
    skip 'memory policies' 'this kernel shows none'
fi
cluster_stop

# --- a mask for each task -------------------------------------------------------------------------------
cluster_start NODES=1 GPUS=2 CPUS=2 TASKPLUGIN=task/affinity SYNTHETIC='2x[sw:1gpu+1core]'
is "Slurm's masks are cut to what is near" "$(cores -n2 --gpus-per-node=2 --pcie-ipc)" '0 1'
unlike 'and nothing is to be said' "$(cat err)" pcie-ipc
is 'an own explicit map stays' "$(cores -n2 --gpus-per-node=2 --cpu-bind=map_cpu:1,0 --pcie-ipc=verbose)" '1 0'
like 'and the map says whose it is' "$(cat err)" 'rank 0 .* cores 1 \(--cpu-bind\)'
unlike 'without a complaint' "$(cat err)" 'no granted core'
is 'masks wider than near ones stay too' "$(cores -n2 --gpus-per-node=2 --cpu-bind=mask_cpu:0x3,0x3 --pcie-ipc)" '0-1 0-1'
is 'and so does none' "$(cores -n2 --gpus-per-node=2 --cpu-bind=none --pcie-ipc)" '0-1 0-1'
is 'the variable is as good as the option' "$(SLURM_CPU_BIND=map_cpu:1,0 cores -n2 --gpus-per-node=2 --pcie-ipc)" '1 0'
is '--cpu-bind=verbose alone is no wish' "$(cores -n2 --gpus-per-node=2 --cpu-bind=verbose --pcie-ipc)" '0 1'
is 'what --ntasks-per-gpu implies is no own binding: cores are shared out as with --gpus-per-task' \
    "$(cores --gpus=2 --ntasks-per-gpu=1 -n2 --pcie-ipc) $(cores --gpus-per-task=1 -n2 --pcie-ipc)" '0 1 0 1'
is 'and a map cannot be had' "$(cores --gpus=2 --ntasks-per-gpu=1 -n2 --pcie-ipc=bind:map:1,0)" '0 1'
like 'which is said' "$(cat err)" 'bind:map: each task has GPUs of its own'
cores -n2 --gpus-per-node=2 --gpu-bind=map_gpu:1,0 --pcie-ipc=bind:map:0,1 >out
like 'nor beside an own --gpu-bind' "$(cat err)" 'bind:map is not used: --gpu-bind says'
cluster_stop

# --- no core near ---------------------------------------------------------------------------------------
cluster_start NODES=1 GPUS=2 CPUS=2 TASKPLUGIN=task/affinity SYNTHETIC='[sw:2gpu+1core]+[1nic+1core]'
is 'a core that is granted and not near stays' "$(cores -n2 --gpus-per-node=2 --pcie-ipc)" '0 1'
is 'and one line says so' "$(grep -c pcie-ipc err)" 1
like 'with what to do' "$(cat err)" '^pcie-ipc: n1: local task 1 has no granted core near its GPU; it keeps .*--gres-flags=enforce-binding'
cluster_stop
done_testing
