/* rail/schedule.h - who sends what to whom when nodes add up a piece of a message.
 *
 * Pure functions of (algorithm, nodes, self, step), so that every node knows what the others do.
 * A piece is divided into blocks; in each step a node sends some blocks to one node, and receives
 * some from one, or does neither. A message that is sent in a step is received in the same step.
 *
 *     doubling   whole pieces with the node at distance 1, 2, 4 ...: log2(n) steps, log2(n) pieces
 *     halving    halves with the node at distance ... 4, 2, 1, then back (Rabenseifner): 2 log2(n)
 *                steps, 2 (n - 1) / n pieces
 *     ring       a block a step to the next node, round twice: 2 (n - 1) steps, 2 (n - 1) / n
 * pieces
 *
 * The first two are of a power of two; nodes beyond the greatest one in n give their piece to one
 * within and get the sum from it, two steps and two pieces more.
 *
 * All nodes end with the same bits: in the ring and in halving one node adds up a block, in
 * doubling the two of a pair add the same two operands in the same order (left).
 */
#ifndef PIPC_RAIL_SCHEDULE_H
#define PIPC_RAIL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pipc__rail_algo {
    PIPC__RAIL_DOUBLING,
    PIPC__RAIL_HALVING,
    PIPC__RAIL_RING,
    PIPC__RAIL_ALGO_COUNT
} pipc__rail_algo_t;

typedef struct pipc__rail_step {
    int to, from;    /* nodes; -1: nothing is sent, nothing is received */
    int send, nsend; /* blocks, from the first on; nsend is 0 if to is -1 */
    int recv, nrecv;
    bool sum;  /* what comes is added to the own blocks; otherwise it replaces them */
    bool left; /* ... as the left operand */
} pipc__rail_step_t;

/* "doubling", "halving", "ring". */
const char *pipc__rail_algo_string(pipc__rail_algo_t algo);

/* Blocks of a piece, >= 1, and steps; 0 for one node. */
int pipc__rail_blocks(pipc__rail_algo_t algo, int nodes);
int pipc__rail_steps(pipc__rail_algo_t algo, int nodes);

/* 0 <= self < nodes, 0 <= step < steps. */
pipc__rail_step_t pipc__rail_step(pipc__rail_algo_t algo, int nodes, int self, int step);

/* Part @i of @parts of @count elements begins at the value for i and ends at that for i + 1. All
 * parts but the last that has any are multiples of @grain elements. */
size_t pipc__rail_part(size_t count, int parts, int i, size_t grain);

/* How a job is done: by which algorithm, in how many pieces that are each done alone, one behind
 * the other, so that receiving, adding and sending overlap. No block that is added is longer than
 * PIPC__RAIL_SEGMENT. The same on every node. */
typedef struct pipc__rail_cut {
    pipc__rail_algo_t algo;
    int pieces;
} pipc__rail_cut_t;

#define PIPC__RAIL_SEGMENT ((size_t)128 << 10)
#define PIPC__RAIL_GRAIN 64 /* bytes: parts begin at multiples of it */

/* @bytes of a job; @message of all jobs that belong together, 0 for one alone: where they are many,
 * they hide each other's steps, and what is sent counts alone. */
pipc__rail_cut_t pipc__rail_cut(int nodes, size_t bytes, size_t message);
int pipc__rail_pieces(pipc__rail_algo_t algo, int nodes, size_t bytes);

#endif
