/* exec/probe.h - which rank reaches whose device memory: what a probe asks, in which order, and
 * what its answers mean. Pure; exec/cuda_probe.c asks.
 *
 *     alone        steps in which a rank writes to one rank at most and hears from one at most
 *     all at once  all that passed, at the same time; again without those that fail then
 *
 * All at once comes second: a broken pair can disturb good ones, and would take them with it.
 */
#ifndef PIPC_EXEC_PROBE_H
#define PIPC_EXEC_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

/* What is known of the way from one rank to another. */
typedef enum pipc__path_state {
    PIPC__PATH_UNTESTED, /* must be 0 */
    PIPC__PATH_GOOD,     /* every byte came, and the signal behind them */
    PIPC__PATH_HIDDEN,   /* the writer's process does not see the other GPU */
    PIPC__PATH_MIG,      /* one of them is a part of a GPU */
    PIPC__PATH_REFUSED,  /* the driver offers no peer access */
    PIPC__PATH_UNOPENED, /* offered, but the memory could not be mapped */
    PIPC__PATH_WRONG,    /* the signal came and the data is not what was written */
    PIPC__PATH_TIMED_OUT /* the signal did not come */
} pipc__path_state_t;
#define PIPC__PATH_STATES (PIPC__PATH_TIMED_OUT + 1)

/* A short word for files, tables and JSON, "good", "timed-out", ...; what it means, for people;
 * what to do about it, "" where there is nothing. Never NULL, also for numbers that are no state.
 */
const char *pipc__path_word(pipc__path_state_t state);
const char *pipc__path_meaning(pipc__path_state_t state);
const char *pipc__path_remedy(pipc__path_state_t state);

/* The state that has this word; PIPC__PATH_STATES when none has. */
pipc__path_state_t pipc__path_from_word(const char *word);

typedef uint8_t pipc__path_matrix_t[PIPC__RANKS_MAX][PIPC__RANKS_MAX]; /* [writer][owner] */

typedef struct pipc__probe {
    int rank, n;
    uint32_t limit_msec; /* for data, once both ends are there; 0: PIPC__PROBE_MSEC */
    /* In, on rank 0: what an earlier probe found, GOOD, WRONG or TIMED_OUT; else UNTESTED. Out, on
     * every rank: all pairs, GOOD for a rank and itself. */
    pipc__path_matrix_t state;
    int known;     /* out: pairs that were taken from there */
    int took_usec; /* out */
} pipc__probe_t;

#define PIPC__PROBE_MSEC 500 /* a push takes microseconds; a GPU may be shared by time slices */
#define PIPC__PROBE_MSEC_SHORT 50 /* once a pair has timed out: a box without P2P has many such */

/* --- order ------------------------------------------------------------------------------------ */

/* How many steps of pairs alone there are for @n ranks. */
int pipc__probe_steps(int n);

/* Step @step: to[r] is the rank that r writes to, -1 for none. Over all steps every rank writes to
 * every other one once; in a step no rank is in two pairs. */
void pipc__probe_step(int n, int step, int to[PIPC__RANKS_MAX]);

/* --- answers ---------------------------------------------------------------------------------- */

/* What the two ends of a pair saw in one step. */
typedef struct pipc__probe_seen {
    bool pushed;   /* writer: its kernel came to its end in time */
    bool came;     /* owner: the signal was there in time */
    bool compared; /* owner: its kernel came to its end */
    uint64_t wrong;
} pipc__probe_seen_t;

pipc__path_state_t pipc__probe_judge(const pipc__probe_seen_t *seen);

/* Put the owners' answers into @m: seen[owner][writer] is what the owner says of a pair, UNTESTED
 * where it says nothing. A bad state stays bad, whatever is seen later; words that are no state
 * count as TIMED_OUT. Returns how many pairs became bad. */
int pipc__probe_merge(pipc__path_matrix_t m, int n, const pipc__path_matrix_t seen);

/* Bit q of reach[r]: r may write q's device memory. Only what is GOOD. */
void pipc__probe_reach(const pipc__path_matrix_t m, int n, uint16_t reach[PIPC__RANKS_MAX]);

/* Pairs of two ranks in each direction, n * (n - 1) in all: those that are GOOD. */
int pipc__probe_good(const pipc__path_matrix_t m, int n);

/* The first pair that is not GOOD, in order of (writer, owner); false when there is none. */
bool pipc__probe_first_bad(const pipc__path_matrix_t m, int n, int *from, int *to);

#endif
