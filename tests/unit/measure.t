#!/bin/bash
# measure.t - tests/measure-gpu on CPUs, and what its summary makes of times that are known
# shellcheck disable=SC2016,SC2317 # the tests' code is for later
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

command -v python3 >/dev/null || { echo '1..0 # SKIP no python3' && exit; }
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
export PCIE_IPC_BUILD=$PIPC_BUILDDIR
unset PCIE_IPC_TABLE PCIE_IPC_PLAN PCIE_IPC_PATH PMIX_NAMESPACE SLURM_STEP_ID SLURM_JOB_ID

# --- the script ----------------------------------------------------------------------------------

status=0
"$top/tests/measure-gpu" --backend cpu --output measured --min 1K --max 8K --host-max 2K --sms-min 4K --rounds 2 \
    --time 5 >out 2>err || status=$?
is 'all parts run on CPUs' "$status $(cat err)" '0 '
is 'each tells its time' "$(sed -n 's/^\([a-z]*\): [0-9.]* s$/\1/p' out | xargs)" 'peer host sms tune auto'
is 'each leaves its files' "$(cd measured && echo *)" \
    'auto-eager.json auto-eager.svg auto-eager.txt host-eager.json host-eager.svg host-eager.txt peer-eager.json peer-eager.svg peer-eager.txt sms-eager.json sms-eager.txt summary.md table tune.txt'
like 'sizes go in steps of two' "$(cat measured/summary.md)" '^\| 2 KB \| one-shot '
like 'without NCCL nothing is said of ratios' "$(cat measured/summary.md)" '^\| own chosen: .* \| not measured \|'
like 'values are checked' "$(cat measured/summary.md)" '^\| wrong values \| 0 \| 0 \| .* results checked \| pass \|$'
like 'the table that was written is used' "$(cat measured/summary.md)" '^## auto, eager \(path p2p, table table\)$'
if command -v xmllint >/dev/null; then ok 'the picture is one' xmllint --noout measured/peer-eager.svg; fi
status=0
"$top/tests/measure-gpu" --part moon >out 2>err || status=$?
like 'a part that is none is refused' "$status $(cat err)" '^64 .*--part: peer, host'
status=0
"$top/tests/measure-gpu" --backend cpu --output empty --part auto >out 2>err || status=$?
like 'auto needs a table' "$status $(cat err)" 'no table; measure --part tune first'

# --- the goals -----------------------------------------------------------------------------------

# known NAME PYTHON: measured/NAME.json gets a document of rows that the Python makes with row(BYTES, PLAN, OWN, BESIDE,
# VARIANTS): times of own ways and of the peer's variants, the same in place and out of place
known() {
    mkdir -p known
    python3 - "$2" >"known/$1.json" <<'END'
import json
import sys


def row(size, plan, usec, beside, variants):
    def figures(t):
        return {"usec": t, "min_usec": t, "p99_usec": t, "cpu_usec": t, "samples": 9}
    best = min(variants, key=variants.get, default=None)
    cell = dict(figures(usec), busbw_gbps=size / usec * 1e-3, wrong=0, peer_usec=variants.get(best), peer_best=best,
                beside={k: figures(v) for k, v in beside.items()}, variants={k: figures(v) for k, v in variants.items()})
    return {"bytes": size, "plan": plan, "proto": "simple", "out_of_place": cell, "in_place": cell, "overlap": None}


def beside(row, calls, compute):
    side = {"calls_alone_usec": 10, "calls_beside_usec": 10 * calls, "calls_slowdown": calls,
            "compute_alone_usec": 20, "compute_beside_usec": 20 * compute, "compute_slowdown": compute}
    return dict(row, overlap={"own": side, "peer": None})


K, M = 1 << 10, 1 << 20
rows = eval(sys.argv[1])
names = list(rows[0]["out_of_place"]["beside"])
print(json.dumps({"version": "0", "backend": "cuda", "path": "p2p", "table": "shipped", "peer": "NCCL 2", "ranks": [0, 1],
                  "beside": names, "rows": rows,
                  "variants": [{"name": v, "timed": True} for v in rows[0]["out_of_place"]["variants"]]}))
END
}

# goal WHAT: the summary's line of it: what was measured, and the verdict
goal() {
    sed -n "s/^| $1 | [^|]*| \([^|]*\) | [^|]* | \([^|]*\) |\$/\1 \2/p" out | head -n 1
}

summary() {
    python3 "$top/tests/measure_summary.py" known >out
}

known peer-eager '[row(K, "one-shot", 2, {"shipped@max": 2}, {"default": 4, "ring-ll": 8}),
    row(M, "one-shot", 10, {"shipped@max": 5}, {"default": 9.9, "ring-ll": 20}),
    row(64 * M, "nccl", 10.4, {"shipped@max": 10}, {"default": 10, "ring-ll": 26})]'
summary
is 'one size below one is a failure' "$(goal 'own chosen: ratio at every size, eager')" '0.990 FAIL'
is 'NCCL may be half a microsecond behind' "$(goal 'NCCL chosen: ratio, or within 0.5 us, eager')" '1.000 pass'
is 'a mean of ratios' "$(goal 'up to 4 MB, geometric mean, eager')" '1.407 FAIL'
is 'a mean with all multiprocessors' "$(goal '16 to 256 MB, geometric mean, eager @max')" '1.000 FAIL'
is 'against Ring LL, ahead of what is wanted' "$(goal 'against Ring LL at 1 MB, eager')" '2.000 pass'
is 'against Ring LL, behind' "$(goal 'against Ring LL at 64 MB, eager')" '2.500 FAIL'
is 'a size that was not measured' "$(goal 'against Ring LL at 16 MB, eager')" 'not measured -'

known host-eager '[row(64 * K, "one-shot", 10, {}, {"default": 16}), row(64 * M, "one-shot", 1600, {}, {"default": 2450})]'
known host-graph '[row(64 * K, "one-shot", 10, {}, {"default": 14}), row(64 * M, "one-shot", 2000, {}, {"default": 2450})]'
summary
is 'host: every size' "$(goal 'host: up to 256 KB, every size, eager')" '1.600 pass'
is 'host: every size, in graphs' "$(goal 'host: up to 256 KB, every size, graph')" '1.400 FAIL'
is 'host: large, eager' "$(goal 'host: from 64 MB on, eager')" '1.531 pass'
is 'host: large, in graphs' "$(goal 'host: from 64 MB on, graph')" '1.225 FAIL'
is 'host: the better mode counts for the link' "$(goal "host: part of the link's limit at 64 MB")" '0.892 pass'

known sms-eager '[row(64 * M, "one-shot", 10, {"one-shot/push@16": 12, "one-shot/push@max": 10, "one-shot/ce@16": 12,
    "one-shot/ce@max": 10, "same@16": 12, "same@max": 9}, {})]'
summary
is '16 multiprocessors, push' "$(goal '16 multiprocessors: part of the speed of all, one-shot.push, eager')" '0.833 pass'
is '16 multiprocessors, copy engines' "$(goal '16 multiprocessors: part of the speed of all, one-shot.ce, eager')" '0.833 FAIL'

known auto-eager '[row(K, "nccl", 4.4, {"one-shot": 4}, {"default": 5}), row(M, "nccl", 104, {"one-shot": 100}, {"default": 105})]'
summary
is 'auto: 3 % or half a microsecond, not more' \
    "$(goal 'auto: behind the better of own and NCCL (as it is called) by at most 3 % or 0.5 us, eager')" '0.962 FAIL'

like 'a row a size of it, in short' "$(cat out)" '^\| 1 KB \| nccl \| 4.40 \| 0.23 \| default \| 5.00 \| 1.14 \| 1.14 \|$'
is 'auto: NCCL chosen is as good as NCCL' "$(goal 'auto: NCCL chosen: ratio, or within 0.5 us, eager')" '1.000 pass'
is 'auto: the mean of what is small' "$(goal 'auto: up to 1 MB, geometric mean, eager')" '1.071 FAIL'

# of more ranks than two, what was measured on two is no goal
sed -i 's/"ranks": \[0, 1\]/"ranks": [0, 1, 2, 3]/' known/*.json
summary
is 'four ranks: every size' "$(goal 'own chosen: ratio at every size, eager')" '0.990 FAIL'
is 'four ranks: the mean up to 1 MB' "$(goal 'up to 1 MB, geometric mean, eager')" '1.407 pass'
is 'four ranks: nothing of Ring LL, nor of the host of two' "$(goal 'against Ring LL at 1 MB, eager')$(goal "host: part of the link's limit at 64 MB")" ''
like 'four ranks are named' "$(cat out)" ', 4 ranks, backend cuda'

known overlap-eager '[beside(row(M, "one-shot", 10, {}, {}), 1.5, 1.25)]'
summary
like 'calls and arithmetic beside each other' "$(cat out)" \
    '^\| 1 MB \| one-shot \| 10.00 \| 15.00 \| 1.500 \| 20.00 \| 25.00 \| 1.250 \|$'
done_testing
