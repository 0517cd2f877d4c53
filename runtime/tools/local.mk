# runtime/tools/local.mk

bin_PROGRAMS += pcie-ipc-topo
pcie_ipc_topo_SOURCES = runtime/tools/pcie-ipc-topo.c
pcie_ipc_topo_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
pcie_ipc_topo_LDADD = libpipc-core.la

bin_PROGRAMS += pcie-ipc-bench
pcie_ipc_bench_SOURCES = \
	runtime/tools/bench/bench.c \
	runtime/tools/bench/data.c runtime/tools/bench/data.h \
	runtime/tools/bench/device.h \
	runtime/tools/bench/device_cpu.c \
	runtime/tools/bench/measure.c runtime/tools/bench/measure.h \
	runtime/tools/bench/options.c runtime/tools/bench/options.h \
	runtime/tools/bench/peer.h \
	runtime/tools/bench/peer_nccl.c
pcie_ipc_bench_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
pcie_ipc_bench_LDADD = libpipc-comm.la
if HAVE_CUDA
pcie_ipc_bench_SOURCES += runtime/tools/bench/device_cuda.c
endif
