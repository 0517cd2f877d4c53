# shellcheck shell=sh
# tap.sh - shell tests that speak TAP (https://testanything.org), for sh and bash
#
#   . "$(dirname "$0")/../lib/tap.sh"
#
#   test_expect_success 'two and two' '
#       test $((2 + 2)) = 4 &&
#       echo more'
#   is 'NAME' "$got" "$wanted"
#   done_testing
#
# test_expect_success NAME CODE   passes if CODE returns 0.  CODE runs in this shell (variables stay), with stdin
#                                 empty; what it prints is shown only when it fails.  Chain its commands by &&.
# test_expect_fail NAME CODE      the same, and passes if CODE returns anything but 0
# ok NAME COMMAND [ARGS...]       passes if COMMAND returns 0
# is NAME GOT WANTED              the two texts are the same
# like NAME GOT ERE               a line of GOT matches the extended regular expression
# unlike NAME GOT ERE             no line of it does
# pass NAME / fail NAME           a result that was found out by other means
# skip NAME REASON                this one cannot be tried here
# skip_all REASON                 none of this file can be tried here: ends the file
# diag TEXT                       a line for the reader
# at_exit CODE                    runs when the file ends, however it ends; the last one given runs first
# done_testing                    the plan; exits 1 if a test failed.  A file that ends without it has failed.
#
# Each file works in a folder of its own, $test_dir, which is removed at the end: find what lies beside the file
# before this one is sourced.

tap_count=0 tap_failed=0 tap_done=no tap_exit_code=''

diag() {
    printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
    tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
}

skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() {
    printf '1..0 # SKIP %s\n' "$*"
    tap_done=yes
    exit 0
}

# tap_eval CODE: run it, keep what it prints in $tap_log
tap_eval() {
    eval "$1" </dev/null >"$tap_log" 2>&1
}

# tap_failure NAME CODE: the failed test's text and output, as diagnostics
tap_failure() {
    fail "$1"
    diag "$2"
    sed 's/^/#   | /' "$tap_log"
}

test_expect_success() {
    if tap_eval "$2"; then pass "$1"; else tap_failure "$1" "$2"; fi
}

test_expect_fail() {
    if tap_eval "$2"; then tap_failure "$1" "(was to fail) $2"; else pass "$1"; fi
}

ok() {
    tap_name=$1
    shift
    if "$@" </dev/null >"$tap_log" 2>&1; then pass "$tap_name"; else tap_failure "$tap_name" "$*"; fi
}

is() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1"
        diag "got:    $2"
        diag "wanted: $3"
    fi
}

like() {
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        pass "$1"
    else
        fail "$1"
        diag "no line matches $3 in:"
        diag "$2"
    fi
}

unlike() {
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        fail "$1"
        diag "a line matches $3 in:"
        diag "$2"
    else
        pass "$1"
    fi
}

at_exit() {
    tap_exit_code="$1
$tap_exit_code"
}

tap_end() {
    tap_status=$?
    trap - EXIT
    eval "$tap_exit_code"
    if [ "$tap_done" = no ]; then
        fail "the file ended early, with status $tap_status"
        printf '1..%d\n' "$tap_count"
        tap_status=1
    fi
    cd / && rm -rf -- "$test_dir" "$tap_log"
    exit "$tap_status"
}

done_testing() {
    printf '1..%d\n' "$tap_count"
    tap_done=yes
    [ "$tap_failed" = 0 ] || exit 1
    exit 0
}

test_dir=$(mktemp -d "${TMPDIR:-/tmp}/tap.XXXXXX") && tap_log=$(mktemp "${TMPDIR:-/tmp}/tap-log.XXXXXX") || exit 1
chmod 755 "$test_dir"
trap tap_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$test_dir" || exit 1
