# runtime/tools/local.mk

bin_PROGRAMS += pcie-ipc-topo
pcie_ipc_topo_SOURCES = \
	runtime/tools/pcie-ipc-topo.c \
	runtime/tools/topo/binding.c \
	runtime/tools/topo/cpu.c runtime/tools/topo/cpu.h \
	runtime/tools/topo/difference.c \
	runtime/base/ask.c runtime/base/ask.h \
	runtime/tools/topo/nvml.c runtime/tools/topo/nvml.h \
	runtime/tools/topo/topo_tool.h
pcie_ipc_topo_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_topo_LDADD = libpipc-topofiles.la libpipc-cli.la libpipc-core.la $(JANSSON_LIBS)

bin_PROGRAMS += pcie-ipc-p2p
pcie_ipc_p2p_SOURCES = \
	runtime/tools/p2p/main.c \
	runtime/tools/p2p/p2p.h \
	runtime/tools/p2p/report.c \
	runtime/base/ask.c runtime/base/ask.h \
	runtime/tools/topo/nvml.c runtime/tools/topo/nvml.h
pcie_ipc_p2p_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
pcie_ipc_p2p_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_p2p_LDADD = libpipc-cli.la libpipc-exec.la libpipc-core.la $(JANSSON_LIBS)
if HAVE_CUDA
pcie_ipc_p2p_SOURCES += runtime/tools/p2p/measure.c runtime/tools/p2p/workers.c
pcie_ipc_p2p_LDADD += libpipc-exec-cuda.la
endif

bin_PROGRAMS += pcie-ipc-plan
pcie_ipc_plan_SOURCES = \
	runtime/tools/chart.c runtime/tools/chart.h \
	runtime/tools/plan/calibrate.c runtime/tools/plan/calibrate.h \
	runtime/tools/plan/fit.c \
	runtime/tools/plan/machine.c \
	runtime/tools/plan/main.c \
	runtime/tools/plan/measured.c \
	runtime/tools/plan/nodes.c \
	runtime/tools/plan/options.c \
	runtime/tools/plan/plan.h \
	runtime/tools/plan/report.c \
	runtime/tools/plan/svg.c \
	runtime/tools/plan/sweep.c runtime/tools/plan/sweep.h
pcie_ipc_plan_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_LINKS_CONF='"$(pipcconfdir)/links.conf"'
pcie_ipc_plan_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_plan_LDADD = libpipc-sim.la libpipc-topofiles.la libpipc-cli.la $(JANSSON_LIBS) -lm

bin_PROGRAMS += pcie-ipc-bench
pcie_ipc_bench_SOURCES = \
	runtime/tools/chart.c runtime/tools/chart.h \
	runtime/tools/bench/bench.c \
	runtime/tools/bench/beside.c runtime/tools/bench/beside.h \
	runtime/tools/bench/burst.c runtime/tools/bench/burst.h \
	runtime/tools/bench/check.c runtime/tools/bench/check.h \
	runtime/tools/bench/data.c runtime/tools/bench/data.h \
	runtime/tools/bench/device.c runtime/tools/bench/device.h \
	runtime/tools/bench/device_cpu.c \
	runtime/tools/bench/fold.c runtime/tools/bench/fold.h \
	runtime/tools/bench/json.c runtime/tools/bench/json.h \
	runtime/tools/bench/measure.c runtime/tools/bench/measure.h \
	runtime/tools/bench/mpi_module.h \
	runtime/tools/bench/nodes.c \
	runtime/tools/bench/options.c runtime/tools/bench/options.h \
	runtime/tools/bench/overlap.c runtime/tools/bench/overlap.h \
	runtime/tools/bench/peer.c runtime/tools/bench/peer.h \
	runtime/tools/bench/peer_mpi.c \
	runtime/tools/bench/peer_nccl.c \
	runtime/tools/bench/plot.c runtime/tools/bench/plot.h \
	runtime/tools/bench/results.c runtime/tools/bench/results.h \
	runtime/tools/bench/table.c runtime/tools/bench/table.h
pcie_ipc_bench_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) \
	-DPIPC_BENCH_MPI='"$(pipcplugindir)/bench_mpi.so"'
pcie_ipc_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_bench_LDADD = libpipc-comm.la libpipc-cli.la $(JANSSON_LIBS) -lm
if HAVE_CUDA
pcie_ipc_bench_SOURCES += runtime/tools/bench/device_cuda.c
nodist_pcie_ipc_bench_SOURCES = runtime/tools/bench/compute_fatbin.c
endif
EXTRA_DIST += runtime/tools/bench/compute.cu
CLEANFILES += runtime/tools/bench/*.fatbin runtime/tools/bench/*.ptxas runtime/tools/bench/*_fatbin.c

bin_PROGRAMS += pcie-ipc-tune
pcie_ipc_tune_SOURCES = \
	runtime/tools/bench/beside.c runtime/tools/bench/beside.h \
	runtime/tools/bench/burst.c runtime/tools/bench/burst.h \
	runtime/tools/bench/check.c runtime/tools/bench/check.h \
	runtime/tools/bench/data.c runtime/tools/bench/data.h \
	runtime/tools/bench/device.c runtime/tools/bench/device.h \
	runtime/tools/bench/device_cpu.c \
	runtime/tools/bench/fold.c runtime/tools/bench/fold.h \
	runtime/tools/bench/measure.c runtime/tools/bench/measure.h \
	runtime/tools/bench/overlap.c runtime/tools/bench/overlap.h \
	runtime/tools/bench/peer.c runtime/tools/bench/peer.h \
	runtime/tools/bench/peer_nccl.c \
	runtime/tools/bench/results.c runtime/tools/bench/results.h \
	runtime/tools/tune/candidates.c \
	runtime/tools/tune/main.c \
	runtime/tools/tune/measure.c \
	runtime/tools/tune/show.c \
	runtime/tools/tune/store.c \
	runtime/tools/tune/tune.h
pcie_ipc_tune_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
pcie_ipc_tune_LDADD = libpipc-comm.la libpipc-cli.la -lm
if HAVE_CUDA
pcie_ipc_tune_SOURCES += runtime/tools/bench/device_cuda.c
nodist_pcie_ipc_tune_SOURCES = runtime/tools/bench/compute_fatbin.c
endif

# MPI as the benchmark's peer: a module of its own, so that nothing else needs MPI.
if HAVE_MPI
pipcplugin_LTLIBRARIES += bench_mpi.la
endif
bench_mpi_la_SOURCES = runtime/tools/bench/mpi_module.c runtime/tools/bench/mpi_module.h
bench_mpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_mpi_la_LIBADD = $(MPI_LIBS)
bench_mpi_la_LDFLAGS = -module -avoid-version -shared
