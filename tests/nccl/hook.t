#!/bin/sh
# hook.t - programs that use NCCL and know nothing of pcie-ipc, under the hook, on a machine without GPUs: NCCL is
# a stand-in (stand_in.c), made here as it comes in the field, and libpcie-ipc does its part on the CPU
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)} build=${PIPC_BUILDDIR:-$top}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
cc=${CC:-cc}
hook=$build/tests/nccl/.libs/libhook-cpu.so full=$build/tests/nccl/.libs/libfull-cpu.so ours=$build/.libs/libpcie-ipc.so.0

[ -e "$hook" ] && [ -e "$ours" ] || skip_all 'static build'
command -v "$cc" >/dev/null || skip_all 'no compiler'
case $(nm -D "$ours") in *__asan_* | *__tsan_* | *__ubsan_*) skip_all 'a sanitizer build: its library must come first' ;; esac

unset PCIE_IPC_NODES PCIE_IPC_VERBOSE PCIE_IPC_PLAN PCIE_IPC_TABLE PCIE_IPC_DIR PCIE_IPC_WANTED PCIE_IPC_REAL_NCCL LD_LIBRARY_PATH
STAND_IN_DIR=$test_dir/files STAND_IN_LOG=$test_dir/log
export STAND_IN_DIR STAND_IN_LOG
mkdir files alone beside a b old
cp "$hook" alone/hook.so
cp "$hook" beside/hook.so && cp "$full" beside/full.so && ln -s "$ours" beside/libpcie-ipc.so.0

compile() { "$cc" -std=c11 -D_GNU_SOURCE -O1 -g -I"$top" "$@" -lpthread -ldl; }
nccl() { compile -shared -fPIC "$top/tests/nccl/stand_in.c" "$@"; }
test_expect_success 'the stand-ins and the programs are built' '
    nccl -o a/libnccl.so.2 -Wl,-soname,libnccl.so.2 &&
    nccl -o b/libnccl.so.2 -Wl,-soname,libnccl-other.so.2 -DVERSION=22809 &&
    nccl -o old/libnccl.so.2 -Wl,-soname,libnccl.so.2 -DVERSION=21405 -DOLD &&
    compile -o program "$top/tests/nccl/program.c" a/libnccl.so.2 -Wl,-rpath,"$test_dir/a" &&
    compile -o static "$top/tests/nccl/program.c" "$top/tests/nccl/stand_in.c" &&
    compile -shared -fPIC -DPLUGIN -o plugin-a.so "$top/tests/nccl/program.c" a/libnccl.so.2 -Wl,-rpath,"$test_dir/a" &&
    compile -shared -fPIC -DPLUGIN -o plugin-with.so "$top/tests/nccl/program.c" "$top/tests/nccl/stand_in.c" &&
    ln -s libnccl.so.2 b/libnccl-other.so.2 &&
    compile -shared -fPIC -DPLUGIN -o plugin-b.so "$top/tests/nccl/program.c" b/libnccl.so.2 -Wl,-rpath,"$test_dir/b" &&
    compile -o opens "$top/tests/nccl/opens.c" &&
    compile -o bypath "$top/tests/nccl/bypath.c" &&
    compile -o loads -rdynamic "$top/tests/nccl/loads.c" -Wl,-rpath,"$test_dir/a" &&
    compile -shared -fPIC -DLIBRARY -o library.so "$top/tests/nccl/loads.c" && compile -shared -fPIC -x c -o other.so /dev/null'

# hooked PROGRAM [ARGS...]: under the hook; its log and what it prints are kept
hooked() {
    rm -f log && : >log
    LD_PRELOAD=$test_dir/${where:-beside}/hook.so "$@" >out 2>err
}
# done_by_nccl RANK [VERSION]: how many calls of it NCCL did
done_by_nccl() { grep -c "^${2:-[0-9]*} $1 allreduce" log; }
silent() { [ ! -s err ] || { cat err; return 1; }; }

# program, ranks, calls that are NCCL's on rank 0
check() {
    test_expect_success "$1 of $2 ranks: right, and $3 calls are NCCL's" "
        hooked ./program $1 $2 && silent; rc=\$?; cat err log; [ \$rc = 0 ] && [ \$(done_by_nccl 0) = $3 ]"
}

alone() { for p in plain groups types capture windows no-window suspended nonblocking late ten many threads one-ends; do ./program $p 2 || return; done; }
ok 'the programs are right without the hook' alone
ok '... of four ranks, too' ./program splits 4
check plain 2 1
check plain 4 1
check plain 16 1
check once 2 1
check groups 2 5
check types 2 3
check capture 2 4
check windows 2 6
check no-window 2 3
check suspended 2 2
# The two halves have a rank 0 each.
check splits 4 5
check nonblocking 2 1
check finalize 3 1
check late 3 1
check ten 2 10
check many 2 16
check aborts-idle 2 1
check aborts-waiting 2 1
check aborts-setup 2 1
test_expect_success 'aborts between the calls of a set-up: it makes no other' 'hooked ./program aborts-between 2 && silent'
test_expect_success 'a call that an abort has ended is not reported: its communicator is gone' '
    PCIE_IPC_REPORT=summary hooked ./program aborts-first 2; rc=$?; cat err; [ $rc = 0 ]'
check aborts-finalize 2 1
check killed 3 1
check revoked 2 3
check leaves 3 1
check left-behind 2 1
test_expect_success 'ranks as threads of one process are served, too' '
    hooked ./program threads 4 && silent && [ "$(done_by_nccl 3)" = 1 ]'
test_expect_success 'one thread may end the communicators of all' 'hooked timeout 20 ./program one-ends 4 && silent'
test_expect_success 'set-up is by the communicator, at the second call and not before' '
    hooked ./program plain 2 &&
    is_first=$(grep " 0 " log | head -3 | cut -d" " -f3 | xargs) && echo "$is_first" &&
    [ "$is_first" = "init allreduce allgather" ]'
test_expect_success 'a communicator of one call, or of one rank, is left alone' '
    hooked ./program once 2 && ! grep allgather log && hooked ./program plain 1 && ! grep allgather log &&
    [ "$(done_by_nccl 0)" = 5 ]'

# What the user hears
test_expect_success 'verbose says what is done' '
    PCIE_IPC_VERBOSE=1 hooked ./program ten 2 && cat err &&
    [ "$(grep -o "[0-9]* MB of staging" err | xargs -n4 | cut -d" " -f1 | xargs)" = "64 32 32 32 16 16 16 8 8 8" ]'
test_expect_success 'a report tells what stayed with NCCL, and why' '
    PCIE_IPC_REPORT=summary hooked ./program groups 2; cat err && grep -i "in a group" err && grep "before the set-up" err'
# The plugin says none where nothing was asked for.
test_expect_success 'where no report is wanted a forwarded call opens no library' '
    LD_DEBUG=files PCIE_IPC_REPORT=none hooked ./program once 2 && ! grep -q "libpcie-ipc\.so" err &&
    { LD_DEBUG=files PCIE_IPC_REPORT=summary hooked ./program once 2; grep -q "libpcie-ipc\.so" err; }'
test_expect_success 'without libpcie-ipc NCCL does it all, and one line says why' '
    where=alone && hooked ./program plain 2; rc=$? && where=beside && cat err && [ $rc = 0 ] && [ "$(done_by_nccl 0)" = 5 ] &&
    [ "$(wc -l <err)" = 1 ] && grep "NCCL does all of a communicator of 2 ranks: rank 0 on .*libpcie-ipc.so.0" err'
test_expect_success 'where the table gives it all to NCCL, none is said' '
    PCIE_IPC_PLAN=nccl hooked ./program plain 2 && silent && [ "$(done_by_nccl 0)" = 5 ]'
cat >mixed.table <<'END'
table 1
topology 1
build 0.1.0
up-to 4096 eager one-shot graph one-shot
up-to max eager nccl graph nccl
END
# 12000 bytes, and in the program types less than ten
test_expect_success 'where it gives some, those are NCCL'\''s and the others ours' '
    PCIE_IPC_TABLE=$test_dir/mixed.table hooked ./program plain 2; rc=$?; cat err log; [ $rc = 0 ] && [ "$(done_by_nccl 0)" = 5 ] &&
    PCIE_IPC_TABLE=$test_dir/mixed.table hooked ./program types 2 && [ "$(done_by_nccl 0)" = 4 ]'
test_expect_success 'a plan that does not exist: NCCL, and one line' '
    PCIE_IPC_PLAN=moon hooked ./program plain 2 && cat err && [ "$(done_by_nccl 0)" = 5 ] && [ "$(wc -l <err)" = 1 ]'

# Several nodes: ranks of this host, taken as such. All of it goes over NCCL's own communicator and, for the sums,
# rails; on CPUs these are shipped, on GPUs NCCL is (tests/unit/comm_nodes_tables.c).
if grep -q 'define HAVE_UCX 1' "$build/config.h"; then
    export PCIE_IPC_NODES='split'
    check plain 2 1
    check plain 3 1
    check splits 4 5
    check nonblocking 2 1
    check aborts-idle 2 1
    check aborts-waiting 2 1
    check finalize 3 1
    check aborts-finalize 2 1
    check killed 3 1
    check leaves 3 1
    test_expect_success 'threads of a process as nodes' '
        hooked ./program threads 4 && silent && [ "$(done_by_nccl 3)" = 1 ] && hooked timeout 20 ./program one-ends 3 && silent'
    PCIE_IPC_NODES=split:2
    check plain 4 1
    check plain 5 1
    test_expect_success 'verbose says that they are on several nodes' '
        PCIE_IPC_VERBOSE=1 hooked ./program plain 4 && cat err && grep "of 4 ranks on several nodes is ours" err'
    printf "table 1\ntopology 1\nbuild 0.1.0\nup-to max eager nccl graph nccl\n" >all.table
    test_expect_success 'a table that gives all to NCCL: it does all, and the report says that it is for the nodes' '
        PCIE_IPC_TABLE=$test_dir/all.table PCIE_IPC_REPORT=summary hooked ./program plain 4; cat err log
        [ "$(done_by_nccl 0)" = 5 ] && grep "several nodes, whose sizes are all NCCL.s" err'
    printf "table 1\ntopology 1\nbuild 0.1.0\nup-to 4096 eager nodes graph nodes\nup-to max eager nccl graph nccl\n" >some.table
    test_expect_success 'one that gives it some' '
        PCIE_IPC_TABLE=$test_dir/some.table hooked ./program plain 4 && [ "$(done_by_nccl 0)" = 5 ] && silent &&
        PCIE_IPC_TABLE=$test_dir/some.table hooked ./program types 4 && [ "$(done_by_nccl 0)" = 4 ] && silent'
    test_expect_success 'a plan of one node: all ranks have NCCL, and one line says why' '
        PCIE_IPC_PLAN=two-shot PCIE_IPC_REPORT=summary hooked ./program plain 4; cat err log
        [ "$(done_by_nccl 0)" = 5 ] && [ "$(done_by_nccl 3)" = 5 ] && grep "no communicator of ours" err &&
        [ "$(grep -c "NCCL does all of a communicator of 4 ranks: .*for ranks of one node" err)" = 1 ]'
    PCIE_IPC_NODES=split:9
    test_expect_success 'more ranks than a node has are not even asked, but where a plan or table is named' '
        PCIE_IPC_REPORT=summary hooked ./program plain 18 && [ "$(done_by_nccl 0)" = 5 ] && ! grep allgather log &&
        grep "several nodes, whose sizes are all NCCL.s" err &&
        PCIE_IPC_PLAN=nodes hooked ./program plain 18 && silent && [ "$(done_by_nccl 0)" = 1 ]'
    unset PCIE_IPC_NODES
fi

# Where NCCL comes from
test_expect_success 'a library opened RTLD_LOCAL: its own NCCL is found' '
    hooked ./opens local ./plugin-a.so && cat err && silent && [ "$(done_by_nccl 0 23203)" = 1 ]'
test_expect_success 'one opened RTLD_GLOBAL' '
    hooked ./opens global ./plugin-a.so && silent && [ "$(done_by_nccl 0 23203)" = 1 ]'
test_expect_success 'one that NCCL is linked into: its calls are a program'\''s' '
    hooked ./opens local ./plugin-with.so && silent && [ "$(done_by_nccl 0 23203)" = 1 ]'
test_expect_success 'two NCCLs in one process: each caller gets its own' '
    hooked ./opens local ./plugin-a.so ./plugin-b.so && silent &&
    [ "$(done_by_nccl 0 23203)" = 1 ] && [ "$(done_by_nccl 0 22809)" = 1 ]'
test_expect_success 'an old NCCL without most of this' '
    LD_LIBRARY_PATH=$test_dir/old && export LD_LIBRARY_PATH &&
    compile -o for-old -DOLD "$top/tests/nccl/old.c" old/libnccl.so.2 -Wl,-rpath,"$test_dir/old" &&
    unset LD_LIBRARY_PATH && hooked ./for-old && silent'

# To find it asks the dynamic linker, which another thread may be in.
test_expect_success 'the first call while a library is opened whose constructor opens one and calls NCCL, too' '
    hooked timeout 10 ./loads ./library.so ./other.so && silent'
test_expect_success '... by the library in NCCL'\''s place' '
    timeout 10 ./loads ./library.so ./other.so "$test_dir/beside/full.so"'

# NCCL by its path
by_path() { rm -f log && : >log && PCIE_IPC_REAL_NCCL=$1 ./bypath "$test_dir/beside/full.so" 2 >out 2>err; }
test_expect_success 'opened by path in place of NCCL: all of it works, the AllReduces are ours' '
    by_path "$test_dir/a/libnccl.so.2" && silent && [ "$(cat out)" = 23203 ] && [ "$(done_by_nccl 0)" = 2 ] &&
    grep "0 broadcast" log && grep "0 deregister" log'
test_expect_success 'also with the hook before it' '
    rm -f log && : >log && PCIE_IPC_REAL_NCCL=$test_dir/a/libnccl.so.2 hooked ./bypath "$test_dir/beside/full.so" 2 &&
    silent && [ "$(done_by_nccl 0)" = 2 ]'
test_expect_success 'preloaded it is in front of NCCL'\''s calls of itself, too' '
    rm -f log && : >log && PCIE_IPC_REAL_NCCL=$test_dir/a/libnccl.so.2 LD_PRELOAD=$test_dir/beside/full.so ./program left-behind 2 2>err &&
    silent && [ "$(done_by_nccl 0)" = 1 ]'
test_expect_success 'without a name the NCCL that is loaded is taken' '
    rm -f log && : >log && LD_PRELOAD=$test_dir/b/libnccl.so.2 ./bypath "$test_dir/beside/full.so" 2 >out 2>err && silent &&
    [ "$(cat out)" = 22809 ]'
test_expect_success 'an old one: what it has not is an error' '
    by_path "$test_dir/old/libnccl.so.2" && [ "$(cat out)" = 21405 ]'
test_expect_fail 'where there is none, that is an error' 'by_path "$test_dir/none"'
test_expect_success '... with one line' 'cat err && [ "$(grep -c ^pcie-ipc err)" = 1 ]'
test_expect_fail 'named as its own NCCL it does not go round' 'by_path "$test_dir/beside/full.so"'

# What a call through it costs is measured by this; here it goes by the stand-in
through=$build/tests/gpu/pass_through
if [ -x "$through" ]; then
    test_expect_success 'the hook and NCCL are told apart in one process' '
        PCIE_IPC_PLAN=nccl hooked "$through" "$test_dir/a/libnccl.so.2" 3 && silent && cat out && [ "$(wc -l <out)" = 2 ] &&
        [ "$(done_by_nccl 0)" = 800 ]'
    test_expect_fail 'without the hook nothing is measured' '"$through" "$test_dir/a/libnccl.so.2" 3 2>/dev/null'
else
    skip 'the hook and NCCL are told apart in one process' 'no CUDA in this build'
    skip 'without the hook nothing is measured' 'no CUDA in this build'
fi

# Who has nothing to do with it
test_expect_success 'a program with NCCL linked into it: right, and silent' '
    hooked ./static plain 2 && silent && [ "$(done_by_nccl 0)" = 5 ]'
test_expect_success '... but with verbose one line says so' '
    PCIE_IPC_VERBOSE=1 hooked ./static version 1 && cat err && [ "$(grep -c "has NCCL linked into it" err)" = 1 ]'
test_expect_success 'programs without NCCL print what they print' '
    hooked ls -l "$top" && cp out with && ls -l "$top" >without && cmp with without && silent &&
    PCIE_IPC_VERBOSE=1 hooked ls -l "$top" && silent'
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    opened() { strace -f -e trace=open,openat,execve -o trace env "$@" /bin/true && grep -c 'open' trace; }
    test_expect_success 'no file is opened beyond the library and libdl' '
        [ $(($(opened LD_PRELOAD="$test_dir/alone/hook.so") - $(opened A=b))) -le 4 ]'
else
    skip 'no file is opened beyond the library and libdl' 'no strace'
fi
test_expect_success 'nothing is left in /dev/shm' '! ls /dev/shm | grep -i pcie'
done_testing
