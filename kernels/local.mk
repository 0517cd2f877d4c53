# kernels/local.mk - nvcc makes a fat binary, which becomes a C array and is compiled like any
# source: libtool sees nothing of CUDA, and nothing of ours links the CUDA runtime.
KERNEL_FILES = \
	kernels/allreduce.cu kernels/allreduce.h \
	kernels/ll.cu kernels/ll.h \
	kernels/bytes.cuh kernels/every.cuh kernels/perturb.cuh kernels/reduce.cuh kernels/types.cuh
EXTRA_DIST += $(KERNEL_FILES)

# What nvcc would have to track: the kernels include nothing else of the project.
KERNEL_DEPENDS = $(KERNEL_FILES) runtime/plan/plan.h runtime/plan/proto.h
NVCCFLAGS = -O3 -std=c++14 $(CUDA_GENCODE)
# Kernels that differ in a few instructions compress to a twentieth; an nvcc before 12.8 can't.
NVCC_COMPRESS = `$(NVCC) --help | grep -q -e --compress-mode && echo --compress-mode=size`

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

# ptxas tells each kernel's registers and spills: kept for a test that wants no spills.
kernels/allreduce.fatbin: $(KERNEL_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) $(NVCC_COMPRESS) -Xptxas -v -I$(top_srcdir) \
	  -o $@ $(top_srcdir)/kernels/allreduce.cu >kernels/allreduce.ptxas 2>&1; \
	  rc=$$?; grep -e error -e warning kernels/allreduce.ptxas; exit $$rc

kernels/allreduce_perturb.fatbin: $(KERNEL_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) $(NVCC_COMPRESS) -DPIPC_PERTURB -I$(top_srcdir) \
	  -o $@ $(top_srcdir)/kernels/allreduce.cu

kernels/ll.fatbin: $(KERNEL_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) $(NVCC_COMPRESS) -Xptxas -v -I$(top_srcdir) \
	  -o $@ $(top_srcdir)/kernels/ll.cu >kernels/ll.ptxas 2>&1; \
	  rc=$$?; grep -e error -e warning kernels/ll.ptxas; exit $$rc

kernels/ll_perturb.fatbin: $(KERNEL_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) $(NVCC_COMPRESS) -DPIPC_PERTURB -I$(top_srcdir) \
	  -o $@ $(top_srcdir)/kernels/ll.cu

# Both builds have one array of the same name: a program links one of them.
FATBIN_TO_C = $(SHELL) $(top_srcdir)/kernels/to-c.sh pipc__allreduce_fatbin

kernels/allreduce_fatbin.c: kernels/allreduce.fatbin
	$(AM_V_GEN)$(FATBIN_TO_C) kernels/allreduce.fatbin >$@-t
	@mv $@-t $@

kernels/allreduce_perturb_fatbin.c: kernels/allreduce_perturb.fatbin
	$(AM_V_GEN)$(FATBIN_TO_C) kernels/allreduce_perturb.fatbin >$@-t
	@mv $@-t $@

LL_TO_C = $(SHELL) $(top_srcdir)/kernels/to-c.sh pipc__ll_fatbin

kernels/ll_fatbin.c: kernels/ll.fatbin
	$(AM_V_GEN)$(LL_TO_C) kernels/ll.fatbin >$@-t
	@mv $@-t $@

kernels/ll_perturb_fatbin.c: kernels/ll_perturb.fatbin
	$(AM_V_GEN)$(LL_TO_C) kernels/ll_perturb.fatbin >$@-t
	@mv $@-t $@

# The probe of paths and the measurements of pcie-ipc-p2p: a binary of its own, small and loaded apart.
PROBE_FILES = kernels/probe.cu kernels/probe.h
EXTRA_DIST += $(PROBE_FILES)
PROBE_DEPENDS = $(PROBE_FILES) kernels/bytes.cuh

kernels/probe.fatbin: $(PROBE_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) -I$(top_srcdir) -o $@ $(top_srcdir)/kernels/probe.cu

kernels/probe_perturb.fatbin: $(PROBE_DEPENDS)
	@$(MKDIR_P) kernels
	$(AM_V_NVCC)$(NVCC) -fatbin $(NVCCFLAGS) -DPIPC_PERTURB -I$(top_srcdir) -o $@ \
	  $(top_srcdir)/kernels/probe.cu

PROBE_TO_C = $(SHELL) $(top_srcdir)/kernels/to-c.sh pipc__probe_fatbin

kernels/probe_fatbin.c: kernels/probe.fatbin
	$(AM_V_GEN)$(PROBE_TO_C) kernels/probe.fatbin >$@-t
	@mv $@-t $@

kernels/probe_perturb_fatbin.c: kernels/probe_perturb.fatbin
	$(AM_V_GEN)$(PROBE_TO_C) kernels/probe_perturb.fatbin >$@-t
	@mv $@-t $@

CLEANFILES += \
	kernels/probe.fatbin kernels/probe_fatbin.c \
	kernels/probe_perturb.fatbin kernels/probe_perturb_fatbin.c

EXTRA_DIST += kernels/to-c.sh
CLEANFILES += \
	kernels/ll.fatbin kernels/ll.ptxas kernels/ll_fatbin.c \
	kernels/ll_perturb.fatbin kernels/ll_perturb_fatbin.c \
	kernels/allreduce.fatbin kernels/allreduce.ptxas kernels/allreduce_fatbin.c \
	kernels/allreduce_perturb.fatbin kernels/allreduce_perturb_fatbin.c
