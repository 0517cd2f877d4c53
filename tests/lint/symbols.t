#!/bin/sh
# The library exports what tests/lint/symbols lists, headers declare it, the manual names it - and the lint
# sees it when they do not
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
library=${PIPC_BUILDDIR:-$top}/.libs/libpcie-ipc.so
list=$top/tests/lint/symbols
man=$top/doc/libpcie-ipc.3
cc=${CC:-cc}

command -v nm >/dev/null || skip_all 'there is no nm'
[ -e "$library" ] || skip_all "there is no $library: static build"

lint() { "$top/tests/lint/check-symbols" "$@"; }
functions() { sed -n 's/@@.*//p' "$list"; }

# in_manual FILE: every exported function stands in its NAME and in its SYNOPSIS; prints those that do not
in_manual() {
    for name in $(functions); do
        grep -q "^\.Nm $name\( ,\)\{0,1\}$" "$1" && grep -q "^\.Fn $name " "$1" || echo "$name"
    done
}

ok 'the library exports what the list names' lint "$library" "$list"
is 'its soname is as it was' "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libpcie-ipc.so.0
is 'headers declare the same functions' "$(cat "$top"/runtime/include/pcie-ipc/*.h | grep '^PIPC_EXPORT' |
    sed 's/.*\(pipc_[a-z_]*\)(.*/\1/' | LC_ALL=C sort | tr '\n' ' ')" "$(functions | LC_ALL=C sort | tr '\n' ' ')"
is 'the manual names them all' "$(in_manual "$man")" ''
ok 'the manual is free of faults' sh -c "! command -v mandoc >/dev/null || mandoc -T lint -W warning '$man'"

# Faults made on purpose
grep -v pipc_version "$list" >short
is 'a symbol too many is seen' "$(lint "$library" short)" 'not in short: pipc_version@@PCIE_IPC_0.1'
{ cat "$list" && echo pipc_moon@@PCIE_IPC_0.1; } >long
is 'one that is gone is seen' "$(lint "$library" long)" 'missing: pipc_moon@@PCIE_IPC_0.1'
sed 's/pipc_version@@PCIE_IPC_0.1/pipc_version@@PCIE_IPC_0.2/' "$list" >moved
like 'one that has another version is seen' "$(lint "$library" moved)" 'missing: pipc_version@@PCIE_IPC_0.2'
printf 'int pipc__inner(void); int pipc__inner(void) { return 0; }\n' >leak.c
if "$cc" -shared -fPIC -o leak.so leak.c 2>/dev/null; then
    : >none
    is 'an inner name that leaks is seen' "$(lint leak.so none)" 'not in none: pipc__inner'
else
    skip 'an inner name that leaks is seen' 'no compiler'
fi
test_expect_fail 'a file that is no library is a failure' 'lint leak.c none'
grep -v '^\.Nm pipc_version$' "$man" >without
is 'a function that the manual does not name is seen' "$(in_manual without)" pipc_version
done_testing
