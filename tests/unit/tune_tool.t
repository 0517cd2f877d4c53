#!/bin/bash
# tune_tool.t - pcie-ipc-tune as a program: two ranks measure, the table that they write is used; --show
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

tune=$PIPC_BUILDDIR/pcie-ipc-tune bench=$PIPC_BUILDDIR/pcie-ipc-bench
unset PCIE_IPC_TABLE PCIE_IPC_PLAN PCIE_IPC_PATH PMIX_NAMESPACE SLURM_STEP_ID SLURM_JOB_ID
export XDG_CONFIG_HOME=$test_dir/config PCIE_IPC_EXCHANGE=socket
umask 022

# ranks COMMAND...: two of it on this machine; rank 0's streams in out and err, its exit status in $status
ranks() {
    local dir
    dir=$(mktemp -d "$test_dir/meet.XXXX")
    status=0
    PCIE_IPC_DIR=$dir PCIE_IPC_LOCAL_SIZE=2 PCIE_IPC_LOCAL_RANK=1 "$@" >out.1 2>err.1 &
    PCIE_IPC_DIR=$dir PCIE_IPC_LOCAL_SIZE=2 PCIE_IPC_LOCAL_RANK=0 "$@" >out 2>err || status=$?
    wait $! || status=$((status + 100 * $?))
}

# run ARGS...: the program alone
run() {
    status=0
    "$tune" "$@" >out 2>err || status=$?
}

# refused STATUS ERE ARGS...: it ends with that status and says so in one line
refused() {
    local want=$1 message=$2
    shift 2
    run "$@"
    if [ "$status" = "$want" ] && [ "$(wc -l <err)" = 1 ] && grep -Eq -e "$message" err; then
        pass "refused: $*"
    else
        fail "refused: $*"
        diag "status $status, $(head -n 3 out) $(cat err)"
    fi
}

# plan BYTES: what the benchmark's two ranks do at that size
plan() {
    ranks "$bench" --backend cpu -b "$1" -e "$1" -n 1 -w 0 -c 1
    awk '/^ / { print $5 }' out
}

# --- usage ---------------------------------------------------------------------------------------

refused 64 '-b: is no size' -b x
refused 64 '-b: is no size' -b 1KK
refused 64 '-e: is no size' -e 0
refused 64 '-n: is no positive number' -n 0
refused 64 '-c: is neither' -c 2
refused 64 '--time: is no positive' --time 0
refused 64 'moon.* is not one of auto, cpu, cuda' --backend moon
refused 64 'only --show takes a file' some.table
refused 64 'does not go with -o' --site -o x
refused 64 'no size of 8 bytes' -b 1M -e 1K
refused 64 'too many sizes' -b 8 -e 100000G
refused 64 'no such option' --moon
run --help
is '--help succeeds' "$status" 0

# --- two ranks ------------------------------------------------------------------------------------

is 'without a file small messages go one-shot' "$(plan 1024)" one-shot
run --show
like 'and --show says that there is none' "$(cat out)" 'no table: the shipped one'

ranks "$tune" --backend cpu -b 1K -e 8K -n 6
is 'two ranks measure' "$status" 0
table=$(find config -name '*.table')
like 'the file is named by its topology' "$table" '^config/pcie-ipc/tables/[0-9a-f]{16}.table$'
is 'nothing else is left beside it' "$(find config -type f | wc -l)" 1
is 'all sizes and midpoints are in it' "$(awk '/^time/ { print $2 }' "$table" | sort -nu | xargs)" \
    '1024 1536 2048 3072 4096 6144 8192'
like 'all plans were compared at each' "$(awk '/^time 2048/ { print $4 }' "$table" | sort | xargs)" \
    'island one-shot permuted ring .*two-shot'
like 'rank 0 shows it' "$(cat out)" '^ +1024 eager .* ahead of .*, without NCCL'
is 'rank 1 is silent' "$(cat out.1 err.1)" ''
run --show
like '--show finds it' "$(cat out)" '^# .*/config/pcie-ipc/tables/.*table$'

rows() { # rows ROW...: put these in place of the file's
    { grep -v '^up-to' "$table" && printf '%s\n' "$@"; } >new && cat new >"$table"
}
rows 'up-to 2000 eager ring graph ring' 'up-to max eager permuted graph permuted'
is 'the library takes the plan that it says' "$(plan 1024) $(plan 4096)" 'ring permuted'
rows 'up-to 2000 eager moon graph ring'
is 'a malformed file is not used' "$(plan 1024)" one-shot
like 'and one line says where' "$(cat err)" "pcie-ipc-bench: .*$(basename "$table"):[0-9]+: no such choice.*shipped table is used"
is 'from one rank' "$(cat err.1)" ''
rows 'up-to max eager ring graph ring'
sed -i 's/^build .*/build 0.0.1/' "$table"
is 'nor one of another version' "$(plan 1024)" one-shot
like 'with a line that says what differs' "$(cat err)" 'pcie-ipc 0.0.1 there, .* here.; run pcie-ipc-tune here'
export PCIE_IPC_TABLE=$test_dir/$table
is 'PCIE_IPC_TABLE uses it all the same' "$(plan 1024)" ring
export PCIE_IPC_TABLE=none
is 'PCIE_IPC_TABLE=none uses none' "$(plan 1024)" one-shot
unset PCIE_IPC_TABLE

# 600 s of measurement were over before the file was thought of
ranks timeout 60 "$tune" --backend cpu -b 8 -e 256K -n 100000 --time 600 -o "$test_dir/fresh/folder/t.table"
like '-o makes no folder, and says so before it measures' "$status $(cat err)" \
    '^[0-9]*02 pcie-ipc-tune: .*/fresh/folder/t.table: cannot be written: No such file'
ok 'nor leaves a part of one' test ! -e fresh
ln -s kept.table link.table
echo old >kept.table
ranks "$tune" --backend cpu -b 8 -e 8 -n 1 -o link.table
is '-o follows a link' "$status $(readlink link.table) $(grep -c '^up-to' kept.table)" '0 kept.table 1'
mkfifo pipe
timeout 60 grep -c '^up-to' pipe >count &
reader=$!
ranks "$tune" --backend cpu -b 8 -e 8 -n 1 -o pipe
wait "$reader"
is '-o writes into a pipe' "$status $(stat -c %F pipe) $(cat count)" '0 fifo 1'

# --- reasons --------------------------------------------------------------------------------------

cat >t.table <<'END'
table 1
gpu NVIDIA H200
nccl 2.28.9
build 0.1.0
up-to 1024 eager one-shot/ll/8 graph one-shot/ll
up-to max eager nccl graph nccl
time 1024 eager one-shot/ll/8 5.00 6.00 40
time 1024 eager nccl 10.00 11.00 40
time 1024 eager nccl:ring-ll 4.00 11.00 40
time 2048 eager two-shot 9.80 10.00 40
time 2048 eager nccl 10.00 11.00 40
time 4096 eager two-shot 12.00 13.00 40
time 4096 eager nccl 10.00 11.00 40
time 8192 eager two-shot 5.00 13.00 40
time 8192 eager nccl 10.00 11.00 40
time 16384 eager two-shot 5.00 5.00 40
time 16384 eager nccl 10.00 11.00 40
time 32768 eager nccl 10.00 11.00 40
END
run --show t.table
is '--show explains' "$status" 0
like 'by how much own wins, and what NCCL could do' "$(cat out)" \
    '^ +1024 eager one-shot/ll/8 .*100 % ahead of nccl; nccl told to use ring-ll takes 4.00 us'
like 'what NCCL is told by the tuner plugin' "$(cat out)" '^ +1024 eager .*; the tuner tells nccl ring-ll$'
is 'and nothing elsewhere' "$(grep -c 'the tuner' out)" 1
like 'that it wins by too little' "$(cat out)" '^ +2048 eager nccl .*two-shot is only 2.0 % ahead'
like 'that it loses' "$(cat out)" '^ +4096 eager nccl .*two-shot is 20 % behind'
like 'that its tail is worse' "$(cat out)" '^ +8192 eager nccl .*100 % ahead, but its p90 is worse'
like 'that neighbours lose' "$(cat out)" '^ +16384 eager nccl .*100 % ahead here, but not at the sizes beside'
like 'that nothing else was measured' "$(cat out)" '^ +32768 eager nccl .*nothing else was measured'
printf 'table 1\nup-to max eager ring graph ring\n' >bare.table
run --show bare.table
like 'a file without times shows its rows' "$(cat out)" 'up-to max eager ring graph ring'
echo 'table 7' >bad.table
refused 2 'bad.table:1: the table has a form' --show bad.table
refused 2 'gone.table: no such file' --show gone.table
done_testing
