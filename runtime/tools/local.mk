# runtime/tools/local.mk

bin_PROGRAMS += pcie-ipc-topo
pcie_ipc_topo_SOURCES = runtime/tools/pcie-ipc-topo.c
pcie_ipc_topo_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
pcie_ipc_topo_LDADD = libpipc-core.la
