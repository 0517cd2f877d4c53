#!/bin/bash
# containers.t - ranks in namespaces of their own, as container engines make them: what keeps them apart is
# named in one line by all of them, what does not matter does not
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

bench=$PIPC_BUILDDIR/pcie-ipc-bench
unset PCIE_IPC_TABLE PCIE_IPC_PLAN PCIE_IPC_PATH PMIX_NAMESPACE SLURM_STEP_ID SLURM_JOB_ID PCIE_IPC_REPORT
export PCIE_IPC_EXCHANGE=socket PCIE_IPC_TABLE=none

# rank N COMMAND...: the benchmark as rank N of two, started by COMMAND; 16 MB need more than a small /dev/shm
# would have room for beside the staging
rank() {
    local n=$1
    shift
    PCIE_IPC_DIR=$meet PCIE_IPC_LOCAL_SIZE=2 PCIE_IPC_LOCAL_RANK=$n timeout 60 "$@" "$bench" --backend cpu \
        -b 1K -e 16M -f 16 -n 2 -w 0 -c 1 >"out.$n" 2>"err.$n"
}

# pair COMMAND0 COMMAND1: two ranks, each started by its words; their exit statuses in $status
pair() {
    local s0=0 s1=0
    meet=$(mktemp -d "$test_dir/meet.XXXX")
    # shellcheck disable=SC2086 # words
    rank 1 $2 &
    # shellcheck disable=SC2086
    rank 0 $1 || s0=$?
    wait $! || s1=$?
    status="$s0 $s1"
}

# small_shm COMMAND...: with a /dev/shm of its own, of 64 MB
cat >small_shm <<'END'
#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"' sh "$@"
END
# full_shm COMMAND...: and one in which there is no room at all
cat >full_shm <<'END'
#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"' sh "$@"
END
chmod +x small_shm full_shm

pair env env
is 'without any they meet' "$status" '0 0'

# together NAME COMMAND...: both ranks started by COMMAND, and they meet
together() {
    local name=$1
    shift
    if ! "$@" true 2>why; then
        skip "$name" "$(head -n 1 why)"
        return
    fi
    pair "$*" "$*"
    is "$name" "$status $(cat err.0 err.1)" '0 0 '
}

# apart NAME KIND COMMAND0 COMMAND1: they don't, and both say that it is their KIND namespaces
apart() {
    if ! $3 true 2>why || ! $4 true 2>why; then
        skip "$1" "$(head -n 1 why)"
        return
    fi
    pair "$3" "$4"
    is "$1: both fail" "$status" '2 2'
    for n in 0 1; do
        is "$1: rank $n says one line" "$(wc -l <"err.$n")" 1
        like "$1: it is the $2 namespaces" "$(cat "err.$n")" \
            "ranks 0 and 1 on .* are in different $2 namespaces \(containers\) .*; start both in one container or share the $2 namespace"
    done
}

together 'a private /dev/shm each' ./small_shm
together 'a /dev/shm without room each' ./full_shm
together 'IPC namespaces of their own' unshare --ipc
together 'network namespaces of their own' unshare --net
together 'mount namespaces of their own' unshare --mount

new_pid='unshare --pid --fork --mount-proc'
apart 'one in another PID namespace' PID env "$new_pid"
apart 'each in a PID namespace' PID "$new_pid" "$new_pid"
apart 'the same number in each' PID "unshare --pid --fork" "unshare --pid --fork"
apart 'one in another user namespace' user env 'unshare --user --map-root-user'
apart 'each in a user namespace' user 'unshare --user --map-root-user' 'unshare --user --map-root-user'

# One container for both: a PID namespace of their own around the pair
cat >both <<'END'
#!/bin/bash
PCIE_IPC_LOCAL_RANK=1 "$@" >out.1 2>err.1 &
PCIE_IPC_LOCAL_RANK=0 "$@" >out.0 2>err.0 && wait $!
END
chmod +x both
if unshare --user --map-root-user --pid --fork --mount-proc true 2>why; then
    meet=$(mktemp -d "$test_dir/meet.XXXX")
    test_expect_success 'both in one container' '
        PCIE_IPC_DIR=$meet PCIE_IPC_LOCAL_SIZE=2 timeout 60 unshare --user --map-root-user --pid --fork --mount-proc \
            ./both "$bench" --backend cpu -b 1K -e 16K -n 2 -w 0 -c 1'
else
    skip 'both in one container' "$(head -n 1 why)"
fi
done_testing
