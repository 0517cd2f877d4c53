#!/usr/bin/env python3
"""health_schema.py SCHEMA <JSON: is it as the schema says? Says where it is not, with status 1.

It knows the words of JSON Schema that the schema uses and ends at any other, with status 2: a word that were
skipped would pass everything.
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str}


def wrong(value, schema, where):
    for word, want in schema.items():
        if word in ("$schema", "title"):
            continue
        if word == "type":
            bad = not isinstance(value, TYPES[want])
        elif word == "const":
            bad = value != want or type(value) is not type(want)
        elif word == "enum":
            bad = value not in want
        elif word == "required":
            bad = any(key not in value for key in want)
        elif word == "additionalProperties":
            assert want is False
            bad = any(key not in schema["properties"] for key in value)
        elif word == "pattern":
            bad = not re.search(want, value)
        elif word == "minLength":
            bad = len(value) < want
        elif word == "items":
            bad = any([wrong(item, want, f"{where}[{i}]") for i, item in enumerate(value)])
        elif word == "properties":
            bad = any([wrong(value[key], want[key], f"{where}.{key}") for key in want if key in value])
        else:
            sys.exit(2)
        if bad:
            print(f"{where}: {word} {want if word not in ('items', 'properties') else ''}")
            return True
    return False


with open(sys.argv[1], encoding="utf-8") as file:
    sys.exit(wrong(json.load(sys.stdin), json.load(file), "$"))
