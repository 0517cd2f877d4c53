#!/bin/bash
# The report of a job: what happened to the node's links and AER counters while it ran, for its owner's eyes
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/gate.sh
. "$cluster_dir/gate.sh"
folder=$cluster_prefix/libexec/pcie-ipc
[ -x "$folder/prolog" ] || skip_all 'this build has no gate'

gate_run_folder
cluster_start NODES=1 GPUS=1 SLURM_CONF_EXTRA="Prolog=$folder/prolog
Epilog=$folder/epilog
PrologFlags=Alloc"
gate_node n1 16
machine=$(gate_folder n1)/machine/sys
port=$machine/devices/pci0000:00/0000:00:01.0
gpu=$port/0000:01:00.0
mkdir -p "$machine/bus/pci_express/drivers/aer/0000:00:01.0:pcie002"

# put FILE TEXT: whole or not at all, since somebody looks ten times a second
put() {
    printf '%s\n' "$2" >new && mv new "$1"
}

# errors PORT GPU: what the kernel has counted at each end; width LANES: what the port says
errors() {
    put "$port/aer_dev_correctable" "RxErr 0
BadTLP $1
TOTAL_ERR_COR $1"
    put "$gpu/aer_dev_correctable" "RxErr 0
Timeout $2
TOTAL_ERR_COR $2"
}
width() {
    put "$port/current_link_width" "$1"
}

# as UID COMMAND...: on the node; report JOB [OPTION...]: as the job's owner; reported JOB TEXT: it says so
as() {
    on_node n1 setpriv --reuid="$1" --regid=65534 --clear-groups "${@:2}"
}
owner=$(id -u "$JOB_USER")
report() {
    as "$owner" pcie-ipc-health job "$@" 2>&1
}
reported() {
    report "$1" | grep -qF "$2"
}

# job NAME: the user's, until NAME is there; its number, once it runs: a job is RUNNING before its prolog has ended, and
# what happens until then is not under it
job() {
    local id
    id=$(as_user sbatch --parsable --oversubscribe --overcommit -o /dev/null \
        --wrap "touch $JOB_HOME/$1.begun; until [ -e $JOB_HOME/$1 ]; do sleep 0.1; done")
    until_true 20 test -e "$JOB_HOME/$1.begun" >/dev/null && echo "$id"
}
end_job() {
    touch "$JOB_HOME/$1" && wait_job "$2" COMPLETED
}
seen() {
    test "$(grep -c "link $1\$" watch.out)" = "$2"
}

echo '2.5 GT/s PCIe' >"$port/current_link_speed"
width 16
errors 10 1
nsenter --target "$(<"$run/pid/n1")" --uts --ipc --mount -- pcie-ipc-health watch --interval=100ms >watch.out 2>watch.err &
watch=$!
test_expect_success 'a watch begins' 'until_true 10 on_node n1 test -s /var/lib/pcie-ipc/watch.ring && until_true 5 sh -c "sleep 0.3"'
long=$(job long)

# --- the link falls, comes back, and falls again, under the first job; the second sees the end of it --------
errors 12 1
width 8
test_expect_success 'the watch prints each change' 'until_true 10 seen "x16 -> x8" 1'
width 16
until_true 10 seen 'x8 -> x16' 1
short=$(job short)
errors 12 4
test_expect_success 'a job has a report when it is over' 'end_job short $short && until_true 10 reported $short "job $short: 20"'
width 8
until_true 10 seen 'x16 -> x8' 2
test_expect_success 'so has another that ran at the same time' 'end_job long $long && until_true 10 reported $long "job $long: 20"'

report "$long" >long.txt
like 'it names the device, lanes and errors of both ends' "$(cat long.txt)" \
    '0000:01:00.0 \(port 0000:00:01.0\): link x16 before, x8 after; 2 bad TLP, 3 replay timeout'
is 'and each change with its time' "$(grep -cE '^  20..-..-..T..:..:..(\....)?Z 0000:01:00.0 \(port 0000:00:01.0\): link x(16 -> x8|8 -> x16)$' long.txt)" 3
like 'and that somebody watched' "$(head -n 1 long.txt)" '; watched$'
like 'the other job has what was in its time' "$(report "$short")" '0000:01:00.0 \(port 0000:00:01.0\): link x16; 3 replay timeout'
test_expect_success 'and no more' '! report $short | grep -q "x8"'
is 'in JSON' "$(report "$long" --json | tr -d ' \n' | grep -o '"width":\[16,8\],"errors":{"badTLP":2,"replaytimeout":3}')" \
    '"width":[16,8],"errors":{"badTLP":2,"replaytimeout":3}'

# --- whose it is ---------------------------------------------------------------------------------------------
is 'the report is its owner'"'"'s alone' "$(on_node n1 stat -c '%a %u' "/var/lib/pcie-ipc/jobs/$long.json")" "400 $owner"
test_expect_success 'another user cannot read it' '! as 4321 pcie-ipc-health job $long >other.out 2>&1 && grep -q "Permission denied" other.out'
test_expect_success 'nor see whose jobs there were' '! as 4321 ls /var/lib/pcie-ipc/jobs 2>/dev/null'
is 'root can' "$(on_node n1 pcie-ipc-health job "$long" | cmp - long.txt && echo same)" same
is 'an epilog without a prolog ends well' "$(SLURM_JOB_ID=4000000000 SLURM_JOB_UID=4321 on_node n1 "$folder/epilog"; echo $?)" 0
like 'and says what it does not know' "$(as 4321 pcie-ipc-health job 4000000000)" '^job 4000000000: beginning not known'

# --- what jobs are told beforehand -------------------------------------------------------------------------------
width 16
test_expect_success 'a snapshot tells lanes that went and came back' '
    { on_node n1 pcie-ipc-health snapshot >out; test $? = 1; } && grep -q "0000:01:00.0: lost lanes, the last time at 20.*(2 in the last day, down to x8).*(PCI031, warn)" out'
is 'everybody reads it, for each GPU' "$(as 4321 cat /run/pcie-ipc/health.json | tr -d ' \n' | grep -o '"gpus":.*\]')" \
    '"gpus":[{"address":"0000:01:00.0","verdict":"warn","width":16,"mts":2500}]'

# --- the watch's end -------------------------------------------------------------------------------------------
test_expect_success 'the record is summed up for a job' '
    on_node n1 pcie-ipc-health watch --job=$long | grep -q "0000:01:00.0 (port 0000:00:01.0): fewer lanes 2 times, down to x8$"'
kill -TERM "$watch"
test_expect_success 'asked to end, a watch sums up and ends well' 'wait $watch && grep -q "fewer lanes 2 times" watch.out'
is 'and had nothing to complain of' "$(cat watch.err)" ''

# --- what goes wrong ---------------------------------------------------------------------------------------------
printf '#!/bin/sh\n/bin/sleep 1000\n' >hang
chmod 755 hang
on_node n1 mount --bind "$PWD/hang" "$folder/gate"
is 'a report that hangs holds up no epilog' "$(SLURM_JOB_ID=4000000001 SLURM_JOB_UID=0 on_node n1 "$folder/epilog" 2>err; echo $?)" 0
like 'and one line says so' "$(cat err)" '^pcie-ipc: epilog: job 4000000001: its report gave no answer in 2.0 s$'
until_true 10 on_node n1 umount "$folder/gate" 2>umount.err
cluster_stop
done_testing
