#!/bin/bash
# health_schema.t - what --json prints is what doc/pcie-ipc-health.schema.json says - and the test sees it when not
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

gate=$PIPC_BUILDDIR/prolog/gate
schema=$PIPC_SRCDIR/doc/pcie-ipc-health.schema.json
# valid FILE [DEFINITION]: without, it is what one of the commands prints, and one alone
valid() { python3 "$PIPC_SRCDIR/tests/unit/health_schema.py" "$schema" ${2:+"$2"} <"$1" 2>&1; }
# both WHAT FILE DEFINITION
both() {
    is "$1" "$(valid "$2" "$3")" ''
    is "$1, and nothing else" "$(valid "$2")" ''
}

cat >sick.txt <<'TEXT'
40:01.1 PCI bridge
	Bus: primary=40, secondary=41
	Express (v2) Root Port
	LnkCap: Speed 16GT/s, Width x16
	LnkCtl: ASPM L1 Enabled
	LnkSta: Speed 2.5GT/s, Width x4
	ACSCtl: SrcValid+ ReqRedir+
41:00.0 3D controller: NVIDIA Corporation Device 20b5
	Express (v2) Endpoint
	LnkCap: Speed 16GT/s, Width x16
	LnkSta: Speed 2.5GT/s, Width x4
	CESta: BadTLP+ Timeout+
42:00.0 3D controller: NVIDIA Corporation Device 20b5
TEXT
"$gate" check --json --text=sick.txt >sick.json
is 'a sick machine is a drain' $? 2
ok 'of many findings' test "$(grep -c '"code"' sick.json)" -ge 6
both 'their JSON is as the schema says' sick.json check
"$gate" check --json --text=/dev/null >unread.json
both 'what cannot be read, too' unread.json check
echo '{"schema": 1, "verdict": "ok", "findings": []}' >none.json
both 'and nothing found' none.json check

"$gate" checklist --json --text=sick.txt >checklist.json
both 'the checklist' checklist.json checklist
"$gate" baseline learn --force --text=sick.txt --output=baseline.conf >learnt 2>&1
"$gate" baseline show --json baseline.conf >baseline.json
both 'a baseline' baseline.json baseline
"$gate" baseline diff --json --text=sick.txt baseline.conf >same.json
is 'no difference' $? 0
both 'no difference' same.json differences
sed -i 's/^width = 4/width = 16/' baseline.conf
"$gate" baseline diff --json --text=sick.txt baseline.conf >differences.json
is 'a difference' $? 1
both 'a difference' differences.json differences
# A snapshot and the report of a job: tests/unit/health_tool.c and health_job.c.

# Faults made on purpose.
# broken WHAT SED [FILE DEFINITION]
broken() {
    sed "$2" "${3:-sick.json}" >broken.json
    ok "made and seen: $1" test "$(cmp broken.json "${3:-sick.json}" 2>&1)" -a "$(valid broken.json "${4:-check}")"
}
broken 'another schema' 's/"schema": 1/"schema": 2/'
broken 'a severity that there is not' 's/"severity": "warn"/"severity": "bad"/'
broken 'a finding without a remedy' 's/"remedy"/"cure"/'
broken 'a code of another form' 's/PCI001/PCI1/'
broken 'no findings' 's/"findings"/"found"/'
broken 'a line that is neither yes nor no' 's/"state": "no"/"state": "maybe"/' checklist.json checklist
broken 'a date that is a text' 's/"date": null/"date": "today"/' checklist.json checklist
broken 'a difference of nothing' 's/"object": ".*"/"object": ""/' differences.json differences
broken 'a width that is a number' 's/"width": "\(.*\)"/"width": \1/' baseline.json baseline
done_testing
