/* tools/bench/beside.h - other own ways of doing the same, timed in turns with the run's own calls
 * and with the peer's.
 *
 *     --beside nccl,shipped,one-shot/push@16,same@max
 *              |    |       |             |  |    `- all multiprocessors
 *              |    |       |             |  `- what the run itself does
 *              |    |       |             `- multiprocessors that calls may use
 *              |    |       `- a choice, as tables have them
 *              |    `- the shipped table
 *              `- NCCL, called by the library
 *
 * One communicator does them all: before a sample it gets the table and the budget of blocks that
 * the sample is about. All ranks do the same, in the same order.
 */
#ifndef PIPC_BENCH_BESIDE_H
#define PIPC_BENCH_BESIDE_H

#include "runtime/tools/bench/burst.h"

#define BENCH_BESIDE_WANTS                                                                         \
    "a list of CHOICE[@SMS], CHOICE being same, shipped, nccl or PLAN[/PROTOCOL[/BLOCKS]], "       \
    "SMS a number or max"

/* Is @list one, of no more than BENCH_BESIDE_MAX? */
bool bench_beside_good(const char *list);

/* Make what options.beside lists; the communicator goes on doing what it did. Collective. */
pipc_status_t bench_beside_open(bench_t *b, pipc__error_t *err);

/* From here on the communicator does as @who says, BENCH_OWN or BENCH_BESIDE(k); nothing for a
 * peer's variant. */
void bench_become(bench_t *b, int who);

/* What @who, BENCH_OWN or BENCH_BESIDE(k), does with messages of @bytes; and whether that is
 * possible here. What the run itself does always is: if it is not, the run says so. */
pipc__choice_t bench_beside_choice(const bench_t *b, int who, size_t bytes);
bool bench_beside_can(const bench_t *b, int who, size_t bytes);

#endif
