/* prolog/stress/lane.h - who copies what to where, so that every copy is verified. Pure.
 *
 * A lane joins a GPU to another GPU or to the host's memory. It has two tokens, each as large as
 * one copy, with bytes of their own. They start at the two ends and change places, over and over:
 *
 *     x [ 0 | . | . ]  --- token 0 -->   [ . | . | 1 ] y        both ways are busy all the time
 *                      <-- token 1 ---
 *
 * A byte that one copy gets wrong stays wrong in all that follow, so that looking at a token tells
 * of all the copies it went through. And a copy that is lost, which changes nothing, must not leave
 * what should have come: a token never lands in a buffer that it was in last. That takes three
 * buffers at each end: one is read, one of the others had the other token.
 */
#ifndef PIPC_PROLOG_STRESS_LANE_H
#define PIPC_PROLOG_STRESS_LANE_H

enum { STRESS_TOKENS = 2, STRESS_BUFFERS = 3 };

typedef struct stress_lane {
    int side[STRESS_TOKENS];    /* where each token is: 0 at x, 1 at y */
    int at[STRESS_TOKENS];      /* in which buffer there */
    int had[2][STRESS_BUFFERS]; /* the token that a buffer had last; -1: none yet */
} stress_lane_t;

typedef struct stress_move {
    int to_side, from, to; /* buffer @from of the other side -> buffer @to of @to_side */
} stress_move_t;

stress_lane_t stress_lane_start(void);

/* The next step: both tokens at once. */
void stress_lane_next(stress_lane_t *lane, stress_move_t move[STRESS_TOKENS]);

#endif
