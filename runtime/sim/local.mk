# runtime/sim/local.mk - links of a topology and a plan put on them, for tools and tests
noinst_LTLIBRARIES += libpipc-sim.la
libpipc_sim_la_SOURCES = \
	runtime/sim/costs.c runtime/sim/costs.h \
	runtime/sim/cut.c runtime/sim/cut.h \
	runtime/sim/fabric.c runtime/sim/fabric.h \
	runtime/sim/rails.c runtime/sim/rails.h \
	runtime/sim/share.c runtime/sim/share.h \
	runtime/sim/simulate.c runtime/sim/simulate.h
libpipc_sim_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(INIH_CFLAGS)
libpipc_sim_la_LIBADD = libpipc-core.la $(INIH_LIBS) -lm
