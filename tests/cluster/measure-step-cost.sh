#!/bin/bash
# measure-step-cost.sh [STEPS] - what the plugin adds to a step: srun after srun in one allocation (64 of each kind)
#
# In a private cluster of this build (PCIE_IPC_BUILD).  A round is three steps: without the plugin (plugstack.conf is
# empty; srun and slurmstepd read it for every step), without the flag, with it.  Steps of a round stand beside each
# other, so that whatever the machine does besides hits all alike, and the differences are taken round by round.
# Twice: with an invented topology and GPUs to bind, and with this machine's own topology.  Figures go to
# doc/measurements.md with the machine and the date; no test depends on them.
here=$(dirname -- "$(readlink -f -- "$0")")
if [ -z "${PCIE_IPC_SANDBOX-}" ]; then
    export PCIE_IPC_BUILD=${PCIE_IPC_BUILD:-${here%/tests/cluster}/_build}
    exec "$here/sandbox" --expose "${here%/tests/cluster}" --expose "$PCIE_IPC_BUILD" -- "$here/measure-step-cost.sh" "$@"
fi
# shellcheck source=tests/cluster/helpers.sh
. "$here/helpers.sh"
export steps=${1:-64} plugstack=$run/etc/plugstack.conf
mkdir -p -- "$PCIE_IPC_RUN/measure" && cd -- "$PCIE_IPC_RUN/measure" || exit

# timed NAME OPTIONS...: the wall-clock time of a step of two tasks, in microseconds, to the file NAME
timed() {
    local start=${EPOCHREALTIME/./}
    srun -n2 --mpi=none "${@:2}" true 2>>log || exit
    echo $((${EPOCHREALTIME/./} - start)) >>"$1"
}

rounds() {
    local i line
    line=$(<"$plugstack")
    for ((i = 0; i < steps; i++)); do
        : >"$plugstack"
        timed none "$@"
        echo "$line" >"$plugstack"
        timed plain "$@"
        timed flag "$@" --pcie-ipc=ipc:off
    done
}
export -f timed rounds

# summary NAME: median and quarter marks in ms
summary() {
    sort -n "$1" | awk -v name="$1" '{ v[NR] = $1 / 1000 } END { printf "  %-28s median %7.2f   quarters %7.2f %7.2f\n",
        name, v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)] }'
}

# measure TITLE SYNTHETIC OPTIONS...
measure() {
    rm -f none plain flag log
    cluster_boot NODES=1 SYNTHETIC="$2" || exit
    salloc -Q -N1 -n2 "${@:3}" bash -c 'rounds "$@"' rounds "${@:3}" || exit
    cluster_halt
    echo "$1, $steps steps each, ms:"
    paste none plain | awk '{ print $2 - $1 }' >'plain - none'
    paste none flag | awk '{ print $2 - $1 }' >'flag - none'
    for name in none plain flag 'plain - none' 'flag - none'; do summary "$name"; done
    sort log | uniq -c | head -n 3
}

measure 'two GPUs of an invented topology' auto --gpus-per-node=2
measure "this machine's topology, no GPU" none
