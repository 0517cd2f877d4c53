# runtime/exec/local.mk - executors. libpipc-exec holds what needs neither CUDA nor PMIx, and NCCL's
# communicator, which the executor and the rail of GPUs share.
noinst_LTLIBRARIES += libpipc-exec.la
EXEC_CPU_SOURCES = \
	runtime/exec/control.c runtime/exec/control.h \
	runtime/exec/copy.c runtime/exec/copy.h \
	runtime/exec/cpu.c runtime/exec/cpu_exec.h \
	runtime/exec/cpu_rail.c runtime/exec/cpu_rail.h \
	runtime/exec/cpu_run.c \
	runtime/exec/exec.c runtime/exec/exec.h \
	runtime/exec/fd.h \
	runtime/exec/layout.c runtime/exec/layout.h \
	runtime/exec/ll.c runtime/exec/ll.h \
	runtime/exec/nccl.c runtime/exec/nccl.h \
	runtime/exec/path_hint.c runtime/exec/path_hint.h \
	runtime/exec/perturb.h \
	runtime/exec/probe.c runtime/exec/probe.h \
	runtime/exec/reduce.c runtime/exec/reduce.h \
	runtime/exec/reduce_avx2.c runtime/exec/reduce_base.c \
	runtime/exec/reduce_level.h runtime/exec/reduce_table.h runtime/exec/reduce_type.h \
	runtime/exec/release.c runtime/exec/release.h \
	runtime/exec/segment.c runtime/exec/segment.h \
	runtime/exec/watchdog.c runtime/exec/watchdog.h \
	runtime/rail/nccl.c \
	runtime/rail/nccl_comm.c runtime/rail/nccl_comm.h \
	runtime/rail/nccl_library.c runtime/rail/nccl_library.h
libpipc_exec_la_SOURCES = $(EXEC_CPU_SOURCES)
# The loops of reduce.c are a few instructions long. Where in a cache line they began was chance, and
# a change elsewhere could take a quarter of a call's speed (EPYC, 1 MB, 2 ranks: 11.5 or 8.5 GB/s).
libpipc_exec_la_CFLAGS = $(AM_CFLAGS) -falign-functions=64 -falign-loops=32

# The same with delays and droppable waits, for tests alone.
check_LTLIBRARIES += libpipc-exec-perturb.la
libpipc_exec_perturb_la_SOURCES = $(EXEC_CPU_SOURCES) runtime/exec/perturb.c
libpipc_exec_perturb_la_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_PERTURB

# The CUDA executor and the same with delays. Needs libpipc-exec.la (or its twin) beside it.
EXEC_CUDA_SOURCES = \
	runtime/exec/cuda.c \
	runtime/exec/cuda_ce.c runtime/exec/cuda_ce.h \
	runtime/exec/cuda_code.c \
	runtime/exec/cuda_context.c \
	runtime/exec/cuda_driver.c runtime/exec/cuda_driver.h \
	runtime/exec/cuda_exec.h \
	runtime/exec/cuda_host.c \
	runtime/exec/cuda_pin.c runtime/exec/cuda_pin.h \
	runtime/exec/cuda_launch.c \
	runtime/exec/cuda_ll.c \
	runtime/exec/cuda_ll128.c \
	runtime/exec/cuda_memory.c \
	runtime/exec/cuda_order.c \
	runtime/exec/cuda_program.c \
	runtime/exec/cuda_module.c runtime/exec/cuda_module.h \
	runtime/exec/cuda_push.c \
	runtime/exec/cuda_rail.c runtime/exec/cuda_rail.h \
	runtime/exec/cuda_simple.c \
	runtime/exec/cuda_probe.c runtime/exec/probe_kernels.h \
	runtime/exec/fatbin.c runtime/exec/fatbin.h
if HAVE_CUDA
noinst_LTLIBRARIES += libpipc-exec-cuda.la
libpipc_exec_cuda_la_SOURCES = $(EXEC_CUDA_SOURCES)
nodist_libpipc_exec_cuda_la_SOURCES = $(KERNELS:.cu=_fatbin.c)
libpipc_exec_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

check_LTLIBRARIES += libpipc-exec-cuda-perturb.la
libpipc_exec_cuda_perturb_la_SOURCES = $(EXEC_CUDA_SOURCES)
nodist_libpipc_exec_cuda_perturb_la_SOURCES = $(KERNELS:.cu=_perturb_fatbin.c)
libpipc_exec_cuda_perturb_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB
endif
