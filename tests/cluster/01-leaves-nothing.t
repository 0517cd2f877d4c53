#!/bin/bash
# However the private cluster ends, nothing of it is left: no process, namespace, mount, socket, cgroup or file
# shellcheck disable=SC2016,SC2317 # the tests' code is for later and calls the functions
here=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck source=tests/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=tests/cluster/cgroups.sh
. "$here/cgroups.sh"

[ "$(id -u)" = 0 ] || skip_all 'the private cluster needs root'

# What a cluster runs in these tests: it tells its namespaces, leaves a job running and a file on a node, and goes on.
cat >busy <<'END'
#!/bin/bash
readlink /proc/self/ns/{pid,mnt,net,ipc,uts,cgroup} >$1
srun -N2 -n2 --gpus-per-node=1 sh -c 'touch /dev/shm/left /run/pcie-ipc/left; echo >&2; exec sleep 1000' 2>started &
until [ "$(wc -l <started)" = 2 ]; do sleep 0.1; done
touch up
[ "$2" = stay ] || exit "$2"
exec sleep 1000
END
chmod 755 busy

# begin_cluster STATUS|stay: run it in the background until it is busy; $cluster is its process
begin_cluster() {
    rm -f up started namespaces
    grep -v ' cgroup' /proc/self/mountinfo | sort >mounts.before
    env --default-signal=INT "$here/with-cluster" "$constrain" -- "$PWD/busy" "$PWD/namespaces" "$1" &
    cluster=$!
    local end=$((SECONDS + 40))
    until [ -e up ]; do
        if ! kill -0 "$cluster" || [ "$SECONDS" -ge "$end" ]; then echo 'the cluster did not start' && return 1; fi
        sleep 0.1
    done
}

# nothing_left: prints what is
nothing_left() {
    local file left=0
    if readlink /proc/[0-9]*/ns/* 2>/dev/null | sort -u | grep -xF -f namespaces; then left=1; fi
    if grep -lsa "PCIE_IPC_RUN=/run/pcie-ipc.$cluster" /proc/[0-9]*/environ; then left=1; fi
    if grep -lsa "pcie-ipc[.]$cluster" /proc/[0-9]*/cmdline; then left=1; fi
    if cgroups_ids | grep -x "pcie-ipc.$cluster"; then left=1; fi
    if ls -d "/run/pcie-ipc.$cluster" 2>/dev/null; then left=1; fi
    if grep "pcie-ipc.$cluster" /proc/net/unix; then left=1; fi
    for file in /dev/shm/left /run/pcie-ipc/left; do
        if [ -e "$file" ]; then echo "$file" && left=1; fi
    done
    grep -v ' cgroup' /proc/self/mountinfo | sort | diff mounts.before - || left=1
    return "$left"
}

# soon: the kernel and the janitor get a moment after kill -9
soon() {
    local end=$((SECONDS + 10))
    until "$@" >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { "$@"; return; }
        sleep 0.1
    done
}

status_of() {
    wait "$cluster"
    [ $? = "$1" ]
}

constrain=CONSTRAIN_DEVICES=yes
[ "$("$here/sandbox" -- sh -c 'echo $PCIE_IPC_SANDBOX')" != none ] || constrain=CONSTRAIN_DEVICES=no
diag "with $constrain"

test_expect_success 'after success, with a job still running' '
    begin_cluster 0 && status_of 0 && nothing_left'

test_expect_success 'after failure, whose status comes through' '
    begin_cluster 3 && status_of 3 && nothing_left'

test_expect_success 'while it runs, the check sees it' '
    begin_cluster stay && ! nothing_left'

test_expect_success 'after SIGINT' '
    kill -INT $cluster && status_of 130 && nothing_left'

test_expect_success 'after SIGTERM' '
    begin_cluster stay && kill -TERM $cluster && status_of 143 && nothing_left'

test_expect_success 'after SIGKILL' '
    begin_cluster stay && kill -KILL $cluster && status_of 137 && soon nothing_left'

test_expect_success 'after SIGKILL of all that would clean up, once the next one starts' '
    begin_cluster stay && janitor=$(grep -lsa -e "--janitor.*pcie-ipc[.]$cluster" /proc/[0-9]*/cmdline | cut -d/ -f3) &&
    kill -KILL $janitor $cluster && status_of 137 && sleep 1 && ls -d "/run/pcie-ipc.$cluster" &&
    "$here/sandbox" true && soon nothing_left'

test_expect_success 'a cluster beside another one takes nothing from it' '
    begin_cluster stay && "$here/with-cluster" NODES=1 -- srun hostname && kill -0 $cluster && ! nothing_left &&
    kill -TERM $cluster && status_of 143 && nothing_left'

test_expect_success 'a cluster that does not come up' '
    "$here/with-cluster" NODES=1 "PLUGSTACK=required /no/such.so" -- true & cluster=$!
    status_of 71 && nothing_left'

done_testing
