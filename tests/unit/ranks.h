/* tests/unit/ranks.h - ranks of a test are forked processes with an exchange over inherited memory.
 *
 *     static int body(ranks_t *all, int rank, void *arg) { ...; return 0; }
 *     assert_int_equal(ranks_run(4, body, &arg, 30), 0);
 */
#ifndef TESTS_UNIT_RANKS_H
#define TESTS_UNIT_RANKS_H

#include <stddef.h>

typedef struct ranks ranks_t;

/* Fork @n processes, run body() in each, wait for all. Returns 0 when every body returned 0; else
 * the first other value, 128 + signal for one that was killed, 255 when @seconds ran out (then all
 * are killed). A body that prints should print whole lines to stderr. */
int ranks_run(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg, int seconds);

/* As ranks_run(), but exit[r] gets each rank's value (as above) and the return value is 0, or 255
 * when time ran out. */
int ranks_run_each(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg, int seconds,
                   int *exits);

/* As ranks_run(), with threads of this process as ranks: for tools that watch one process. No limit
 * of time, and a rank that ends the process ends the test. */
int ranks_run_threads(int n, int (*body)(ranks_t *all, int rank, void *arg), void *arg);

/* This process is rank @rank of @n; the others are started by hand. They meet over @file, which
 * must be absent or empty at first. For tools that follow one process only. Returns what body()
 * returns. */
int ranks_join(const char *file, int rank, int n, int (*body)(ranks_t *all, int rank, void *arg),
               void *arg);

int ranks_size(const ranks_t *all);
int ranks_pid(const ranks_t *all, int rank); /* after the first gather */

/* Collective, up to 1024 bytes a rank; for setting up what is under test, so it must not use it. */
void ranks_gather(ranks_t *all, int rank, const void *mine, size_t bytes, void *out);

#endif
