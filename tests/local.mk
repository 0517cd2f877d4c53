# tests/local.mk - unit tests (cmocka, TAP), lint tests (shell, TAP); cluster tests run by quickstart

TEST_EXTENSIONS = .t
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' CMOCKA_MESSAGE_OUTPUT=TAP $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = PIPC_SRCDIR='$(abs_top_srcdir)'; PIPC_BUILDDIR='$(abs_top_builddir)'; export PIPC_SRCDIR PIPC_BUILDDIR;

UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
UNIT_LIBS = libpipc-core.la $(CMOCKA_LIBS)

LINT_TESTS =

include $(srcdir)/tests/unit/local.mk
include $(srcdir)/tests/lint/local.mk
include $(srcdir)/tests/gpu/local.mk

if HAVE_CMOCKA
TESTS += $(check_PROGRAMS)
endif
TESTS += $(LINT_TESTS)
EXTRA_DIST += $(LINT_TESTS)
EXTRA_DIST += tests/in-release

# The cluster tests as a folder: its files are found by name, not listed.
EXTRA_DIST += tests/cluster tests/packages.txt
