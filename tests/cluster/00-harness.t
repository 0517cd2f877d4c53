#!/bin/bash
# The private cluster itself: what the other tests stand on
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"

cluster_start

test_expect_success 'srun runs on four nodes, each with its own host name' '
    srun -N4 -n4 hostname | sort | xargs >out && test "$(cat out)" = "n1 n2 n3 n4"'

test_expect_success 'the host name is the node name' '
    srun -N4 -n4 sh -c "test \$(hostname) = \$SLURMD_NODENAME"'

test_expect_success 'each node has a /dev/shm of its own' '
    srun -w n1 -n1 touch /dev/shm/one && srun -w n1 -n1 test -e /dev/shm/one && ! srun -w n2 -n1 test -e /dev/shm/one'

is 'files in /dev/shm are found' "$(shm_files n1)" /dev/shm/one
is 'and only there' "$(shm_files n2)" ''
is 'the sandbox has no such file' "$(ls -d /dev/shm/one 2>&1)" "ls: cannot access '/dev/shm/one': No such file or directory"

test_expect_success 'and a /run/pcie-ipc, which is not the one of the machine' '
    srun -w n1 -n1 touch /run/pcie-ipc/one && test -e "/proc/$(cat "$run/pid/n1")/root/run/pcie-ipc/one" &&
    ! srun -w n2 -n1 test -e /run/pcie-ipc/one && ! test -e /run/pcie-ipc/one'

test_expect_success 'two ranks of one node see the same processes' '
    srun -w n1 -n2 sh -c "echo \$\$ >pid.\$SLURM_PROCID; sleep 1; test -d /proc/\$(cat pid.\$((1 - SLURM_PROCID))) && sleep 1"'

test_expect_success 'PMIx exchanges data between 8 ranks on 2 nodes' '
    gcc $(pkg-config --cflags pmix) -o pmix_fence "$cluster_dir/pmix_fence.c" $(pkg-config --libs pmix) &&
    srun -N2 -n8 --ntasks-per-node=4 ./pmix_fence >out && test "$(sort -u out | grep -c "^rank [0-7] of 8$")" = 8'

test_expect_success 'Slurm shows eight GPUs, as files that access(2) grants' '
    srun -n1 --gpus-per-node=8 sh -c "echo \$CUDA_VISIBLE_DEVICES" >out && grep -qx 0,1,2,3,4,5,6,7 out &&
    srun -n1 --gpus-per-node=8 test -w "$devices/nvidia7"'

test_expect_success "an unprivileged user runs jobs and this build's programs" '
    as_user srun -N2 -n2 id -un >out && test "$(sort -u out)" = "$JOB_USER" &&
    { ! test -d "$cluster_prefix" || as_user ls "$cluster_prefix"; }'

test_expect_success 'batch jobs run, and their end can be waited for' '
    id=$(sbatch --parsable -o batch.out --wrap "srun hostname") && wait_job "$id" COMPLETED && grep -qx n1 batch.out'

test_expect_success 'a node can be drained, by its state and by srun seen, and resumed' '
    drain_node n2 "for a test" && wait_node n2 drained && ! srun --immediate=1 -w n2 true && resume_node n2 &&
    srun -w n2 true'

test_expect_success 'a node can die and come back' '
    kill_node n3 && start_slurmd n3 && wait_node n3 idle && srun -w n3 hostname | grep -qx n3'

test_expect_success "a program of the test runs on a node, and the node's log is at hand" '
    test "$(on_node n4 hostname)" = n4 && node_log n4 | grep -q "slurmd started"'

test_expect_success 'a client that hangs is ended' '
    start=$SECONDS && ! CLIENT_TIMEOUT=2 srun sleep 30 && test $((SECONDS - start)) -lt 15'

cluster_stop
is 'nothing of the cluster runs on' "$(cat /proc/[0-9]*/comm | grep -E 'slurm|munged')" ''

if cluster_start_constrained NODES=1; then
    test_expect_success 'with ConstrainDevices=yes a task is granted its own GPU and no other' '
        srun -n2 --gpus-per-task=1 sh -c "
            for gpu in \"$devices\"/nvidia*; do test -w \$gpu && echo \${gpu##*nvidia}; done | xargs" >out &&
        test "$(sort -u out | grep -cx "[0-7]")" = 2'
    cluster_stop
else
    skip 'with ConstrainDevices=yes a task is granted its own GPU and no other' "$cluster_reason"
fi

cluster_start NODES=2 GPUS=3 CPUS=5 SLURM_CONF_EXTRA='PrologFlags=Alloc'
test_expect_success 'nodes, GPUs, cores and slurm.conf can be chosen' '
    srun -N2 -n2 --gpus-per-node=3 sh -c "echo \$CUDA_VISIBLE_DEVICES" | sort -u | grep -qx 0,1,2 &&
    scontrol show node n2 | grep -q "CPUTot=5" && scontrol show config | grep -Eq "PrologFlags += Alloc"'
cluster_stop

test_expect_success 'a cluster that cannot come up says why' '
    ! cluster_boot PLUGSTACK="required /no/such.so" 2>why && grep -q "/no/such.so" why'
cluster_stop
test_expect_success 'an option that does not exist is refused' '
    ! cluster_boot NODE=3 2>why && grep -q "no option .NODE=3." why'

done_testing
