# runtime/xchg/local.mk - records; the exchange over PMIx
noinst_LTLIBRARIES += libpipc-xchg.la
libpipc_xchg_la_SOURCES = \
	runtime/xchg/ranks.c \
	runtime/xchg/record.c runtime/xchg/record.h \
	runtime/xchg/xchg.h
libpipc_xchg_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
libpipc_xchg_la_LIBADD =
if HAVE_PMIX
libpipc_xchg_la_SOURCES += runtime/xchg/pmix.c
libpipc_xchg_la_LIBADD += $(PMIX_LIBS)
endif
