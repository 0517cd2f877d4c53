# doc/local.mk

dist_man_MANS += doc/pcie-ipc-topo.1
