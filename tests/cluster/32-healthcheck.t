#!/bin/bash
# The healthcheck: gives a drained node its reason, puts back what it drained and is repaired, and leaves others' drains
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/gate.sh
. "$cluster_dir/gate.sh"
folder=$cluster_prefix/libexec/pcie-ipc
[ -x "$folder/healthcheck" ] || skip_all 'this build has no gate'

gate_run_folder
cluster_start NODES=2 GPUS=1 SLURM_CONF_EXTRA="Prolog=$folder/prolog
PrologFlags=Alloc
AuthInfo=socket=$PCIE_IPC_RUN/munge/socket,cred_expire=5
HealthCheckProgram=$folder/healthcheck
HealthCheckInterval=2
HealthCheckNodeState=ANY
SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=1,sched_min_interval=0"

# node NODE WIDTH MODE [LINE...]: what it reads, and LINEs of section slurm
node() {
    gate_node "$1" "$2" "mode = $3" 'cache = 0' '[slurm]' "conf = $SLURM_CONF" "${@:4}"
}

# reason NODE, extra NODE: as Slurm has them
reason() {
    timeout 10 scontrol -o show node "$1" | sed -n 's/.* Reason=\(.*\) \[.*/\1/p'
}
extra() {
    timeout 10 scontrol -o show node "$1" | sed -n 's/.* Extra=\(.*\)/\1/p'
}
reason_is() {
    [ "$(reason "$1")" = "$2" ]
}

# by_hand NODE yes|no: whether slurmd's own healthchecks of that node do nothing from now on; one that is under way ends
# first, or it would see what the test changes next
by_hand() {
    if [ "$2" = yes ]; then
        on_node "$1" mount --bind /bin/true "$folder/healthcheck" && until_true 10 no_healthcheck
    else
        on_node "$1" umount "$folder/healthcheck"
    fi
}
no_healthcheck() {
    ! pgrep -f "^$folder/(healthcheck|gate)" >/dev/null
}

# check NODE [N]: the healthcheck once, or N times
check() {
    local n
    for ((n = 0; n < ${2:-1}; n++)); do
        on_node "$1" env SLURMD_NODENAME="$1" "$cluster_prefix/sbin/pcie-ipc-health" healthcheck || return
    done
}
# shellcheck disable=SC2034 # for the tests' text
width_lost='pcie-ipc: 0000:01:00.0: link is x8 (PCI001)'

node n1 16 enforce
node n2 16 enforce
test_expect_success 'idle nodes run jobs' 'srun -N2 true && wait_node n1 idle && wait_node n2 idle && check n1 && check n2'

# --- a prolog refuses, and Slurm's own healthchecks ----------------------------------------------------------
by_hand n2 yes
gate_machine n2 8
# n1 is kept busy until n2 has refused: a job of a fixed time would end before a busy machine comes that far, and the
# batch job would begin there
holder=$(sbatch --parsable -w n1 --exclusive -o /dev/null --wrap 'sleep 100')
wait_job "$holder" RUNNING
# shellcheck disable=SC2034 # for the tests' text
id=$(sbatch --parsable -o batch.out --wrap 'echo $SLURMD_NODENAME')
test_expect_success 'a node that lost lanes is drained by its prolog' '
    wait_node n2 "drain(ed|ing)" && until_true 5 reason_is n2 "Prolog error"'
scancel "$holder"
by_hand n2 no
test_expect_success 'and its reason is ours by the next healthcheck' 'until_true 10 reason_is n2 "$width_lost"'
test_expect_success 'the job runs elsewhere, unaided' 'wait_job "$id" COMPLETED && test "$(cat batch.out)" = n1'
test_expect_success 'the node stays drained' 'node_is n2 drained && reason_is n2 "$width_lost"'
gate_machine n2 16
test_expect_success 'repaired, it comes back' 'wait_node n2 idle && srun -w n2 true && wait_node n2 idle'
gate_machine n2 8
test_expect_success 'without a job it is drained too' 'wait_node n2 drained && reason_is n2 "$width_lost"'

# --- from here on each healthcheck is the test's ---------------------------------------------------------------
by_hand n1 yes
by_hand n2 yes
timeout 10 scontrol update nodename=n2 reason='riser ordered'
gate_machine n2 16
test_expect_success 'a reason that somebody else has put there makes the drain his' '
    check n2 4 && node_is n2 drained && reason_is n2 "riser ordered"'
resume_node n2

drain_node n2 'fan'
gate_machine n2 8
test_expect_success 'drained by hand: left alone' 'check n2 2 && node_is n2 drained && reason_is n2 fan'
gate_machine n2 16
test_expect_success 'also when it is well' 'check n2 3 && node_is n2 drained && reason_is n2 fan'
resume_node n2

node n2 8 report
test_expect_success 'under report nothing is drained' 'srun -w n2 true && check n2 2 && wait_node n2 idle'
like 'and the fault is on record' "$(on_node n2 cat /run/pcie-ipc/health.json)" '"severity": "drain"'

# --- off ---------------------------------------------------------------------------------------------------
node n2 8 enforce
touch "$(gate_folder n2)/etc/disabled"
test_expect_success 'the file "disabled" switches all off' 'srun -w n2 true && check n2 && wait_node n2 idle'
like 'and whoever asks is told' "$(on_node n2 "$folder/prolog" 2>&1)" '^pcie-ipc: switched off by .*/etc/pcie-ipc/disabled: nothing is checked$'
gate_machine n2 16
rm "$(gate_folder n2)/etc/disabled"

# --- a mistake that would drain every node -------------------------------------------------------------------
for n in n1 n2; do printf '[expect]\ngpus = 9\n' >"$(gate_folder $n)/etc/limits.conf"; done
test_expect_success 'a limits file that would drain every node is held to a warning' '
    check n1 2 && check n2 2 && srun -N2 true && wait_node n1 idle && wait_node n2 idle'
like 'that says so' "$(on_node n2 cat /run/pcie-ipc/health.json | xargs)" 'severity: warn,.*remedy: held by the breaker: .* pcie-ipc-health accept'
test_expect_success 'accepted, it drains' '
    on_node n2 pcie-ipc-health accept >out && grep "^accepted: " out && check n2 &&
    node_is n2 drained && reason_is n2 "pcie-ipc: node: GPUs in view: 1 (PCI020)" && node_is n1 idle'
test_expect_success 'undrain --dry-run says which, and does nothing' '
    on_node n1 pcie-ipc-health undrain --all --dry-run >out && grep "^n2: would be undrained: pcie-ipc: node" out &&
    node_is n2 drained'
rm "$(gate_folder n1)/etc/limits.conf" "$(gate_folder n2)/etc/limits.conf"
test_expect_success 'undrain puts it back, and nothing else' '
    on_node n1 pcie-ipc-health undrain n1 n2 >out && grep "^n1: left as it is: " out && wait_node n2 idle'

# --- max_drain -----------------------------------------------------------------------------------------------
for n in n1 n2; do node $n 8 enforce 'max_drain = 50%' 'census = n1'; done
test_expect_success 'sick, a node asks and runs jobs' '
    check n2 2 && extra n2 | grep -Fqx "pcie-ipc asks {$width_lost}" && srun -w n2 true && wait_node n2 idle'
test_expect_success 'the census drains within the limit: one of two' '
    check n1 && check n1 && check n2 && test "$(timeout 10 sinfo -h -N -o %T | sort | xargs)" = "drained idle"'
test_expect_success 'and says how many' 'on_node n1 pcie-ipc-health census >out && grep -x "nodes 2, drained by pcie-ipc 1, limit 1, asking 1" out'
gate_machine n1 16
gate_machine n2 16
test_expect_success 'both well: both run, and nobody asks' '
    check n1 2 && check n2 2 && wait_node n1 idle && wait_node n2 idle && test -z "$(extra n1)$(extra n2)"'
cluster_stop
done_testing
