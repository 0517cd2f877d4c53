# shellcheck shell=bash disable=SC2034 # rank_status is for who asks
# ranks.sh - ranks as processes of this shell that meet over a socket: no Slurm is needed
#
#   . "$top/tests/lib/ranks.sh"
#
# run_ranks N SECONDS LOG COMMAND...     all ranks of it, each for so long at most (0: no limit). Rank 0's output goes to
#                                        LOG, the others' nowhere; errors of all go where this shell's go. 0, else the
#                                        status of a rank that failed
# start_ranks N SECONDS LOG COMMAND...   the same, not waited for: rank_pids has their processes, by rank; with a limit
#                                        that is timeout's
# wait_ranks                             rank_status gets the status of each; returns as run_ranks does
#
# rank_ways[R], where it is set, is what the plugin would tell of rank R's GPU (PCIE_IPC_WAY).
rank_pids=() rank_status=() rank_ways=()

start_ranks() {
    local n=$1 seconds=$2 log=$3 r out
    local -a limit=() way
    shift 3
    rank_pids=() rank_meeting=$(mktemp -d) # a new one each time
    [ "$seconds" = 0 ] || limit=(timeout -k 5 "$seconds")
    for ((r = 0; r < n; r++)); do
        way=() out=/dev/null
        [ -z "${rank_ways[r]-}" ] || way=(PCIE_IPC_WAY="${rank_ways[r]}")
        [ "$r" != 0 ] || out=$log
        env PCIE_IPC_EXCHANGE=socket PCIE_IPC_DIR="$rank_meeting" PCIE_IPC_LOCAL_RANK=$r PCIE_IPC_LOCAL_SIZE="$n" \
            "${way[@]}" "${limit[@]}" "$@" >"$out" &
        rank_pids[r]=$!
    done
}

wait_ranks() {
    local r status=0
    rank_status=()
    for r in "${!rank_pids[@]}"; do
        rank_status[r]=0
        wait "${rank_pids[r]}" || status=$? rank_status[r]=$?
    done
    rm -rf -- "$rank_meeting"
    return "$status"
}

run_ranks() {
    start_ranks "$@"
    wait_ranks
}
