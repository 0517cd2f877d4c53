#!/bin/bash
# `srun --pcie-ipc python train.py`, no line changed: PyTorch and, where there is one, nccl-tests on this machine's GPUs
# under Slurm, with the flag and without it. A single GPU is shared by two ranks under MPS, whose daemon is this test's own;
# to NCCL each is a host of its own then.
#   PCIE_IPC_BUILD=builddir [NCCL_TESTS=PATH/all_reduce_perf_mpi] [MOST=SIZE] [STEPS=N] tests/gpu/slurm.t
# builddir/prefix is where it is installed. NCCL_TESTS: that program, built with MPI; MOST: its largest message (64M, 16M on
# a single GPU). STEPS: how long training is (200). PYTHON names the interpreter (python3).
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
: "${PCIE_IPC_BUILD:=${PIPC_BUILDDIR-}}"
[ -z "$PCIE_IPC_BUILD" ] || export PCIE_IPC_BUILD
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/../cluster/harness.sh"

[ "$(real_gpus)" -ge 1 ] || skip_all 'no GPU'
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all "no plugin in $cluster_prefix: make install"
python=${PYTHON:-python3} jobs=$cluster_top/tests/gpu/torch_jobs.py
"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || skip_all 'no PyTorch that has the GPU'

gpus=$(real_gpus)
if [ "$gpus" = 1 ]; then
    mkdir pipe log
    export CUDA_MPS_PIPE_DIRECTORY=$PWD/pipe CUDA_MPS_LOG_DIRECTORY=$PWD/log
    timeout 20 nvidia-cuda-mps-control -d </dev/null >mps.log 2>&1 || skip_all "one GPU, and no MPS: $(tail -n 1 mps.log)"
    at_exit 'echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1'
else
    gpus=2
fi
cluster_start DEVICES=real
export CLIENT_TIMEOUT=240 CUBLAS_WORKSPACE_CONFIG=:4096:8 MASTER_ADDR=127.0.0.1 MASTER_PORT=20000

# with NAME: what srun is given for a run with the flag
with() {
    echo "--pcie-ipc=report:json:$PWD/$1.report"
}

# one_a_gpu OPTION JOB...: the ranks are srun's tasks; by_torchrun: there is one task, and they are its children
one_a_gpu() {
    MASTER_PORT=$((MASTER_PORT + 1))
    srun -n2 --gpus-per-node="$gpus" ${1:+"$1"} "$python" "$jobs" "${@:2}"
}

by_torchrun() {
    MASTER_PORT=$((MASTER_PORT + 1))
    srun -n1 --gpus-per-node="$gpus" ${1:+"$1"} "$python" -m torch.distributed.run --nproc-per-node=2 \
        --master-port="$MASTER_PORT" "$jobs" "${@:2}"
}

# ours NAME: true if calls were ours, and says how many
ours() {
    "$python" - "$1.report" <<'END'
import json, sys
rows = [row for line in open(sys.argv[1]) for row in json.loads(line)["rows"]]
own = sum(row["calls"] for row in rows if row["who"] != "nccl")
print("# calls: %d ours, %d NCCL's" % (own, sum(row["calls"] for row in rows) - own))
sys.exit(own == 0)
END
}

# same NAME HOW JOB...: with the flag and without it the same losses and parameters to the last bit
same() {
    local name=$1 how=$2
    shift 2
    if ! { "$how" '' "$@" >"$name.without" 2>&1 && "$how" "$(with "$name")" "$@" >"$name.with" 2>&1; }; then
        tail -n 15 "$name".with*
        return 1
    fi
    grep -h '^digest' "$name.without" "$name.with"
    ours "$name" && [ "$(grep '^digest' "$name.without")" = "$(grep '^digest' "$name.with")" ]
}

# said NAME: its run, for the reader
said() {
    diag "without: $(grep '^step_ms' "$1.without"), with: $(grep '^step_ms' "$1.with"); $(grep '^digest' "$1.with" | cut -c 1-40)..."
    ours "$1"
}

# right JOB...: a job that compares all values finds none wrong
right() {
    one_a_gpu "$(with "$1")" "$@" >"$1.out" 2>&1 || { tail -n 15 "$1.out" && return 1; }
    ours "$1"
}

test_expect_success 'training, a task a GPU: the same bits with the flag and without' \
    'same train one_a_gpu train --steps ${STEPS:-200}'
said train
test_expect_success 'torchrun, a task a node: the same' 'same torchrun by_torchrun train --steps 50'
said torchrun
for job in graphs memory groups; do
    test_expect_success "$job: all values are right" 'right $job'
done
test_expect_success 'a rank is killed: the other one is told, and ends' '
    { one_a_gpu "$(with killed)" killed >killed.out 2>&1; cat killed.out; grep -q "^killed" killed.out && grep -q "^told" killed.out; }'
diag "$(sed -n 's/^killed \([0-9.]*\).*/killed \1/p; s/^\(told [0-9.]* [A-Za-z]*\).*/\1/p' killed.out)"

# Two ranks on one GPU are two hosts to NCCL, and have its number each
each=$PWD/each
printf '#!/bin/sh\n[ %d != 1 ] || export NCCL_TESTS_DEVICE=0 NCCL_HOSTID=rank$SLURM_PROCID\nexec "$@"\n' "$gpus" >"$each"
chmod 755 "$each"
if [ -x "${NCCL_TESTS-}" ]; then
    test_expect_success 'nccl-tests: every type and operation, graphs, registered buffers' '
        MPIRUN="srun -n2 --gpus-per-node=$gpus --pcie-ipc $each" MOST=${MOST:-$([ "$gpus" = 1 ] && echo 16M || echo 64M)} \
            PIPC_BUILDDIR=$cluster_build "$cluster_top/tests/gpu/hook-nccl-tests" "$NCCL_TESTS" 2 >nccl-tests.out; status=$?
        cat nccl-tests.out && test $status = 0'
    diag "$(cat nccl-tests.out)"
else
    skip 'nccl-tests: every type and operation, graphs, registered buffers' 'NCCL_TESTS names no all_reduce_perf'
fi

cluster_stop
done_testing
