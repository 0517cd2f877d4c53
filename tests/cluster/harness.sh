# shellcheck shell=bash
# harness.sh - the private Slurm cluster for test files
#
#   #!/bin/bash
#   . "$(dirname "$0")/harness.sh"
#   cluster_start GPUS=4
#   test_expect_success 'srun runs on two nodes' '
#       srun -N2 -n2 hostname >out && grep -c "^n[12]$" out | grep -qx 2'
#   cluster_stop
#   done_testing
#
# The file runs wholly inside a sandbox (it starts itself again in there), as root, in an empty folder; whatever it
# starts ends with it.  Slurm's commands are in PATH and each is ended after $CLIENT_TIMEOUT (60) seconds; /usr/bin/srun
# is the command without that limit.  This build's programs are in PATH too.
#
# cluster_start [NAME=VALUE...]  options: config.sh.  Ends the file as failed if the cluster does not come up.
# cluster_start_constrained [NAME=VALUE...]  the same with CONSTRAIN_DEVICES=yes; returns 1, with the reason in
#                                $cluster_reason, where cgroups do not allow it
# cluster_stop                   ends all jobs and daemons; another cluster_start may follow
# network.sh: net_bytes, net_cut, ...: with ISOLATE=net.  helpers.sh: as_user, on_node, wait_job, drain_node, ...    ../lib/tap.sh: test_expect_success, is, like, ...

cluster_dir=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
cluster_top=${cluster_dir%/tests/cluster}
cluster_build=${PCIE_IPC_BUILD:-$cluster_top/_build}

if [ -z "${PCIE_IPC_SANDBOX-}" ]; then
    if [ "$(id -u)" != 0 ]; then
        echo '1..0 # SKIP the private cluster needs root'
        exit 0
    fi
    exec "$cluster_dir/sandbox" --expose "$cluster_top" --expose "$cluster_build" -- bash "$(readlink -f -- "$0")" "$@"
fi

TMPDIR=$PCIE_IPC_RUN/scratch
export TMPDIR
mkdir -- "$TMPDIR" && chmod 1777 "$TMPDIR"
# shellcheck source=tests/lib/tap.sh
. "$cluster_dir/../lib/tap.sh"
# shellcheck source=tests/cluster/helpers.sh
. "$cluster_dir/helpers.sh"

# srun says on stderr that it waits for the job before to be cleaned up, which tests of what is said don't want to read:
# it begins when none is, or after two seconds.
# shellcheck disable=SC2016 # for a file
settle='tries=0
while [ -z "${SLURM_JOB_ID-}" ] && [ $tries -lt 20 ] && [ -n "$(timeout 1 squeue -h -t CG -o %i 2>/dev/null)" ]; do
    sleep 0.1
    tries=$((tries + 1))
done'

# With a dead controller each of Slurm's commands would block for a long time.
limit_clients() {
    local client path first
    mkdir -p -- "$run/bin"
    for client in srun sbatch salloc scancel scontrol sinfo squeue; do
        path=$(type -P "$client") || continue
        first=:
        [ "$client" != srun ] || first=$settle
        # shellcheck disable=SC2016 # for the file
        printf '#!/bin/sh\n%s\nexec timeout -k 5 "${CLIENT_TIMEOUT:-60}" %s "$@"\n' "$first" "$path" >"$run/bin/$client"
        chmod 755 "$run/bin/$client"
    done
    export PATH=$run/bin:$cluster_prefix/bin:$cluster_prefix/sbin:$PATH
}

# What the daemons complained about, for the reader of a failed file
show_complaints() {
    [ "$tap_failed" = 0 ] || complaints 10 | sed 's/^/# /'
}

cluster_start() {
    cluster_boot "$@" 2>"$tap_log" && return
    fail "the cluster comes up with: $*"
    sed 's/^/#   | /' "$tap_log"
    done_testing
}

cluster_start_constrained() {
    cluster_boot CONSTRAIN_DEVICES=yes "$@" 2>"$tap_log" && return
    # shellcheck disable=SC2034 # for the test file
    cluster_reason="devices cannot be constrained here ($PCIE_IPC_SANDBOX): $(grep -m 1 fatal "$tap_log" || head -n 1 "$tap_log")"
    # Cgroup version 1 is known to work: there, this is a failure.
    [ "$PCIE_IPC_SANDBOX" != cgroup ] || cluster_start CONSTRAIN_DEVICES=yes "$@"
    cluster_halt
    return 1
}

cluster_stop() {
    cluster_halt
}

limit_clients
at_exit show_complaints
