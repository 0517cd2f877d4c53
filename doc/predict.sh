#!/bin/bash
# predict.sh - bring the tables and pictures of "Predicted" in doc/plans.md up to what pcie-ipc-plan says now
#
#   PCIE_IPC_BUILD=BUILDDIR doc/predict.sh
#
# A table stands behind a line "<!-- predicted TREE -->", or "<!-- predicted nodes TREE SIZE -->" for one
# size over 2 to 1024 nodes, and ends at the first line that is none of it.
set -eu
doc=$(dirname -- "$(readlink -f -- "$0")")
PATH=${PCIE_IPC_BUILD:-$doc/../_build}:$PATH

# plan TREE ARGS...: with the costs as they are shipped, whatever is installed
plan() {
    pcie-ipc-plan --links "$doc/../etc/links.conf" --synthetic "$@"
}

# table TREE: sizes x plans in markdown, the best in bold
table() {
    plan "$1" --table >"$work/best"
    plan "$1" --sweep | awk -v best="$work/best" '
        BEGIN {
            while ((getline line <best) > 0) {
                split(line, word)
                usec[word[1]] = word[3]
                sub(/^[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "", line)
                limit[word[1]] = line
            }
        }
        NR == 2 {
            row = "| size |"
            rule = "|---|---|---|---|"
            for (i = 2; i < NF; i++) { name[i] = $i; row = row " " $i " |"; rule = rule "---|" }
            print row " best | us | limited by |"
            print rule
        }
        /^(1K|16K|64K|256K|1M|4M|16M|64M|256M|1G) / {
            size = $1
            sub(/[KMG]$/, " &B", size)
            row = "| " size " |"
            for (i = 2; i < NF; i++) row = row ($NF == name[i] ? " **" $i "** |" : " " $i " |")
            printf "%s %s | %.0f | %s |\n", row, $NF, usec[$1], limit[$1]
        }'
}

# over TREE SIZE: numbers of nodes x what is predicted, in markdown
over() {
    printf '| nodes | plan | us | busbw | NIC MB | NIC busy | flat ring, us | NIC MB | flat log2, us | NIC MB |\n'
    printf '|---|---|---|---|---|---|---|---|---|---|\n'
    plan "$1" --nodes 1024 --sweep --bytes "$2" | awk 'NR > 2 {
        printf "| %s | %s | **%.0f** | %s | %.2f | %s %% | %.0f | %.2f | %.0f | %.2f |\n",
            $1, $2, $3, $4, $5, $6, $8, $9, $10, $11 }'
}

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
in_table=no
while IFS= read -r line; do
    if [ "$in_table" = yes ] && [ "${line:0:1}" = '|' ]; then continue; fi
    in_table=no
    printf '%s\n' "$line"
    if [[ $line =~ ^'<!-- predicted nodes '(.*)' '(.*)' -->'$ ]]; then
        over "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        in_table=yes
    elif [[ $line =~ ^'<!-- predicted '(.*)' -->'$ ]]; then
        table "${BASH_REMATCH[1]}"
        in_table=yes
    fi
done <"$doc/plans.md" >"$work/plans.md"
cp -- "$work/plans.md" "$doc/plans.md"
plan '2x[sw:4gpu]' --sweep --svg "$doc/predicted-4+4.svg" >/dev/null
plan '[sw:8gpu]' --sweep --svg "$doc/predicted-8.svg" >/dev/null
plan '2x[sw:4gpu]' --nodes 1024 --sweep --bytes 16M --svg "$doc/predicted-nodes.svg" >/dev/null
