/* plan/trace.h - what a kernel did to memory, thread by thread: written by the test builds of
 * kernels that no plan describes (kernels/trace.cuh), proved right by plan/replay.h. Plain data for
 * C and CUDA C.
 *
 * A thread moves values between places and registers of its own. Registers are numbers that the
 * kernel gives to its variables: the trace has to say which of what a thread has read a sum is made
 * of.
 *
 *     input --READ--> 0 --WRITE--> a peer's slot
 *                     0 --TAKE---> 1 --WRITE--> output
 *     own slot --READ--> 2 --ADD-->'
 */
#ifndef PIPC_PLAN_TRACE_H
#define PIPC_PLAN_TRACE_H

#include <stdint.h>

#include "runtime/plan/plan.h"

typedef enum pipc__event_kind {
    PIPC__DID_READ,   /* register = @bytes at a place */
    PIPC__DID_WRITE,  /* @bytes at a place = register */
    PIPC__DID_TAKE,   /* register = register @from */
    PIPC__DID_ADD,    /* register = register op register @from */
    PIPC__DID_SIGNAL, /* a flag = @value */
    PIPC__DID_WAIT,   /* a flag was seen to be @value or more */
    PIPC__DID_FENCE,
    PIPC__DID_MEET,  /* barrier @at of the block: came, and went on when @value threads had come */
    PIPC__DID_ARRIVE /* the same, but did not wait for the others */
} pipc__event_kind_t;

/* What an access does to the order of others. */
typedef enum pipc__event_how {
    PIPC__PLAIN,   /* data: nothing */
    PIPC__RELAXED, /* a flag: nothing either, but for fences. Data: each word has a flag in it, and
                    * was written with @value, or seen to have it */
    PIPC__LOADED,  /* a signal, the same, but behind loads whose values were used: they are through
                    */
    PIPC__ORDERED  /* a flag: released or acquired */
} pipc__event_how_t;

/* A place that only traces know: flags in shared memory, numbered, of a block and a call. */
#define PIPC__TRACE_BLOCK 4

/* Barriers: 0 of the whole block, those that have numbers, and of each warp. */
#define PIPC__TRACE_WARP 16

#define PIPC__TRACE_REGISTERS 8
#define PIPC__TRACE_NOTHING 255 /* a WRITE's register: what it writes is nobody's data */

typedef struct pipc__event {
    uint64_t at;    /* an address; once located, bytes from the place's start; a barrier's number */
    uint64_t value; /* a flag's; of a barrier: how many threads */
    uint32_t bytes; /* READ, WRITE */
    uint16_t offset; /* READ, WRITE: where in the register; a READ at 0 clears the rest of it */
    uint8_t kind;    /* pipc__event_kind_t */
    uint8_t how;     /* pipc__event_how_t */
    uint8_t reg, from;
    uint8_t place, rank; /* pipc__place_t, and whose: once located; PIPC__TRACE_BLOCK: at once */
} pipc__event_t;

/* Where the threads of a launch write. */
typedef struct pipc__trace_sink {
    pipc__event_t *events; /* [blocks][threads of a block][each]; NULL: nowhere */
    uint32_t *count;       /* [blocks][threads of a block]; more than @each: some were lost */
    uint32_t each;
    uint32_t *grid; /* thread 0 tells blocks and threads of a block; NULL: nobody asks */
} pipc__trace_sink_t;

#endif
