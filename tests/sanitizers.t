#!/bin/bash
# The unit tests in builds with sanitizers: address and undefined for all, thread where ranks are threads
# shellcheck disable=SC2034 # the tests' code reads the variables
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
build=${PCIE_IPC_BUILD:-$top/_build}

# configured NAME LIST: a build folder of its own, with no CUDA: kernels have sanitizers of their own
configured() {
    mkdir -p "$build/$1" && cd "$build/$1" &&
        { test -e Makefile || "$top/configure" --quiet --without-cuda --enable-sanitizer="$2"; }
}

# Long searches through code that other tests run here, too, scripts that run programs of the shell, and what waits for
# ranks that stop or networks that are cut, which a machine that does other things at once makes late.
left_out='tests/unit/sim tests/unit/plan_scale tests/unit/plan_explore tests/unit/topo_sources tests/unit/many.t tests/unit/measure.t'
left_out="$left_out tests/unit/rail_ucx tests/unit/random_cpu"

# check_units: all others; what they and the sanitizer said, when one failed
check_units() {
    local tests
    tests=$(printf 'print:\n\t@echo $(filter-out $(LEFT_OUT),$(TESTS))\n' |
        make --no-print-directory -s -f Makefile -f - print LINT_TESTS= LEFT_OUT="$left_out") && [ -n "$tests" ] || return
    make -j"$(nproc)" --quiet check TESTS="$tests" >units.log 2>&1 || { tail -n 60 test-suite.log units.log; return 1; }
}

test_expect_success 'every unit test is clean with address and undefined' '
    ( configured sanitize-address address,undefined && check_units )'

test_expect_success 'ranks that are threads are clean with thread' '
    ( configured sanitize-thread thread && make -j"$(nproc)" --quiet tests/unit/exec_threads >build.log 2>&1 &&
        ./tests/unit/exec_threads )'

# The control: the same test, with the release of a flag weakened, must be reported. The weak file stands before the
# library that has the right one, which is then not taken from there.
test_expect_success 'a signal with too weak an order is found' '
    ( cd "$build/sanitize-thread" && rm -rf weak && mkdir weak &&
        sed s/memory_order_release/memory_order_relaxed/ "$top/runtime/exec/cpu_run.c" >weak/cpu_run.c &&
        ! cmp -s weak/cpu_run.c "$top/runtime/exec/cpu_run.c" &&
        gcc -std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -Wno-tsan -I. -I"$top" -I"$top/runtime/include" -o weak/test \
            "$top"/tests/unit/{exec_threads,exec_calls,rank_exec,ranks,values}.c weak/cpu_run.c \
            .libs/libpipc-exec.a .libs/libpipc-core.a -lcmocka -ljansson -lpthread &&
        ! ./weak/test >weak/log 2>&1; grep -q "WARNING: ThreadSanitizer: data race" weak/log )'
done_testing
