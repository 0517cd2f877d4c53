#!/bin/sh
# Make configure and its helpers from configure.ac and Makefile.am; needs autoconf, automake, libtool.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize; do
    command -v "$tool" >/dev/null || { echo "pcie-ipc: $tool is missing; apt-get install autoconf automake libtool pkg-config" >&2; exit 1; }
done
mkdir -p build-aux
exec autoreconf --install --force --warnings=all,no-obsolete
