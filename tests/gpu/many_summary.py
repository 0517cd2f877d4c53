#!/usr/bin/env python3
"""many_summary.py - what tests/gpu/many found, in words

    many_summary.py results FILE     how many results of pcie-ipc-bench's JSON were checked, of which ways
    many_summary.py pairs FILE       pcie-ipc-p2p's JSON
    many_summary.py summary FOLDER   all of a run, in fewer than 100 lines: the tuned table, goals, what was ok and what not

FOLDER/notes has a line a thing: what became of it, the part, what it was; measured/summary.md is measure_summary.py's."""
import json
import os
import sys

WIDTH = 170  # of a line; the end of a long one is in the logs


def size(n):
    for unit, word in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if n >= unit and n % unit == 0:
            return "%d %s" % (n // unit, word)
    return "%d B" % n


def results(path):
    with open(path) as file:
        doc = json.load(file)
    ways, most, count = {}, 0, 0
    for row in doc["rows"]:
        for cell in (row["out_of_place"], row["in_place"]):
            timed = [row["plan"] + "/" + row["proto"]] + [w for w, f in cell["beside"].items() if f.get("usec")]
            for way in timed:
                ways[way] = max(ways.get(way, 0), row["bytes"])
            count += len(timed)
            most = max(most, row["bytes"])
    kinds = len({(row["type"], row["redop"]) for row in doc["rows"]})
    print("%d results of %d ways to %s, %s%s, path %s: 0 wrong" %
          (count, len(ways), size(most), "%d types and operations, " % kinds if kinds > 1 else "", doc["groups"], doc["path"]))


def span(pairs, key, unit):
    found = sorted(p[key] for p in pairs if p[key])
    return "%s %.4g to %.4g %s" % (key.split("_")[0], found[0], found[-1], unit) if found else key.split("_")[0] + " -"


def pairs(path):
    with open(path) as file:
        every = json.load(file)["pairs"]
    states = {}
    for pair in every:
        states[pair["state"]] = states.get(pair["state"], 0) + 1
    print("; ".join([", ".join("%d pairs %s" % (n, s) for s, n in sorted(states.items()))] +
                    [span(every, k, u) for k, u in (("write_gbps", "GB/s"), ("read_gbps", "GB/s"), ("copy_gbps", "GB/s"),
                                                    ("together_gbps", "GB/s"), ("latency_usec", "us"))]))


def sections(path):
    """{title: lines} of a Markdown file"""
    found, title = {}, ""
    if os.path.exists(path):
        with open(path) as file:
            for line in file.read().splitlines():
                if line.startswith("## "):
                    title = line[3:]
                elif line:
                    found.setdefault(title, []).append(line)
    return found


def summary(folder):
    with open(os.path.join(folder, "notes")) as file:
        notes = [line.rstrip("\n").split("\t", 2) for line in file]
    about = [n for n in notes if n[0] == "of"]
    print("# many: %s\n\n%s" % (", ".join(about[0][1:]), about[1][2]))
    measured = sections(os.path.join(folder, "measured", "summary.md"))
    for title in ("Tuned, against the best of NCCL", "Goals"):
        if title in measured:
            print("\n## %s\n" % title)
            print("\n".join(line for line in measured[title] if "| not measured |" not in line))
    print("\n## What was run\n")
    for kind in ("ok", "not run", "not ok"):
        for what, part, text in notes:
            if what == kind:
                print(("%-7s %s: %s" % (what, part, text))[:WIDTH])
    took = ", ".join("%s %s" % (part, text) for what, part, text in notes if what == "took")
    print("\nseconds: %s" % took)
    counts = ["%d %s" % (sum(n[0] == k for n in notes), k) for k in ("ok", "not ok", "not run")]
    goals = measured.get("Goals", [])
    counts += ["%d goals %s" % (sum(line.endswith("| %s |" % k) for line in goals), k) for k in ("pass", "FAIL")] if goals else []
    print(", ".join(counts))


if __name__ == "__main__":
    {"results": results, "pairs": pairs, "summary": summary}[sys.argv[1]](sys.argv[2])
