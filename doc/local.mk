# doc/local.mk

dist_man_MANS += doc/pcie-ipc-topo.1
dist_man_MANS += doc/pcie-ipc-bench.1
EXTRA_DIST += doc/architecture.md
