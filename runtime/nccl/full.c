/* nccl/full.c - everything else of NCCL's, for programs that open NCCL by its path and so would get
 * no function from a library that is preloaded: this one they are given in its place.
 *
 * A function whose arguments we don't know can't be called from C. So each is a jump, with
 * registers and stack as they came, to where the real one is; the first time that place is looked
 * up:
 *
 *     ncclBroadcast:  r11 = pipc__forward_to[7]; if (r11) jump to r11
 *                     r11 = 7; save the argument registers; pipc__forward_find(7); restore; jump
 *
 * What the real NCCL has not (it may be older) answers ncclInvalidUsage.
 */
#include <stdatomic.h>
#include <string.h>

#include "runtime/nccl/real.h"

static const char *const names[] = {
#define FORWARD(name) #name,
#include "runtime/nccl/forward.def"
#undef FORWARD
};

#define NAMES (sizeof(names) / sizeof(names[0]))

extern void *_Atomic pipc__forward_to[NAMES];
void *_Atomic pipc__forward_to[NAMES];

extern void *pipc__forward_find(unsigned int i);

static int absent(void)
{
    return ncclInvalidUsage;
}

static const char *absent_text(void)
{
    return "NCCL was not found";
}

/* Called by the code below alone. */
__attribute__((used)) void *pipc__forward_find(unsigned int i)
{
    const pipc__real_t *real = pipc__real_of(__builtin_return_address(0));
    void *f = real ? pipc__real_symbol(real, names[i]) : NULL;

    if (!f)
        f = strstr(names[i], "GetErrorString") || strstr(names[i], "GetLastError")
                ? (void *)absent_text
                : (void *)absent;
    atomic_store_explicit(&pipc__forward_to[i], f, memory_order_release);
    return f;
}

#if defined(__x86_64__)
#define JUMPS                                                                                      \
    ".macro FORWARD name\n"                                                                        \
    "    .globl \\name\n"                                                                          \
    "    .type \\name, @function\n"                                                                \
    "    .p2align 4\n"                                                                             \
    "\\name:\n"                                                                                    \
    "    endbr64\n"                                                                                \
    "    movq pipc__forward_to + 8 * pipc__forward_i(%rip), %r11\n"                                \
    "    testq %r11, %r11\n"                                                                       \
    "    jz 1f\n"                                                                                  \
    "    jmp *%r11\n"                                                                              \
    "1:  movl $pipc__forward_i, %r11d\n"                                                           \
    "    jmp pipc__forward_first\n"                                                                \
    "    .size \\name, . - \\name\n"                                                               \
    "    .set pipc__forward_i, pipc__forward_i + 1\n"                                              \
    ".endm\n"                                                                                      \
    "pipc__forward_first:\n" /* the stack is 8 bytes off 16, as behind a call */                   \
    "    pushq %rdi\n"                                                                             \
    "    pushq %rsi\n"                                                                             \
    "    pushq %rdx\n"                                                                             \
    "    pushq %rcx\n"                                                                             \
    "    pushq %r8\n"                                                                              \
    "    pushq %r9\n"                                                                              \
    "    subq $136, %rsp\n"                                                                        \
    "    movups %xmm0, (%rsp)\n"                                                                   \
    "    movups %xmm1, 16(%rsp)\n"                                                                 \
    "    movups %xmm2, 32(%rsp)\n"                                                                 \
    "    movups %xmm3, 48(%rsp)\n"                                                                 \
    "    movups %xmm4, 64(%rsp)\n"                                                                 \
    "    movups %xmm5, 80(%rsp)\n"                                                                 \
    "    movups %xmm6, 96(%rsp)\n"                                                                 \
    "    movups %xmm7, 112(%rsp)\n"                                                                \
    "    movl %r11d, %edi\n"                                                                       \
    "    call pipc__forward_find\n"                                                                \
    "    movq %rax, %r11\n"                                                                        \
    "    movups (%rsp), %xmm0\n"                                                                   \
    "    movups 16(%rsp), %xmm1\n"                                                                 \
    "    movups 32(%rsp), %xmm2\n"                                                                 \
    "    movups 48(%rsp), %xmm3\n"                                                                 \
    "    movups 64(%rsp), %xmm4\n"                                                                 \
    "    movups 80(%rsp), %xmm5\n"                                                                 \
    "    movups 96(%rsp), %xmm6\n"                                                                 \
    "    movups 112(%rsp), %xmm7\n"                                                                \
    "    addq $136, %rsp\n"                                                                        \
    "    popq %r9\n"                                                                               \
    "    popq %r8\n"                                                                               \
    "    popq %rcx\n"                                                                              \
    "    popq %rdx\n"                                                                              \
    "    popq %rsi\n"                                                                              \
    "    popq %rdi\n"                                                                              \
    "    jmp *%r11\n"
#elif defined(__aarch64__)
#define JUMPS                                                                                      \
    ".macro FORWARD name\n"                                                                        \
    "    .globl \\name\n"                                                                          \
    "    .type \\name, %function\n"                                                                \
    "    .p2align 4\n"                                                                             \
    "\\name:\n"                                                                                    \
    "    hint #34\n"                                                                               \
    "    adrp x16, pipc__forward_to + 8 * pipc__forward_i\n"                                       \
    "    add x16, x16, :lo12:pipc__forward_to + 8 * pipc__forward_i\n"                             \
    "    ldr x16, [x16]\n"                                                                         \
    "    cbz x16, 1f\n"                                                                            \
    "    br x16\n"                                                                                 \
    "1:  mov w16, #pipc__forward_i\n"                                                              \
    "    b pipc__forward_first\n"                                                                  \
    "    .size \\name, . - \\name\n"                                                               \
    "    .set pipc__forward_i, pipc__forward_i + 1\n"                                              \
    ".endm\n"                                                                                      \
    "pipc__forward_first:\n"                                                                       \
    "    stp x29, x30, [sp, #-224]!\n"                                                             \
    "    mov x29, sp\n"                                                                            \
    "    stp x0, x1, [sp, #16]\n"                                                                  \
    "    stp x2, x3, [sp, #32]\n"                                                                  \
    "    stp x4, x5, [sp, #48]\n"                                                                  \
    "    stp x6, x7, [sp, #64]\n"                                                                  \
    "    str x8, [sp, #80]\n"                                                                      \
    "    stp q0, q1, [sp, #96]\n"                                                                  \
    "    stp q2, q3, [sp, #128]\n"                                                                 \
    "    stp q4, q5, [sp, #160]\n"                                                                 \
    "    stp q6, q7, [sp, #192]\n"                                                                 \
    "    mov w0, w16\n"                                                                            \
    "    bl pipc__forward_find\n"                                                                  \
    "    mov x16, x0\n"                                                                            \
    "    ldp x0, x1, [sp, #16]\n"                                                                  \
    "    ldp x2, x3, [sp, #32]\n"                                                                  \
    "    ldp x4, x5, [sp, #48]\n"                                                                  \
    "    ldp x6, x7, [sp, #64]\n"                                                                  \
    "    ldr x8, [sp, #80]\n"                                                                      \
    "    ldp q0, q1, [sp, #96]\n"                                                                  \
    "    ldp q2, q3, [sp, #128]\n"                                                                 \
    "    ldp q4, q5, [sp, #160]\n"                                                                 \
    "    ldp q6, q7, [sp, #192]\n"                                                                 \
    "    ldp x29, x30, [sp], #224\n"                                                               \
    "    br x16\n"
#else
#define JUMPS
_Static_assert(sizeof(char) == 0, "no jumps for this processor: write them as the others, or take "
                                  "libpcie-ipc-nccl-full.la out of runtime/nccl/local.mk");
#endif

__asm__(".text\n"
        ".set pipc__forward_i, 0\n" JUMPS
#define FORWARD(name) "    FORWARD " #name "\n"
#include "runtime/nccl/forward.def"
);
