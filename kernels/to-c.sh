#!/bin/sh
# to-c.sh NAME FILE - FILE's bytes as a C array NAME on stdout
set -eu
printf '/* made from %s; do not edit */\n' "${2##*/}"
printf 'extern const unsigned char %s[];\n' "$1"
printf '_Alignas(64) const unsigned char %s[] = {\n' "$1"
od -An -v -tx1 "$2" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
printf '};\n'
