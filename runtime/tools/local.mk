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
	runtime/tools/bench/json.c runtime/tools/bench/json.h \
	runtime/tools/bench/measure.c runtime/tools/bench/measure.h \
	runtime/tools/bench/mpi_module.h \
	runtime/tools/bench/options.c runtime/tools/bench/options.h \
	runtime/tools/bench/peer.c runtime/tools/bench/peer.h \
	runtime/tools/bench/peer_mpi.c \
	runtime/tools/bench/peer_nccl.c \
	runtime/tools/bench/table.c runtime/tools/bench/table.h
pcie_ipc_bench_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) \
	-DPIPC_BENCH_MPI='"$(pipcplugindir)/bench_mpi.so"'
pcie_ipc_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_bench_LDADD = libpipc-comm.la $(JANSSON_LIBS)
if HAVE_CUDA
pcie_ipc_bench_SOURCES += runtime/tools/bench/device_cuda.c
endif

# MPI as the benchmark's peer: a module of its own, so that nothing else needs MPI.
if HAVE_MPI
pipcplugin_LTLIBRARIES += bench_mpi.la
endif
bench_mpi_la_SOURCES = runtime/tools/bench/mpi_module.c runtime/tools/bench/mpi_module.h
bench_mpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_mpi_la_LIBADD = $(MPI_LIBS)
bench_mpi_la_LDFLAGS = -module -avoid-version -shared
