# runtime/plan/local.mk
libpipc_core_la_SOURCES += \
	runtime/plan/build.c runtime/plan/build.h \
	runtime/plan/check.c runtime/plan/check.h \
	runtime/plan/check_access.c runtime/plan/check_rail.c runtime/plan/check_state.h \
	runtime/plan/direct.c \
	runtime/plan/generate.c runtime/plan/generate.h \
	runtime/plan/halves.c runtime/plan/halves.h \
	runtime/plan/host.c runtime/plan/host.h \
	runtime/plan/island.c \
	runtime/plan/json.h runtime/plan/json_read.c runtime/plan/json_write.c \
	runtime/plan/chains.c runtime/plan/chains.h \
	runtime/plan/nodes.c \
	runtime/plan/owners.c runtime/plan/owners.h \
	runtime/plan/plan.h runtime/plan/proto.h \
	runtime/plan/ring.c \
	runtime/plan/shape.c runtime/plan/shape.h \
	runtime/plan/stream.c \
	runtime/plan/text.c runtime/plan/text.h \
	runtime/plan/traffic.c runtime/plan/traffic.h \
	runtime/plan/validate.c

# Proves what kernels did, from their traces: for tests alone.
check_LTLIBRARIES += libpipc-replay.la
libpipc_replay_la_SOURCES = \
	runtime/plan/replay.c runtime/plan/replay.h \
	runtime/plan/replay_memory.c runtime/plan/replay_order.c runtime/plan/replay_state.h \
	runtime/plan/trace.c runtime/plan/trace.h
# Clocks have thousands of entries.
libpipc_replay_la_CFLAGS = $(AM_CFLAGS) -ftree-vectorize -fvect-cost-model=dynamic
