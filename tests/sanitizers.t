#!/bin/bash
# The unit tests in builds with sanitizers: address and undefined for all, thread where ranks are threads
#     sanitizers.t            the tests
#     sanitizers.t --build    only what they need, for a time at which the machine has little else to do
# shellcheck disable=SC2034 # the tests' code reads the variables
top=$(cd "$(dirname "$0")/.." && pwd)
build=${PCIE_IPC_BUILD:-$top/_build}

# Long searches through code that other tests run here, too, the executor with delays, scripts that run programs of the
# shell, what waits for ranks that stop or networks that are cut, which the sanitizers' slowness makes late, or for looks
# of a second each, and what has a function of libc's that the sanitizers need.
left_out='tests/unit/sim_plans tests/unit/plan_scale tests/unit/plan_explore tests/unit/topo_sources tests/unit/many.t
tests/unit/measure.t tests/unit/exec_cpu_perturb tests/unit/rail_ucx tests/unit/random_cpu tests/unit/health_tool
tests/unit/health_guard tests/unit/health_dumps tests/unit/rights tests/unit/bench_tool.t tests/unit/tune_tool.t tests/unit/pkg_config.t'

# variable NAME: of the Makefile, which is brought up to date first, but for what is left out
variable() {
    make --quiet Makefile >/dev/null
    # shellcheck disable=SC2016 # make's
    printf 'print:\n\t@echo $(filter-out $(LEFT_OUT),$(%s))\n' "$1" |
        make --no-print-directory -s -f Makefile -f - print LINT_TESTS= LEFT_OUT="$(echo $left_out)"
}

# in_build NAME LIST COMMAND...: in a build folder of its own, with no CUDA: kernels have sanitizers of their own
in_build() (
    mkdir -p "$build/$1" && cd "$build/$1" &&
        { test -e Makefile || "$top/configure" --quiet --without-cuda --enable-sanitizer="$2"; } && "${@:3}"
)

# make_units, check_units: all but what is left out; what failed, and what it and the sanitizer said
make_units() {
    make -j"$(nproc)" --quiet check TESTS= check_PROGRAMS="$(variable check_PROGRAMS)" >build.log 2>&1 ||
        { tail -n 60 build.log; return 1; }
}
check_units() {
    local trs
    make_units || return
    make -j$(($(nproc) + 1)) --quiet check TESTS="$(variable TESTS)" check_PROGRAMS="$(variable check_PROGRAMS)" >units.log 2>&1 && return
    grep -lE '^:global-test-result: (FAIL|ERROR)' -r --include='*.trs' tests | while read -r trs; do
        echo "--- ${trs%.trs}" && tail -n 60 "${trs%.trs}.log"
    done
    return 1
}
make_threads() {
    make -j"$(nproc)" --quiet tests/unit/exec_threads >build.log 2>&1 || { tail -n 60 build.log; return 1; }
}
check_threads() {
    make_threads && ./tests/unit/exec_threads
}

if [ "${1-}" = --build ]; then
    in_build sanitize-address address,undefined make_units
    in_build sanitize-thread thread make_threads
    exit
fi

# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

test_expect_success 'unit tests are clean with address and undefined' '
    in_build sanitize-address address,undefined check_units'

test_expect_success 'ranks that are threads are clean with thread' 'in_build sanitize-thread thread check_threads'

# The control: the same test, with the release of a flag weakened, must be reported. The weak file stands before the
# library that has the right one, which is then not taken from there.
test_expect_success 'a signal with too weak an order is found' '
    ( cd "$build/sanitize-thread" && rm -rf weak && mkdir weak &&
        sed s/memory_order_release/memory_order_relaxed/ "$top/runtime/exec/cpu_run.c" >weak/cpu_run.c &&
        ! cmp -s weak/cpu_run.c "$top/runtime/exec/cpu_run.c" &&
        gcc -std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -Wno-tsan -I. -I"$top" -I"$top/runtime/include" -o weak/test \
            "$top"/tests/unit/{exec_threads,exec_calls,rank_exec,ranks,values}.c weak/cpu_run.c \
            .libs/libpipc-exec.a .libs/libpipc-core.a -lcmocka -ljansson -lpthread &&
        ! TSAN_OPTIONS=halt_on_error=1 ./weak/test >weak/log 2>&1; grep -q "WARNING: ThreadSanitizer: data race" weak/log )'
done_testing
