# tests/lint/local.mk
LINT_TESTS += tests/lint/layers.t
EXTRA_DIST += tests/lint/check-layers doc/layers.txt tests/lib/tap.sh tests/lib/ranks.sh tests/lib/nccl.sh
LINT_TESTS += tests/lint/bench.t
LINT_TESTS += tests/lint/p2p.t
LINT_TESTS += tests/lint/symbols.t
LINT_TESTS += tests/lint/configure.t
EXTRA_DIST += tests/lint/check-symbols tests/lint/symbols
LINT_TESTS += tests/lint/tools.t
LINT_TESTS += tests/lint/manuals.t
LINT_TESTS += tests/lint/troubleshooting.t
EXTRA_DIST += tests/lint/c-strings
EXTRA_DIST += tests/lint/check-manual
