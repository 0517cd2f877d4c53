#!/usr/bin/env python3
"""measure_nodes.py FILE GBPS USEC GOAL: Markdown on what pcie-ipc-bench -J wrote of one communicator over several nodes:
against its peer, and against what pcie-ipc-plan (in PATH) predicts for ranks of a node that share a NIC of GBPS GB/s
and USEC us a message, of the same plan and of a flat ring over all ranks.

Predictions are compared with the least time of the turns, out of place and in place: load of other programs only adds.
"cores" is the part of the time that the ranks' own CPU time takes on this machine's cores: the model has a core for
each rank, so where it nears 1 it is not the wire that is measured.

measure_nodes.py FILE: the least time of FILE's first row alone, us: of a few bytes it is a message's latency."""
import json
import math
import os
import subprocess
import sys
import tempfile

PLACES = ("out_of_place", "in_place")
WITHIN = 25  # percent


def predict(doc, row, gbps, usec):
    """us of the row's plan, us of the flat ring"""
    ranks = doc["nodes"]["ranks_most"]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as links:
        links.write("[nic]\ngbps = %g\nusec = %g\nranks = %d\n" % (gbps, usec, ranks))
        links.flush()
        text = subprocess.run(
            ["pcie-ipc-plan", "--links", links.name, "--synthetic", "[%dgpu]" % ranks, "--profile", "cpu",
             "--staging", "8M", "--nodes", str(doc["nodes"]["nodes"]), "--simulate", "--bytes", str(row["bytes"]),
             "--plan", row["plan"], "--json"], check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(text)["rows"][0]
    return found["usec"], found["flat_ring"]["usec"]


def size(n):
    for unit, word in ((1 << 20, "MB"), (1 << 10, "KB")):
        if n >= unit and n % unit == 0:
            return "%d %s" % (n // unit, word)
    return "%d B" % n


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def line(*words):
    print("| " + " | ".join(words) + " |")


def against_peer(doc, goal):
    line("size", "plan", *(w for place in ("out of place", "in place") for w in (place + ": us", "peer", "ratio", "intra", "inter")))
    print("|---" * 12 + "|")
    ratios = []
    for row in doc["rows"]:
        words = [size(row["bytes"]), row["plan"]]
        for cell in (row[p] for p in PLACES):
            ratio, rails = cell["ratio"], cell["rails"]
            words += ["%.0f" % cell["usec"], "%.0f" % cell["peer_usec"] if ratio else "-", "%.2f" % ratio if ratio else "-"]
            words += ["%.0f" % rails["intra_usec"], "%.0f" % rails["inter_usec"]] if rails else ["-", "-"]
            ratios += [ratio] if ratio else []
        line(*words)
    if ratios:
        print("geometric mean %.2f, goal %s" % (geomean(ratios), goal))


def against_model(doc, gbps, usec):
    print()
    line("size", "plan", "least, us", "predicted", "off, %", "cores", "flat ring, predicted", "least / ring")
    print("|---" * 8 + "|")
    offs, ratios, ranks = [], [], sum(len(rail) for rail in doc["nodes"]["rails"][:1]) * doc["nodes"]["ranks_most"]
    for row in doc["rows"]:
        best = min((row[p] for p in PLACES), key=lambda c: c["min_usec"])
        own, ring = predict(doc, row, gbps, usec)
        off = 100 * (own / best["min_usec"] - 1)
        cores = best["cpu_usec"] * ranks / os.cpu_count() / best["min_usec"]
        line(size(row["bytes"]), row["plan"], "%.0f" % best["min_usec"], "%.0f" % own, "%+.0f" % off, "%.2f" % cores,
             "%.0f" % ring, "%.2f" % (best["min_usec"] / ring))
        offs.append(abs(off))
        ratios.append(best["min_usec"] / ring)
    print("prediction off by %.0f %% on average, %.0f %% at most, %d of %d within %d %%" % (
        sum(offs) / len(offs), max(offs), sum(o <= WITHIN for o in offs), len(offs), WITHIN))
    print("against the predicted flat ring: geometric mean %.2f, at most %.2f, %d of %d within %.2f" % (
        geomean(ratios), max(ratios), sum(r <= 1 + WITHIN / 100 for r in ratios), len(ratios), 1 + WITHIN / 100))


with open(sys.argv[1]) as file:
    document = json.load(file)
if len(sys.argv) == 2:
    print("%.1f" % min(document["rows"][0][p]["min_usec"] for p in PLACES))
else:
    against_peer(document, sys.argv[4])
    against_model(document, float(sys.argv[2]), float(sys.argv[3]))
