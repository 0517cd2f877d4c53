#!/bin/bash
# health_cases.t - the verdicts on real inputs, where they are at hand: PCIE_IPC_CASES names their folder
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

[ -d "${PCIE_IPC_CASES-}" ] || skip_all 'PCIE_IPC_CASES names no folder'
gate=$PIPC_BUILDDIR/prolog/gate

# verdict ARGUMENTS...: the word
verdict() {
    "$gate" check --json "$@" | sed -n 's/^ *"verdict": "\(.*\)",*/\1/p'
}

# input CASE: its dump, unpacked
input() {
    local file
    for file in "$PCIE_IPC_CASES/$1"-*/*xxxx*; do
        case $file in
        *.gz) zcat "$file" >"$1.txt" ;;
        *) cp -- "$file" "$1.txt" ;;
        esac
    done
}

# one CASE ERE WHAT
one() {
    input "$1"
    like "$1: $3" "$(verdict --dump="$1.txt")" "^($2)$"
}

one 02 'ok|note' 'healthy'
one 04 drain 'x4 of x16, beside a GPU that is idle'
unlike '04: the idle one is no fault' "$("$gate" check --dump=04.txt)" '05:00.0.*drain'
one 06 'ok|note' 'four GPUs, idle at Gen1'
one 07 warn 'two GPUs, idle, and a NIC that had to replay'
one 09 warn 'ASPM at the switch of a card'
unlike '09: x1 is no fault without its port' "$("$gate" check --dump=09.txt)" drain
one 11 'note|unknown' 'a function in D3 in a virtual machine'
one 13 warn 'a root port that redirects, what is below it not in view'
tar xzf "$PCIE_IPC_CASES"/15-*/sysroot.tar.gz
like '15: 64 bytes of config space, links by their files' "$(verdict --sysroot=sysroot)" '^(ok|note)$'

# text CASE ERE WHAT: all that it has for people to read, together
text() {
    find "$PCIE_IPC_CASES/$1"-* -type f \( -name '*.txt' -o -name '*.log' \) ! -name '*xxxx*' -exec cat {} + >"$1.pasted"
    like "$1: $3" "$(verdict --text="$1.pasted")" "^($2)$"
}

text 04 drain 'x4 of x16, pasted'
text 05 drain 'lost'
text 06 'ok|note' 'idle, pasted'
text 07 warn 'idle, and a NIC that had to replay, pasted'
text 08 'warn|unknown' 'one lane, and no port'
text 09 warn 'ASPM at the switch of a card, pasted'
text 10 drain 'a fatal record of the boot before'
text 11 'note|unknown' 'a function in D3, pasted'
text 12 'ok|note' 'a slot of an older generation'
text 16 unknown 'no link status'
text 17 unknown 'a flat bus'
text 19 warn 'corrected errors in the log'
text 35 warn 'root ports that redirect'
text 36 warn 'ACS of a switch, told in words'
text 37 warn 'some lines of ACS'
text 38 'ok|note' 'ACS all clear'

# says CASE ERE WHAT: one line of what people see
says() {
    like "$1: $3" "$("$gate" check --text="$1.pasted")" "$2"
}
says 04 '0000:04:00.0: link is x4 .*expected x16.*reseat.*PCI001' 'the card, its lanes and the remedy'
says 05 '0000:04:00.0: does not answer.*PCI002' 'which card is lost'
says 07 '0000:21:00.0: corrected errors at some time: replay rollover, replay timeout' 'the NIC and its errors'
says 09 '0000:01:00.0: ASPM L1 is on' 'the upstream port within the card'
says 10 '0000:e0:03.1: fatal error: completion timeout' 'the root port and its error'
is '10: ASPM at four ports' "$("$gate" check --text=10.pasted | grep -c 'ASPM L1 is on')" 4
says 12 'limited by its slot' 'what may hold it back'
says 19 '0000:00:03.1: the log has corrected errors: bad TLP, bad DLLP, replay rollover, replay timeout' 'the port and its errors'
is '37: five ports redirect' "$("$gate" check --text=37.pasted | grep -c PCI015)" 5
mkdir 33
tar xjf "$PCIE_IPC_CASES"/33-*/*.bz2 -C 33 --strip-components=1
like '33: a tree without links' "$(verdict --sysroot=33)" '^unknown$'

# Cases whose input is text for people: nothing in them is read, and nothing falls over.
for file in "$PCIE_IPC_CASES"/*/*.txt; do
    case ${file#"$PCIE_IPC_CASES"/} in 04-*) continue ;; esac
    case $(verdict --dump="$file") in
    drain | '') fail "${file#"$PCIE_IPC_CASES"/} is no drain" ;;
    esac
done
pass 'no other text is a drain'
done_testing
