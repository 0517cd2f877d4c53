# kernels/local.mk - nvcc makes a fat binary, which becomes a C array and is compiled like any
# source: libtool sees nothing of CUDA, and nothing of ours links the CUDA runtime.

# The kernels that the executor loads. A new one joins here: kernels/NAME.cu becomes pipc__NAME_code.
# What takes longest comes first, so that it does not keep one core busy at the end.
KERNELS = \
	kernels/push.cu \
	kernels/ll128.cu \
	kernels/ll.cu \
	kernels/allreduce.cu \
	kernels/ce.cu \
	kernels/probe.cu
KERNEL_INCLUDES = \
	kernels/allreduce.h kernels/bytes.cuh kernels/ce.h kernels/every.cuh kernels/ll.h kernels/ll128.h kernels/perturb.cuh \
	kernels/probe.h kernels/ptx.cuh kernels/push.h kernels/reduce.cuh kernels/scrub.cuh kernels/trace.cuh kernels/types.cuh
EXTRA_DIST += $(KERNELS) $(KERNEL_INCLUDES) kernels/to-c.sh

# What nvcc would have to track: the kernels include nothing else of the project.
KERNEL_DEPENDS = $(KERNEL_INCLUDES) runtime/plan/plan.h runtime/plan/proto.h runtime/plan/trace.h
NVCCFLAGS = -O3 -std=c++14 -Xptxas -v -I$(top_srcdir)

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

# ptxas tells each kernel's registers and spills: kept for a test that wants no spills.
FATBIN = -fatbin $(NVCCFLAGS) -o $@ $< >$(@:.fatbin=.ptxas) 2>&1; rc=$$?; \
	grep -e error -e warning $(@:.fatbin=.ptxas); exit $$rc

%.fatbin: %.cu $(KERNEL_DEPENDS)
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(CUDA_GENCODE) $(NVCC_COMPRESS) $(FATBIN)

# By a second compiler, for drivers that can't load what the first one makes. LZ4 is what all of them
# can read.
%.cuda12.fatbin: %.cu $(KERNEL_DEPENDS)
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC12) $(CUDA12_GENCODE) -Xfatbin -compress-all $(FATBIN)

# With delays and faults, for tests alone.
%_perturb.fatbin: %.cu $(KERNEL_DEPENDS)
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(CUDA_TEST_GENCODE) $(NVCC_COMPRESS) -DPIPC_PERTURB $(FATBIN)

# What the compilers made of kernels/NAME.cu is one list, pipc__NAME_code; of the kernels with delays it
# has the same name, for a program links one of them.
FATBIN_TO_C = $(SHELL) $(top_srcdir)/kernels/to-c.sh
if HAVE_CUDA12
%_fatbin.c: %.fatbin %.cuda12.fatbin kernels/to-c.sh
	$(AM_V_GEN)$(FATBIN_TO_C) $(*F) $(CUDA_RELEASE) $< $(CUDA12_RELEASE) $*.cuda12.fatbin >$@-t
	@mv $@-t $@
else
%_fatbin.c: %.fatbin kernels/to-c.sh
	$(AM_V_GEN)$(FATBIN_TO_C) $(*F) $(CUDA_RELEASE) $< >$@-t
	@mv $@-t $@
endif
%_perturb_fatbin.c: %_perturb.fatbin kernels/to-c.sh
	$(AM_V_GEN)$(FATBIN_TO_C) $(*F) $(CUDA_RELEASE) $< >$@-t
	@mv $@-t $@

# Between other files, but kept: nvcc is slow.
.PRECIOUS: %.fatbin %.cuda12.fatbin %_perturb.fatbin

CLEANFILES += kernels/*.fatbin kernels/*.ptxas kernels/*_fatbin.c
