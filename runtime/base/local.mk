# runtime/base/local.mk
libpipc_core_la_SOURCES += \
	runtime/base/bfloat16.h \
	runtime/base/error.c runtime/base/error.h \
	runtime/base/file.c runtime/base/file.h \
	runtime/base/half.h \
	runtime/base/hash.h \
	runtime/base/log.c runtime/base/log.h \
	runtime/base/marker.c runtime/base/marker.h \
	runtime/base/numbers.c runtime/base/numbers.h \
	runtime/base/nvlinks.c runtime/base/nvlinks.h \
	runtime/base/option.c runtime/base/option.h \
	runtime/base/types.c

# The command line of tools, and what they write: it prints, so it is no part of what libraries link.
noinst_LTLIBRARIES += libpipc-cli.la
libpipc_cli_la_SOURCES = runtime/base/cli.c runtime/base/cli.h \
	runtime/base/outfile.c runtime/base/outfile.h
