#!/bin/bash
# Under MPS, one client a GPU: calls are right, a client that is killed is named to the other one, and
# the server goes on. The daemon is this test's own, in folders of its own, and ends with it.
#   PIPC_BUILDDIR=builddir [WITHIN=200] tests/gpu/mps.t     WITHIN: fail where naming it took more ms
# shellcheck disable=SC2016,SC2034,SC2317 # the tests' code is evaluated later
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${PIPC_BUILDDIR:-$top}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

[ -x "$build/tests/gpu/killed" ] || skip_all 'built without CUDA'
[ -z "${CUDA_MPS_PIPE_DIRECTORY-}" ] || skip_all 'CUDA_MPS_PIPE_DIRECTORY is set: another daemon is in use'
type -P nvidia-cuda-mps-control >/dev/null || skip_all 'no nvidia-cuda-mps-control here'

export CUDA_MPS_PIPE_DIRECTORY=$PWD/pipe CUDA_MPS_LOG_DIRECTORY=$PWD/log
mkdir pipe log

# control COMMAND: to the daemon; it must not hold this test's output, nor keep it waiting
control() {
    echo "$1" | timeout 20 nvidia-cuda-mps-control
}

daemon_pid() {
    cat pipe/nvidia-cuda-mps-control.pid 2>/dev/null
}

is_running() {
    [ -n "$1" ] && kill -0 "$1" 2>/dev/null
}

# stop_daemon: by its own command, else by force; true when it is gone
stop_daemon() {
    local pid=$daemon i
    is_running "$pid" || return 0
    control quit >quit.log 2>&1
    for ((i = 0; i < 100; i++)); do
        is_running "$pid" || return 0
        sleep 0.1
    done
    kill -KILL "$pid"
    return 1
}

servers_are_gone() {
    local server
    while read -r server; do
        ! is_running "$server" || return 1
    done <servers
}

timeout 20 nvidia-cuda-mps-control -d </dev/null >start.log 2>&1 ||
    skip_all "MPS does not start here: $(cat start.log log/control.log 2>/dev/null | tail -n 1)"
daemon=$(daemon_pid)
is_running "$daemon" || skip_all "MPS does not stay here: $(tail -n 1 log/control.log 2>/dev/null)"
at_exit stop_daemon

timeout 100 "$build/tests/gpu/killed" --within "${WITHIN:-60000}" </dev/null >killed.log 2>&1
! grep -q '^1\.\.0' killed.log || skip_all "$(sed -n 's/^1\.\.0 # SKIP //p' killed.log)"
! grep -q '^# MPS: no' killed.log ||
    skip_all "the daemon runs, but GPUs are not shared through it: $(tail -n 1 log/server.log 2>/dev/null)"
diag "$(grep '^# ' killed.log)"
test_expect_success 'a client that is killed is named to the other one, whose GPU goes on' '
    { grep -q "^ok 1" killed.log || { cat killed.log log/*.log; false; } }'
test_expect_success 'a server ran, and serves the next clients: random calls are right' '
    control get_server_list >servers && grep -q "[0-9]" servers &&
    timeout 150 "$build/tests/gpu/random_calls" --calls 2000 >calls.log 2>&1 &&
    ! grep "^not ok" calls.log'
test_expect_success 'the daemon and its servers end' '
    stop_daemon && ! is_running "$daemon" && servers_are_gone'
done_testing
