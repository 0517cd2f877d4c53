#!/bin/sh
# to-c.sh NAME RELEASE FATBIN... - a C source on stdout: the list pipc__NAME_code of fat binaries, each with
# the release of the nvcc that made it (13000 for CUDA 13.0)
set -eu
name=$1
shift
printf '/* made by kernels/to-c.sh; do not edit */\n#include "runtime/exec/fatbin.h"\n\n'
list=''
while [ $# != 0 ]; do
    printf 'static _Alignas(64) const unsigned char by_%s[] = { /* %s */\n' "$1" "${2##*/}"
    od -An -v -tx1 "$2" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
    printf '};\n\n'
    list="$list    {$1, by_$1, sizeof(by_$1)},
"
    shift 2
done
printf 'extern const pipc__fatbin_t pipc__%s_code[];\n' "$name"
printf 'const pipc__fatbin_t pipc__%s_code[] = {\n%s    {0, 0, 0},\n};\n' "$name" "$list"
