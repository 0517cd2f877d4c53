#!/bin/bash
# bench_tool.t - pcie-ipc-bench as a program, of one rank: what it writes, and where
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

unset PCIE_IPC_TABLE PCIE_IPC_PLAN PCIE_IPC_PATH PMIX_NAMESPACE SLURM_STEP_ID SLURM_JOB_ID
export XDG_CONFIG_HOME=$test_dir/config PCIE_IPC_EXCHANGE=socket PCIE_IPC_LOCAL_SIZE=1 PCIE_IPC_LOCAL_RANK=0

# bench ARGS...: one size, one call; its streams in out and err, its exit status in $status
bench() {
    local dir
    dir=$(mktemp -d "$test_dir/meet.XXXX")
    status=0
    PCIE_IPC_DIR=$dir "$PIPC_BUILDDIR/pcie-ipc-bench" --backend cpu -b 8 -e 8 -n 1 -w 0 "$@" >out 2>err || status=$?
}

# --- files: devices of our own, not /dev/full: that one would be gone if this went wrong ----------

mkdir there
bench -J there/json --plot there/svg
is '-J and --plot write files' "$status $(head -c 1 there/json) $(head -c 4 there/svg)" '0 { <svg'
is 'and leave nothing beside them' "$(echo there/*)" 'there/json there/svg'
ln -s there/json link
: >there/json
bench -J link
is 'a link is followed, and stays one' "$status $(readlink link) $(head -c 1 there/json)" '0 there/json {'
mkfifo pipe
for option in -J --plot; do
    timeout 60 head -c 1 pipe >first &
    bench "$option" pipe
    wait $!
    ok "$option: a pipe stays one" test -p pipe
    like "$option: and gets it" "$(cat first)" '^[{<]$'
done
if mknod full c 1 7 2>/dev/null && (exec >full) 2>/dev/null; then
    for option in -J --plot; do
        bench "$option" full
        is "$option: a device stays one, and says what it says" "$status $(stat -c %F full) $(cat err)" \
            '2 character special file pcie-ipc-bench: rank 0: full: cannot be written: No space left on device'
    done
else
    skip 'a device stays one' 'there are none to be made here'
fi
for option in -J --plot; do
    bench "$option" nowhere/file
    is "$option: a place that is none is an error" "$status $(cat err)" \
        '2 pcie-ipc-bench: rank 0: nowhere/file: cannot be written: No such file or directory'
    is "$option: and the end, before anything is measured" "$(cat out)" ''
done

# --- the table -----------------------------------------------------------------------------------

if (echo >/dev/full) 2>/dev/null || ! [ -c /dev/full ]; then
    skip 'a table that is lost' 'no /dev/full here'
else
    ln -sf /dev/full out # a stream of the shell's, which nothing renames
    bench
    rm out
    is 'a table that is lost is an error' "$status $(cat err)" \
        '2 pcie-ipc-bench: output: could not be written; is the disk full?'
fi
done_testing
