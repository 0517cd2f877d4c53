#!/bin/bash
# abi.t - the real NCCL, where there is one: the lists cover what it exports, it is found and answers through
# the library that stands for it, and nccl.h says what abi.h says.
# PIPC_REAL_NCCL names a libnccl.so.2; else pip's wheels and the system's are looked for.
# shellcheck disable=SC2034 # the tests' code is evaluated later
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
full=$PIPC_BUILDDIR/.libs/libpcie-ipc-nccl-full.so hook=$PIPC_BUILDDIR/.libs/libpcie-ipc-nccl.so
cc=${CC:-cc}

find_nccl() {
    for f in "$PIPC_REAL_NCCL" $(python3 -c 'import sys
for p in sys.path: print(p + "/nvidia/nccl/lib/libnccl.so.2")' 2>/dev/null) \
        $(ldconfig -p 2>/dev/null | sed -n 's/.*libnccl.so.2 .*=> //p'); do
        [ -e "$f" ] && echo "$f" && return
    done
}
nccl=$(find_nccl)
[ -n "$nccl" ] || skip_all 'no NCCL here (PIPC_REAL_NCCL names one)'
[ -e "$full" ] || skip_all 'static build'
case $(readelf --dynamic "$full") in *libasan* | *libtsan* | *libubsan*) skip_all 'a sanitizer build' ;; esac
unset PCIE_IPC_VERBOSE LD_LIBRARY_PATH
diag "$nccl"

exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | grep -E '^p?nccl' | sort; }
# missing LIBRARY: what the real one exports and LIBRARY does not
missing() { comm -23 <(exported "$nccl") <(exported "$1") | xargs; }
is 'the full library has all that it exports' "$(missing "$full")" ''
like '... and a list that lacks one would show' "$(missing "$hook")" 'ncclBroadcast'

# Which of its own functions NCCL calls by the way that the hook stands in: such a call gets NCCL's answer alone
# (pipc__real_around()). One that is new here may be more than a question.
through() { readelf --wide --relocs "$1" | sed -n 's/.*_JUMP_SLO.* \(nccl[A-Za-z]*\) .*/\1/p' | sort -u; }
hooked=$(nm -D --defined-only "$hook" | awk '{ print $3 }' | grep '^nccl' | sort)
is 'of what is hooked it asks itself for errors, and calls nothing else' \
    "$(comm -12 <(through "$nccl") <(echo "$hooked") | grep -v '^ncclCommGetAsyncError$' | xargs)" ''
like '... and its calls of itself are seen' "$(through "$nccl")" '^ncclGetVersion$'

cat >ask.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int v = 0, rc;
    if (!h) return 2;
    rc = ((int (*)(int *))dlsym(h, "ncclGetVersion"))(&v);
    printf("%d %d %s %d %d\n", rc, v, ((const char *(*)(int))dlsym(h, "ncclGetErrorString"))(4),
           ((int (*)(void))dlsym(h, "ncclGroupStart"))(), ((int (*)(void))dlsym(h, "ncclGroupEnd"))());
    return 0;
}
END
test_expect_success 'a program is built' '"$cc" -o ask ask.c -ldl'
is 'it answers through the library that stands for it' "$(PCIE_IPC_REAL_NCCL=$nccl ./ask "$full" 2>&1)" "$(./ask "$nccl")"
is 'also under the hook' "$(LD_PRELOAD=$hook PCIE_IPC_REAL_NCCL=$nccl ./ask "$full" 2>&1)" "$(./ask "$nccl")"
cat >linked.c <<'END'
#include <stdio.h>
int ncclGetVersion(int *); int ncclGroupStart(void); int ncclGroupEnd(void); int ncclCommDestroy(void *);
int ncclCommInitAll(void **, int, const int *);
int main(void)
{
    int v = 0, rc[5];
    void *c = 0;
    rc[0] = ncclGetVersion(&v); rc[1] = ncclGroupStart(); rc[2] = ncclGroupEnd(); rc[3] = ncclGroupEnd();
    rc[4] = ncclCommInitAll(&c, 0, 0);
    printf("%d %d %d %d %d %d\n", v, rc[0], rc[1], rc[2], rc[3], rc[4]);
    return 0;
}
END
test_expect_success 'one that links it' '"$cc" -o linked linked.c "$nccl" -Wl,-rpath,"$(dirname "$nccl")"'
is 'prints the same with the hook and without' "$(LD_PRELOAD=$hook ./linked 2>&1)" "$(./linked 2>&1)"

header=$(dirname "$nccl")/../include/nccl.h
cuda=$(ls -d /usr/local/cuda/include 2>/dev/null)
if [ -e "$header" ] && [ -e "$cuda/cuda_runtime.h" ]; then
    {
        echo '#include <nccl.h>'
        for c in $(grep -oE '^    nccl[A-Za-z0-9]+ = [0-9]+|^enum \{ .* \};' "$top/runtime/nccl/abi.h" | grep -oE 'nccl[A-Za-z0-9]+ = [0-9]+' | tr -d ' '); do
            echo "_Static_assert(${c%=*} == ${c#*=}, \"$c\");"
        done
        echo '_Static_assert(NCCL_SHRINK_ABORT == 1 && sizeof(ncclUniqueId) == 128, "");'
        echo '_Static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclRedOp_t) == 4 && sizeof(ncclDataType_t) == 4, "");'
        # Each function that this version has, with as many arguments, of the same sizes: a call through the one is one through the other.
        sed -n 's/^    F(\([A-Za-z]*\), (\(.*\))).*/\1|\2/p' "$top/runtime/nccl/abi.h" | while IFS='|' read -r name args; do
            grep -q "[^p]nccl$name *(" "$header" || continue
            [ "$args" = void ] && args='' || args=$(echo "$args" | awk -F, '{ for (i = 1; i <= NF; i++) printf("%sa%d", (i > 1 ? ", " : ""), i) }')
            params=$(sed -n "s/^    F($name, (\(.*\))).*/\1/p" "$top/runtime/nccl/abi.h" |
                sed 's/ncclStream_t/cudaStream_t/g' | awk -F', ' '{ if ($0 == "void") { printf "void"; exit }
                    for (i = 1; i <= NF; i++) printf("%s%s a%d", (i > 1 ? ", " : ""), $i, i) }')
            echo "ncclResult_t check_$name($params); ncclResult_t check_$name($params) { return nccl$name($args); }"
        done
    } >check.c
    test_expect_success 'nccl.h says what abi.h says' '
        cat check.c && [ "$(grep -c _Static_assert check.c)" -gt 20 ] && [ "$(grep -c "return nccl" check.c)" -ge 18 ] &&
        "$cc" -std=c11 -Werror=incompatible-pointer-types -Werror=int-conversion -Werror -Wno-deprecated-declarations -isystem "$cuda" -I"$(dirname "$header")" -c check.c -o check.o'
    sed 's/ncclFloat16 == 6/ncclFloat16 == 5/' check.c >wrong.c
    test_expect_fail 'a number that differs is seen' '"$cc" -std=c11 -isystem "$cuda" -I"$(dirname "$header")" -c wrong.c -o wrong.o'
else
    skip 'nccl.h says what abi.h says' 'no nccl.h beside it, or no cuda_runtime.h'
fi
done_testing
