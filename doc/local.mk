# doc/local.mk

dist_man_MANS += doc/pcie-ipc-topo.1
dist_man_MANS += doc/pcie-ipc-bench.1
EXTRA_DIST += doc/architecture.md
dist_man_MANS += doc/spank_pcie_ipc.8
EXTRA_DIST += doc/measurements.md
