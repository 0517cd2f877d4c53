#!/bin/sh
# Tools that read the sources (shell, words, C, manuals) find nothing - and each finds a fault made on purpose
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
cd "$top" || exit 1

# files ERE: the project's files, tracked or in a distribution, whose name matches; not what autoconf put there
files() {
    { git ls-files 2>/dev/null || find . -type f -not -path './_build/*' | sed 's|^\./||'; } |
        grep -vE '^(build-aux|autom4te.cache|\.git)/|^configure|^aclocal' | grep -E "$1"
}

# has TOOL: is it here? Else the two tests of it are skipped.
has() {
    command -v "$1" >/dev/null && return
    skip "$1 finds nothing" "$1 is not installed"
    skip "$1 finds a fault made on purpose" "$1 is not installed"
    return 1
}

# finds NAME COMMAND...: it must fail
finds() {
    name=$1
    shift
    if "$@" >"$test_dir/out" 2>&1; then fail "$name"; else pass "$name"; fi
}

scripts() {
    files . | while read -r f; do
        head -n 1 "$f" | grep -qE '^#!/bin/(ba)?sh|^# shellcheck shell' && echo "$f"
    done
}

if has shellcheck; then
    # shellcheck disable=SC2046 # names without blanks
    ok 'shellcheck finds nothing' shellcheck -x -P SCRIPTDIR -S warning $(scripts)
    # shellcheck disable=SC2016 # a fault, as text
    printf '#!/bin/sh\nrm -rf $1/*\nx=1\n' >"$test_dir/bad.sh"
    finds 'shellcheck finds a fault made on purpose' shellcheck -S warning "$test_dir/bad.sh"
fi

if has codespell; then
    # shellcheck disable=SC2046
    ok 'codespell finds nothing' codespell --quiet-level=2 -L nd $(files '\.(c|h|cu|cuh|sh|t|md|txt|[1-9]|conf)$|^NEWS$')
    # Taken apart, so that this file is free of it.
    echo "we reci""eve" >"$test_dir/bad.txt"
    finds 'codespell finds a fault made on purpose' codespell "$test_dir/bad.txt"
fi

c_check() {
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -I. -Iruntime/include \
        '-DPIPC_EXPORT=' '-DSPANK_PLUGIN(a,b)=' '-DPACKAGE_VERSION="0"' \
        --error-exitcode=2 "$@"
}

if has cppcheck; then
    ok 'cppcheck finds nothing' c_check -j2 runtime spank prolog
    printf 'int f(void);\nint f(void) { int a[2]; a[2] = 0; return a[0]; }\n' >"$test_dir/bad.c"
    finds 'cppcheck finds a fault made on purpose' c_check "$test_dir/bad.c"
fi

if has mandoc; then
    # shellcheck disable=SC2046
    ok 'mandoc finds nothing' mandoc -T lint -W warning $(files '^doc/.*\.[1-9]$')
    printf '.Dd today\n.Sh NAME\n.Moon\n' >"$test_dir/bad.1"
    finds 'mandoc finds a fault made on purpose' mandoc -T lint -W warning "$test_dir/bad.1"
fi
done_testing
