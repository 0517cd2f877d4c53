# shellcheck shell=bash
# shellcheck disable=SC2154
# nodes.sh - jobs over several nodes, some of ./faults that make calls without end; for 50-nodes.t, 51-nodes-failures.t and
# 52-nodes-tables.t
#
# build_faults                      compiles it against what is installed
# begin NAME NODES RANKS OPTION...  a job with RANKS ranks on each of these nodes; returns when all are at it
# end NAME                          ends it
# end_steps                         all that are left, at once: those of nodes that were cut off would wait for an answer
# said NAME ERE                     how many of its ranks have said so
# pids_of NODE                      its ranks on that node
# now_ms                            the time of day
# named_in_time NAME NODE SINCE MSEC RANK...   each rank has an error that names the node, or a rank of it, MSEC after SINCE at most
# all_zero FILE ROWS                the benchmark's table has ROWS rows and every #wrong in them is 0

build_faults() {
    gcc -std=c11 -D_GNU_SOURCE -Wall -O2 -o faults "$cluster_dir/faults.c" -I"$cluster_prefix/include" \
        -L"$cluster_prefix/lib" -Wl,-rpath,"$cluster_prefix/lib" -lpcie-ipc
}

said() {
    cat "$1".[0-9]* 2>/dev/null | grep -c -e "$2"
}

all_say() {
    [ "$(said "$1" "$2")" = "$3" ]
}

begin() {
    local count
    count=$(($(tr ',' '\n' <<<"$2" | wc -l) * $3))
    /usr/bin/srun -w "$2" -n$count --ntasks-per-node="$3" --exclusive --no-kill --kill-on-bad-exit=0 -J "$1" -o "$PWD/$1.%t" \
        ./faults --until-lost "${@:4}" 2>"$1.err" &
    until_true 15 all_say "$1" going $count || { cat "$1.err"; return 1; }
}

end() {
    local id
    id=$(squeue -h -n "$1" -o %A)
    [ -z "$id" ] || scancel "$id"
}

end_steps() {
    local pids
    pids=$(family "$(steps)")
    # shellcheck disable=SC2086 # a list of numbers
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
    true
}

pids_of() {
    local pid
    for pid in $(ip netns pids "$1"); do ! grep -qx faults "/proc/$pid/comm" || echo "$pid"; done
}

now_ms() {
    date +%s%3N
}

named_in_time() {
    local name=$1 node=$2 since=$3 most=$4 rank at
    shift 4
    for rank in "$@"; do
        until_true 12 grep -q 'error after' "$name.$rank" || { echo "rank $rank says nothing"; return 1; }
        cat "$name.$rank"
        at=$(sed -n 's/.*error after \([0-9]*\) ms.*/\1/p' "$name.$rank")
        grep 'error after' "$name.$rank" | grep -qw "on $node" && test $((at - since)) -le "$most" || { echo "after $((at - since)) ms"; return 1; }
    done
}

all_zero() {
    awk -v want="$2" '/^ / { rows++; if ($9 != 0 || $13 != 0) bad++ } END { exit !(rows == want && !bad) }' "$1"
}
