#!/bin/sh
# pcie-ipc-bench without ranks: usage errors
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
bench=${PIPC_BUILDDIR:-$top}/pcie-ipc-bench

# usage ARGS...: refused as usage, the message kept in err
usage() {
    code=0
    "$bench" "$@" >out 2>err || code=$?
    test "$code" = 64
}

# shellcheck disable=SC2016 # evaluated by the test
for bad in '-b x' '-b -1' '-b 8Q' '-f 1' '-i 0' '-n 0' '-w -1' '-d moon' '-o moon' '-c 2' '-G 0' '--backend moon' \
    '--plan moon' '--peer moon' '--peer ncclx' '-b 16 -e 8' 'stray' '--moon' \
    '--peer nccl:moon' '--peer nccl:' '--peer nccl:host-symmetric' '--peer nccl:best:' '--peer mpi:' \
    '--proto moon' '--proto ll --plan ring' '--blocks 0' '--blocks x' '--sms 0' '--sms -1' '--sms most' '--sms 4x' \
    '--rounds 0' '--burst 0' '--time 0' '--burst-bytes 0' '--burst 2 --burst-bytes 4K' '--check-max x' \
    '--drop 1' '--drop x' '--beside moon' '--beside same@' '--beside same@0' '--beside nccl,' '--beside one-shot/ll/0' \
    '--proto push --plan two-shot' '--proto ce -G 1' '--beside same,same,same,same,same,same,same,same,same' '-n 1001 --rounds 1000' '-G 1001 --burst 1000' \
    '--limit 0 --plot x' '--limit x --plot x' '--limit nan --plot x' '--limit 5' '--plot x -d all' '--plot x -o all'; do
    # shellcheck disable=SC2086 # words
    ok "refused: $bad" usage $bad
done
usage -d moon
like 'the refusal lists the types' "$(cat err)" 'one of float, half, int32,.* all'
usage --peer nccl:moon
like "the refusal lists NCCL's variants" "$(cat err)" 'host.*best.*ring-ll128.*tree.*symmetric'
ok '--help succeeds' "$bench" --help
is '--help names every protocol that the refusal does' \
    "$("$bench" --help | sed -n 's/.* \(simple, .*\) for every call.*/\1/p' | tr -d ',' | xargs -n1 | grep -v '^or$' | sort | xargs)" \
    "$("$bench" --proto moon 2>&1 | sed -n 's/.*one of \(.*\); see.*/\1/p' | tr -d ',' | xargs -n1 | grep -vx 'auto\|or\|all' | sort | xargs)"
is '--version names the program' "$("$bench" --version | cut -d ' ' -f 1)" pcie-ipc-bench

done_testing
