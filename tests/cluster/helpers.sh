# shellcheck shell=bash
# helpers.sh - what tests do with the cluster; to be sourced inside a sandbox, also by programs that tests start
#
# as_user COMMAND...             run it as the unprivileged job user $JOB_USER, in its folder $JOB_HOME
# on_node NODE COMMAND...        run it as root on that node (host name, IPC, /dev/shm, /run/pcie-ipc, network; the rest is shared)
# node_log NODE                  what slurmd and the steps of that node have logged
# node_state NODE                idle, mixed, allocated, drained, ...
# wait_node NODE ERE [SECONDS]   until its state matches
# drain_node NODE REASON         take it out of service
# resume_node NODE               put it back, and wait until it is idle
# kill_node NODE                 slurmd dies; its steps live on
# start_slurmd NODE              and comes back
# job_state JOBID                PENDING, RUNNING, COMPLETED, ...
# wait_job JOBID ERE [SECONDS]   until its state matches
# shm_files NODE                 the files in its /dev/shm: empty when nothing was left behind
# until_true SECONDS COMMAND...  ask ten times a second

JOB_USER=nobody
JOB_HOME=$PCIE_IPC_RUN/home
mkdir -p -- "$JOB_HOME" && chown "$JOB_USER:" "$JOB_HOME"
# shellcheck source=tests/cluster/cluster.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/cluster.sh"

as_user() {
    (cd -- "$JOB_HOME" && HOME=$JOB_HOME USER=$JOB_USER setpriv --reuid="$JOB_USER" --regid="$(id -g "$JOB_USER")" --clear-groups -- "$@")
}

on_node() {
    nsenter --target "$(<"$run/pid/$1")" --uts --ipc --mount --net -- "${@:2}"
}

node_log() {
    cat -- "$run/log/$1.log"
}

node_state() {
    timeout 10 sinfo -h -N -n "$1" -o %T
}

node_is() {
    node_state "$1" | grep -Eqx -e "$2"
}

wait_node() {
    until_true "${3:-20}" node_is "$1" "$2"
}

drain_node() {
    timeout 10 scontrol update NodeName="$1" State=DRAIN Reason="$2"
}

resume_node() {
    timeout 10 scontrol update NodeName="$1" State=RESUME && wait_node "$1" idle
}

kill_node() {
    kill -KILL "$(<"$run/pid/$1")" && until_true 5 daemon_gone "$1" && rm -f -- "$run/pid/$1"
}

job_state() {
    timeout 10 scontrol -o show job "$1" | grep -Eo ' JobState=[A-Z_]+' | cut -d= -f2
}

job_is() {
    job_state "$1" | grep -Eqx -e "$2"
}

wait_job() {
    until_true "${3:-30}" job_is "$1" "$2"
}

shm_files() {
    on_node "$1" find /dev/shm -mindepth 1
}
