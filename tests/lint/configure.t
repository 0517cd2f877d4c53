#!/bin/sh
# shellcheck disable=SC2317 # refused() is called by ok
# configure: a folder that is given and is the wrong one is an error, not the system's copy in its place; and what
# cannot be built is said there
top=${PIPC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

[ -x "$top/configure" ] || skip_all 'configure was not made'

# What one configure has found out about the machine the next ones need not, but for what they are asked about.
: >known
# in_build OPTION...: configure there
in_build() {
    mkdir build && cp known build/config.cache && cd build && "$top/configure" -C --quiet --without-cuda "$@"
}

# pages OPTION...: the manuals that make would install, after configure with these
pages() {
    (in_build "$@" >/dev/null 2>&1 && make -n install-man DESTDIR=/nowhere) |
        grep -o '[a-z_-]*\.[1-8]' | sort -u
    grep -v 'pkg_cv_\|slurm\|pmix\|ucx' build/config.cache >known
    rm -r build
}
if [ -e "$top/Makefile.in" ]; then
    pages --without-slurm >list
    like 'manuals are installed without Slurm' "$(cat list)" '^pcie-ipc-topo\.1$'
    unlike "but not the plugin's" "$(cat list)" '^spank_pcie_ipc\.8$'
fi

# refused ERE OPTION...: configure says so and ends
refused() {
    ere=$1
    shift
    code=0
    (in_build "$@") >out 2>&1 || code=$?
    rm -r build
    cat out
    test "$code" != 0 && grep -Eq -e "$ere" out
}

mkdir empty
ok '--with-slurm=DIR without Slurm' refused 'error: --with-slurm was given but slurm/spank.h was not found' \
    --with-slurm="$test_dir/empty"
ok '--with-pmix=DIR without PMIx' refused 'error: --with-pmix=.*/empty: there is no lib/pkgconfig/pmix.pc' \
    --with-pmix="$test_dir/empty"
ok '--with-ucx=DIR without UCX' refused 'error: --with-ucx=.*/empty: there is no lib/pkgconfig/ucx.pc' \
    --with-ucx="$test_dir/empty"

# One of DIR goes before the system's.
mkdir -p old/lib/pkgconfig
printf 'Name: ucx\nDescription: old\nVersion: 1.2\n' >old/lib/pkgconfig/ucx.pc
ok '--with-ucx=DIR takes what is there, here one too old' refused 'error: --with-ucx was given but pkg-config finds no ucx of 1.11' \
    --with-ucx="$test_dir/old"

ok '--disable-shared' refused 'error: --disable-shared: .* --enable-static' --disable-shared
done_testing
