/* exec/cuda_code.c - kernels and programs on the device. See cuda_exec.h */
#include <stdio.h>
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_module.h"

/* kernels/allreduce.cu, ll.cu and ce.cu, made by kernels/local.mk. */
extern const pipc__fatbin_t pipc__allreduce_code[];
extern const pipc__fatbin_t pipc__ll_code[];
extern const pipc__fatbin_t pipc__ll128_code[];
extern const pipc__fatbin_t pipc__push_code[];
extern const pipc__fatbin_t pipc__ce_code[];

/* As the kernels are named: pipc__allreduce_OP_TYPE and so on, operations as
 * pipc_redop_string() has them. */
static const char *const type_names[PIPC_DTYPE_COUNT] = {
    [PIPC_F32] = "f32", [PIPC_F64] = "f64", [PIPC_F16] = "f16", [PIPC_BF16] = "bf16",
    [PIPC_I8] = "i8",   [PIPC_U8] = "u8",   [PIPC_I32] = "i32", [PIPC_U32] = "u32",
    [PIPC_I64] = "i64", [PIPC_U64] = "u64",
};

/* Sums and products wrap, and so are the same bits with and without sign: one kernel for both. */
static pipc_dtype_t kernel_type(pipc_redop_t op, pipc_dtype_t dtype)
{
    if (op != PIPC_SUM && op != PIPC_PROD)
        return dtype;
    return dtype == PIPC_I8    ? PIPC_U8
           : dtype == PIPC_I32 ? PIPC_U32
           : dtype == PIPC_I64 ? PIPC_U64
                               : dtype;
}

/* Under lazy loading a function is loaded when it is first launched, which synchronises, perhaps
 * with a kernel that waits for this very launch on a peer: never leave it to the first call. */
static pipc_status_t force_load(const pipc__cuda_exec_t *x, CUfunction f, pipc__error_t *err)
{
    int ignored;

    if (x->cu->FuncLoad)
        return PIPC__CUDA_TRY(x->cu, err, FuncLoad, f);
    return PIPC__CUDA_TRY(x->cu, err, FuncGetAttribute, &ignored, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
}

/* All blocks must be resident at once, since each waits for a lane of a peer, or for a stage of its
 * own lane, that may be the last to start there. A launch has no more blocks than there are
 * multiprocessors, but all stages of one lane at least. */
static pipc_status_t check_resident(const pipc__cuda_exec_t *x, CUfunction f, pipc__error_t *err)
{
    int each = 0;
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, OccupancyMaxActiveBlocks, &each, f,
                                      PIPC__LANE_THREADS, PIPC__PROGRAM_MAX * sizeof(pipc__op_t));

    if (!st && each * x->capacity < PIPC__STAGES_MAX)
        st = pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                        "%d blocks of %d threads do not fit on a GPU with "
                        "%d multiprocessors at once",
                        PIPC__STAGES_MAX, PIPC__LANE_THREADS, x->capacity);
    return st;
}

static pipc_status_t load_kernel(pipc__cuda_exec_t *x, CUmodule module, const char *family,
                                 pipc_redop_t op, pipc_dtype_t dtype, CUfunction *f,
                                 pipc__error_t *err)
{
    char name[64];

    snprintf(name, sizeof(name), "pipc__%s_%s_%s", family, pipc_redop_string(op),
             type_names[kernel_type(op, dtype)]);
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, ModuleGetFunction, f, module, name);
    return st ? st : force_load(x, *f, err);
}

pipc_status_t pipc__cuda_load_kernels(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc_status_t st = pipc__cuda_load_module(x->cu, &x->module, pipc__allreduce_code, err);

    if (!st)
        st = pipc__cuda_load_module(x->cu, &x->ll_module, pipc__ll_code, err);
    if (!st)
        st = pipc__cuda_load_module(x->cu, &x->ll128_module, pipc__ll128_code, err);
    if (!st)
        st = pipc__cuda_load_module(x->cu, &x->push_module, pipc__push_code, err);
    if (!st)
        st = pipc__cuda_load_module(x->cu, &x->ce.module, pipc__ce_code, err);
    for (pipc_redop_t op = 0; op < PIPC_REDOP_COUNT; op++)
        for (pipc_dtype_t t = 0; !st && t < PIPC_DTYPE_COUNT; t++) {
            CUfunction *f = &x->kernel[op][t];
            st = load_kernel(x, x->module, "allreduce", op, t, f, err);
            if (!st)
                st = check_resident(x, *f, err);
            if (!st)
                st = load_kernel(x, x->ll_module, "ll", op, t, &x->ll_kernel[op][t], err);
            if (!st)
                st = load_kernel(x, x->ll128_module, "ll128", op, t, &x->ll128_kernel[op][t], err);
            if (!st)
                st = load_kernel(x, x->push_module, "push", op, t, &x->push_kernel[op][t], err);
            if (!st)
                st = load_kernel(x, x->ce.module, "ce", op, t, &x->ce.kernel[op][t], err);
        }
    if (!st)
        pipc__cuda_launch_init(x);
    return st ? st : pipc__cuda_push_kernels(x, err);
}

void pipc__cuda_unload_kernels(pipc__cuda_exec_t *x)
{
    for (int i = 0; i < x->nprograms; i++)
        x->cu->MemFree(x->programs[i].ops);
    x->nprograms = 0;
    if (x->module)
        x->cu->ModuleUnload(x->module);
    if (x->ll_module)
        x->cu->ModuleUnload(x->ll_module);
    if (x->ll128_module)
        x->cu->ModuleUnload(x->ll128_module);
    if (x->push_module)
        x->cu->ModuleUnload(x->push_module);
    if (x->ce.module)
        x->cu->ModuleUnload(x->ce.module);
    x->module = x->ll_module = x->ll128_module = x->push_module = x->ce.module = NULL;
}
