#!/usr/bin/env python3
"""bench_schema.py FILE: is FILE what runtime/tools/bench/json.c says? Says where it is not."""
import json
import sys

NUM, INT, STR, BOOL = (int, float), int, str, bool


class Maybe:  # or null
    def __init__(self, kind):
        self.kind = kind


class Map:  # any names
    def __init__(self, kind):
        self.kind = kind


FIGURES = {"usec": NUM, "min_usec": NUM, "p99_usec": NUM, "cpu_usec": NUM, "samples": INT}
CELL = dict(FIGURES, algbw_gbps=NUM, busbw_gbps=NUM, wrong=Maybe(INT), peer_usec=Maybe(NUM), ratio=Maybe(NUM),
            peer_best=Maybe(STR), variants=Map(dict(FIGURES, ratio=Maybe(NUM))),
            beside=Map(dict(FIGURES, ratio=Maybe(NUM))),
            rails=Maybe({"intra_usec": NUM, "inter_usec": NUM, "busy_usec": NUM}))
OVERLAP = {side + "_" + what: NUM for side in ("calls", "compute")
           for what in ("alone_usec", "beside_usec", "slowdown")}
MEAN = {"out_of_place": Maybe(NUM), "in_place": Maybe(NUM)}
ROW = {"bytes": INT, "count": INT, "type": STR, "redop": STR, "plan": STR, "proto": STR, "blocks": Maybe(INT),
       "beside": Map(STR),
       "out_of_place": CELL, "in_place": CELL, "overlap": Maybe({"own": Maybe(OVERLAP), "peer": Maybe(OVERLAP)})}
DOCUMENT = {
    "schema": INT, "program": STR, "version": STR, "backend": STR, "groups": STR, "path": STR, "sms": Maybe(STR),
    "iters": INT, "rounds": Maybe(INT), "graph_replays": Maybe(INT), "burst": Maybe(INT),
    "burst_bytes": Maybe(INT), "time_msec": Maybe(INT), "drop": Maybe(NUM), "table": STR, "beside": [STR],
    "overlap": Maybe({"wave_blocks": INT, "block_threads": INT, "thread_flops": INT}), "peer": Maybe(STR),
    "variants": [{"name": STR, "timed": BOOL, "why?": STR}],
    "ranks": [{"rank": INT, "host": STR, "pid": INT, "bdf": Maybe(STR)}],
    "nodes": Maybe({"nodes": INT, "ranks_least": INT, "ranks_most": INT, "create_msec": NUM,
                    "rails": [[{"rank": INT, "host": STR, "nic": Maybe(STR)}]]}),
    "rows": [ROW],
    "means": [{"range": STR, "min_bytes": INT, "max_bytes": Maybe(INT), "sizes": INT, "best": MEAN,
               "variants": Map(MEAN)}],
}


def judge(value, kind, where):
    """Yields a line for each thing that is not as it should be."""
    if isinstance(kind, Maybe):
        if value is not None:
            yield from judge(value, kind.kind, where)
    elif isinstance(kind, list):
        for i, v in enumerate(value if isinstance(value, list) else []):
            yield from judge(v, kind[0], "%s[%d]" % (where, i))
        if not isinstance(value, list):
            yield "%s is no list" % where
    elif isinstance(kind, (dict, Map)):
        if not isinstance(value, dict):
            yield "%s is no object" % where
            return
        if isinstance(kind, Map):
            kind = {k: kind.kind for k in value}
        for k in value:
            if k not in kind and k + "?" not in kind:
                yield "%s.%s is not in the schema" % (where, k)
        for k, v in kind.items():
            if k.rstrip("?") in value:
                yield from judge(value[k.rstrip("?")], v, where + "." + k.rstrip("?"))
            elif not k.endswith("?"):
                yield "%s.%s is missing" % (where, k)
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not BOOL):
        yield "%s is %r" % (where, value)


def agree(doc):
    """What must fit together."""
    if bool(doc["peer"]) != bool(doc["means"]):
        yield "means without a peer, or a peer without means"
    for rail in doc["nodes"]["rails"] if doc["nodes"] else []:
        if len(rail) != doc["nodes"]["nodes"]:
            yield "a rail has not an end on each node"
    if not doc["rows"]:
        yield "no rows"
    for r in doc["rows"]:
        for c in (r["out_of_place"], r["in_place"]):
            if not c["min_usec"] <= c["usec"] <= c["p99_usec"]:
                yield "%d bytes: min, median and p99 are not in order" % r["bytes"]
            if bool(doc["nodes"] and doc["backend"] == "cpu" and r["bytes"]) != bool(c["rails"]):
                yield "%d bytes: times of rails without nodes, or nodes without" % r["bytes"]
            elif c["rails"] and not (0 < c["rails"]["inter_usec"] <= c["rails"]["busy_usec"] and c["rails"]["intra_usec"] > 0):
                yield "%d bytes: no rail was busy, or less than it was waited for" % r["bytes"]
            best = min((v["usec"] for v in c["variants"].values()), default=None)
            if best != c["peer_usec"]:
                yield "%d bytes: the peer's time is not its best variant's" % r["bytes"]


document = json.load(open(sys.argv[1]))
faults = list(judge(document, DOCUMENT, "document")) or list(agree(document))
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))
