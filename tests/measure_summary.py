#!/usr/bin/env python3
"""measure_summary.py FOLDER: Markdown on what tests/measure-gpu measured there, and the goals beside it.

Reads FOLDER/{peer,host,sms,auto,overlap}-{eager,graph}.json, those that are there.  Ratios are the peer's time / ours."""
import json
import math
import os
import sys

KB, MB = 1 << 10, 1 << 20
PLACES = (("out_of_place", "out"), ("in_place", "in"))
HOST_GBPS = 47  # what two GPUs together can do through host memory, each way
SLACK_USEC = 0.5


def load(folder):
    """{(part, mode): document}"""
    docs = {}
    for part in ("peer", "host", "sms", "auto", "overlap"):
        for mode in ("eager", "graph"):
            path = os.path.join(folder, "%s-%s.json" % (part, mode))
            if os.path.exists(path):
                with open(path) as f:
                    docs[part, mode] = json.load(f)
    return docs


def size(n):
    for unit, word in ((1 << 30, "GB"), (MB, "MB"), (KB, "KB")):
        if n >= unit and n % unit == 0:
            return "%d %s" % (n // unit, word)
    return "%d B" % n


def cells(doc, low=0, high=math.inf):
    """(row, placement's short name, cell) of all sizes from low to high"""
    for row in doc["rows"]:
        if low <= row["bytes"] <= high:
            for key, name in PLACES:
                yield row, name, row[key]


def own_usec(cell, way=None):
    """Of the run itself, or of one of --beside; None where it was not timed"""
    if way is None:
        return cell["usec"]
    return cell["beside"].get(way, {}).get("usec")


def ratio(cell, way=None, variant=None):
    """Peer's time / ours; of its best, or of one variant"""
    peer = cell["variants"].get(variant, {}).get("usec") if variant else cell["peer_usec"]
    own = own_usec(cell, way)
    return peer / own if peer and own else None


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def choice(row):
    name = row["plan"] + ("" if row["proto"] == "simple" else "/" + row["proto"])
    return name


def text(value, form="%.2f"):
    return "-" if value is None else form % value


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
                     + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


# --- what was measured ---------------------------------------------------------------------------


def against_peer(doc):
    """A row a size: own, with all multiprocessors, the peer's best"""
    ring = any("ring-ll" in c["variants"] for _, _, c in cells(doc))
    head = ["size", "ours", "us", "min us", "@max us", "NCCL's best", "us", "ratio", "@max"]
    head += ["/ Ring LL"] * ring + ["in place: us", "best", "us", "ratio", "@max", "#wrong"]
    rows = []
    for row in doc["rows"]:
        out, inside = row["out_of_place"], row["in_place"]
        line = [size(row["bytes"]), choice(row), text(out["usec"]), text(out["min_usec"]),
                text(own_usec(out, "shipped@max")), out["peer_best"] or "-", text(out["peer_usec"]), text(ratio(out)),
                text(ratio(out, "shipped@max"))]
        line += [text(ratio(out, None, "ring-ll"))] * ring
        line += [text(inside["usec"]), inside["peer_best"] or "-", text(inside["peer_usec"]), text(ratio(inside)),
                 text(ratio(inside, "shipped@max")),
                 "-" if out["wrong"] is None else str(out["wrong"] + inside["wrong"])]
        rows.append(line)
    return table(head, rows)


def ways(doc):
    """A row a size and placement: the run itself and all ways beside it"""
    names = doc["beside"]
    peers = [v["name"] for v in doc["variants"] if v["timed"]]
    head = ["size", "", "chosen", "us"] + names + ["nccl " + p for p in peers]
    rows = []
    for row, place, cell in cells(doc):
        rows.append([size(row["bytes"]), place, choice(row), text(cell["usec"])]
                    + [text(own_usec(cell, n)) for n in names]
                    + [text(cell["variants"].get(p, {}).get("usec")) for p in peers])
    return table(head, rows)


def in_short(docs):
    """A row a size: the tuned table against the peer's best, in each mode that was measured"""
    modes = [(mode, docs["auto", mode]) for mode in ("graph", "eager") if ("auto", mode) in docs]
    sizes = sorted({row["bytes"] for _, doc in modes for row in doc["rows"]})
    head = ["size"] + sum(([mode + ": ours", "us", "GB/s", "best", "us", "ratio", "in place"] for mode, _ in modes), [])
    rows = []
    for n in sizes:
        line = [size(n)]
        for _, doc in modes:
            row = next((r for r in doc["rows"] if r["bytes"] == n), None)
            out = row and row["out_of_place"]
            line += ["-"] * 7 if not row else [
                choice(row), text(out["usec"]), text(out["busbw_gbps"]), out["peer_best"] or "-", text(out["peer_usec"]),
                text(ratio(out)), text(ratio(row["in_place"]))]
        rows.append(line)
    return table(head, rows)


def overlaps(doc):
    """A row a size and side: what calls and arithmetic do to each other"""
    head = ["size", "", "calls us", "beside", "x", "arithmetic us", "beside", "x"]
    rows = []
    for row in doc["rows"]:
        for side, name in (("own", choice(row)), ("peer", "nccl " + (row["out_of_place"]["peer_best"] or ""))):
            o = (row["overlap"] or {}).get(side)
            if o:
                rows.append([size(row["bytes"]), name]
                            + [text(o[what + "_" + key], "%.3f" if key == "slowdown" else "%.2f")
                               for what in ("calls", "compute") for key in ("alone_usec", "beside_usec", "slowdown")])
    return table(head, rows)


def show(part, doc):
    if part == "overlap":
        print(overlaps(doc))
    elif part in ("peer", "host"):
        print(against_peer(doc))
        if len(doc["beside"]) > 1:
            print(ways(doc))
    else:
        print(ways(doc))


# --- the goals -----------------------------------------------------------------------------------


class Goals:
    """Lines of what was wanted and what is"""

    def __init__(self):
        self.rows = []

    def least(self, what, want, found):
        """found: [(value, where)]; the least one counts"""
        found = [f for f in found if f[0] is not None]
        if not found:
            return self.rows.append([what, ">= %.2f" % want, "not measured", "", "-"])
        value, where = min(found)
        bad = sum(v < want for v, _ in found)
        note = where if not bad or len(found) == 1 else "%s; %d of %d below" % (where, bad, len(found))
        self.rows.append([what, ">= %.2f" % want, "%.3f" % value, note, "FAIL" if bad else "pass"])

    def none(self, what, found):
        bad = sum(n for n, _ in found)
        where = "%d results checked" % len(found) if not bad else ", ".join(w for n, w in found if n)
        self.rows.append([what, "0", str(bad) if found else "not measured", where,
                          "-" if not found else "FAIL" if bad else "pass"])

    def table(self):
        return table(["goal", "wanted", "measured", "where", ""], self.rows)


def label(row, place):
    return "%s %s" % (size(row["bytes"]), place)


def means(goals, doc, mode, what, low, high, want, way=None):
    for key, place in PLACES:
        rows = [r for r in doc["rows"] if low <= r["bytes"] <= high]
        mean = geomean([ratio(r[key], way) for r in rows])
        goals.least("%s, geometric mean, %s%s" % (what, mode, " @max" if way else ""), want,
                    [(mean, "%s of place, %d sizes" % (place, len(rows)) if place == "out" else
                      "in place, %d sizes" % len(rows))])


def judge_choice(goals, doc, mode, part=""):
    """What every size owes: own ways are no slower than the peer's best, the peer's no slower than by themselves"""
    own = [(ratio(c), label(r, p)) for r, p, c in cells(doc) if r["plan"] != "nccl"]
    goals.least("%sown chosen: ratio at every size, %s" % (part, mode), 1.0, own)
    near = [(1.0 if c["usec"] <= c["peer_usec"] + SLACK_USEC else ratio(c), label(r, p))
            for r, p, c in cells(doc) if r["plan"] == "nccl" and c["peer_usec"]]
    if near:
        goals.least("%sNCCL chosen: ratio, or within %.1f us, %s" % (part, SLACK_USEC, mode), 0.97, near)


def judge_peer(goals, doc, mode):
    judge_choice(goals, doc, mode)
    if len(doc["ranks"]) > 2:  # the other figures are of two GPUs
        return means(goals, doc, mode, "up to 1 MB", 0, MB, 1.3)
    means(goals, doc, mode, "up to 4 MB", 0, 4 * MB, 1.5)
    means(goals, doc, mode, "16 to 256 MB", 16 * MB, 256 * MB, 1.12)
    means(goals, doc, mode, "16 to 256 MB", 16 * MB, 256 * MB, 1.2, "shipped@max")
    for at, want in ((1, 1.6), (4, 2.2), (16, 2.5), (64, 2.7)):
        for way in (None, "shipped@max"):
            goals.least("against Ring LL at %d MB, %s%s" % (at, mode, " @max" if way else ""), want,
                        [(ratio(c, way, "ring-ll"), p) for _, p, c in cells(doc, at * MB, at * MB)])


def judge_host(goals, doc, mode):
    goals.least("host: ratio at every size, %s" % mode, 1.0, [(ratio(c), label(r, p)) for r, p, c in cells(doc)])
    means(goals, doc, mode, "host: up to 256 KB", 0, 256 * KB, 1.5)
    goals.least("host: up to 256 KB, every size, %s" % mode, 1.5,
                [(ratio(c), label(r, p)) for r, p, c in cells(doc, 0, 256 * KB)])
    for variant, words in ((None, ""), ("default", ", NCCL's own choice")):
        goals.least("host: at 16 MB, %s%s" % (mode, words), 1.3,
                    [(ratio(c, None, variant), p) for _, p, c in cells(doc, 16 * MB, 16 * MB)])
        goals.least("host: from 64 MB on, %s%s" % (mode, words), 1.5 if mode == "eager" else 1.35,
                    [(ratio(c, None, variant), label(r, p)) for r, p, c in cells(doc, 64 * MB)])


def judge_host_speed(goals, docs):
    """Of the link's limit, in the better mode"""
    best = [max((c["busbw_gbps"], "%s, %s, %.1f of %d GB/s" % (mode, place, c["busbw_gbps"], HOST_GBPS))
                for (part, mode), doc in docs.items() if part == "host"
                for _, place, c in cells(doc, 64 * MB, 64 * MB) if place == want)
            for want in ("out", "in")
            if any(part == "host" and any(True for _ in cells(doc, 64 * MB, 64 * MB))
                   for (part, _), doc in docs.items())]
    goals.least("host: part of the link's limit at 64 MB", 0.88, [(b / HOST_GBPS, where) for b, where in best])


def judge_sms(goals, doc, mode):
    for few, most, want in (("one-shot/push@16", "one-shot/push@max", 0.8), ("one-shot/ce@16", "one-shot/ce@max", 0.9),
                            ("same@16", "same@max", 0.8)):
        found = [(own_usec(c, most) / own_usec(c, few), label(r, p)) for r, p, c in cells(doc, 16 * MB)
                 if own_usec(c, few) and own_usec(c, most)]
        if found or "ce" not in few or mode == "eager":
            goals.least("16 multiprocessors: part of the speed of all, %s, %s" % (few.split("@")[0], mode), want, found)


def judge_auto(goals, doc, mode):
    """Against the least of each own way and NCCL: as the library would call it, and its best"""
    if doc["peer"]:
        judge_choice(goals, doc, mode, "auto: ")
        means(goals, doc, mode, "auto: up to 1 MB", 0, MB, 1.3)
    for what, of_peer in (("the better of own and NCCL (as it is called)",
                           lambda c: c["variants"].get("default", {}).get("usec")),
                          ("the better of own and NCCL's best", lambda c: c["peer_usec"])):
        found = []
        for r, p, c in cells(doc):
            times = [c["usec"], of_peer(c)] + [b["usec"] for b in c["beside"].values()]
            best = min(t for t in times if t)
            found.append((1.0 if c["usec"] <= best + SLACK_USEC else best / c["usec"], label(r, p)))
        goals.least("auto: behind %s by at most 3 %% or %.1f us, %s" % (what, SLACK_USEC, mode), 1 / 1.03, found)


# --- the document --------------------------------------------------------------------------------


def headline(docs):
    doc = next(iter(docs.values()))
    return "pcie-ipc %s, %d ranks, backend %s, %s; float sum, us: medians of the slowest rank\n" % (
        doc["version"], len(doc["ranks"]), doc["backend"],
        next((d["peer"] for d in docs.values() if d["peer"]), "no peer"))


def main(folder):
    docs = load(folder)
    if not docs:
        sys.exit("measure_summary.py: %s: nothing was measured there" % folder)
    goals = Goals()
    print("# AllReduce, measured\n\n" + headline(docs))
    if any(part == "auto" for part, _ in docs):
        print("## Tuned, against the best of NCCL\n\n" + in_short(docs))
    judges = {"peer": judge_peer, "host": judge_host, "sms": judge_sms, "auto": judge_auto}
    for (part, mode), doc in docs.items():
        print("## %s, %s (path %s, table %s)\n" % (part, mode, doc["path"], os.path.basename(doc["table"])))
        show(part, doc)
        if part in judges:
            judges[part](goals, doc, mode)
    goals.none("wrong values", [(c["wrong"], "%s %s: %s" % (part, mode, label(r, p))) for (part, mode), doc in docs.items()
                                for r, p, c in cells(doc) if c["wrong"] is not None])
    if any(part == "host" and len(doc["ranks"]) == 2 for (part, _), doc in docs.items()):
        judge_host_speed(goals, docs)
    print("## Goals\n\n" + goals.table())


main(sys.argv[1])
