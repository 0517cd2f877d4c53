#!/bin/sh
# shellcheck disable=SC2317 # links() is called by ok
# pkg_config.t - doc/example.c links libpcie-ipc.a by what pkg-config --static says; libpipc-comm.a is the same objects
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

command -v pkg-config >/dev/null || skip_all 'no pkg-config'
PKG_CONFIG_PATH=$PIPC_BUILDDIR
export PKG_CONFIG_PATH
[ -e "$PIPC_BUILDDIR/.libs/libpipc-comm.a" ] || skip_all 'libpipc-comm.a was not made'
mkdir lib
ln -s "$PIPC_BUILDDIR/.libs/libpipc-comm.a" lib/libpcie-ipc.a

# made NAME: what the Makefile has for it: of a test build LDFLAGS have the sanitizers
made() {
    sed -n "s/^$1 = //p" "$PIPC_BUILDDIR/Makefile"
}

# links OPTION...: every object of the library, not only those that the example needs
links() {
    flags=$(pkg-config --define-variable=libdir="$test_dir/lib" --define-variable=includedir="$PIPC_SRCDIR/runtime/include" \
        --cflags --libs "$@" pcie-ipc)
    # shellcheck disable=SC2046,SC2086 # words
    $(made CC) $(made CFLAGS) -o example "$PIPC_SRCDIR/doc/example.c" $(made LDFLAGS) \
        ${flags%%-lpcie-ipc*} -Wl,--whole-archive -lpcie-ipc -Wl,--no-whole-archive ${flags#*-lpcie-ipc}
}

ok 'pkg-config --static --libs has what the library needs' links --static
is 'the shared library needs no more than itself' "$(pkg-config --libs-only-l pcie-ipc | xargs)" '-lpcie-ipc'
done_testing
