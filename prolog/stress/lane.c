/* prolog/stress/lane.c - see lane.h */
#include "prolog/stress/lane.h"

stress_lane_t stress_lane_start(void)
{
    return (stress_lane_t){.side = {0, 1}, .at = {0, 0}, .had = {{0, -1, -1}, {1, -1, -1}}};
}

/* Not one that is read in this step, and not one that had this token last. */
static int free_buffer(const stress_lane_t *lane, int side, int token, int read)
{
    int b = 0;

    while (b == read || lane->had[side][b] == token)
        b++; /* there is one: tests/unit/stress.c goes through all that can be */
    return b;
}

void stress_lane_next(stress_lane_t *lane, stress_move_t move[STRESS_TOKENS])
{
    for (int t = 0; t < STRESS_TOKENS; t++) {
        int to = 1 - lane->side[t];
        move[t] = (stress_move_t){to, lane->at[t], free_buffer(lane, to, t, lane->at[1 - t])};
    }
    for (int t = 0; t < STRESS_TOKENS; t++) {
        lane->side[t] = move[t].to_side;
        lane->at[t] = move[t].to;
        lane->had[move[t].to_side][move[t].to] = t;
    }
}
