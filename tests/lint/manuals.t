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

# A macro behind a comma begins inside of the one before: quotes then close at the end of all.
chained() {
    grep -n '\(Ql\|Dq\|Sq\) [^ ]* , \(Ql\|Dq\|Sq\) ' "$@"
}
is 'no quote begins inside of another' "$(chained "$top"/doc/*.[1358])" ''
printf '.Pq Ql a , Ql b\n' >chained.1
is 'one that does is seen' "$(chained chained.1)" '1:.Pq Ql a , Ql b'

# read_variables FOLDER...: the environment variables that a user can set: those of the plugin's are in its page, too
read_variables() {
    find "$@" -name '*.[ch]' -exec grep -ho '"PCIE_IPC_[A-Z0-9_]*"' {} + | tr -d '"' | sort -u
}
missing=''
for name in $(read_variables "$top/runtime" "$top/spank" "$top/prolog"); do
    grep -q "Ev .*$name\b" "$top"/doc/*.[1358] || missing="$missing $name"
done
is 'every variable that is read stands in a manual' "$missing" ''
like 'among them the one of the full library' "$(read_variables "$top/runtime/nccl")" '^PCIE_IPC_REAL_NCCL$'

is "limits.conf says of each code what --help says" \
    "$(awk '/^# / { text = substr($0, 3) } /^#PCI/ { sub(/\.$/, "", text); print substr($1, 2), tolower(text) }' "$top/etc/limits.conf")" \
    "$("$build/prolog/gate" --help | sed -n 's/^  \(PCI[0-9]*\) [a-z]* *\(.*\)/\1 \2/p' | awk '{ code = $1; $1 = ""; print code tolower($0) }')"

# The defaults, with a map and as an example: each key in both.
is "the plugin's page writes the defaults out the same everywhere" \
    "$(tr -d '\n ' <"$top/doc/spank_pcie_ipc.8" | grep -o 'bind:switch,mem:local[a-z:,]*report:none' | sort | uniq -c | awk '{ print $1 }')" 2
done_testing
