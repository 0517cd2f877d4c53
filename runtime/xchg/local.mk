# runtime/xchg/local.mk - records; the exchange over PMIx, a socket, the caller's callbacks
noinst_LTLIBRARIES += libpipc-xchg.la
libpipc_xchg_la_SOURCES = \
	runtime/xchg/auto.c \
	runtime/xchg/callbacks.c \
	runtime/xchg/card.c runtime/xchg/card.h \
	runtime/xchg/gather.c runtime/xchg/gather.h \
	runtime/xchg/meeting.c runtime/xchg/meeting.h \
	runtime/xchg/nodes.c runtime/xchg/nodes.h \
	runtime/xchg/notice.c runtime/xchg/notice.h \
	runtime/xchg/place.c runtime/xchg/place.h \
	runtime/xchg/ranks.c \
	runtime/xchg/record.c runtime/xchg/record.h \
	runtime/xchg/socket.c \
	runtime/xchg/wire.c runtime/xchg/wire.h \
	runtime/xchg/xchg.h
libpipc_xchg_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
libpipc_xchg_la_LIBADD =
if HAVE_PMIX
libpipc_xchg_la_SOURCES += runtime/xchg/pmix.c
libpipc_xchg_la_LIBADD += $(PMIX_LIBS)
endif
