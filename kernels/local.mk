# kernels/local.mk - nvcc makes a fat binary, which becomes a C array and is compiled like any
# source: libtool sees nothing of CUDA, and nothing of ours links the CUDA runtime.

# The kernels that the executor loads. A new one joins here: kernels/NAME.cu becomes pipc__NAME_fatbin.
KERNELS = \
	kernels/allreduce.cu \
	kernels/ll.cu \
	kernels/probe.cu
KERNEL_INCLUDES = \
	kernels/allreduce.h kernels/bytes.cuh kernels/every.cuh kernels/ll.h kernels/perturb.cuh \
	kernels/probe.h kernels/ptx.cuh kernels/reduce.cuh kernels/types.cuh
EXTRA_DIST += $(KERNELS) $(KERNEL_INCLUDES) kernels/to-c.sh

# What nvcc would have to track: the kernels include nothing else of the project.
KERNEL_DEPENDS = $(KERNEL_INCLUDES) runtime/plan/plan.h runtime/plan/proto.h
NVCCFLAGS = -O3 -std=c++14 $(CUDA_GENCODE)
# Kernels that differ in a few instructions compress to a twentieth; an nvcc before 12.8 can't.
NVCC_COMPRESS = `$(NVCC) --help | grep -q -e --compress-mode && echo --compress-mode=size`

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

# ptxas tells each kernel's registers and spills: kept for a test that wants no spills.
FATBIN = $(NVCC) -fatbin $(NVCCFLAGS) $(NVCC_COMPRESS) -Xptxas -v -I$(top_srcdir) -o $@ $<
PTXAS_REPORT = >$(@:.fatbin=.ptxas) 2>&1; rc=$$?; \
	grep -e error -e warning $(@:.fatbin=.ptxas); exit $$rc

%.fatbin: %.cu $(KERNEL_DEPENDS)
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(FATBIN) $(PTXAS_REPORT)

%_perturb.fatbin: %.cu $(KERNEL_DEPENDS)
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(FATBIN) -DPIPC_PERTURB $(PTXAS_REPORT)

# Both builds have an array of the same name: a program links one of them.
%_fatbin.c: %.fatbin kernels/to-c.sh
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/kernels/to-c.sh $< >$@-t
	@mv $@-t $@

# Between other files, but kept: nvcc is slow.
.PRECIOUS: %.fatbin

CLEANFILES += kernels/*.fatbin kernels/*.ptxas kernels/*_fatbin.c
