# runtime/tune/local.mk
noinst_LTLIBRARIES += libpipc-tune.la
libpipc_tune_la_SOURCES = runtime/tune/table.c runtime/tune/table.h
