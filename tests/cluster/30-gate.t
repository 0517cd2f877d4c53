#!/bin/bash
# The gate: a node that lost lanes is drained under enforce, and runs jobs under report; idle ones always run
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/gate.sh
. "$cluster_dir/gate.sh"
[ -x "$cluster_prefix/libexec/pcie-ipc/prolog" ] || skip_all 'this build has no gate'

gate_run_folder
mkdir prolog.d epilog.d
test_expect_success 'one command makes the links' \
    'pcie-ipc-health install-links --prolog-dir="$PWD/prolog.d" --epilog-dir="$PWD/epilog.d"'
cluster_start NODES=3 GPUS=1 SLURM_CONF_EXTRA="Prolog=$PWD/prolog.d/*
Epilog=$PWD/epilog.d/*
PrologFlags=Alloc"
gate_node n1 16 'mode = enforce' 'cache = 0'
gate_node n2 8 'mode = enforce' 'cache = 0'
gate_node n3 16 'mode = enforce' 'cache = 0'

# reason NODE: why it was drained
reason() {
    timeout 10 scontrol -o show node "$1" | sed -n 's/.* Reason=\(.*\) \[.*/\1/p'
}

# snapshot NODE KEY: a text of the last check
snapshot() {
    on_node "$1" cat /run/pcie-ipc/health.json | sed -n "s/^ *\"$2\": \"\(.*\)\",*/\1/p" | head -n 1
}

test_expect_success 'idle nodes run jobs' 'srun -w n1,n3 -N2 true && wait_node n1 idle && wait_node n3 idle'
is 'and are well' "$(snapshot n1 verdict)" note
is 'everybody can read the snapshot' "$(on_node n1 stat -c '%a %U' /run/pcie-ipc/health.json)" '644 root'
is 'and the lock is root'"'"'s' "$(on_node n1 stat -c '%a %U' /run/pcie-ipc/health.lock)" '600 root'

test_expect_fail 'a job over a node that lost lanes ends' 'srun -N2 -w n1,n2 touch ran'
test_expect_success 'and ran nothing' 'test ! -e ran'
test_expect_success 'the node is drained' 'wait_node n2 "drain(ed|ing)"'
like 'by its prolog' "$(reason n2)" '^Prolog error$'
like "its log says why" "$(node_log n2)" \
    'pcie-ipc: 0000:01:00.0: link is x8, expected x16 by 0000:00:01.0 and 0000:01:00.0; reseat .* \(PCI001, drain\)'
test_expect_success 'the others are not' 'wait_node n1 idle && wait_node n3 idle'
test_expect_success 'a job submitted afterwards runs on the others' '
    srun -N2 sh -c "echo \$SLURMD_NODENAME" | sort | xargs >out && test "$(cat out)" = "n1 n3"'

# --- sbatch ---------------------------------------------------------------------------------------------
resume_node n2
id=$(sbatch --parsable -w n2 -o batch.out --wrap 'touch ran')
test_expect_success 'a batch job is requeued and held' '
    wait_node n2 "drain(ed|ing)" && until_true 20 sh -c "scontrol -o show job $id | grep -q \"JobState=PENDING.*Reason=.*[Hh]eld\""'
like 'having run nothing' "$(ls ran 2>&1)" 'cannot access'
scancel "$id"

# --- repaired, reported, refused -------------------------------------------------------------------------
gate_node n2 16 'mode = enforce' 'cache = 0'
resume_node n2
test_expect_success 'once it is repaired the node runs jobs' 'srun -w n2 true && wait_node n2 idle'
gate_node n2 8 'mode = report' 'cache = 0'
test_expect_success 'under report a job runs' 'srun -w n2 true && wait_node n2 idle'
is 'and the fault is on record' "$(snapshot n2 verdict)" drain
test_expect_fail 'where a step that asks for health fails' 'srun -w n2 --pcie-ipc=health:require touch ran 2>err'
like 'and is told the reason' "$(cat err)" '0000:01:00.0: link is x8 \(PCI001\)'
test_expect_success 'and on a well node runs' 'srun -w n1 --pcie-ipc=health:require true && wait_node n1 idle'
gate_node n2 8 'cache = 0'
test_expect_success 'report is the default' 'srun -w n2 true && wait_node n2 idle'
gate_node n2 8 'mode = enforce' 'cache = 0'
chmod 666 "$(gate_folder n2)/etc/pcie-ipc.conf"
test_expect_success 'a configuration that others can write enforces nothing' 'srun -w n2 true && wait_node n2 idle'
chmod 644 "$(gate_folder n2)/etc/pcie-ipc.conf"
chmod 777 "$(gate_folder n2)/etc"
test_expect_success 'nor does one in a folder that they can write' 'srun -w n2 true && wait_node n2 idle'
chmod 755 "$(gate_folder n2)/etc"
test_expect_fail 'set right, it does again' 'srun -w n2 true'
gate_node n2 16 'mode = enforce' 'cache = 0'
wait_node n2 'drain(ed|ing)' && resume_node n2
test_expect_success 'what a user sets changes nothing' '
    SPANK_PCIE_IPC_HEALTH=drain srun --export=ALL,PATH=/nonexistent,LD_PRELOAD=/nonexistent.so -w n2 /bin/true 2>/dev/null && wait_node n2 idle'

# --- the epilog --------------------------------------------------------------------------------------------
steps=/run/pcie-ipc/steps
on_node n1 sh -c "umask 0 && mkdir -p -m 1777 $steps && mkdir -m 700 $steps/0.4000000000.0"
steps_are() {
    test "$(on_node n1 ls "$steps" | xargs)" = "$1"
}
test_expect_success 'the epilog removes what a step of the job left, and nothing else' '
    srun -w n1 sh -c "mkdir -m 700 $steps/0.\$SLURM_JOB_ID.99 && ls $steps" >out && grep -q "\.99$" out &&
    until_true 10 steps_are 0.4000000000.0 && wait_node n1 idle'

# --- several at once ----------------------------------------------------------------------------------------
gate_node n1 16 'mode = enforce' 'cache = 300'
srun -w n1 true
first=$(on_node n1 stat -c "%i %y" /run/pcie-ipc/health.json)
test_expect_success 'eight prologs at once share one check' '
    for n in 1 2 3 4 5 6 7 8; do srun -w n1 -n1 true & jobs="$jobs $!"; done && wait $jobs &&
    test "$first" = "$(on_node n1 stat -c "%i %y" /run/pcie-ipc/health.json)"'

cluster_stop
test_expect_success 'the links go as they came' '
    pcie-ipc-health install-links --remove --prolog-dir="$PWD/prolog.d" --epilog-dir="$PWD/epilog.d" >out &&
    test -z "$(ls prolog.d epilog.d | grep -v :)" && grep -q "is empty now" out'
done_testing
