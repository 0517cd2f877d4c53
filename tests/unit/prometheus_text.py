#!/usr/bin/env python3
"""prometheus_text.py <TEXT: is it what Prometheus' text format says, and by its rules for names? Says where not,
with status 1.

As strict as promtool's parser and its lint: HELP and TYPE once and before the samples, one group a name, no series
twice, labels escaped, counters end in _total and nothing else does, the last line ends.
"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"^({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?)$")


def check(text):
    helps, types, series, group, ended = set(), {}, {}, None, set()
    if text and not text.endswith("\n"):
        yield 0, "the last line does not end"
    for n, line in enumerate(text.splitlines(), 1):
        comment = re.match(rf"^# (HELP|TYPE) ({NAME}) (\S.*)$", line)
        sample = SAMPLE.match(line)
        if not comment and not sample:
            yield n, "no line of the format"
            continue
        name = comment.group(2) if comment else sample.group(1)
        if name != group:
            if name in ended:
                yield n, f"{name} begins again"
            ended.add(group)
            group = name
        if comment and comment.group(1) == "HELP":
            if name in helps:
                yield n, "HELP twice"
            helps.add(name)
        elif comment:
            if name in types or comment.group(3) not in ("gauge", "counter"):
                yield n, "TYPE twice, or of no kind"
            if (comment.group(3) == "counter") != name.endswith("_total"):
                yield n, "a counter, and nothing else, ends in _total"
            types[name] = comment.group(3)
        else:
            labels = re.findall(LABEL, sample.group(2) or "")
            key = (name, tuple(sorted(labels)))
            if name not in types or name not in helps:
                yield n, "a sample before its HELP and TYPE"
            if key in series or len({label for label, _ in labels}) != len(labels):
                yield n, "a series, or a label, twice"
            series[key] = line


wrong = [f"line {n}: {what}" for n, what in check(sys.stdin.read())]
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
