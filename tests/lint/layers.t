#!/bin/sh
# Includes point only to the layers that doc/layers.txt allows - and the lint sees it when they do not
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

lint() { "$top/tests/lint/check-layers" "$@"; }

ok 'every include points to an allowed layer' lint "$top" "$top/doc/layers.txt"

# A small tree of its own, with one fault at a time.
tree() {
    rm -rf t && mkdir -p t/runtime/base t/runtime/topo t/kernels t/spank t/prolog && printf '%s\n' \
        'base: runtime/base/ <-' 'topo: runtime/topo/ <- base' >t/layers.txt
    printf '#include <stdio.h>\n#include "config.h"\n#include "runtime/base/b.h"\n' >t/runtime/topo/t.c
}
tree
ok 'a right tree passes' lint t "$PWD/t/layers.txt"
echo '#include "runtime/topo/t.h"' >t/runtime/base/b.c
is 'an include that points outward is refused, with its place' "$(lint t "$PWD/t/layers.txt")" \
    'runtime/base/b.c:1: base may not include topo (runtime/topo/t.h)'
tree
echo '#include "b.h"' >t/runtime/base/b.c
like 'so is a path from nowhere' "$(lint t "$PWD/t/layers.txt")" 'b.c:1: includes "b.h", which is in no layer'
tree
mkdir t/runtime/new && echo '#include <stdio.h>' >t/runtime/new/n.c
like 'and a folder without a layer' "$(lint t "$PWD/t/layers.txt")" 'n.c:1: belongs to no layer'
tree
printf 'base: runtime/base/ <- topo\ntopo: runtime/topo/ <- base\n' >t/layers.txt
like 'layers that point at each other are refused' "$(lint t "$PWD/t/layers.txt")" 'topo stands on no earlier line'
done_testing
