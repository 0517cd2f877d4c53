# runtime/comm/local.mk - the public library
# A convenience library is merged whole into the library that names it, so libpipc-core is named once,
# here, and by no library that this one names.
lib_LTLIBRARIES += libpcie-ipc.la
COMM_SOURCES = \
	runtime/comm/build.h runtime/comm/build_node.c runtime/comm/build_nodes.c runtime/comm/build_own.c \
	runtime/comm/child.c runtime/comm/child.h \
	runtime/comm/choose.c runtime/comm/choose.h \
	runtime/comm/comm.c runtime/comm/comm.h \
	runtime/comm/create.c \
	runtime/comm/library.c \
	runtime/comm/paths.c runtime/comm/paths.h \
	runtime/comm/plans.c runtime/comm/plans.h \
	runtime/comm/prepare.c \
	runtime/comm/probe_cache.c runtime/comm/probe_cache.h \
	runtime/comm/rails.c runtime/comm/rails.h \
	runtime/comm/ranges.c runtime/comm/ranges.h \
	runtime/comm/report.c runtime/comm/report.h runtime/comm/report_exit.c \
	runtime/comm/request.c runtime/comm/request.h \
	runtime/comm/tables.c runtime/comm/tables.h \
	runtime/comm/way.c runtime/comm/way.h
COMM_LIBS = libpipc-exec.la libpipc-rail.la libpipc-xchg.la libpipc-tune.la libpipc-core.la
if HAVE_CUDA
COMM_LIBS += libpipc-exec-cuda.la
endif

# The tools use internals, so they link the objects; programs get the shared library, which exports
# what the version script names and nothing else.
noinst_LTLIBRARIES += libpipc-comm.la
libpipc_comm_la_SOURCES = $(COMM_SOURCES)
libpipc_comm_la_CPPFLAGS = $(AM_CPPFLAGS) $(NVTX_CPPFLAGS) -DPIPC_CONFDIR='"$(pipcconfdir)"'
libpipc_comm_la_LIBADD = $(COMM_LIBS)

libpcie_ipc_la_SOURCES =
libpcie_ipc_la_LIBADD = libpipc-comm.la
libpcie_ipc_la_LDFLAGS = -version-info $(PIPC_LT_VERSION) -Wl,--version-script=$(srcdir)/runtime/comm/libpcie-ipc.map
EXTRA_libpcie_ipc_la_DEPENDENCIES = $(srcdir)/runtime/comm/libpcie-ipc.map
EXTRA_DIST += runtime/comm/libpcie-ipc.map

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = pcie-ipc.pc
