#!/bin/bash
# The private folder of a step, and what the node's health check found
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'

steps=$run/below/steps.n1 health=$PWD/health.json
cluster_start NODES=2 PLUGIN_ARGS="rundir=$run/below/steps.%h health=$health"

# no_folder_left: slurmstepd is a moment behind srun
no_folder_left() {
    until_true 10 sh -c "test -z \"\$(ls -A $run/below/steps.*  | grep -v :)\""
}

last_job() {
    scontrol show job -o | grep -o '^JobId=[0-9]*' | cut -d= -f2 | sort -n | tail -n 1
}

# --- the folder -------------------------------------------------------------------------------------------
test_expect_success 'root: the same folder for both tasks, 0700 and his own' '
    srun -w n1 -n2 --pcie-ipc sh -c "stat -c \"%n %u %a %F\" \$PCIE_IPC_DIR" | sort -u >out && test "$(wc -l <out)" = 1 &&
    grep -Eqx "$steps/0\.[0-9]+\.0 0 700 directory" out'
test_expect_success 'it is gone after the step' no_folder_left
is 'the folder above is open to all, and is roots' "$(stat -c '%u %a' "$steps")" '0 1777'
is 'and the one above that is not' "$(stat -c '%u %a' "$run/below")" '0 755'
test_expect_success 'a user: his own, and others cannot enter' '
    uid=$(id -u "$JOB_USER") && as_user srun -N2 -n4 --ntasks-per-node=2 --pcie-ipc sh -c "
        cd \$PCIE_IPC_DIR && touch rank.\$SLURM_PROCID && mkdir -m 700 -p deep; rmdir deep; stat -c \"%n %u %a\" \$PCIE_IPC_DIR" | sort -u >out &&
    grep -Eqx "$steps/$uid\.[0-9]+\.0 $uid 700" out && test "$(wc -l <out)" = 2'
test_expect_success 'it is gone with what stood in it' no_folder_left
test_expect_success 'without the flag there is none' '
    srun -n1 sh -c "test -z \"\$PCIE_IPC_DIR\" && ls -A $steps" >out && test ! -s out'
test_expect_success 'batch script and extern step have none, the step inside has one' '
    id=$(sbatch --parsable -w n1 --pcie-ipc -o "$PWD/out" --wrap "echo script:\$PCIE_IPC_DIR; srun sh -c \"echo step:\\\$PCIE_IPC_DIR\"") &&
    wait_job "$id" COMPLETED && test "$(xargs <out)" = "script: step:$steps/0.$id.0"'

# --- however it ends --------------------------------------------------------------------------------------
# begin OPTIONS...: a step that stays, as the user, with a file in its folder
begin() {
    as_user /usr/bin/srun -w n1 -n2 --pcie-ipc "$@" sh -c 'touch "$PCIE_IPC_DIR/$SLURM_PROCID"; exec sleep 300' >/dev/null 2>&1 &
    # shellcheck disable=SC2034 # for the tests' code
    step=$!
    until_true 10 sh -c "test \$(ls $steps/*/ 2>/dev/null | wc -l) = 2"
}
test_expect_success 'scancel' 'begin && scancel "$(last_job)" && ! wait "$step" && no_folder_left'
test_expect_success 'kill -9 of its tasks' '
    begin && on_node n1 sh -c "for p in /proc/[0-9]*; do
        tr \"\\0\" \" \" <\$p/cmdline 2>/dev/null | grep -qx \"sleep 300 \" && kill -9 \${p#/proc/}; done; true" && ! wait "$step" && no_folder_left'
test_expect_success 'kill -9 of srun' 'begin && { kill -9 "$step"; wait "$step"; scancel -u "$JOB_USER"; no_folder_left; }'

# --- others were there before -------------------------------------------------------------------------------
# before COMMAND...: run with $folder, the one that the next step of root will want
before() {
    folder=$steps/0.$(($(last_job) + 1)).0
    (cd / && setpriv --reuid=daemon --regid=daemon --clear-groups -- "$@" "$folder")
}
for what in 'mkdir -m 777' 'ln -s /etc' 'touch' 'mkfifo'; do
    test_expect_success "$what: the step runs without a folder, says so, and nothing is touched" '
        before '"$what"' && state=$(stat -c "%i %u %a %F" "$folder") &&
        srun -w n1 -n2 --pcie-ipc=verbose sh -c "test -z \"\$PCIE_IPC_DIR\"" 2>err &&
        test "$(grep -c "^pcie-ipc: n1: no private folder for the step: $folder " err)" = 1 && sleep 0.3 &&
        test "$(stat -c "%i %u %a %F" "$folder")" = "$state" && rm -rf "$folder"'
done
test_expect_success 'a folder above that anybody could have made is not used' '
    mv "$steps" "$steps.away" && mkdir -m 1777 "$steps" && chown daemon: "$steps" &&
    srun -w n1 -n1 --pcie-ipc sh -c "test -z \"\$PCIE_IPC_DIR\"" 2>err && ! grep pcie-ipc err &&
    rmdir "$steps" && mv "$steps.away" "$steps"'

# --- health ---------------------------------------------------------------------------------------------------
# snapshot VERDICT [SECONDS]: written that long ago
snapshot() {
    printf '{"boot_id": "%s", "time": %d, "verdict": "%s", "reason": "0000:03:00.0: x8 of x16 (PCI001)"}\n' \
        "$(cat /proc/sys/kernel/random/boot_id)" $(($(date +%s) - ${2-0})) "$1" >"$health" && chmod 644 "$health"
}
chmod a+rx .
snapshot drain
test_expect_success 'drain: one line with the reason, and the step runs' '
    as_user srun -w n1 -n2 --pcie-ipc true 2>err && test "$(wc -l <err)" = 1 &&
    grep -Fqx "pcie-ipc: n1: the node'"'"'s health check says drain: 0000:03:00.0: x8 of x16 (PCI001)" err'
test_expect_fail 'health:require fails the step' 'as_user srun -w n1 -n2 --pcie-ipc=health:require touch ran 2>err'
like 'and says why' "$(cat err)" 'says drain: .*PCI001'
is 'and runs nothing' "$(ls "$JOB_HOME/ran" 2>&1)" "ls: cannot access '$JOB_HOME/ran': No such file or directory"
test_expect_success 'and drains nothing, also from a batch script' '
    id=$(sbatch --parsable -w n1 --pcie-ipc=health:require -o /dev/null --wrap "srun true") && wait_job "$id" FAILED && sleep 0.5 &&
    wait_node n1 idle'
test_expect_success 'a snapshot that others can write is not believed' '
    chmod 666 "$health" && srun -w n1 -n1 --pcie-ipc=health:require true 2>err && grep -q "health is not known" err'
test_expect_success 'nor one of the day before yesterday' '
    snapshot drain 172800 && srun -w n1 -n1 --pcie-ipc=health:require true 2>err && grep -q "health is not known" err'
test_expect_success 'nor none; and without require nothing is said' '
    rm "$health" && srun -w n1 -n1 --pcie-ipc=health:require true 2>err && grep -q "health is not known" err &&
    srun -w n1 -n1 --pcie-ipc true 2>err && test ! -s err'
test_expect_success 'a healthy node has nothing to say' '
    snapshot ok && srun -w n1 -n1 --pcie-ipc=health:require true 2>err && test ! -s err'
cluster_stop
done_testing
