# tests/gpu/local.mk - tests that need GPUs; they skip where there are none
EXEC_CUDA_TEST = tests/gpu/exec_cuda.c tests/gpu/ce.c tests/gpu/ce.h tests/gpu/early.c tests/gpu/early.h \
	tests/gpu/gpu.c tests/gpu/gpu.h tests/gpu/graphs.c tests/gpu/graphs.h tests/gpu/ll.c tests/gpu/ll.h tests/gpu/push.c tests/gpu/push.h \
	tests/gpu/stuck.c tests/gpu/stuck.h tests/gpu/timing.c tests/gpu/timing.h \
	tests/unit/exec_calls.c tests/unit/exec_calls.h tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h \
	tests/unit/values.c tests/unit/values.h
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/exec_cuda tests/gpu/exec_cuda_perturb tests/gpu/nccl_values
endif
endif
tests_gpu_exec_cuda_SOURCES = $(EXEC_CUDA_TEST)
nodist_tests_gpu_exec_cuda_SOURCES = tests/gpu/early_kernels_fatbin.c
tests_gpu_exec_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_exec_cuda_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_exec_cuda_LDADD = libpipc-exec-cuda.la libpipc-exec.la $(UNIT_LIBS)
tests_gpu_exec_cuda_perturb_SOURCES = $(EXEC_CUDA_TEST)
nodist_tests_gpu_exec_cuda_perturb_SOURCES = tests/gpu/early_kernels_fatbin.c
tests_gpu_exec_cuda_perturb_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB
tests_gpu_exec_cuda_perturb_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_exec_cuda_perturb_LDADD = libpipc-exec-cuda-perturb.la libpipc-exec-perturb.la $(UNIT_LIBS)

tests_gpu_nccl_values_SOURCES = tests/gpu/nccl_values.c tests/gpu/nccl.c tests/gpu/nccl.h \
	tests/gpu/gpu.c tests/gpu/gpu.h tests/gpu/special.c tests/gpu/special.h \
	tests/unit/exec_calls.h tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h
tests_gpu_nccl_values_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_nccl_values_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_nccl_values_LDADD = libpipc-exec-cuda.la libpipc-exec.la $(UNIT_LIBS) -lm

# The probe of paths, as communicators see it; the second build has its own objects of the communicator,
# so that they stand on the executors with faults.
PROBE_CUDA_TEST = tests/gpu/probe_cuda.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h tests/unit/ranks.c tests/unit/ranks.h
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/probe_cuda tests/gpu/probe_cuda_perturb
endif
endif
tests_gpu_probe_cuda_SOURCES = $(PROBE_CUDA_TEST)
tests_gpu_probe_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_probe_cuda_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_probe_cuda_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
tests_gpu_probe_cuda_perturb_SOURCES = $(PROBE_CUDA_TEST) $(COMM_SOURCES)
tests_gpu_probe_cuda_perturb_CPPFLAGS = $(libpipc_comm_la_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB
tests_gpu_probe_cuda_perturb_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_probe_cuda_perturb_LDADD = libpipc-exec-cuda-perturb.la libpipc-exec-perturb.la \
	libpipc-rail.la libpipc-xchg.la libpipc-tune.la $(UNIT_LIBS)

# Random calls; what fills and checks them runs on the GPU, too, and rounds as the CPU does.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/random_calls
endif
endif
tests_gpu_random_calls_SOURCES = tests/gpu/random_calls.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h $(RANDOM_TEST)
nodist_tests_gpu_random_calls_SOURCES = tests/gpu/random_kernels_fatbin.c
tests_gpu_random_calls_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_random_calls_LDADD = libpipc-comm.la
tests/gpu/random_kernels.fatbin tests/gpu/random_kernels.cuda12.fatbin: NVCCFLAGS += -fmad=false -I$(top_srcdir)/runtime/include
tests/gpu/random_kernels.fatbin tests/gpu/random_kernels.cuda12.fatbin: tests/unit/random_values.h
EXTRA_DIST += tests/gpu/early_kernels.cu tests/gpu/random_kernels.cu tests/gpu/gate tests/gpu/many tests/gpu/many_summary.py
CLEANFILES += tests/gpu/*.fatbin tests/gpu/*.ptxas tests/gpu/*_fatbin.c

# What the hook adds to a call of NCCL's.
if HAVE_CUDA
check_PROGRAMS += tests/gpu/pass_through
endif
tests_gpu_pass_through_SOURCES = tests/gpu/pass_through.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h tests/unit/ranks.c tests/unit/ranks.h
tests_gpu_pass_through_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_pass_through_LDADD = libpipc-comm.la -ldl

# What calls ask of the driver, and what communicators leave behind.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/driver_calls tests/gpu/life_cuda
endif
endif
tests_gpu_driver_calls_SOURCES = tests/gpu/driver_calls.c tests/gpu/counted.c tests/gpu/counted.h \
	tests/gpu/gpu.c tests/gpu/gpu.h tests/unit/exec_calls.h \
	tests/unit/mallocs.c tests/unit/mallocs.h tests/unit/ranks.c tests/unit/ranks.h
tests_gpu_driver_calls_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_driver_calls_LDFLAGS = -Wl,--wrap=dlsym
tests_gpu_driver_calls_LDADD = libpipc-comm.la
tests_gpu_life_cuda_SOURCES = tests/gpu/life_cuda.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h $(LIFE_TEST)
tests_gpu_life_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_life_cuda_LDADD = libpipc-comm.la

# What kernels write down of themselves is proved right.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/trace_cuda
endif
endif
tests_gpu_trace_cuda_SOURCES = tests/gpu/trace_cuda.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h tests/unit/values.c tests/unit/values.h
tests_gpu_trace_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB
tests_gpu_trace_cuda_CFLAGS = $(UNIT_CFLAGS)
tests_gpu_trace_cuda_LDADD = libpipc-exec-cuda-perturb.la libpipc-exec-perturb.la \
	libpipc-replay.la $(UNIT_LIBS)

LINT_TESTS += tests/gpu/spills.t

# A rank that is killed; and all that under MPS.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu/killed
endif
endif
tests_gpu_killed_SOURCES = tests/gpu/killed.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h tests/unit/ranks.c tests/unit/ranks.h
tests_gpu_killed_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_killed_LDADD = libpipc-comm.la
LINT_TESTS += tests/gpu/mps.t tests/gpu/nodes.t tests/gpu/slurm.t

# Ranks of one machine as several nodes; tests/gpu/nodes runs it over all that NCCL may go over.
if HAVE_CUDA
check_PROGRAMS += tests/gpu/nodes_cuda
endif
tests_gpu_nodes_cuda_SOURCES = tests/gpu/nodes_cuda.c tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/unit/exec_calls.h tests/unit/ranks.c tests/unit/ranks.h \
	tests/unit/values.c tests/unit/values.h
tests_gpu_nodes_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_nodes_cuda_LDADD = libpipc-comm.la
EXTRA_DIST += tests/gpu/nodes

# GPUs that there are no kernels for, told by a library with the driver's names.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/cuda_capture tests/unit/cuda_nodes tests/unit/cuda_unfit
check_LTLIBRARIES += tests/unit/libcuda.la
endif
endif
tests_unit_cuda_capture_SOURCES = tests/unit/cuda_capture.c
tests_unit_cuda_capture_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_cuda_capture_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_capture_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
EXTRA_tests_unit_cuda_capture_DEPENDENCIES = tests/unit/libcuda.la
tests_unit_cuda_unfit_SOURCES = tests/unit/cuda_unfit.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_cuda_unfit_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_unfit_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
EXTRA_tests_unit_cuda_unfit_DEPENDENCIES = tests/unit/libcuda.la tests/unit/nccl_fake.la
tests_unit_cuda_nodes_SOURCES = tests/unit/cuda_nodes.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_cuda_nodes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_nodes_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
EXTRA_tests_unit_cuda_nodes_DEPENDENCIES = tests/unit/libcuda.la tests/unit/nccl_fake.la
tests_unit_libcuda_la_SOURCES = tests/unit/cuda_fake.c tests/unit/cuda_fake_not.c \
	runtime/exec/fatbin.c runtime/exec/fatbin.h
tests_unit_libcuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_libcuda_la_LDFLAGS = -shared -rpath /nowhere -version-info 1:0:0

# These need no GPU, and no CUDA to build.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/ce tests/unit/cuda_lanes tests/unit/cuda_push tests/unit/fatbin
endif
tests_unit_fatbin_SOURCES = tests/unit/fatbin.c runtime/exec/fatbin.c runtime/exec/fatbin.h
tests_unit_fatbin_CFLAGS = $(UNIT_CFLAGS)
tests_unit_fatbin_LDADD = $(CMOCKA_LIBS)
if HAVE_CUDA
KERNELS_TOLD = PIPC_KERNELS='$(KERNELS)'; PIPC_CUDA_GENCODE='$(CUDA_GENCODE)'; \
	PIPC_CUDA12_GENCODE='$(CUDA12_GENCODE)'; \
	export PIPC_KERNELS PIPC_CUDA_GENCODE PIPC_CUDA12_GENCODE;
endif
tests_unit_ce_SOURCES = tests/unit/ce.c tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h
tests_unit_ce_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ce_LDADD = libpipc-exec.la $(UNIT_LIBS)
# Streams that are queues of the test's, and a driver that pins; these need CUDA's header.
if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/ce_streams tests/unit/cuda_launch tests/unit/cuda_ll128 tests/unit/cuda_order tests/unit/cuda_pin
endif
endif
tests_unit_ce_streams_SOURCES = tests/unit/ce_streams.c tests/unit/ce_queues.c tests/unit/ce_queues.h \
	runtime/exec/cuda_ce.c runtime/exec/cuda_ce.h runtime/exec/cuda_pin.c runtime/exec/cuda_driver.c runtime/exec/cuda_driver.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h tests/unit/ranks.c tests/unit/ranks.h
tests_unit_ce_streams_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB
tests_unit_ce_streams_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ce_streams_LDADD = libpipc-exec-perturb.la $(UNIT_LIBS)
tests_unit_cuda_lanes_SOURCES = tests/unit/cuda_lanes.c
tests_unit_cuda_lanes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_lanes_LDADD = libpipc-exec.la $(UNIT_LIBS)
tests_unit_cuda_launch_SOURCES = tests/unit/cuda_launch.c runtime/exec/cuda_launch.c
tests_unit_cuda_launch_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_cuda_launch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_launch_LDADD = $(UNIT_LIBS)
tests_unit_cuda_ll128_SOURCES = tests/unit/cuda_ll128.c runtime/exec/cuda_ll128.c
tests_unit_cuda_ll128_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_cuda_ll128_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_ll128_LDADD = libpipc-exec.la $(UNIT_LIBS)
tests_unit_cuda_order_SOURCES = tests/unit/cuda_order.c runtime/exec/cuda_order.c runtime/exec/cuda_driver.c
tests_unit_cuda_order_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_cuda_order_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_order_LDADD = $(UNIT_LIBS)
tests_unit_cuda_pin_SOURCES = tests/unit/cuda_pin.c runtime/exec/cuda_pin.c
tests_unit_cuda_pin_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_cuda_pin_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_pin_LDADD = $(UNIT_LIBS)
tests_unit_cuda_push_SOURCES = tests/unit/cuda_push.c
tests_unit_cuda_push_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cuda_push_LDADD = $(UNIT_LIBS)
