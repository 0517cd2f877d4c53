#!/bin/bash
# health_object.t - what Slurm runs needs libc only: no library that is missing can fail it
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

type readelf >/dev/null 2>&1 || skip_all 'no readelf'

needed() {
    readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs
}

for program in pcie-ipc-health prolog/prolog prolog/epilog prolog/healthcheck; do
    case $(needed "$PIPC_BUILDDIR/$program") in
    *asan* | *ubsan* | *tsan*) skip "$program links libc only" 'a sanitizer build' ;;
    *) is "$program links libc only" "$(needed "$PIPC_BUILDDIR/$program")" libc.so.6 ;;
    esac
done

# The plugin and the gate meet in two places; each has its own default for them.
defined() {
    sed -n "s/^#define $2 \"\(.*\)\".*/\1/p" "$PIPC_SRCDIR/prolog/$1"
}
plugin=$(grep -E 'args->(rundir|health) = ' "$PIPC_SRCDIR/spank/args.c")
like 'the epilog sweeps where the plugin makes folders' "$plugin" "rundir = \"$(defined epilog.h PIPC__STEPS_FOLDER)\";"
like 'the plugin reads the snapshot that the prolog writes' "$plugin" "health = \"$(defined state.h PIPC__RUN_FOLDER)/health.json\";"
done_testing
