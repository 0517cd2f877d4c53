#!/bin/bash
# many.t - tests/gpu/many on CPUs: what it says of a run that is right, of one that is not, and of one that hangs
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

command -v python3 >/dev/null || skip_all 'no python3'
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -x "$PIPC_BUILDDIR/tests/unit/random_cpu" ] || skip_all 'no random_cpu was built'
unset PCIE_IPC_TABLE PCIE_IPC_PLAN PCIE_IPC_PATH PMIX_NAMESPACE SLURM_STEP_ID SLURM_JOB_ID

# many ARGS...: on CPUs; status gets its exit status
many() {
    status=0
    "$top/tests/gpu/many" --backend cpu --ranks 4 --max 4K --output got "$@" >out 2>err || status=$?
}

many --parts sweep,pytorch --seconds 120
is 'a run that is right' "$status $(cat err)" '0 '
like 'says what was checked' "$(cat out)" '^ok +sweep: peer eager, 4 ranks: [0-9]+ results of 6 ways to 1 KB, flat, path p2p: 0 wrong$'
like 'of ranks in two groups' "$(cat out)" '^ok +sweep: two groups, host, 4 ranks: .* 2 groups of 2, path host: 0 wrong$'
like 'and what needs GPUs' "$(cat out)" '^not run pytorch: needs GPUs$'
unlike 'but no part that was not asked for' "$(cat out)" 'killed'
is 'few files come back' "$(cd got && echo *)" 'many.tar.gz summary.md'
like 'with the logs' "$(tar -tzf got/many.tar.gz)" '^\./log/sweep-peer eager-4\.json$'

# a build whose benchmark is what this test says
mkdir -p build/tests/unit
ln -s "$PIPC_BUILDDIR/pcie-ipc-tune" build
ln -s "$PIPC_BUILDDIR/tests/unit/random_cpu" build/tests/unit
bench() {
    printf '#!/bin/sh\n[ "$1" != --version ] || exec echo made up\n%s\n' "$1" >build/pcie-ipc-bench
    chmod +x build/pcie-ipc-bench
}

bench 'echo "pcie-ipc-bench: 3 wrong values" >&2; exit 1'
PIPC_BUILDDIR=$PWD/build many --parts sweep --seconds 120
is 'a wrong value is a failure' "$status" 1
like 'by its name' "$(cat out)" '^not ok +sweep: peer eager, 4 ranks: pcie-ipc-bench: 3 wrong values$'

bench 'exec sleep 86399'
PIPC_BUILDDIR=$PWD/build many --parts sweep --seconds 15 # of which 10 are to pack
like 'what hangs is ended' "$(cat out)" '^not run sweep: peer eager, 4 ranks: [0-9]+ s were too few'
unlike 'and nothing of it is left' "$(ps -eo args)" '^sleep 86399'

many --parts moon
like 'a part that is none is refused' "$status $(cat err)" '^64 many: --parts: moon: none of sweep random'
many --backend moon
like 'so is a backend' "$status $(cat err)" '^64 many: --backend moon: cpu or cuda'
done_testing
