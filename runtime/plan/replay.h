/* plan/replay.h - proves the traces of a sequence of calls right, as plan/check.h proves plans. For
 * tests: no part of the library.
 */
#ifndef PIPC_PLAN_REPLAY_H
#define PIPC_PLAN_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"
#include "runtime/plan/trace.h"

/* One rank's part of one all-reduce. */
typedef struct pipc__trace {
    pipc__trace_sink_t sink;        /* filled */
    uint32_t blocks, block_threads; /* of the launch */
    size_t bytes;                   /* of the message */
    bool in_place;
} pipc__trace_t;

/* A piece of a rank's address space, and what lies there. In place, the one buffer is OUTPUT. */
typedef struct pipc__trace_region {
    uint64_t address;
    size_t bytes;
    uint8_t place, rank; /* pipc__place_t, and whose; SLOT and HOST are all of a rank's staging */
    uint64_t at;         /* where in the place the piece begins */
} pipc__trace_region_t;

/* Put places where the events of @t have addresses. PIPC_ERR_INVALID names an access that is not
 * inside one region, or a thread of which events were lost. */
pipc_status_t pipc__trace_locate(pipc__trace_t *t, const pipc__trace_region_t *regions,
                                 int nregions, pipc__error_t *err);

#define PIPC__EVENT_TEXT 96 /* bytes */

/* "writes 4 bytes at staging 1 + 0x40": returns @text. */
const char *pipc__event_text(const pipc__event_t *e, char text[PIPC__EVENT_TEXT]);

/* Run the traces of @ncalls consecutive all-reduces symbolically, and prove that
 *   - every byte of every output holds the contribution of every rank exactly once, of this call
 * and of this byte of the message, and as the same expression on every rank;
 *   - every wait is reached by its signal;
 *   - any two accesses to the same byte, one of them a write, are ordered by the program order of a
 *     thread, barriers of a block, the end of a rank's kernel before its next one, and signals that
 *     were released or fenced and acquired or fenced; likewise any two signals to the same flag.
 * A flag that lies in one word with its data orders that word alone, but for what fences and the
 * ends of kernels make of it.
 *
 * A trace is one execution. What it proves it proves of all that do the same: threads whose
 * accesses depend on nothing but the call, as those of the kernels do.
 *
 * @traces: [ncalls][nranks], located. PIPC_ERR_INVALID names call, rank, block, thread and event.
 * PIPC_ERR_NOMEM. */
pipc_status_t pipc__trace_replay(const pipc__trace_t *traces, int ncalls, int nranks,
                                 pipc__error_t *err);

#endif
