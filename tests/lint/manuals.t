#!/bin/sh
# Each program's --help and its manual name the same options - and the lint sees it when they do not
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
build=${PIPC_BUILDDIR:-$top}

# manual PROGRAM PATH PAGE
manual() {
    "$build/$2" --help >help 2>&1 || return 1
    options=$(grep -cE '^ *(-., *)?--[a-z]' help)
    ok "$1: --help has options" test "$options" -ge 3
    is "$1: the manual names them all" "$("$top/tests/lint/check-manual" "$top/doc/$3" <help)" ''
    # Two faults made on purpose: an option that the manual has lost, one that it never had.
    sed 's/Fl -help/Fl -hlep/' "$top/doc/$3" >page
    is "$1: an option lost from the manual is seen" "$("$top/tests/lint/check-manual" page <help)" 'page: no --help'
    is "$1: a new option is seen" "$({ cat help; echo '  --moon   land there'; } |
        "$top/tests/lint/check-manual" "$top/doc/$3")" "$top/doc/$3: no --moon"
}

manual pcie-ipc-bench pcie-ipc-bench pcie-ipc-bench.1
manual pcie-ipc-p2p pcie-ipc-p2p pcie-ipc-p2p.1
manual pcie-ipc-plan pcie-ipc-plan pcie-ipc-plan.1
manual pcie-ipc-topo pcie-ipc-topo pcie-ipc-topo.1
manual pcie-ipc-tune pcie-ipc-tune pcie-ipc-tune.1
manual pcie-ipc-stress pcie-ipc-stress pcie-ipc-stress.8
manual pcie-ipc-health prolog/gate pcie-ipc-health.8
done_testing
