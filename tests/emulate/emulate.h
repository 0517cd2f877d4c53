/* tests/emulate/emulate.h - kernels on the CPU, for tests of their protocols: the kernel's own
 * source, compiled as C++ (cuda.h), every CUDA thread a fibre, switched at random at its accesses
 * to memory.
 *
 * One fibre runs at a time. What the memory model leaves open is chosen at random, too: a store
 * becomes visible some time later, before or after others of its thread, unless a release, a fence
 * or a barrier of the block says otherwise; a vector access is one for each of its words. Loads are
 * made where they stand: that they may be made earlier is not shown.
 *
 * All is a function of the seed. For C and C++.
 */
#ifndef TESTS_EMULATE_EMULATE_H
#define TESTS_EMULATE_EMULATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void emulated_kernel_t(const void *args);

typedef struct emulated_launch {
    emulated_kernel_t *kernel;
    const void *args;
    uint32_t blocks, threads; /* threads: of a block */
} emulated_launch_t;

/* A rank: its launches run one after the other, beside those of other streams. */
typedef struct emulated_stream {
    const emulated_launch_t *launches;
    int n;
} emulated_stream_t;

/* How memory may be worse than it is, for tests of the emulation itself. */
typedef enum emulated_fault {
    EMULATED_NO_FAULT,
    EMULATED_TORN,     /* 8 bytes are two stores of 4 */
    EMULATED_UNORDERED /* releases and fences order nothing */
} emulated_fault_t;

#define EMULATED_STREAMS 16

typedef struct emulation {
    emulated_stream_t stream[EMULATED_STREAMS];
    int nstreams;
    bool shared; /* the kernels use shared memory */
    uint64_t seed;
    uint64_t steps; /* at most; then *abort is set, and the kernels have to end by themselves */
    uint64_t *abort;
    emulated_fault_t fault;
} emulation_t;

/* Returns true when all launches have ended within e->steps. Ends the process when they do not end
 * after the abort either. Not for several threads at a time. */
bool emulate(const emulation_t *e);

/* --- what kernels call (cuda.h, ptx.cuh) --------------------------------------------- */

typedef struct emulated_index {
    uint32_t x, y, z;
} emulated_index_t;

/* The running thread's place. */
typedef struct emulated_place {
    emulated_index_t thread, block, threads, blocks;
} emulated_place_t;

extern const emulated_place_t *emulated_now;

/* Up to 8 bytes, in one piece. */
uint64_t emulated_load(const void *p, unsigned int bytes);
void emulated_store(void *p, uint64_t v, unsigned int bytes);
/* What this thread has stored is visible before what it stores from now on. */
void emulated_release(void);
/* Is EMULATED_TORN the fault? For what is one thing in more than one store. */
bool emulated_torn(void);
/* Let others run: in a loop that waits. */
void emulated_yield(void);
/* @threads of the block meet; true for all of them if @yes was for one. */
bool emulated_meet(uint32_t barrier, uint32_t threads, bool yes);

#ifdef __cplusplus
}
#endif
#endif
