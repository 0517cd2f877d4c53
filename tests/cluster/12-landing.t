#!/bin/bash
# Where programs land: those that take device 0, device SLURM_LOCALID, or torchrun's LOCAL_RANK
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'
gcc -Wall -Wextra -Werror -o landing "$cluster_dir/landing.c" || skip_all 'landing.c does not compile'
PATH=$PWD:$PATH

# captured ROOT: two switches of four GPUs; the driver found them against the bus, so minor 7 is the first
captured() {
    local bus minor=7 half path name gpu bridge
    for half in 1 2; do
        path=devices/pci0000:${half}0/0000:${half}0:01.0/0000:${half}1:00.0
        for bus in 3 4 5 6; do
            name=0000:$half$bus:00.0
            gpu=sys/$path/0000:${half}2:0$bus.0/$name
            mkdir -p "$1/$gpu" "$1/sys/bus/pci/devices" "$1/proc/driver/nvidia/gpus/$name"
            echo 0x030200 >"$1/$gpu/class" && echo 0x10de >"$1/$gpu/vendor"
            ln -s "../../../${gpu#sys/}" "$1/sys/bus/pci/devices/$name"
            printf 'Model: \t\t T\nGPU UUID: \t GPU-%s\nDevice Minor: \t %s\n' "aaaa$minor" "$minor" \
                >"$1/proc/driver/nvidia/gpus/$name/information"
            minor=$((minor - 1))
        done
        for name in "0000:${half}0:01.0" "0000:${half}1:00.0" "0000:${half}2:03.0" "0000:${half}2:04.0" \
            "0000:${half}2:05.0" "0000:${half}2:06.0"; do
            bridge=$(find "$1/sys/devices" -name "$name")
            echo 0x060400 >"$bridge/class"
            ln -s "../../..${bridge#"$1/sys"}" "$1/sys/bus/pci/devices/$name"
        done
    done
    chmod -R a+rX "$1"
}

# all_lands: in every way of showing GPUs that a program expects; $1 is what is different
all_lands() {
    local run
    test_expect_success "$1: device SLURM_LOCALID under --gpus-per-node" '
        srun -n8 --gpus-per-node=8 --pcie-ipc landing "$devices" $sysroot localid >out && test "$(cut -d" " -f3 out | sort -u | wc -l)" = 8'
    test_expect_success "$1: ... with fewer tasks than GPUs" '
        srun -n3 --gpus-per-node=8 --pcie-ipc landing "$devices" $sysroot localid'
    test_expect_success "$1: ... under --gres" 'srun -n4 --gres=gpu:4 --pcie-ipc landing "$devices" $sysroot localid'
    test_expect_success "$1: ... under --gpu-bind=none" '
        srun -n4 --gpus-per-node=4 --gpu-bind=none --pcie-ipc landing "$devices" $sysroot localid'
    test_expect_success "$1: device 0 under --gpus-per-task=1" '
        srun -n4 --gpus-per-task=1 --pcie-ipc landing "$devices" $sysroot device0 >out && test "$(cut -d" " -f3 out | sort -u | wc -l)" = 4'
    test_expect_success "$1: device 0 under --gpus-per-task=2" '
        srun -n4 --gpus-per-task=2 --pcie-ipc landing "$devices" $sysroot device0 >out && test "$(cut -d" " -f3 out | sort -u | wc -l)" = 4'
    test_expect_success "$1: device 0 under --gpu-bind=single:1" '
        srun -n4 --gpus-per-node=4 --gpu-bind=single:1 --pcie-ipc landing "$devices" $sysroot device0'
    test_expect_success "$1: device 0 where each GPU has two tasks" '
        srun -n4 --gpus=2 --ntasks-per-gpu=2 --pcie-ipc landing "$devices" $sysroot device0'
    test_expect_success "$1: torchrun's workers, each on a GPU, four neighbours before the next four" '
        srun -n1 --gpus-per-node=8 --pcie-ipc landing "$devices" $sysroot torchrun >out &&
        test "$(sort -k2n out | cut -d" " -f3 | xargs)" = "'"$2"'"'
    /usr/bin/srun -n1 --gpus-per-node=3 sleep 120 2>/dev/null &
    run=$!
    until_true 10 node_is n1 'mixed|allocated'
    test_expect_success "$1: beside another job, device SLURM_LOCALID" '
        srun -n4 --gpus-per-node=5 --pcie-ipc landing "$devices" $sysroot localid >out && test "$(cut -d" " -f3 out | sort -u | wc -l)" = 4'
    test_expect_success "$1: beside another job, device 0" '
        srun -n4 --gpus-per-task=1 --pcie-ipc landing "$devices" $sysroot device0'
    test_expect_success "$1: beside another job, torchrun" '
        srun -n1 --gpus-per-node=5 --pcie-ipc landing "$devices" $sysroot torchrun >out && test "$(cut -d" " -f3 out | sort -u | wc -l)" = 5'
    kill "$run" && wait "$run" 2>/dev/null
    wait_node n1 idle
    test_expect_success "$1: bind:none tells where the program lands without us" '
        srun -n4 --gpus-per-node=4 --pcie-ipc=bind:none landing "$devices" $sysroot localid'
}

# The program itself: a task that is told the wrong GPU is found out.
cluster_start NODES=1
sysroot=''
test_expect_fail 'a task that lands elsewhere is found out' '
    srun -n2 --gpus-per-node=2 env PCIE_IPC_MINOR=1 CUDA_DEVICE_ORDER=PCI_BUS_ID landing "$devices" localid'
all_lands 'all can be opened' '0 1 2 3 4 5 6 7'
cluster_stop

captured "$PWD/captured"
sysroot=$PWD/captured
cluster_start NODES=1 SYNTHETIC=none PLUGIN_ARGS="sysroot=$sysroot"
all_lands 'minors against the bus' '7 6 5 4 3 2 1 0'
test_expect_success "a captured machine's UUIDs and switches are told" '
    srun -n2 --gpus-per-node=8 --pcie-ipc sh -c "echo \$SLURM_LOCALID \$PCIE_IPC_UUID \$PCIE_IPC_SWITCH" | sort | xargs >out &&
    test "$(cat out)" = "0 GPU-aaaa7 0000:11:00.0 1 GPU-aaaa6 0000:11:00.0"'
cluster_stop

if cluster_start_constrained NODES=1; then
    sysroot=''
    all_lands 'only the own can be opened' '0 1 2 3 4 5 6 7'
    cluster_stop
    sysroot=$PWD/captured
    cluster_start CONSTRAIN_DEVICES=yes NODES=1 SYNTHETIC=none PLUGIN_ARGS="sysroot=$sysroot"
    all_lands 'only the own, minors against the bus' '7 6 5 4 3 2 1 0'
    cluster_stop
else
    skip 'only the own can be opened' "$cluster_reason"
fi
done_testing
