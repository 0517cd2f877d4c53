# tests/unit/local.mk - a program a module; add: check_PROGRAMS += X, X_SOURCES, X_CFLAGS, X_LDADD
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/base
endif
tests_unit_base_SOURCES = tests/unit/base.c
tests_unit_base_CFLAGS = $(UNIT_CFLAGS)
tests_unit_base_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan
endif
tests_unit_plan_SOURCES = tests/unit/plan.c
tests_unit_plan_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/exec_cpu tests/unit/exec_cpu_perturb
endif
tests_unit_exec_cpu_SOURCES = tests/unit/exec_cpu.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_exec_cpu_CFLAGS = $(UNIT_CFLAGS)
tests_unit_exec_cpu_LDADD = libpipc-exec.la $(UNIT_LIBS)
tests_unit_exec_cpu_perturb_SOURCES = tests/unit/exec_cpu.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_exec_cpu_perturb_CFLAGS = $(UNIT_CFLAGS) -DPIPC_PERTURB
tests_unit_exec_cpu_perturb_LDADD = libpipc-exec-perturb.la $(UNIT_LIBS)
