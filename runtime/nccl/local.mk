# runtime/nccl/local.mk - the hook for unmodified programs, and the same for those that open NCCL by path
# (tests/nccl/object.t reads what they link and ask of the C library: old_glibc.h has why). libdl by its
# file: since glibc 2.34 there is nothing to link by -ldl. Never unloaded (nodelete): threads that release
# communicators and functions of atexit() outlast a program's dlclose().
lib_LTLIBRARIES += libpcie-ipc-nccl.la libpcie-ipc-nccl-full.la
HOOK_SOURCES = \
	runtime/nccl/abi.h \
	runtime/nccl/device.h \
	runtime/nccl/hello.c runtime/nccl/hello.h \
	runtime/nccl/hook.c \
	runtime/nccl/old_glibc.h \
	runtime/nccl/ours.c runtime/nccl/ours.h \
	runtime/nccl/real.c runtime/nccl/real.h \
	runtime/nccl/report.c runtime/nccl/report.h \
	runtime/nccl/retire.c runtime/nccl/retire.h \
	runtime/nccl/say.c runtime/nccl/say.h \
	runtime/nccl/setup.c runtime/nccl/setup.h \
	runtime/nccl/side.c runtime/nccl/side.h \
	runtime/nccl/staging.c runtime/nccl/staging.h
HOOK_FULL_SOURCES = runtime/nccl/full.c runtime/nccl/forward.def
HOOK_CFLAGS = $(AM_CFLAGS) -U_FORTIFY_SOURCE -ftls-model=initial-exec
HOOK_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,-z,nodelete \
	-Wl,--push-state,--no-as-needed,-l:libdl.so.2,--pop-state

libpcie_ipc_nccl_la_SOURCES = $(HOOK_SOURCES) runtime/nccl/device_cuda.c runtime/nccl/static.c
libpcie_ipc_nccl_la_CFLAGS = $(HOOK_CFLAGS)
libpcie_ipc_nccl_la_LDFLAGS = $(HOOK_LDFLAGS) -Wl,--version-script=$(srcdir)/runtime/nccl/hook.map
EXTRA_libpcie_ipc_nccl_la_DEPENDENCIES = $(srcdir)/runtime/nccl/hook.map

libpcie_ipc_nccl_full_la_SOURCES = $(HOOK_SOURCES) $(HOOK_FULL_SOURCES) runtime/nccl/device_cuda.c
libpcie_ipc_nccl_full_la_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_NCCL_FULL
libpcie_ipc_nccl_full_la_CFLAGS = $(HOOK_CFLAGS)
libpcie_ipc_nccl_full_la_LDFLAGS = $(HOOK_LDFLAGS) -Wl,--version-script=$(srcdir)/runtime/nccl/full.map
EXTRA_libpcie_ipc_nccl_full_la_DEPENDENCIES = $(srcdir)/runtime/nccl/full.map
EXTRA_DIST += runtime/nccl/hook.map runtime/nccl/full.map
