# runtime/nccl/tuner/local.mk - NCCL's tuner plugin. It is loaded into other people's processes, so it is
# made of the few objects that it needs and links libc alone (tests/unit/tuner_object.t).
lib_LTLIBRARIES += libnccl-tuner-pcie-ipc.la
TUNER_SOURCES = \
	runtime/nccl/tuner/abi.h \
	runtime/nccl/tuner/rules.c runtime/nccl/tuner/rules.h \
	runtime/nccl/tuner/seen.c runtime/nccl/tuner/seen.h
# A table names plans, and their names stand with what makes them: the linker drops that again.
TUNER_PLANS = \
	runtime/plan/build.c runtime/plan/chains.c runtime/plan/direct.c runtime/plan/generate.c \
	runtime/plan/host.c runtime/plan/island.c runtime/plan/nodes.c runtime/plan/owners.c runtime/plan/ring.c \
	runtime/plan/shape.c runtime/plan/stream.c runtime/plan/text.c \
	runtime/plan/validate.c
libnccl_tuner_pcie_ipc_la_SOURCES = $(TUNER_SOURCES) runtime/nccl/tuner/tuner.c \
	runtime/base/error.c runtime/base/file.c runtime/base/numbers.c \
	runtime/comm/tables.c \
	$(TUNER_PLANS) \
	runtime/tune/admit.c runtime/tune/file.c runtime/tune/table.c runtime/tune/told.c
libnccl_tuner_pcie_ipc_la_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_CONFDIR='"$(pipcconfdir)"'
libnccl_tuner_pcie_ipc_la_CFLAGS = $(AM_CFLAGS) -ffunction-sections -fdata-sections
libnccl_tuner_pcie_ipc_la_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,--gc-sections \
	-Wl,--version-script=$(srcdir)/runtime/nccl/tuner/tuner.map
EXTRA_libnccl_tuner_pcie_ipc_la_DEPENDENCIES = $(srcdir)/runtime/nccl/tuner/tuner.map
EXTRA_DIST += runtime/nccl/tuner/tuner.map
