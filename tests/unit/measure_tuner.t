#!/bin/bash
# measure_tuner.t - what tests/measure-tuner makes of times that are known
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

command -v python3 >/dev/null || skip_all 'no python3'
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}

# known NAME BYTES USEC...: a round's document, of sizes and the peer's times there
known() {
    local name=$1 rows=''
    shift
    while [ $# -gt 0 ]; do
        rows+="${rows:+, }{\"bytes\": $1, \"out_of_place\": {\"peer_usec\": $2}, \"in_place\": {\"peer_usec\": null}}"
        shift 2
    done
    mkdir -p known && printf '{"rows": [%s]}\n' "$rows" >"known/$name.json"
}

# verdict: exit status and the last line
verdict() {
    local status=0
    "$top/tests/measure-tuner" --compare known >out 2>err || status=$?
    echo "$status $(tail -n 1 out)"
}

known eager-1-off 1024 20 1048576 50
known eager-2-off 1024 22 1048576 50
known eager-3-off 1024 90 1048576 50 # a hiccup
known eager-1-on 1024 20 1048576 51
known eager-2-on 1024 21 1048576 51
known eager-3-on 1024 22 1048576 51
is 'medians of the rounds, 2 % are no loss' "$(verdict)" '0 sizes that lost: none'
like 'a row a size' "$(cat out)" '^\| eager \| 1024 \| nothing \| 22.00 \| 21.00 \| 1.048 \|$'
known graph-1-off 1024 20
known graph-1-on 1024 21
is '5 % and more than half a microsecond are one' "$(verdict)" '1 sizes that lost: graph 1024 (told nothing)'
echo '  1024 graph one-shot/ll/8  2.27  2.31  5.96  5.99  163 % ahead of nccl; the tuner tells nccl ring-ll' >known/show.txt
is 'with what NCCL was told' "$(verdict)" '1 sizes that lost: graph 1024 (told ring-ll)'
known graph-1-off 1024 4
known graph-1-on 1024 4.4
is 'less than half a microsecond is none' "$(verdict)" '0 sizes that lost: none'
status=0
"$top/tests/measure-tuner" --moon >out 2>err || status=$?
like 'an option that is none is refused' "$status $(cat err)" '^64 measure-tuner: --moon: no such option'
status=0
PCIE_IPC_BUILD=/nowhere "$top/tests/measure-tuner" >out 2>err || status=$?
like 'without a build it ends' "$status $(cat err)" '^64 measure-tuner: /nowhere: no libnccl-tuner-pcie-ipc.so'
done_testing
