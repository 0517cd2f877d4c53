#!/bin/sh
# pcie-ipc-bench without ranks: usage errors, and a manual that names what --help does
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
bench=${PIPC_BUILDDIR:-$top}/pcie-ipc-bench
man=$top/doc/pcie-ipc-bench.1

# usage ARGS...: refused as usage, the message kept in err
usage() {
    code=0
    "$bench" "$@" >out 2>err || code=$?
    test "$code" = 64
}

# shellcheck disable=SC2016 # evaluated by the test
for bad in '-b x' '-b -1' '-b 8Q' '-f 1' '-i 0' '-n 0' '-w -1' '-d moon' '-o moon' '-c 2' '-G 0' '--backend moon' \
    '--plan moon' '--peer moon' '--peer ncclx' '-b 16 -e 8' 'stray' '--moon'; do
    # shellcheck disable=SC2086 # words
    ok "refused: $bad" usage $bad
done
usage -d moon
like 'the refusal lists the types' "$(cat err)" 'one of float, half, int32,.* all'
ok '--help succeeds' "$bench" --help
is '--version names the program' "$("$bench" --version | cut -d ' ' -f 1)" pcie-ipc-bench

# Each option of --help, long and short, stands in the manual.
for option in $("$bench" --help | sed -n 's/^  *\(-., \)\{0,1\}--\([a-z_-]*\).*/\2/p'); do
    escaped=$(printf '%s' "$option" | sed 's/-/[-\\]*/g')
    ok "the manual has --$option" grep -q -e "Fl -$escaped" "$man"
done
ok 'the manual is free of faults' sh -c "! command -v mandoc >/dev/null || mandoc -T lint -W warning '$man'"
done_testing
