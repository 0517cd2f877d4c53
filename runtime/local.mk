# runtime/local.mk - the core library, the runtime, the tools

pkginclude_HEADERS += \
	runtime/include/pcie-ipc/comm.h \
	runtime/include/pcie-ipc/export.h \
	runtime/include/pcie-ipc/status.h \
	runtime/include/pcie-ipc/types.h

# Core: base, topo, bind, plan. No CUDA, no PMIx, no Slurm: the SPANK plugin and the gate link it.
noinst_LTLIBRARIES += libpipc-core.la
libpipc_core_la_SOURCES =
libpipc_core_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
libpipc_core_la_LIBADD = $(HWLOC_LIBS) $(JANSSON_LIBS)

include $(srcdir)/runtime/base/local.mk
include $(srcdir)/runtime/topo/local.mk
include $(srcdir)/runtime/bind/local.mk
include $(srcdir)/runtime/plan/local.mk
include $(srcdir)/runtime/sim/local.mk
include $(srcdir)/runtime/xchg/local.mk
include $(srcdir)/runtime/rail/local.mk
include $(srcdir)/runtime/exec/local.mk
include $(srcdir)/runtime/tune/local.mk
include $(srcdir)/runtime/comm/local.mk
include $(srcdir)/runtime/nccl/local.mk
include $(srcdir)/runtime/nccl/tuner/local.mk
include $(srcdir)/runtime/tools/local.mk
