# shellcheck shell=bash
# cluster.sh - start and stop the private cluster; to be sourced inside a sandbox
#
# cluster_boot NAME=VALUE...   (config.sh has the names) 0 when every node is idle; otherwise says why on stderr
# cluster_halt                 ends every job and daemon
# All state is below $PCIE_IPC_RUN, so any shell in the sandbox can call these.

cluster_dir=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
cluster_top=${cluster_dir%/tests/cluster}
cluster_build=${PCIE_IPC_BUILD:-$cluster_top/_build}
cluster_prefix=$cluster_build/prefix
# shellcheck source=tests/cluster/config.sh
. "$cluster_dir/config.sh"
# shellcheck source=tests/cluster/network.sh
. "$cluster_dir/network.sh"
run=$PCIE_IPC_RUN
devices=/dev
[ ! -d "$run/dev" ] || devices=$run/dev

cluster_folders() {
    rm -rf -- "${run:?}"/{etc,munge,state,log,spool,tmp,dev,pid}
    mkdir -- "$run"/{etc,munge,state,log,spool,tmp,pid} || return
    devices=/dev
    [ "${cluster_option[DEVICES]}" = real ] || devices=$run/dev
    ! getent passwd slurm >/dev/null || chown slurm: "$run/state"
    head -c 1024 /dev/urandom >"$run/munge/key" && chmod 400 "$run/munge/key" && chown -R munge: "$run/munge"
}

# daemon NAME COMMAND...: in a session of its own, so that Ctrl-C in a shell is not for it, and a child of pid 1, so
# that no test waits for it by mistake
daemon() {
    (
        setsid -- "${@:2}" </dev/null >"$run/log/$1.out" 2>&1 &
        echo $! >"$run/pid/$1"
    )
}

daemon_alive() {
    [ -s "$run/pid/$1" ] && kill -0 "$(<"$run/pid/$1")" 2>/dev/null
}

# until_true SECONDS COMMAND...: ask ten times a second
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return
        sleep 0.1
    done
}

start_munged() {
    daemon munged setpriv --reuid=munge --regid=munge --clear-groups -- /usr/sbin/munged --foreground \
        --key-file="$run/munge/key" --socket="$run/munge/socket" --pid-file="$run/munge/pid" \
        --log-file="$run/log/munged.log" --seed-file="$run/munge/seed" --num-threads=2
    until_true 10 test -S "$run/munge/socket"
}

# start_slurmd NODE: a machine of its own as far as host name, IPC and /dev/shm go, and with ISOLATE=net the network.
# Not by "ip netns exec", which mounts a /sys without cgroups.
start_slurmd() {
    local net=()
    ! net_is_apart || net=(nsenter --net="/run/netns/$1" --)
    mkdir -p -- "$run/spool/$1" "$run/tmp/$1" && chmod 1777 "$run/tmp/$1" || return
    NODE_HIDES=$(config_hidden "$1") \
        daemon "$1" "${net[@]}" unshare --uts --ipc --mount -- "$cluster_dir/node" "$1" /usr/sbin/slurmd -D -N "$1"
}

nodes_idle() {
    [ "$(timeout 5 sinfo -h -N -o '%N %T' 2>/dev/null | sort -u | grep -c ' idle$')" = "${cluster_option[NODES]}" ]
}

# The wait for the cluster ends when it is up or when a daemon has died.
up_or_broken() {
    local pid
    nodes_idle && return
    for pid in "$run"/pid/*; do
        daemon_alive "${pid##*/}" || return 0
    done
    return 1
}

# complaints NUMBER: the last errors in each daemon's log; an empty state is none
complaints() {
    local log
    for log in "$run"/log/*.out; do
        [ ! -s "$log" ] || grep -E 'error|fatal|Error' "$log" | grep -v 'state \(save \)\?file' | tail -n "$1" |
            sed "s|^|${log##*/}: |"
    done | sed 's/\.out: [a-z]*: /: /'
}

cluster_explain() {
    echo "pcie-ipc: the private cluster did not come up:"
    complaints 3 | sed 's/^/  /'
    timeout 5 sinfo -N -o '%N %T %E' 2>&1 | sed 's/^/  /'
} >&2

cluster_boot() {
    local number
    export SLURM_CONF=$run/etc/slurm.conf
    config_options "$@" || return
    if [ "${cluster_option[CONSTRAIN_DEVICES]}" = yes ] && [ "$PCIE_IPC_SANDBOX" = none ]; then
        echo "pcie-ipc: CONSTRAIN_DEVICES=yes: no cgroup can be made on this machine" >&2
        return 69
    fi
    cluster_folders && net_make && config_make_devices && config_write || return
    start_munged || { cluster_explain && return 71; }
    daemon slurmctld /usr/sbin/slurmctld -D -c
    for ((number = 1; number <= cluster_option[NODES]; number++)); do start_slurmd "n$number"; done
    until_true 30 up_or_broken
    nodes_idle || { cluster_explain && return 71; }
}

# family PID...: these processes and all that descend from them
family() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v roots="$*" '
        { pid = $1; sub(/.*\) /, ""); parent[pid] = $2 }
        END {
            split(roots, list)
            for (i in list) root[list[i]]
            for (pid in parent)
                for (p = pid; p > 1; p = parent[p]) if (p in root) { print pid; break }
        }'
}

daemon_gone() {
    ! daemon_alive "$1"
}

stop_daemon() {
    local pid
    pid=$(<"$run/pid/$1")
    kill -TERM "$pid" 2>/dev/null
    if ! until_true 5 daemon_gone "$1"; then
        # shellcheck disable=SC2046 # a list of numbers
        kill -KILL $(family "$pid") 2>/dev/null
        until_true 5 daemon_gone "$1"
    fi
    rm -f -- "$run/pid/$1"
}

steps() {
    grep -lsx slurmstepd /proc/[0-9]*/comm | cut -d/ -f3
}

no_steps() {
    [ -z "$(steps)" ]
}

# Steps outlive slurmd, so they go first: asked by Slurm, then with their tasks by force.
cluster_halt() {
    local daemon jobs
    jobs=$(timeout 5 squeue -h -o %A 2>/dev/null)
    # shellcheck disable=SC2086 # a list of numbers
    [ -z "$jobs" ] || timeout 5 scancel $jobs 2>/dev/null
    if ! until_true 5 no_steps; then
        # shellcheck disable=SC2046 # lists of numbers
        kill -KILL $(family $(steps)) 2>/dev/null
    fi
    for daemon in "$run"/pid/*; do
        [ ! -e "$daemon" ] || stop_daemon "${daemon##*/}"
    done
}
