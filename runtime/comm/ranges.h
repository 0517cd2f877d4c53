/* comm/ranges.h - what a profiler's timeline shows of the library: NVTX ranges, in the domain
 * "pcie-ipc", of the thread that calls. Built without NVTX's header, all of this does nothing.
 */
#ifndef PIPC_COMM_RANGES_H
#define PIPC_COMM_RANGES_H

#include <stddef.h>

#include "runtime/plan/proto.h"
#include "runtime/tune/table.h"

/* What a range is of. */
#define PIPC__RANGE_CREATE 0 /* a communicator's creation */
#define PIPC__RANGES (1 + PIPC__ALGOS * PIPC__PROTOS)
static inline int pipc__range_of_call(pipc__choice_t choice)
{
    return 1 + choice.algo * PIPC__PROTOS + (int)choice.proto;
}

/* Find the profiler, once a process. NVTX opens a library and allocates in here, so that it never
 * does in a call: every communicator begins with this. Any thread. */
void pipc__ranges_open(void);

/* A range from here to the next pipc__range_end() of this thread; ranges nest. @bytes of a call is
 * its message, of a creation 0. Without a profiler a comparison each. */
void pipc__range_begin(int which, size_t bytes);
void pipc__range_end(void);

#endif
