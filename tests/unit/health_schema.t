#!/bin/bash
# health_schema.t - what check --json prints is what doc/pcie-ipc-health.schema.json says - and the test sees it when not
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

gate=$PIPC_BUILDDIR/prolog/gate
schema=$PIPC_SRCDIR/doc/pcie-ipc-health.schema.json
valid() { python3 "$PIPC_SRCDIR/tests/unit/health_schema.py" "$schema" <"$1"; }

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
is 'their JSON is as the schema says' "$(valid sick.json)" ''
"$gate" check --json --text=/dev/null >unread.json
is 'what cannot be read, too' "$(valid unread.json)" ''
echo '{"schema": 1, "verdict": "ok", "findings": []}' >none.json
is 'and nothing found' "$(valid none.json)" ''

# Faults made on purpose.
broken() {
    sed "$2" sick.json >broken.json
    ok "seen: $1" test -n "$(valid broken.json)"
}
broken 'another schema' 's/"schema": 1/"schema": 2/'
broken 'a severity that there is not' 's/"severity": "warn"/"severity": "bad"/'
broken 'a finding without a remedy' 's/"remedy"/"cure"/'
broken 'a code of another form' 's/PCI001/PCI1/'
broken 'no findings' 's/"findings"/"found"/'
done_testing
