#!/bin/bash
# tuner_object.t - NCCL's tuner plugin links libc only and exports a symbol a version of the interface
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

plugin=$PIPC_BUILDDIR/.libs/libnccl-tuner-pcie-ipc.so
type readelf >/dev/null 2>&1 || skip_all 'no readelf'

needed() {
    readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs
}

exported() {
    readelf --wide --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $8 }' | sort | xargs
}

test_expect_success 'it is there' 'test -e "$plugin"'
case $(needed "$plugin") in
*asan* | *ubsan* | *tsan*) skip 'it links libc only' 'a sanitizer build' ;;
*) is 'it links libc only: it is loaded into any program with NCCL' "$(needed "$plugin")" libc.so.6 ;;
esac
is 'it exports what NCCL looks for, and nothing else' "$(exported "$plugin")" \
    'ncclTunerPlugin_v4 ncclTunerPlugin_v5 ncclTunerPlugin_v6'
# Pointers: a name and what a version has of functions. NCCL reads as many.
size_of() {
    readelf --wide --dyn-syms "$plugin" | awk -v s="ncclTunerPlugin_v$1" '$8 == s { print $3 }'
}
is 'the structures have 4, 4 and 5 pointers' "$(size_of 4) $(size_of 5) $(size_of 6)" '32 32 40'
done_testing
