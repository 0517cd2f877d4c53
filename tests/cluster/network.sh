# shellcheck shell=bash
# shellcheck disable=SC2154
# network.sh - a network namespace for each node: ISOLATE=net. To be sourced by cluster.sh.
#
#     sandbox   br0 10.98.0.1 -- v1 ===== eth0 10.98.0.11   node n1, and what runs on it
#                             \_ v2 ===== eth0 10.98.0.12   node n2
#
# slurmctld and srun are in the sandbox's own namespace.  NET_RATE=500mbit limits each direction of each pair by tbf, so
# that the wire is the narrow place.  Packets are as large as tbf's burst lets pass: the counters then show data and
# hardly any headers.  NET_RELAY=n2 puts relay.c into that node's cable, which loses nothing at first:
#
#                             \_ v2 == relay == eth0 10.98.0.12   node n2
#
# Everything ends with the sandbox.
#
# net_bytes NODE      bytes that the node has sent and has got, as "OUT IN"
# net_payload NODE    the same without the headers of TCP, IP and Ethernet
# net_cut NODE        its cable is pulled; net_mend NODE puts it back
# net_limit RATE      another rate for all nodes (none: no limit)

net_is_apart() {
    [ "${cluster_option[ISOLATE]}" = net ]
}

net_address() {
    echo "10.98.0.$((10 + ${1#n}))"
}

# net_counts NODE: bytes and packets that the bridge's end has got, which is what the node has sent, and that it has sent
net_counts() {
    ip -s -o link show dev "v${1#n}" |
        sed 's/.*RX:[^\\]*\\ *\([0-9]*\) *\([0-9]*\) .*TX:[^\\]*\\ *\([0-9]*\) *\([0-9]*\) .*/\1 \2 \3 \4/'
}

net_bytes() {
    local out in
    read -r out _ in _ < <(net_counts "$1")
    echo "$out $in"
}

# 14 bytes of Ethernet, 20 of IP, 20 of TCP and 12 of its time stamps for each packet, as the kernel counts: up to 64 KB in
# one, which a card would cut to its MTU.  So nothing has to be known of what a wire's packets would be, and an answer
# without data counts nothing, whatever their number.
net_payload() {
    local out out_packets in in_packets
    read -r out out_packets in in_packets < <(net_counts "$1")
    echo "$((out - 66 * out_packets)) $((in - 66 * in_packets))"
}

net_cut() {
    ip link set "v${1#n}" down
}

net_mend() {
    ip link set "v${1#n}" up
}

# limit_device RATE IP_OPTION... DEVICE
limit_device() {
    local rate=$1 command=(tc)
    shift
    if [ $# = 3 ]; then command=(ip netns exec "$2" tc) && shift 2; fi
    "${command[@]}" qdisc del dev "$1" root 2>/dev/null
    [ "$rate" = none ] || "${command[@]}" qdisc add dev "$1" root tbf rate "$rate" burst 128kb latency 100ms
}

net_limit() {
    local number
    for ((number = 1; number <= cluster_option[NODES]; number++)); do
        limit_device "$1" "v$number" && limit_device "$1" -n "n$number" eth0 || return
    done
}

# The write end of each relay's input, by node
declare -A relay_input=()

net_relayed() {
    tail -n 1 "$run/log/relay.$1"
}

# The answer tells that it was heard.
net_relay() {
    local answers
    answers=$(wc -l <"$run/log/relay.$1")
    echo "$2 $3" >&"${relay_input[$1]}" && until_true 5 relay_has_answered "$1" "$answers"
}

relay_has_answered() {
    [ "$(wc -l 2>/dev/null <"$run/log/relay.$1")" -gt "$2" ]
}

# start_relay NODE: both of its ends are there when it has answered for the first time.
start_relay() {
    local input
    [ -x "$run/relay" ] || gcc -std=c11 -D_GNU_SOURCE -O2 -o "$run/relay" "$cluster_dir/relay.c" || return
    : >"$run/log/relay.$1"
    exec {input}> >(exec "$run/relay" "$1" eth0 "v${1#n}" >>"$run/log/relay.$1")
    relay_input[$1]=$input
    until_true 5 relay_has_answered "$1" 0
}

end_relays() {
    local node input
    for node in "${!relay_input[@]}"; do
        input=${relay_input[$node]}
        exec {input}>&-
        unset "relay_input[$node]"
    done
}

net_hosts() {
    local number
    echo '127.0.0.1 localhost'
    echo '10.98.0.1 login'
    for ((number = 1; number <= cluster_option[NODES]; number++)); do echo "$(net_address "n$number") n$number"; done
}

net_cable() {
    if [ "$1" = "${cluster_option[NET_RELAY]}" ]; then
        start_relay "$1"
    else
        ip link add "$2" type veth peer name eth0 netns "$1"
    fi
}

# net_node NODE: its namespace, joined to the bridge
net_node() {
    local device=v${1#n}
    ip netns add "$1" &&
        net_cable "$1" "$device" &&
        ip link set "$device" master br0 up &&
        ip -n "$1" link set lo up &&
        ip -n "$1" address add "$(net_address "$1")/24" dev eth0 &&
        ip -n "$1" link set eth0 up
}

# What an earlier cluster of this sandbox left goes first.
net_clear() {
    local name
    end_relays
    for name in $(ip netns list 2>/dev/null | awk '{ print $1 }'); do ip netns delete "$name"; done
    ! ip link show br0 >/dev/null 2>&1 || ip link delete br0
    printf '%s\n' '127.0.0.1 localhost' '10.99.0.1 login n1 n2 n3 n4 n5 n6 n7 n8' >"$PCIE_IPC_RUN/hosts"
}

net_make() {
    local number
    net_clear
    net_is_apart || return 0
    net_hosts >"$PCIE_IPC_RUN/hosts"
    ip link add br0 type bridge && ip address add 10.98.0.1/24 dev br0 && ip link set br0 up || return
    for ((number = 1; number <= cluster_option[NODES]; number++)); do net_node "n$number" || return; done
    net_limit "${cluster_option[NET_RATE]}"
}
