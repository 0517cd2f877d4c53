#!/bin/bash
# Communicators over several nodes: what is refused, on every rank; tables by measurement; what goes over the wire
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cluster/nodes.sh
. "$cluster_dir/nodes.sh"

grep -q 'define HAVE_UCX 1' "$cluster_build/config.h" ||
    skip_all 'built without UCX: ranks on several nodes are refused (20-allreduce.t)'
cluster_start NODES=4 GPUS=0 PLUGSTACK=none ISOLATE=net

test_expect_success 'a program builds against the installed headers and library' 'build_faults'

# --- what is refused, on every rank

# refused WORDS COMMAND...: it ends with 2 or 3, and every rank says WORDS
refused() {
    local words=$1 got=0
    shift
    "$@" >refused 2>&1 || got=$?
    cat refused
    test "$got" = 2 -o "$got" = 3 && test "$(grep -c "$words" refused)" = 4
}

test_expect_success 'a plan of one node' '
    refused "for ranks of one node" srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench --plan two-shot -b 8 -e 8'
test_expect_success 'a rank that asks for another plan than the others' '
    refused "have different plans" srun -N2 -n4 --ntasks-per-node=2 ./faults --mismatch 2'
test_expect_success 'ranks of one node that disagree on what a node is' '
    refused "different wishes of what a node is (PCIE_IPC_NODES)" srun -N1 -n4 sh -c "
        test \$SLURM_PROCID = 2 || export PCIE_IPC_NODES=split; exec pcie-ipc-bench -b 8 -e 8"'
# A table of this machine's own: two nodes of 2 ranks, with the other plan for all sizes.
cat >with_table <<'END'
#!/bin/sh
test "$SLURM_NODEID" = 0 || export PCIE_IPC_TABLE=$PWD/other.table
exec "$@"
END
chmod +x with_table
printf '%s\n' 'table 1' 'topology 0' 'gpu cpu' 'build 0.1.0' 'up-to max eager nodes graph nodes' >other.table
test_expect_success 'nodes with different tables, before the first byte' '
    refused "has another table" srun -N2 -n4 --ntasks-per-node=2 ./with_table pcie-ipc-bench -b 8 -e 8'
# Another release on the second node: this one, with another version's name in its library.
cat >with_newer <<'END'
#!/bin/sh
test "$SLURM_NODEID" = 0 || export LD_LIBRARY_PATH=$PWD/newer
exec "$@"
END
chmod +x with_newer
test_expect_success 'nodes with different releases, before the first byte' '
    version=$(sed -n "s/^#define PACKAGE_VERSION \"\(.*\)\"/\1/p" "$cluster_build/config.h") && mkdir newer &&
    cp -a "$cluster_prefix"/lib/libpcie-ipc.so.* newer/ && LC_ALL=C sed -i "s/$version/${version%?}x/g" newer/libpcie-ipc.so.*.*.* &&
    refused "has another pcie-ipc (.*install the same on every node" srun -N2 -n4 --ntasks-per-node=2 ./with_newer ./faults --calls 1 &&
    grep -q "${version%?}x" refused'
test_expect_success 'the same table on all of them is taken' '
    PCIE_IPC_TABLE=$PWD/other.table srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 8 -e 8 -n 1 >out && all_zero out 1 &&
    grep -q " nodes  " out'
test_expect_success 'a table of one node is passed over, with a line' '
    sed "s/nodes/ring/g" other.table >ring.table &&
    PCIE_IPC_TABLE=$PWD/ring.table srun -N2 -n4 --ntasks-per-node=2 pcie-ipc-bench -b 8 -e 8 -n 1 >out 2>err && all_zero out 1 &&
    grep -q "ring.table: its plans are for one node" err'

# --- a table by measurement

# Each node has a home of its own, and where KIND says so the second one another kind of processor.
cat >own_home <<'END'
#!/bin/sh
export XDG_CONFIG_HOME=$PWD/home.$SLURM_NODEID
if [ "${KIND-}" = other ] && [ "$SLURM_NODEID" = 1 ]; then
    sed 's/^model name.*/model name : another one/' /proc/cpuinfo >"cpuinfo.$SLURM_LOCALID"
    mount --bind "cpuinfo.$SLURM_LOCALID" /proc/cpuinfo
fi
exec "$@"
END
chmod +x own_home
test_expect_success 'pcie-ipc-tune measures the plans over nodes, and writes the same rows on each node' '
    srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 ./own_home pcie-ipc-tune -b 8K -e 12K -n 2 >out && cat out &&
    grep -q "12288 eager nodes" out && cat home.0/pcie-ipc/tables/*.table &&
    test "$(ls home.0/pcie-ipc/tables)" = "$(ls home.1/pcie-ipc/tables)" &&
    grep -q "4 ranks on 2 nodes of 2 ranks, 2 rails" home.1/pcie-ipc/tables/*.table &&
    test "$(grep -c "^time .* eager nodes" home.0/pcie-ipc/tables/*.table)" = 6 &&
    diff <(grep -v "^#" home.0/pcie-ipc/tables/*.table) <(grep -v "^#" home.1/pcie-ipc/tables/*.table)'
test_expect_success 'ranks of this shape are ruled by it, others not' '
    srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 ./own_home pcie-ipc-bench -b 8 -e 8 -n 1 -J "$PWD/out.json" >out && all_zero out 1 &&
    grep -q "\"table\": \"$PWD/home.0/pcie-ipc/tables/" out.json &&
    srun -w n1,n2 -N2 -n2 ./own_home pcie-ipc-bench -b 8 -e 8 -n 1 -J "$PWD/out.json" >out && all_zero out 1 &&
    grep -q "\"table\": \"shipped\"" out.json'
test_expect_success 'where one node has lost it the job is refused' '
    rm -r home.1 && refused "has another table" srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 ./own_home pcie-ipc-bench -b 8 -e 8'
test_expect_success 'nodes of two kinds get no table but by name' '
    rm -r home.0 && export KIND=other &&
    refused "the nodes are of several kinds .*-o FILE" \
        srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 unshare -m ./own_home pcie-ipc-tune -b 8K -e 8K -n 1 &&
    srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 unshare -m ./own_home pcie-ipc-tune -b 8K -e 8K -n 1 -o "$PWD/named.table" >out &&
    PCIE_IPC_TABLE=$PWD/named.table srun -w n1,n2 -N2 -n4 --ntasks-per-node=2 unshare -m ./own_home pcie-ipc-bench -b 8 -e 8 -n 1 >out &&
    all_zero out 1; ended=$?; unset KIND; test "$ended" = 0'

# --- what goes over the wire

# planned NODES RANKS BYTES [PLAN]: what a node has to send in a call
planned() {
    pcie-ipc-plan --topo "1x[sw:$2gpu+1nic]" --nodes "$1" --plan "${4-nodes}" --bytes "$3" --profile cpu --json |
        awk '/"nic_bytes"/ { printf "%.0f", $2; exit }' # the first: of the plan, not of what it is compared with
}

# within_3 GOT WANT
within_3() {
    test $(($1 * 100)) -ge $(($2 * 97)) -a $(($1 * 100)) -le $(($2 * 103))
}

# wire NODES RANKS BYTES [PLAN]: of calls of BYTES, what n1 has sent and got for one of them is what the plan says
wire() {
    local calls=$((32 * 1024 * 1024 / $3)) before after want sent got
    want=$(planned "$@") && before=$(net_payload n1) || return
    # Nodes by name: the job before may not have left n1 yet.
    srun -w "n[1-$1]" -N"$1" -n$(($1 * $2)) --ntasks-per-node="$2" ./faults --plan "${4-nodes}" --bytes "$3" --calls "$calls" >out || return
    after=$(net_payload n1)
    sent=$(((${after% *} - ${before% *}) / calls)) got=$(((${after#* } - ${before#* }) / calls))
    echo "$1 nodes of $2 ranks, $3 bytes: sent $sent, got $got, planned $want"
    within_3 $sent "$want" && within_3 $got "$want"
}

# Halving and doubling on 2 and 4 nodes, a ring on 3
for case in 2x1:1048576 2x2:1048576 3x1:1048576 3x2:1048576 4x1:1048576 4x2:1048576 2x2:16777216 3x1:16777216 4x2:16777216; do
    IFS=x: read -r nodes ranks bytes <<<"$case"
    test_expect_success "$nodes nodes of $ranks, $bytes bytes: the wire has what the plan says, within 3 %" "wire $nodes $ranks $bytes"
done
test_expect_success '4x1, 128 KB: nodes-lean sends least, however little it is' 'wire 4 1 131072 nodes-lean'
test_expect_fail 'and nodes sends more' 'within_3 "$(planned 4 1 131072)" "$(planned 4 1 131072 nodes-lean)"'
test_expect_fail 'the plan of another number of nodes would not fit' 'within_3 "$(planned 3 1 1048576)" "$(planned 4 1 1048576)"'

cluster_stop
done_testing
