#!/bin/sh
# pcie-ipc-p2p without GPUs: usage errors, and what it says where there is no driver
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
p2p=${PIPC_BUILDDIR:-$top}/pcie-ipc-p2p

# usage ARGS...: refused as usage, the message kept in err
usage() {
    code=0
    "$p2p" "$@" >out 2>err || code=$?
    test "$code" = 64
}

for bad in '--bytes x' '--bytes 0' '--bytes -1' '--bytes 24' '--bytes 8' '--bytes 2G' '--bytes 1KK' \
    '--bytes 1M!' '--iters 0' '--iters x' '--iters 1x' '--iters 99999999999999999999' '--timeout 0' \
    '--gpus 0' '--gpus 0,0' '--gpus 0,' '--gpus ,1' '--gpus 0,-1' '--gpus 0,x' \
    '--gpus 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16' 'stray' '--moon'; do
    # shellcheck disable=SC2086 # words
    ok "refused: $bad" usage $bad
done
usage --gpus 3,3
like 'the refusal names the object' "$(cat err)" 'pcie-ipc-p2p: --gpus: a GPU stands there twice'
ok '--help succeeds' "$p2p" --help
is '--version names the program' "$("$p2p" --version | cut -d ' ' -f 1)" pcie-ipc-p2p

if [ -e /proc/driver/nvidia/version ]; then
    skip 'without a driver the status is 3' 'there is one'
    skip 'and the message says why' 'there is one'
else
    code=0
    "$p2p" --bytes 64K --json >out 2>err || code=$?
    is 'without a driver the status is 3' "$code" 3
    like 'and the message says why' "$(cat err)" 'NVIDIA driver|without CUDA'
fi
done_testing
