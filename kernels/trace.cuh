/* kernels/trace.cuh - test builds only: a kernel writes down what it does to memory, thread by
 * thread, for runtime/plan/replay.h to prove right. Without a place to write to nothing is written.
 *
 * A wait is written down where the kernel has seen what it waits for, so a wait that was left out
 * is missing in the trace even when what it was for happened to be there.
 */
#ifndef PIPC_KERNELS_TRACE_CUH
#define PIPC_KERNELS_TRACE_CUH

#include "runtime/plan/trace.h"

/* Registers: the own contribution; the sum; what came from a peer; the own one of a later part. */
enum traced { OF_OWN, OF_SUM, OF_PEER, OF_NEXT };

#ifdef PIPC_PERTURB

static __device__ void trace(const pipc__trace_sink_t &sink, const pipc__event_t &e)
{
    if (!sink.events)
        return;
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t n = sink.count[thread]++;
    if (sink.grid && !thread && !n) {
        sink.grid[0] = gridDim.x;
        sink.grid[1] = blockDim.x;
    }
    if (n < sink.each)
        sink.events[thread * sink.each + n] = e;
}

static __device__ void trace_data(const pipc__trace_sink_t &sink, pipc__event_kind_t kind, int reg,
                                  int offset, const void *p, uint32_t bytes)
{
    pipc__event_t e = {};

    e.kind = kind;
    e.reg = (uint8_t)reg;
    e.offset = (uint16_t)offset;
    e.at = (uint64_t)(uintptr_t)p;
    e.bytes = bytes;
    trace(sink, e);
}

/* Four bytes with a flag behind them. */
static __device__ void trace_word(const pipc__trace_sink_t &sink, pipc__event_kind_t kind, int reg,
                                  int offset, const void *p, uint64_t flag, bool seen)
{
    pipc__event_t e = {};

    e.kind = kind;
    e.how = seen ? PIPC__RELAXED : PIPC__PLAIN;
    e.reg = (uint8_t)reg;
    e.offset = (uint16_t)offset;
    e.at = (uint64_t)(uintptr_t)p;
    e.bytes = 4;
    e.value = flag;
    trace(sink, e);
}

static __device__ void trace_sum(const pipc__trace_sink_t &sink, bool first, int from)
{
    pipc__event_t e = {};

    e.kind = first ? PIPC__DID_TAKE : PIPC__DID_ADD;
    e.reg = OF_SUM;
    e.from = (uint8_t)from;
    trace(sink, e);
}

static __device__ void trace_flag(const pipc__trace_sink_t &sink, pipc__event_kind_t kind,
                                  pipc__event_how_t how, const void *flag, uint64_t value)
{
    pipc__event_t e = {};

    e.kind = kind;
    e.how = how;
    e.at = (uint64_t)(uintptr_t)flag;
    e.value = value;
    trace(sink, e);
}

/* Flag @number in shared memory. It is set when loads are through, and not released; and who sees
 * it does not acquire. */
static __device__ void trace_block_flag(const pipc__trace_sink_t &sink, pipc__event_kind_t kind,
                                        uint32_t number, uint64_t value)
{
    pipc__event_t e = {};

    e.kind = kind;
    e.how = kind == PIPC__DID_SIGNAL ? PIPC__LOADED : PIPC__RELAXED;
    e.place = PIPC__TRACE_BLOCK;
    e.at = number;
    e.value = value;
    trace(sink, e);
}

static __device__ void trace_meet(const pipc__trace_sink_t &sink, uint32_t number, uint32_t threads)
{
    pipc__event_t e = {};

    e.kind = PIPC__DID_MEET;
    e.at = number;
    e.value = threads;
    trace(sink, e);
}

#define TRACE_READ_PART(a, reg, offset, p, bytes)                                                  \
    trace_data((a).trace, PIPC__DID_READ, reg, offset, p, bytes)
#define TRACE_WRITE_PART(a, reg, offset, p, bytes)                                                 \
    trace_data((a).trace, PIPC__DID_WRITE, reg, offset, p, bytes)
#define TRACE_WORD_READ(a, reg, offset, p, flag, seen)                                             \
    trace_word((a).trace, PIPC__DID_READ, reg, offset, p, flag, seen)
#define TRACE_WORD_WRITE(a, reg, offset, p, flag)                                                  \
    trace_word((a).trace, PIPC__DID_WRITE, reg, offset, p, flag, true)
#define TRACE_SUM(a, first, from) trace_sum((a).trace, first, from)
#define TRACE_SIGNAL(a, how, flag, value) trace_flag((a).trace, PIPC__DID_SIGNAL, how, flag, value)
#define TRACE_WAIT(a, how, flag, value) trace_flag((a).trace, PIPC__DID_WAIT, how, flag, value)
#define TRACE_BLOCK_FLAG(a, kind, number, value) trace_block_flag((a).trace, kind, number, value)
#define TRACE_MEET(a, number, threads) trace_meet((a).trace, number, threads)

#else
#define TRACE_READ_PART(a, reg, offset, p, bytes) ((void)0)
#define TRACE_WRITE_PART(a, reg, offset, p, bytes) ((void)0)
#define TRACE_WORD_READ(a, reg, offset, p, flag, seen) ((void)0)
#define TRACE_WORD_WRITE(a, reg, offset, p, flag) ((void)0)
#define TRACE_SUM(a, first, from) ((void)0)
#define TRACE_SIGNAL(a, how, flag, value) ((void)0)
#define TRACE_WAIT(a, how, flag, value) ((void)0)
#define TRACE_BLOCK_FLAG(a, kind, number, value) ((void)0)
#define TRACE_MEET(a, number, threads) ((void)0)
#endif

/* A whole register. */
#define TRACE_READ(a, reg, p, bytes) TRACE_READ_PART(a, reg, 0, p, bytes)
#define TRACE_WRITE(a, reg, p, bytes) TRACE_WRITE_PART(a, reg, 0, p, bytes)

#endif
