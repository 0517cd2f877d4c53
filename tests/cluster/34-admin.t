#!/bin/bash
# What doc/admin.md tells an administrator to do, in its order: report, baseline, accept, enforce, undrain, switch off
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/gate.sh
. "$cluster_dir/gate.sh"
[ -x "$cluster_prefix/libexec/pcie-ipc/prolog" ] || skip_all 'this build has no gate'

gate_run_folder
mkdir -p etc/prolog.d etc/epilog.d
# shellcheck disable=SC2034 # for the texts of tests
links="--prolog-dir=$PWD/etc/prolog.d --epilog-dir=$PWD/etc/epilog.d"
# shellcheck disable=SC2086 # two words
test_expect_success 'the links, twice' 'pcie-ipc-health install-links $links && pcie-ipc-health install-links $links'
cluster_start NODES=2 GPUS=1 SLURM_CONF_EXTRA="Prolog=$PWD/etc/prolog.d/*
Epilog=$PWD/etc/epilog.d/*
PrologFlags=Alloc
HealthCheckProgram=$cluster_prefix/libexec/pcie-ipc/healthcheck
HealthCheckInterval=300
HealthCheckNodeState=ANY,CYCLE
SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=1,sched_min_interval=0"

# node NODE WIDTH MODE: what it reads. health NODE ARGUMENT...: pcie-ipc-health there
node() {
    gate_node "$1" "$2" "mode = $3" 'cache = 0' "prometheus = $PWD/prom/$1.prom" '[slurm]' "conf = $SLURM_CONF"
}
health() {
    local node=$1
    shift
    on_node "$node" env SLURMD_NODENAME="$node" "$cluster_prefix/sbin/pcie-ipc-health" "$@"
}
mkdir -m 755 prom
node n1 16 report
node n2 16 report

# --- reporting; what the node was ---------------------------------------------------------------------------
test_expect_success 'a job runs' 'srun -N2 true && wait_node n1 idle && wait_node n2 idle'
# shellcheck disable=SC2034 # for the texts of tests
machine=$(gate_folder n1)/machine
test_expect_success 'a baseline is learned' '
    health n1 baseline learn --sysroot="$machine" --output="$(gate_folder n1)/etc/baseline.conf" >learned &&
    health n1 baseline diff --sysroot="$machine" "$(gate_folder n1)/etc/baseline.conf"'
test_expect_success 'the checklist knows it' '
    health n1 checklist --sysroot="$machine" --baseline="$(gate_folder n1)/etc/baseline.conf" >list; grep -q "^yes     links: " list'
# Here a private folder has the links; on the machine itself the gate is a line too.
# shellcheck disable=SC2086 # two words
test_expect_success 'and where the links are' 'health n1 checklist $links >list; grep -q "^yes     gate: .*; mode is report" list'
test_expect_success 'the healthcheck leaves metrics' '
    health n1 healthcheck && health n2 healthcheck && grep -qx "pcie_ipc_health_verdict{verdict=\"note\"} 1" prom/n1.prom'

# --- sick, and enforced ------------------------------------------------------------------------------------------
node n2 8 report
test_expect_success 'reported, the job runs' 'srun -w n2 true && on_node n2 grep -q "\"verdict\": \"drain\"" /run/pcie-ipc/health.json'
node n2 8 enforce
test_expect_success 'a healthcheck drains it' 'health n2 healthcheck && wait_node n2 "drain(ed|ing)"'
test_expect_success 'with our reason' 'scontrol -o show node n2 | grep -q "Reason=pcie-ipc: 0000:01:00.0: link is x8"'
test_expect_success 'jobs run elsewhere' 'test "$(srun sh -c "echo \$SLURMD_NODENAME")" = n1'
test_expect_success 'check says why, explain what it means' '
    { health n2 check --sysroot="$(gate_folder n2)/machine" | grep -q PCI001; } && health n2 explain PCI001 | grep -q Remedy'
test_expect_success 'undrain lists it' 'pcie-ipc-health --version && health n1 undrain --all --dry-run | grep -q "^n2: would be undrained"'
node n2 16 enforce
test_expect_success 'repaired, it is put back by hand' 'health n1 undrain n2 && wait_node n2 idle && srun -w n2 true'

# --- off, and removed ------------------------------------------------------------------------------------------------
node n2 8 enforce
test_expect_success 'switched off, nothing is checked' 'on_node n2 touch /run/pcie-ipc/off && srun -w n2 true'
test_expect_success 'and the checklist says so' 'health n2 checklist $links | grep -q "^no      gate: .*: it is switched off: /run/pcie-ipc/off"'
on_node n2 rm /run/pcie-ipc/off
# shellcheck disable=SC2086 # two words
test_expect_success 'removed, with a word of warning' 'pcie-ipc-health install-links --remove $links | grep -q "is empty now"'
cluster_stop
done_testing
