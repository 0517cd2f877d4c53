# runtime/tune/local.mk
noinst_LTLIBRARIES += libpipc-tune.la
libpipc_tune_la_SOURCES = \
	runtime/tune/admit.c runtime/tune/admit.h \
	runtime/tune/file.c runtime/tune/file.h \
	runtime/tune/table.c runtime/tune/table.h \
	runtime/tune/told.c runtime/tune/told.h
