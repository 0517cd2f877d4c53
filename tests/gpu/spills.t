#!/bin/sh
# No kernel spills registers: a spill goes through memory in the innermost loops.
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# ptxas' words, kept by kernels/local.mk
reports=${PIPC_BUILDDIR:-$top}/kernels
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

[ -f "$reports/allreduce.ptxas" ] || skip_all 'no kernels were built here'

for report in "$reports"/*.ptxas; do
    name=${report##*/} name=${name%.ptxas}
    [ -f "${report%.ptxas}.fatbin" ] || continue
    case $name in *_perturb) continue ;; esac # tests' delays may
    kernels=$(grep -c 'Compiling entry function' "$report")
    clean=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$report")
    ok "the report of $name holds kernels" [ "$kernels" -gt 0 ]
    is "$name: each without a stack or a spill" "$clean" "$kernels"
done
done_testing
