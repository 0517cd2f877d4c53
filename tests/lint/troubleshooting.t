#!/bin/sh
# Each message of doc/troubleshooting.md and doc/admin.md stands in the sources, and the lint sees one that does not;
# the pages that README names are there
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
page=$top/doc/troubleshooting.md

admin=$top/doc/admin.md

find "$top/runtime" "$top/spank" "$top/prolog" -name '*.[ch]' | LC_ALL=C sort >sources
# shellcheck disable=SC2046 # names without blanks
"$top/tests/lint/c-strings" $(cat sources) >strings.txt

# messages PAGE: the first cells of its tables, but for those that are another program's
messages() {
    sed -n "s/^| \`\(.*\)\` | .*/\1/p" "$1"
}

# missing PAGE: those messages of which a part between the dots stands in no string of the sources. "%..." is
# whatever the compiler puts there.
missing() {
    messages "$1" | awk '
        NR == FNR { line[++n] = $0; next }
        {
            text = $0
            parts = split(text, part, /\.\.\./)
            found = 0
            for (i = 1; i <= n && !found; i++) {
                rest = line[i]; found = 1
                for (p = 1; p <= parts && found; p++) {
                    if (part[p] == "" || part[p] ~ /^[ :;,()]*$/) continue
                    at = index(rest, part[p])
                    if (!at) found = 0
                    rest = substr(rest, at + length(part[p]))
                }
            }
            if (!found) print text
        }' strings.txt -
}

ok 'there are strings' test "$(wc -l <strings.txt)" -gt 500
ok 'and messages' test "$(messages "$page" | wc -l)" -gt 30
is 'each message stands in the sources' "$(missing "$page")" ''

ok 'admin.md has messages' test "$(messages "$admin" | grep -vc '^/\|^[a-z]*\.json')" -gt 10
is 'each of them, too' "$(messages "$admin" | grep -v '^/' | sed 's/.*/| `&` | x |/' >own.md; missing own.md)" ''

# Faults made on purpose
sed 's/hides/shows/' "$page" >changed.md
is 'a word that is another one is seen' "$(missing changed.md)" \
    "the device cgroup shows ... of the step's ... GPUs on this node from each task"
printf '| `the moon is full` | wait |\n' >moon.md
is 'a message that nobody gives is seen' "$(missing moon.md)" 'the moon is full'
printf '| `GPUs on this node ... the device cgroup hides` | x |\n' >order.md
is 'parts in another order are seen' "$(missing order.md)" 'GPUs on this node ... the device cgroup hides'

for file in $(sed -n 's/.*](\(doc\/[a-z-]*\.md\)).*/\1/p' "$top/README.md" | sort -u); do
    ok "README names $file, which is there" test -e "$top/$file"
done
done_testing
