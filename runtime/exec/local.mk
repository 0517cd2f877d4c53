# runtime/exec/local.mk - executors. libpipc-exec holds what needs neither CUDA nor PMIx.
noinst_LTLIBRARIES += libpipc-exec.la
EXEC_CPU_SOURCES = \
	runtime/exec/control.c runtime/exec/control.h \
	runtime/exec/cpu.c \
	runtime/exec/exec.c runtime/exec/exec.h \
	runtime/exec/perturb.h \
	runtime/exec/reduce.c runtime/exec/reduce.h \
	runtime/exec/segment.c runtime/exec/segment.h \
	runtime/exec/watchdog.c runtime/exec/watchdog.h
libpipc_exec_la_SOURCES = $(EXEC_CPU_SOURCES)

# The same with delays and droppable waits, for tests alone.
check_LTLIBRARIES += libpipc-exec-perturb.la
libpipc_exec_perturb_la_SOURCES = $(EXEC_CPU_SOURCES) runtime/exec/perturb.c
libpipc_exec_perturb_la_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_PERTURB
