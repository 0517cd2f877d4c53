#!/bin/bash
# Programs that use NCCL: what the plugin preloads and sets for them, programs that don't use it, and the
# report at a program's end
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'

tuner=$cluster_prefix/lib/libnccl-tuner-pcie-ipc.so hook=$cluster_prefix/lib/libpcie-ipc-nccl.so
[ -e "$hook" ] || hook=''
cluster_start NODES=1 SYNTHETIC='2x[sw:4gpu+1nic]'

# told OPTIONS...: what a task has of the two variables
told() {
    srun -n1 "$@" sh -c 'echo "${LD_PRELOAD-none} ${NCCL_TUNER_PLUGIN-none}"' 2>err
}
unset LD_PRELOAD NCCL_TUNER_PLUGIN NCCL_CTA_POLICY

test_expect_success 'the tuner is installed' 'test -e "$tuner"'
[ -n "$hook" ] || diag 'there is no hook in this build'
is 'a task with GPUs is given both' "$(told --gpus-per-node=2 --pcie-ipc)" "${hook:-none} $tuner"
is 'and nothing is said of it' "$(cat err)" ''
is 'nccl:off' "$(told --gpus-per-node=2 --pcie-ipc=nccl:off)" "none $tuner"
is 'tuner:off' "$(told --gpus-per-node=2 --pcie-ipc=tuner:off)" "${hook:-none} none"
is 'without GPUs there is nothing to do' "$(told --pcie-ipc)" 'none none'
is 'nor without the flag' "$(told --gpus-per-node=2)" 'none none'
is "the user's tuner stays" "$(NCCL_TUNER_PLUGIN=mine told --gpus-per-node=2 --pcie-ipc=nccl:off)" 'none mine'
is 'also none at all' "$(NCCL_TUNER_PLUGIN='' told --gpus-per-node=2 --pcie-ipc=nccl:off)" 'none '

# A library of the user's: one that does no harm
libm=$(ldconfig -p | sed -n 's/.*libm\.so\.6 .*=> //p' | head -n 1)
is "the user's library stays, and is first" "$(LD_PRELOAD=$libm told --gpus-per-node=2 --pcie-ipc=tuner:off)" \
    "$libm${hook:+:$hook} none"
is 'nccl:off leaves it alone' "$(LD_PRELOAD=$libm told --gpus-per-node=2 --pcie-ipc=nccl:off,tuner:off)" "$libm none"

# --- steps in steps -------------------------------------------------------------------------------------
# inner OPTIONS...: the same of a step inside of a task that has been given both
inner() {
    srun -n1 --gpus-per-node=2 --pcie-ipc srun --overlap -n1 --gpus-per-node=2 "$@" \
        sh -c 'echo "${LD_PRELOAD-none} ${NCCL_TUNER_PLUGIN-none}"' 2>err
}
is 'a step in a step has each once' "$(inner --pcie-ipc)" "${hook:-none} $tuner"
is 'one that is not asked to has none' "$(inner)" 'none none'
is 'nor one that is asked not to' "$(inner --pcie-ipc=nccl:off,tuner:off)" 'none none'

# --- programs without NCCL ------------------------------------------------------------------------------
# same COMMAND...: its output and exit status are those that it has without the preload
same() {
    local with=0 without=0
    srun -n1 --gpus-per-node=2 --pcie-ipc "$@" >out.with 2>err.with || with=$?
    srun -n1 --gpus-per-node=2 --pcie-ipc=nccl:off,tuner:off "$@" >out.without 2>err.without || without=$?
    test "$with" = "$without" && cmp out.with out.without && test -s out.with &&
        test "$(sort err.with)" = "$(sort err.without)" # srun's own line may come before the task's
}
if [ -n "$hook" ]; then
    test_expect_success 'ls is the same with the preload' 'same ls -l /etc/passwd'
    test_expect_success 'a program that fails fails the same' 'same sh -c "echo x; ls /nowhere; exit 7"'
    test_expect_success 'python is the same' '
        ! type python3 || same python3 -c "import ctypes, json, threading; print(json.dumps({1: 2}), ctypes.CDLL(None).getppid() > 0)"'
else
    skip 'programs without NCCL are the same with the preload' 'this build has no hook'
fi

# --- the report -----------------------------------------------------------------------------------------
run_bench() {
    srun -n2 --gpus-per-node=2 --pcie-ipc="$1" pcie-ipc-bench --backend cpu -b 1K -e 64K -f 8 -n 4 -w 0 -c 0 >out 2>err
}
test_expect_success 'report:summary: lines from one rank' '
    run_bench report:summary && test "$(grep -c "^pcie-ipc: AllReduce on " err)" = 1 &&
    grep -Eq "^pcie-ipc:   up to 1 KB: [0-9]+ calls, [0-9]+ bytes, one-shot$" err &&
    grep -q "^pcie-ipc: time saved: unknown; " err'
test_expect_success 'without it there are none' 'run_bench report:none && ! grep "AllReduce on" err'
test_expect_success 'report:json: a line in a file that job and step name' '
    run_bench report:json && test "$(cat pcie-ipc-report.*.*.json | wc -l)" = 1 &&
    { ! type python3 || python3 -c "
import glob, json
r = json.load(open(glob.glob(\"pcie-ipc-report.*.*.json\")[0]))
assert r[\"calls\"] == sum(row[\"calls\"] for row in r[\"rows\"]) > 0
assert all(row[\"who\"] in (\"one-shot\", \"two-shot\") for row in r[\"rows\"])"; }'
test_expect_success 'report:json:FILE: behind what is there' '
    echo first >mine.json && run_bench "report:json:$PWD/mine.json" && test "$(wc -l <mine.json)" = 2'
done_testing
