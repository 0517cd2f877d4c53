#!/bin/bash
# Ranks meet without PMIx: over a socket in the step's directory, or not at all, and say so
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

cluster_start GPUS=4 PLUGSTACK=none

export PKG_CONFIG_PATH=$cluster_prefix/lib/pkgconfig
# compile FILE: against the installed headers and library, as a user would
compile() {
    # shellcheck disable=SC2046 # words
    gcc -std=c11 -D_GNU_SOURCE -Wall -O2 -pthread -o "${1%.c}" "$cluster_dir/$1" \
        $(pkg-config --cflags --libs pcie-ipc) -Wl,-rpath,"$cluster_prefix/lib"
}

test_expect_success 'programs build by pkg-config' 'compile faults.c && compile communicators.c'

# What the plugin does in task_init, for a node without it: a directory for each step, on each node.
steps=$test_dir/steps
mkdir -m 1777 "$steps"
cat >in-dir <<END
#!/bin/sh
PCIE_IPC_DIR=$steps/\$SLURMD_NODENAME.\$(id -u).\$SLURM_JOB_ID.\$SLURM_STEP_ID
mkdir -m 0700 "\$PCIE_IPC_DIR" 2>/dev/null
export PCIE_IPC_DIR
exec "\$@"
END
chmod 755 in-dir
in_dir=$PWD/in-dir

# exits STATUS COMMAND...: it ends with that status
exits() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    test "$got" = "$want"
}

# right FILE N: N ranks said so
right() {
    test "$(grep -c right "$1")" = "$2" && ! grep -q wrong "$1"
}

# all_right FILE: the benchmark says so, and there is a table
all_right() {
    grep -q 'all results are right' "$1" && grep -q '^ ' "$1"
}

# left: what is in the steps' directories
left() {
    find "$steps" -mindepth 2
}

test_expect_success 'AllReduce is right: every type, 4 ranks, 8 ranks' '
    srun -N1 -n4 --mpi=none "$in_dir" pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 -d all >out && all_right out &&
    srun -N1 -n8 --overcommit --mpi=none "$in_dir" pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_right out'

test_expect_success 'an unprivileged user gets the same' '
    as_user srun -N1 -n4 --mpi=none "$in_dir" pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_right out'

test_expect_success 'a communicator a node, on two nodes' '
    srun -N2 -n6 --ntasks-per-node=3 --mpi=none "$in_dir" ./communicators >out && right out 6'

test_expect_success 'several communicators, after each other, at the same time, in threads' '
    srun -N1 -n3 --mpi=none "$in_dir" ./communicators >out && right out 3 &&
    srun -N1 -n3 --mpi=none "$in_dir" ./communicators --threads >out && right out 3'

test_expect_success 'two steps of a job at the same time do not meet' '
    salloc -N1 -n4 --overcommit bash -c "
        srun --overlap -n2 --mpi=none $in_dir ./communicators >one & srun --overlap -n2 --mpi=none $in_dir ./communicators >two
        wait" && right one 2 && right two 2'

test_expect_success 'late is not dead: a rank comes 3 s after the others' '
    srun -N1 -n3 --mpi=none "$in_dir" sh -c "test \$SLURM_PROCID != 1 || sleep 3; exec ./faults --calls 3" >out &&
    right out 3'
is 'nothing is left in the directories after all that' "$(left)" ''

test_expect_success 'ranks on two nodes are refused without PMIx, and told what to do' '
    exits 3 srun -N2 -n4 --ntasks-per-node=2 --mpi=none "$in_dir" ./faults >out'
is 'all of them' "$(grep -c '4 ranks, 2 of them on this node.*scope node' out)" 4

# One rank is killed while it waits for the others: by rank 2, who itself comes a second later.
killed_while_meeting() {
    cat >killing <<END
#!/bin/sh
echo \$\$ >pid.\$SLURM_PROCID
if [ "\$SLURM_PROCID" = 2 ]; then
    sleep 1
    kill -KILL "\$(cat pid.$1)"
    sleep 1
fi
exec ./faults
END
    chmod 755 killing
    SECONDS=0
    srun -N1 -n4 --kill-on-bad-exit=0 --mpi=none "$in_dir" ./killing >out 2>&1
    test "$SECONDS" -lt 15 && cat out
}
test_expect_success 'a rank killed while the ranks meet is named by those who wait and by one who comes later' '
    killed_while_meeting 1 && test "$(grep -c "error after.*: rank 1 (process $(cat pid.1) on n[1-4]) ended" out)" = 3'
is 'nothing is left by that either' "$(left)" ''
test_expect_success 'so is local rank 0, by whom the others meet' '
    killed_while_meeting 0 && test "$(grep -c "error after.*: local rank 0 .*ended" out)" = 3'
test_expect_success 'its socket does not disturb the step that comes after it' '
    srun -N1 -n3 --mpi=none "$in_dir" ./communicators >out && right out 3'
test_expect_success 'a rank killed in mid-AllReduce is named, as with PMIx' '
    srun -N1 -n4 --kill-on-bad-exit=0 --mpi=none "$in_dir" ./faults --kill 1 >out 2>&1
    test "$(grep -c "error after.*rank 1 (process [0-9]* on n[1-4])" out)" = 3'

test_expect_success 'a directory that others can enter is refused' '
    mkdir -m 0755 open && chmod 0755 open &&
    PCIE_IPC_DIR=$PWD/open exits 3 srun -N1 -n2 --mpi=none ./faults >out'
like 'with its mode' "$(cat out)" 'open has mode 0755; .*chmod 0700'

test_expect_success 'one rank needs nothing to meet by' '
    srun -N1 -n1 --mpi=none ./communicators >out && right out 1 && ./communicators >out && right out 1'
test_expect_success 'a batch script, where SLURM_LOCALID is 0 in every process, is one rank' '
    printf "#!/bin/sh\n./communicators >batch.out\n" >job &&
    sbatch -W -N1 -n4 -o /dev/null job && right batch.out 1'
test_expect_success 'more ranks than one are not each alone' '
    exits 3 srun -N1 -n2 --mpi=none ./faults >out'
is 'and hear of both remedies' "$(grep -c '2 ranks.*srun --mpi=pmix.*srun --pcie-ipc' out)" 2

test_expect_success 'PMIx that is announced and does not answer gives way to the socket' '
    PMIX_NAMESPACE=slurm.pmix.9.9 PMIX_RANK=0 srun -N1 -n2 --mpi=none "$in_dir" ./communicators >out && right out 2'
test_expect_success 'PCIE_IPC_EXCHANGE chooses' '
    PCIE_IPC_EXCHANGE=socket srun -N1 -n2 --mpi=pmix "$in_dir" ./communicators >out && right out 2 &&
    PCIE_IPC_EXCHANGE=pmix exits 3 srun -N1 -n2 --mpi=none "$in_dir" ./faults >out && grep -q PMIx_Init out'

is 'nothing is left in /dev/shm' "$(shm_files n1)$(shm_files n2)" ''
cluster_stop

# The same where the plugin makes the directory
cluster_start GPUS=4
srun -N1 -n1 --mpi=none --pcie-ipc sh -c 'echo "$PCIE_IPC_DIR"' >plugin.dir 2>/dev/null
if [ -n "$(cat plugin.dir)" ]; then
    test_expect_success 'srun --pcie-ipc alone is enough' '
        srun -N1 -n4 --mpi=none --pcie-ipc ./communicators >out && right out 4 &&
        as_user srun -N2 -n4 --ntasks-per-node=2 --mpi=none --pcie-ipc "$PWD/communicators" >out && right out 4'
    test_expect_success 'two steps at the same time do not meet' '
        salloc -N1 -n4 --overcommit bash -c "
            srun --overlap -n2 --mpi=none --pcie-ipc ./communicators >one &
            srun --overlap -n2 --mpi=none --pcie-ipc ./communicators >two
            wait" && right one 2 && right two 2'
    grep -q 'define HAVE_UCX 1' "$cluster_build/config.h" && test_expect_success 'nodes:split: ranks of one node as two, by the socket and by PMIx' '
        for mpi in none pmix; do
            srun -N1 -n4 --mpi=$mpi --pcie-ipc=nodes:split:2 pcie-ipc-bench -b 8 -e 64K -f 64 -n 2 >out && all_right out &&
                grep -q "2 nodes of 2 ranks, 2 rails (PCIE_IPC_NODES=split)" out || return
        done'
    test_expect_fail 'the directory is gone after the step' 'test -e "$(cat plugin.dir)"'
else
    skip 'srun --pcie-ipc alone is enough' 'this plugin makes no directory'
fi
cluster_stop
done_testing
