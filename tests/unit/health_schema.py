#!/usr/bin/env python3
"""health_schema.py SCHEMA [DEFINITION] <JSON: is it as the schema, or its definition, says? Says where it is not, with
status 1.

It knows the words of JSON Schema that the schema uses and ends at any other, with status 2: a word that were
skipped would pass everything.
"""
import json
import re
import sys

TYPES = {"object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
         "boolean": (bool,), "null": (type(None),)}

with open(sys.argv[1], encoding="utf-8") as file:
    ROOT = json.load(file)


def definition(reference):
    assert reference.startswith("#/$defs/")
    return ROOT["$defs"][reference[len("#/$defs/"):]]


def is_of(value, names):
    """A truth value is no number here, as it is in Python."""
    for name in [names] if isinstance(names, str) else names:
        if isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)):
            return True
    return False


def members(value, schema):
    """Each member of an object with the schema that it is to follow; None forbids it."""
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for key, item in value.items():
        yield key, item, known.get(key, None if others is False else others)


def wrong(value, schema, where):
    """A list of what is wrong."""
    found = []
    for word, want in schema.items():
        bad = False
        if word in ("$schema", "title", "$defs", "additionalProperties"):  # the last with properties, or below
            pass
        elif word == "$ref":
            found += wrong(value, definition(want), where)
        elif word == "type":
            bad = not is_of(value, want)
        elif word == "const":
            bad = value != want or type(value) is not type(want)
        elif word == "enum":
            bad = value not in want
        elif word == "oneOf":
            bad = sum(not wrong(value, one, where) for one in want) != 1
        elif word == "required":
            bad = isinstance(value, dict) and any(key not in value for key in want)
        elif word == "pattern":
            bad = isinstance(value, str) and not re.search(want, value)
        elif word == "minLength":
            bad = isinstance(value, str) and len(value) < want
        elif word in ("minItems", "maxItems"):
            bad = isinstance(value, list) and (len(value) < want if word == "minItems" else len(value) > want)
        elif word == "items":
            for i, item in enumerate(value if isinstance(value, list) else []):
                found += wrong(item, want, f"{where}[{i}]")
        elif word != "properties":
            print(f"{word}: not known here")
            sys.exit(2)
        if bad:
            found.append(f"{where}: {word} {want}")
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        for key, item, one in members(value, schema):
            found += [f"{where}.{key}: additionalProperties"] if one is None else wrong(item, one, f"{where}.{key}")
    return found


errors = wrong(json.load(sys.stdin), definition("#/$defs/" + sys.argv[2]) if len(sys.argv) > 2 else ROOT, "$")
for error in errors:
    print(error)
sys.exit(bool(errors))
