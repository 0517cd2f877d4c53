#!/bin/bash
# plan_tool.t - pcie-ipc-plan as a program: options, exit statuses, text, JSON, pictures, calibration
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

plan=$PIPC_BUILDDIR/pcie-ipc-plan
two='2x[sw:4gpu]'

# run ARGS...: the program, with its streams in out and err and its exit status in $status
run() {
    status=0
    "$plan" "$@" >out 2>err || status=$?
}

# refused STATUS ERE ARGS...: it ends with that status, prints nothing, and says so in one line
refused() {
    local want=$1 message=$2
    shift 2
    run "$@"
    if [ "$status" = "$want" ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -Eq -e "$message" err; then
        pass "refused: $*"
    else
        fail "refused: $*"
        diag "status $status, $(head -n 3 out) $(cat err)"
    fi
}

# --- simulate ------------------------------------------------------------------------------------

run --topo "$two" --bytes 16M
is 'best plan of two switches at 16 MB' "$status $(sed -n 's/^plan  *\([a-z-]*\),.*/\1/p' out)" '0 island'
like 'what limits it' "$(cat out)" '^limited by  .* %$'
like 'S over the uplink, each way' "$(cat out)" '^uplink of switch 0000:01:00.0 .* 16777216   1.000 .* 16777216   1.000 '
like 'what is assumed is marked' "$(cat out)" '^\* assumed: the topology does not tell'
for case in ring:1.750 two-shot:4.000 one-shot:16.000; do
    run --synthetic "$two" --plan "${case%:*}"
    like "${case%:*}: ${case#*:} S over the uplink" "$(cat out)" "^uplink of switch 0000:01:00.0 .* ${case#*:} .* ${case#*:} "
done
run --topo "$two" --path host --plan two-shot
like 'in host memory' "$(cat out)" '^memory of NUMA node 0 .* 14.000 '
run --topo '[2core]' --ranks 2
like 'without GPUs ranks are processes' "$(cat out)" 'profile cpu'
run --topo "$two" --ranks 3 --bind map:0,4,1
is 'bind:map puts ranks where it says' "$(sed -n 's/^rank.*GPU \([^ ]*\).*/\1/p' out | xargs)" '0000:03:00.0 0000:0b:00.0 0000:04:00.0'
run --topo "$two" --bytes 0
is 'nothing to move takes a call' "$status $(sed -n 's/^predicted  *\([0-9.]*\) us.*/\1/p' out)" '0 4.50'

# --- print, check, plans as files -------------------------------------------------------------------

run --topo '[sw:3gpu]' --plan ring --print
like 'a plan in words' "$(cat out)" 'signal'
test_expect_success 'a plan as JSON, checked, simulated, printed again the same' '
    "$plan" --topo "[sw:3gpu]" --plan ring --print --json >ring.json &&
    "$plan" --plan-file ring.json --check >out && grep -q "^ring, all-reduce, 3 ranks: right$" out &&
    "$plan" --plan-file ring.json --topo "$two" >out && grep -q "^plan  *ring" out &&
    "$plan" --plan-file ring.json --print --json | cmp - ring.json'
sed '0,/{"op": "wait"/s/"op": "wait", "rank": \([0-9]\), "flag": [0-9]*/"op": "wait", "rank": \1, "flag": 77/' ring.json >broken.json
refused 1 'rank 0' --plan-file broken.json --check
# The first wait of rank 0 is gone: its sum may read before the data is there.
awk '!done && /"op": "wait"/ { done = 1; next } { print }' ring.json >racy.json
refused 1 'rank [0-9].*(step|op)' --plan-file racy.json --check
# Every rank waits before it sends: nobody ever does.
cat >stuck.json <<END
{"version": 1, "name": "stuck", "collective": "all-reduce", "ranks": 2, "stages": 1, "chunks": 1, "slots": 1, "flags": 1,
 "programs": [
  {"rank": 0, "stage": 0, "ops": [{"op": "wait", "rank": 1, "flag": 0}, {"op": "signal", "rank": 1, "flag": 0}]},
  {"rank": 1, "stage": 0, "ops": [{"op": "wait", "rank": 0, "flag": 0}, {"op": "signal", "rank": 0, "flag": 0}]}]}
END
refused 1 'rank 0.*step 0.*waits for ever' --plan-file stuck.json --check
refused 1 'rank 0, stage 0, round 0, step 0 waits for ever' --plan-file stuck.json --topo "$two"
refused 2 'nowhere.json' --plan-file nowhere.json --check
refused 1 '/dev/null: line' --plan-file /dev/null --check
for collective in reduce-scatter all-gather; do
    run --topo "$two" --collective "$collective" --check --plan two-shot
    like "$collective is checked, too" "$status $(cat out)" "^0 two-shot, $collective, 8 ranks: right"
done

# --- JSON ---------------------------------------------------------------------------------------------

json() { command -v python3 >/dev/null && python3 -c "import json,sys; d=json.load(open('out')); print($1)"; }
if command -v python3 >/dev/null; then
    run --topo "$two" --json
    is 'the result as JSON' "$(json '[d["version"], d["plan"], d["bytes"], len(d["ranks"]), [w["bytes"] for l in d["links"] if l["name"] == "uplink of switch 0000:01:00.0" for w in l["directions"]][:2]]')" \
        "[1, 'island', 16777216, 8, [16777216, 16777216]]"
    run --topo "$two" --table --json
    is 'the table as JSON' "$(json '[len(d["rows"]), d["rows"][0]["bytes"], d["rows"][20]["bytes"], d["rows"][14]["best"]]')" \
        "[21, 1024, 1073741824, 'island']"
    run --topo "$two" --check --json
    is 'the verdict as JSON' "$(json 'd["right"]')" True
else
    skip 'JSON' 'no python3'
fi

# --- sweep and table -------------------------------------------------------------------------------------

run --topo "$two" --sweep --svg curves.svg
is 'a sweep has a row a size' "$status $(grep -cE '^[0-9]+[KMG] ' out)" '0 21'
test_expect_success 'and a picture with a curve for each plan of its table' '
    test "$(head -c 4 curves.svg)" = "<svg" && test "$(grep -c "<polyline" curves.svg)" = "$(sed -n 2p out | wc -w | awk "{ print \$1 - 2 }")"'
if command -v xmllint >/dev/null; then
    ok 'the picture is XML' xmllint --noout curves.svg
else
    skip 'the picture is XML' 'no xmllint'
fi
run --topo "$two" --table
is 'the table has a row a size, with its limit' "$status $(grep -cE '^[0-9]+[KMG] .* %' out)" '0 21'
refused 2 'nowhere/x.svg: No such file' --topo "$two" --sweep --svg nowhere/x.svg --json

# --- several nodes ---------------------------------------------------------------------------------------

run --topo "$two" --nodes 1000 --sweep --bytes 1M --svg nodes.svg
is 'nodes by powers of two, and the number asked for' "$status $(sed -n 's/^\([0-9]*\) *nodes .*/\1/p' out | xargs)" \
    '0 2 4 8 16 32 64 128 256 512 1000'
is 'two nodes exchange half a message by each of two NICs' "$(awk '$1 == 2 { print $5 }' out)" 0.524
is 'a picture, over nodes' "$(grep -c '<polyline' nodes.svg) $(grep -c '>nodes<' nodes.svg)" '3 2'
run --topo "$two" --nodes 4 --bytes 8
is 'one number of nodes' "$status $(tail -n +3 out | wc -l)" '0 1'
run --topo "$two" --nodes 4 --json
is 'as JSON' "$(python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["ranks"], o["rows"][0]["nodes"])' <out)" '8 4'
run --topo "$two" --nodes 4 --check
is 'the plan that each node has is right' "$(cat out)" 'nodes, all-reduce, 8 ranks: right'
run --topo "$two" --nodes 2 --print --plan nodes-one
like 'and in words' "$(cat out)" 'sum chunk 0 over the nodes in its output, post, then set its own flag'
"$plan" --topo "$two" --nodes 2 --print --plan nodes --json >over.json
run --plan-file over.json --check
is 'and kept in a file' "$(cat out)" 'nodes, all-reduce, 8 ranks: right'
"$plan" --topo "$two" --nodes 2 --print --plan nodes-lean --json >lean.json
run --plan-file lean.json --print
like 'lean rails, too' "$(cat out)" '^plan nodes-lean: .*, 8 lean rails$'
refused 1 'say how many there are' --plan-file over.json --topo "$two"
refused 1 'ring is for one node' --topo "$two" --nodes 2 --plan ring
refused 64 '2 to 1024' --topo "$two" --nodes 1
refused 64 '2 to 1024' --topo "$two" --nodes 1025
refused 64 'all-reduce alone' --topo "$two" --nodes 2 --collective all-gather
refused 64 -- --nodes --topo "$two" --nodes 2 --table

# --- topologies -------------------------------------------------------------------------------------------

printf '\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-7\t0\nGPU1\tNV18\t X \t0-7\t0\n' >matrix.txt
for topo in matrix.txt topo-m:matrix.txt; do
    run --topo "$topo"
    like "--topo $topo: a matrix, over NVLink" "$(cat out)" 'profile nvlink'
done
run --topo "synthetic:$two" --print
is '--topo KIND:TEXT' "$status" 0
echo nonsense >nonsense.txt
refused 2 'nonsense.txt' --topo nonsense.txt
refused 2 'nowhere.xml' --topo nowhere.xml
"$PIPC_BUILDDIR/pcie-ipc-topo" --synthetic "$two" --json >topo.json
refused 2 'name its kind, as in topo-json:/dev/fd' --topo <(cat topo.json)
run --topo topo-json:<(cat topo.json)
is 'a pipe whose kind is named is read' "$status $(sed -n 's/^plan  *\([a-z-]*\),.*/\1/p' out)" '0 island'
refused 64 'character' --topo '[sw:4gpus]'
refused 64 'one machine at a time' --topo "$two" --synthetic "$two"
refused 64 'ranks' --topo '[2core]'
refused 64 'at most 16' --topo '3x[sw:8gpu]'

# --- costs ---------------------------------------------------------------------------------------------------

printf '[link]\nspeed_gts = 32\n' >fast.conf
run --topo "$two" --plan ring --links fast.conf
like 'costs from a file' "$(cat out)" 'costs fast.conf'
printf '[link]\nspeed = 32\n' >bad.conf
refused 2 '^pcie-ipc-plan: bad.conf:2: there is no key "speed"' --topo "$two" --links bad.conf
refused 2 'nowhere.conf: No such file' --topo "$two" --links nowhere.conf

# --- usage --------------------------------------------------------------------------------------------------

refused 64 -- --ranks --topo "$two" --ranks 0
refused 64 -- --ranks --topo "$two" --ranks 17
refused 64 -- --bytes --topo "$two" --bytes 16Q
refused 64 'use one of one-shot' --topo "$two" --plan fastest
refused 64 -- --bind --topo "$two" --bind map:1,,2
refused 64 'one of them at a time' --topo "$two" --check --print
refused 64 'one plan at a time' --plan ring --plan-file x
refused 64 -- --svg --topo "$two" --svg x.svg
refused 1 'staging' --topo "$two" --staging 1K

# --- calibration: what a known profile predicts, taken for measured, gives that profile back ------------------

# measured PLAN: rows as pcie-ipc-bench -J writes them
measured() {
    local size sep=''
    printf '{"program": "pcie-ipc-bench", "backend": "cpu", "ranks": [{}, {}], "rows": ['
    for size in 1024 16384 262144 4194304 67108864; do
        printf '%s{"bytes": %s, "type": "float", "redop": "sum", "plan": "%s", "out_of_place": {"usec": %s}}' "$sep" "$size" "$1" \
            "$("$plan" --topo '[2core]' --ranks 2 --links known.conf --plan "$1" --bytes "$size" | sed -n 's/^predicted  *\([0-9.]*\) us.*/\1/p')"
        sep=,
    done
    printf ']}\n'
}
printf '[cpu]\ncall_usec = 2\ncopy_gbps = 7\nreduce_gbps = 3\n' >known.conf
measured one-shot >a.json
measured two-shot >b.json
run --topo '[2core]' --calibrate a.json,b.json
is 'calibration finds what is known' "$status $(awk '/rows, .* at most$/ && $(NF - 3) <= 5 { print "close" }' out)" '0 close'
test_expect_success 'and prints a file that --links takes' '
    "$plan" --topo "[2core]" --ranks 2 --links out --bytes 64M --plan one-shot | grep -q "costs out"'
echo '{"program": "pcie-ipc-bench", "backend": "cuda", "ranks": [{}, {}], "rows": []}' >c.json
refused 2 'c.json: 2 ranks on cuda' --topo '[2core]' --calibrate a.json,c.json
refused 2 'bad.conf' --topo '[2core]' --calibrate bad.conf
refused 2 'nowhere.json' --topo '[2core]' --calibrate nowhere.json

done_testing
