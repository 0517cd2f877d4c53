#!/bin/bash
# The gate fails open: on a node that it would refuse, a check that crashes, hangs or is broken lets the job run
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
gate_node n1 8 'mode = enforce' 'cache = 0'

# runs_with WHAT FILE INSTEAD SAYS: with INSTEAD in the place of FILE on the node, a job runs and the prolog says so
runs_with() {
    chmod 755 "$3"
    on_node n1 mount --bind "$3" "$2"
    test_expect_success "$1: the job runs" 'srun true && wait_node n1 idle'
    like "$1: one line says so" "$(on_node n1 "$folder/prolog" 2>&1)" "^pcie-ipc: prolog: the check $4; the job runs on an unchecked node$"
    until_true 10 on_node n1 umount "$2" 2>umount.err # what was killed may take a moment to end
}

printf '#!/bin/sh\nkill -SEGV $$\n' >crash
runs_with 'a check that crashes' "$folder/gate" "$PWD/crash" 'was killed by signal 11'
printf '#!/bin/sh\n/bin/sleep 1000\n' >hang
runs_with 'a check that hangs' "$folder/gate" "$PWD/hang" 'gave no answer in 3.0 s'
printf '#!/bin/sh\necho refuse >&3\nexit 1\n' >garbage
runs_with 'a check that writes something else' "$folder/gate" "$PWD/garbage" 'ended with status 1'
printf '#!/bin/sh\n/bin/sleep 1000 >&3 2>&1 &\nexit 0\n' >background
runs_with 'a check that leaves a child' "$folder/gate" "$PWD/background" 'gave no verdict'
: >empty
library=$(ldd "$folder/gate" | sed -n 's/.*libpci\.so.* => \([^ ]*\).*/\1/p')
runs_with 'a libpci that cannot be loaded' "$(readlink -f "$library")" "$PWD/empty" 'ended with status 127'
like 'and names it' "$(on_node n1 mount --bind "$PWD/empty" "$(readlink -f "$library")"; on_node n1 "$folder/prolog" 2>&1)" 'libpci\.so'
on_node n1 umount "$(readlink -f "$library")"
test_expect_success 'nothing is left running' '! grep -lsx sleep /proc/[0-9]*/comm'

test_expect_fail 'and with nothing broken the node is refused' 'srun true'
test_expect_success 'and drained' 'wait_node n1 "drain(ed|ing)"'
cluster_stop
done_testing
