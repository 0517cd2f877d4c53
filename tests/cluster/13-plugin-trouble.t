#!/bin/bash
# Nodes where something of the plugin is missing or wrong: no job dies of it, no node is drained
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'

folder=$cluster_prefix/lib/pcie-ipc
cluster_start NODES=2

# --- the second object ------------------------------------------------------------------------------
test_expect_success 'without the flag the second object is not even loaded' '
    srun -w n1 -n1 sh -c "grep -c pcie_ipc_bind /proc/\$PPID/maps; grep -c spank_pcie_ipc /proc/\$PPID/maps" >out;
    test "$(head -n 1 out)" = 0 && test "$(tail -n 1 out)" != 0'
test_expect_success 'with it, it is' 'srun -w n1 -n1 --pcie-ipc grep -q pcie_ipc_bind /proc/self/../\$PPID/maps ||
    srun -w n1 -n1 --pcie-ipc sh -c "grep -q pcie_ipc_bind /proc/\$PPID/maps"'
test_expect_success 'srun on a login node needs the first object only' '
    unshare --mount -- sh -c "mount -t tmpfs tmpfs $folder && srun -w n1 -n2 --gpus-per-node=2 --pcie-ipc=verbose true" 2>err &&
    grep -q "rank 1 (local 1): GPU" err'

on_node n1 mount -t tmpfs tmpfs "$folder"
test_expect_success 'without the second object on a node the step runs, with one line' '
    srun -N2 -n4 --ntasks-per-node=2 --gpus-per-node=2 --pcie-ipc sh -c "echo \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES \$PCIE_IPC_MINOR" >out 2>err &&
    test "$(sort out | xargs)" = "n1 0,1 n1 0,1 n2 0,1 0 n2 0,1 1" && test "$(wc -l <err)" = 1 &&
    grep -Eq "^pcie-ipc: n1: .*pcie_ipc_bind.so: .*the step runs unbound$" err'
test_expect_success 'and says so where ipc:off asks for nothing else' '
    srun -w n1 -n1 --pcie-ipc=ipc:off true 2>err && test "$(wc -l <err)" = 1'
test_expect_fail 'ipc:require fails the step' 'srun -w n1 -n2 --gpus-per-node=2 --pcie-ipc=ipc:require touch ran 2>err'
like 'and says why' "$(cat err)" 'pcie-ipc: n1: .*pcie_ipc_bind.so: '
is 'and runs nothing' "$(ls ran 2>&1)" "ls: cannot access 'ran': No such file or directory"
test_expect_success 'and drains nothing' 'sleep 1; wait_node n1 idle && srun -w n1 true'
on_node n1 umount "$folder"
test_expect_success 'once it is back the node binds again' '
    srun -w n1 -n2 --gpus-per-node=2 --pcie-ipc=verbose true 2>err && grep -q "rank 1 (local 1): GPU" err'

: >empty.so
on_node n1 mount --bind "$PWD/empty.so" "$folder/pcie_ipc_bind.so"
test_expect_success 'a file that is no object is told and the step runs' '
    srun -w n1 -n1 --pcie-ipc true 2>err && grep -q "pcie_ipc_bind.so: .*; the step runs unbound" err'
printf 'const struct { unsigned abi, in, out; } pipc_spank_ops = { 99, 1, 1 };\n' >other.c
gcc -shared -fPIC -o empty.so other.c
on_node n1 umount "$folder/pcie_ipc_bind.so" && on_node n1 mount --bind "$PWD/empty.so" "$folder/pcie_ipc_bind.so"
test_expect_success "another version's object is told and the step runs" '
    srun -w n1 -n1 --pcie-ipc true 2>err && grep -q "is not of version .*; install both parts .*; the step runs unbound" err'
on_node n1 umount "$folder/pcie_ipc_bind.so"
cluster_stop

# --- plugstack.conf -----------------------------------------------------------------------------------
cluster_start NODES=1 PLUGIN_ARGS='frobnicate=1 sysroot=relative'
test_expect_success 'an argument that does not exist stops neither slurmd nor a job' '
    srun -n2 --gpus-per-node=2 --pcie-ipc=verbose true 2>err && grep -q "rank 1 (local 1): GPU" err &&
    ! grep -q frobnicate err'
like "and is named in slurmd's log" "$(node_log n1)" 'pcie-ipc: plugstack.conf: argument "frobnicate=1" ignored; use synthetic='
cluster_stop
for wrong in 'synthetic=2x[sw:4gpu' 'sysroot=/nonexistent'; do
    cluster_start NODES=1 SYNTHETIC=none PLUGIN_ARGS="$wrong"
    test_expect_success "$wrong: the step runs unbound, with one line" '
        srun -n2 --gpus-per-node=2 --pcie-ipc sh -c "echo \$CUDA_VISIBLE_DEVICES\$PCIE_IPC_MINOR" >out 2>err &&
        test "$(xargs <out)" = "0,1 0,1" && test "$(wc -l <err)" = 1 && grep -q "; the step runs unbound$" err'
    cluster_stop
done
cluster_start NODES=1 GPUS=8 SYNTHETIC='[sw:2gpu]'
test_expect_success 'a topology without all GPUs: devices are left alone, with one line' '
    srun -n2 --gpus-per-node=4 --pcie-ipc sh -c "echo \$CUDA_VISIBLE_DEVICES\$PCIE_IPC_MINOR" >out 2>err &&
    test "$(xargs <out)" = "0,1,2,3 0,1,2,3" && test "$(wc -l <err)" = 1 && grep -q "does not hold every GPU" err'
cluster_stop

# --- the plugin on one side only ---------------------------------------------------------------------------
cluster_start NODES=1 PLUGSTACK=none
test_expect_fail 'without the plugin srun does not know the flag' 'srun --pcie-ipc true 2>err'
test_expect_success 'srun has the plugin, the node does not: no marker, so the runtime can tell' '
    sed "/^PlugStackConfig/d" "$SLURM_CONF" >client.conf && echo "PlugStackConfig=$PWD/plugstack.conf" >>client.conf &&
    echo "required $cluster_prefix/lib/slurm/spank_pcie_ipc.so" >plugstack.conf &&
    cp "${SLURM_CONF%/*}"/{gres,cgroup}.conf . &&
    SLURM_CONF=$PWD/client.conf srun -n1 --gpus-per-node=1 --pcie-ipc env >out 2>err && ! grep PCIE_IPC_TASK out &&
    grep -q "^PCIE_IPC_WANTED=[0-9.]*$" out'
cluster_stop
done_testing
