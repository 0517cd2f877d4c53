# spank/local.mk - the plugin in two objects; see spank/ops.h

if HAVE_SLURM
# First object: libc only, since srun on a login node loads it too (tests/unit/spank_object.t).
spank_LTLIBRARIES = spank_pcie_ipc.la
endif
spank_pcie_ipc_la_SOURCES = \
	runtime/base/error.c runtime/base/error.h \
	runtime/base/marker.h \
	runtime/base/option.c runtime/base/option.h \
	spank/args.c spank/args.h \
	spank/devices.c spank/devices.h \
	spank/env.c spank/env.h \
	spank/flag.c spank/flag.h \
	spank/health.c spank/health.h \
	spank/hints.c spank/hints.h \
	spank/ipc.c spank/ipc.h \
	spank/object.c spank/object.h \
	spank/ops.h \
	spank/options.c spank/options.h \
	spank/plugin.c \
	spank/preload.c spank/preload.h spank/preload_list.c spank/preload_list.h \
	spank/report.c spank/report.h \
	spank/say.c spank/say.h \
	spank/srun.c spank/srun.h \
	spank/step.c spank/step.h \
	spank/stepdir.c spank/stepdir.h \
	spank/task.h \
	spank/tell.c spank/tell.h \
	spank/wishes.c spank/wishes.h
spank_pcie_ipc_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) \
	-DPIPC_BIND_OBJECT='"$(pipcplugindir)/pcie_ipc_bind.so"' \
	-DPIPC_NCCL_HOOK='"$(libdir)/libpcie-ipc-nccl.so"' \
	-DPIPC_NCCL_TUNER='"$(libdir)/libnccl-tuner-pcie-ipc.so"'
spank_pcie_ipc_la_CFLAGS = $(AM_CFLAGS)
spank_pcie_ipc_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/spank/spank.map
EXTRA_spank_pcie_ipc_la_DEPENDENCIES = spank/spank.map
EXTRA_DIST += spank/spank.map

# Second object: opened in slurmstepd for steps that have the flag.
if HAVE_SLURM
pipcplugin_LTLIBRARIES += pcie_ipc_bind.la
endif
pcie_ipc_bind_la_SOURCES = spank/bind_object.c spank/memory.c spank/memory.h
pcie_ipc_bind_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
pcie_ipc_bind_la_LDFLAGS = -module -avoid-version -shared -no-undefined \
	-export-symbols-regex '^pipc_spank_ops$$'
pcie_ipc_bind_la_LIBADD = libpipc-place.la -lnuma

# The decisions, apart from both, for the tests.
noinst_LTLIBRARIES += libpipc-place.la
libpipc_place_la_SOURCES = \
	spank/cores.c spank/cores.h \
	spank/cpulist.c spank/cpulist.h \
	spank/gpulist.c spank/gpulist.h \
	spank/own.c spank/own.h \
	spank/place.c spank/place.h \
	spank/rdma.c spank/rdma.h \
	spank/snapshot.c spank/snapshot.h
libpipc_place_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
libpipc_place_la_LIBADD = libpipc-core.la
