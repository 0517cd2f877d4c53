#!/bin/bash
# object.t - what the hook is linked with, what it asks of the C library, and what it defines
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
hook=$PIPC_BUILDDIR/.libs/libpcie-ipc-nccl.so full=$PIPC_BUILDDIR/.libs/libpcie-ipc-nccl-full.so
[ -e "$hook" ] || skip_all 'static build'
type readelf >/dev/null 2>&1 || skip_all 'no readelf'

needed() { readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs; }
exported() { readelf --wide --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $8 }' | sort; }
mapped() { sed -n 's/^    \([a-z]*_*[a-zA-Z_]*\);.*/\1/p' "$1" | sort; }
newest() { readelf --wide --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1; }
# no_newer LIBRARY VERSION: it asks for nothing newer
no_newer() { [ "$(printf '%s\nGLIBC_%s\n' "$(newest "$1")" "$2" | sort -V | tail -1)" = "GLIBC_$2" ]; }

case $(needed "$hook") in
*asan* | *ubsan* | *tsan*) skip_all 'a sanitizer build' ;;
esac
for library in "$hook" "$full"; do
    is "$(basename "$library") links libc and libdl" "$(needed "$library")" 'libc.so.6 libdl.so.2'
    like '... and is never unloaded: threads of its own may be at work' "$(readelf --wide --dynamic "$library")" 'FLAGS_1.* NODELETE'
    ok '... and runs with glibc 2.17' no_newer "$library" 2.17
    ok '... its tables of initialisers are the compiler'\''s, no more than one beside' sh -c \
        "[ \$((0x\$(readelf --wide -S '$library' | sed -n 's/.*\.init_array *INIT_ARRAY *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\).*/\1/p'))) -le 16 ]"
done
is 'the hook defines what its map names' "$(exported "$hook" | xargs)" "$(mapped "$top/runtime/nccl/hook.map" | xargs)"
is 'the full one that, and what forward.def names' "$(exported "$full" | xargs)" \
    "$({ mapped "$top/runtime/nccl/hook.map"; sed -n 's/^FORWARD(\(.*\))$/\1/p' "$top/runtime/nccl/forward.def"; } | sort | xargs)"
test_expect_fail 'a library that asks for more is seen' 'no_newer "$PIPC_BUILDDIR/.libs/libpcie-ipc.so" 2.17'
done_testing
