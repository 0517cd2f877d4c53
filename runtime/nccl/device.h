/* nccl/device.h - what the hook needs of the GPU by itself, while a communicator is set up. The
 * tests, which run without one, link another file in place of device_cuda.c.
 */
#ifndef PIPC_NCCL_DEVICE_H
#define PIPC_NCCL_DEVICE_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>

extern const pipc_backend_t pipc__device_backend; /* which communicators are made */

/* Is @stream being captured into a graph? True also where that can't be told. */
bool pipc__device_captures(void *stream);

/* A visit to a GPU by the calling thread: its primary context is current, and a capture that the
 * thread has begun on another stream is not disturbed by what is made here. */
typedef struct pipc__visit {
    void *context, *stream;
    unsigned int mode;
    int device;
} pipc__visit_t;

/* Enter the GPU number @ordinal, with a stream of our own. False: *why (static) says what failed,
 * and there is nothing to leave. */
bool pipc__device_enter(pipc__visit_t *visit, int ordinal, const char **why);
void pipc__device_leave(pipc__visit_t *visit);

/* Host memory that the GPU and NCCL reach by the same address, NULL: none left. Not the GPU's own:
 * programs keep all of that for themselves, and set-up must not fail on one rank alone. */
void *pipc__device_host_alloc(size_t bytes);
void pipc__device_host_free(void *memory);

/* What was enqueued on the visit's stream: 0 is through, 1 still runs, -1 failed. */
int pipc__device_query(const pipc__visit_t *visit);

#endif
