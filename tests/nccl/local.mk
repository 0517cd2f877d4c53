# tests/nccl/local.mk - the hook: on the CPU with a stand-in for NCCL, and beside the real one where it is
if HAVE_CMOCKA
check_LTLIBRARIES += tests/nccl/libhook-cpu.la tests/nccl/libfull-cpu.la
endif
tests_nccl_libhook_cpu_la_SOURCES = $(HOOK_SOURCES) tests/nccl/device_host.c runtime/nccl/static.c
tests_nccl_libhook_cpu_la_CFLAGS = $(HOOK_CFLAGS)
tests_nccl_libhook_cpu_la_LDFLAGS = $(HOOK_LDFLAGS) -rpath /nowhere -Wl,--version-script=$(srcdir)/runtime/nccl/hook.map
tests_nccl_libfull_cpu_la_SOURCES = $(HOOK_SOURCES) $(HOOK_FULL_SOURCES) tests/nccl/device_host.c
tests_nccl_libfull_cpu_la_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_NCCL_FULL
tests_nccl_libfull_cpu_la_CFLAGS = $(HOOK_CFLAGS)
tests_nccl_libfull_cpu_la_LDFLAGS = $(HOOK_LDFLAGS) -rpath /nowhere -Wl,--version-script=$(srcdir)/runtime/nccl/full.map

NCCL_TESTS = tests/nccl/hook.t tests/nccl/object.t tests/nccl/abi.t
TESTS += $(NCCL_TESTS)
EXTRA_DIST += $(NCCL_TESTS) tests/gpu/hook-nccl-tests tests/gpu/hook-pytorch tests/gpu/torch_jobs.py tests/nccl/stand_in.c tests/nccl/stand_in.h tests/nccl/program.c tests/nccl/opens.c \
	tests/nccl/bypath.c tests/nccl/loads.c tests/nccl/old.c

if HAVE_CMOCKA
check_PROGRAMS += tests/nccl/judges
endif
tests_nccl_judges_SOURCES = tests/nccl/judges.c runtime/nccl/hello.c runtime/nccl/staging.c
tests_nccl_judges_CFLAGS = $(UNIT_CFLAGS)
tests_nccl_judges_LDADD = $(CMOCKA_LIBS)
