#!/bin/sh
# to-c.sh DIR/NAME.fatbin - its bytes as a C array pipc__NAME_fatbin on stdout; so for NAME_perturb.fatbin
set -eu
name=${1##*/}
name=${name%.fatbin}
name=pipc__${name%_perturb}_fatbin
printf '/* made from %s; do not edit */\n' "${1##*/}"
printf 'extern const unsigned char %s[];\n' "$name"
printf '_Alignas(64) const unsigned char %s[] = {\n' "$name"
od -An -v -tx1 "$1" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
printf '};\n'
