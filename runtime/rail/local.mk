# runtime/rail/local.mk - what carries sums between nodes. UCX is opened at run time; its header is for building.
noinst_LTLIBRARIES += libpipc-rail.la
libpipc_rail_la_SOURCES = \
	runtime/rail/rail.h \
	runtime/rail/schedule.c runtime/rail/schedule.h \
	runtime/rail/silence.c runtime/rail/silence.h
if HAVE_UCX
libpipc_rail_la_SOURCES += \
	runtime/rail/ucx.c \
	runtime/rail/ucx_library.c runtime/rail/ucx_library.h \
	runtime/rail/ucx_close.c runtime/rail/ucx_parts.h \
	runtime/rail/ucx_net.c runtime/rail/ucx_net.h \
	runtime/rail/ucx_peers.c \
	runtime/rail/ucx_side.c
endif
libpipc_rail_la_CFLAGS = $(AM_CFLAGS) $(UCX_CFLAGS)
