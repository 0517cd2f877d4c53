# tests/local.mk - unit tests (cmocka, TAP), lint tests (shell, TAP); cluster tests run by quickstart

TEST_EXTENSIONS = .t
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' CMOCKA_MESSAGE_OUTPUT=TAP $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = PIPC_SRCDIR='$(abs_top_srcdir)'; PIPC_BUILDDIR='$(abs_top_builddir)'; export PIPC_SRCDIR PIPC_BUILDDIR; $(KERNELS_TOLD)

UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
UNIT_LIBS = libpipc-core.la $(CMOCKA_LIBS)

LINT_TESTS =

include $(srcdir)/tests/unit/local.mk
include $(srcdir)/tests/lint/local.mk
include $(srcdir)/tests/gpu/local.mk
include $(srcdir)/tests/nccl/local.mk

# What takes long begins early: at the end there is nothing to run beside it.
TESTS += $(LINT_TESTS)
if HAVE_CMOCKA
TESTS += $(check_PROGRAMS)
endif
EXTRA_DIST += $(LINT_TESTS)
EXTRA_DIST += tests/in-release tests/calibrate tests/cuda12-toolkit tests/measure-cpu tests/measure-gate tests/measure-gpu tests/measure-nodes tests/measure_nodes.py tests/measure_summary.py tests/nodes-all

# The cluster tests as a folder: its files are found by name, not listed.
EXTRA_DIST += tests/cluster tests/fuzz tests/packages.txt

# Unit tests under valgrind, those aside that are slow by design or need a GPU. Ranks that lose a peer end
# as they are, so leaks are shown but no errors; the address sanitizer watches those.
check-valgrind: $(check_PROGRAMS)
	@for t in $(check_PROGRAMS); do case $$t in *_perturb|tests/gpu/*) continue;; esac; \
	    echo "  VALGRIND $$t"; \
	    $(LIBTOOL) --mode=execute valgrind --quiet --error-exitcode=99 --leak-check=full \
	        --errors-for-leak-kinds=none --child-silent-after-fork=yes \
	        ./$$t >$$t.valgrind 2>&1 || { cat $$t.valgrind; exit 1; }; done
.PHONY: check-valgrind
MOSTLYCLEANFILES += tests/unit/*.valgrind
EXTRA_DIST += tests/sanitizers.t
