/* exec/watchdog.h - a thread that notices the end of a peer's process.
 */
#ifndef PIPC_EXEC_WATCHDOG_H
#define PIPC_EXEC_WATCHDOG_H

#include <stdbool.h>

#include "runtime/base/error.h"

typedef struct pipc__watchdog pipc__watchdog_t;

/* A process under watch. pidfd -1 (Linux before 5.3): /proc/PID/stat is polled instead. */
typedef struct pipc__watched {
    int pid, pidfd;
    unsigned long long start; /* field 22 of /proc/PID/stat: with the pid it names one process */
} pipc__watched_t;

/* Begin to watch process @pid. PIPC_ERR_UNREACHABLE when there is none. */
pipc_status_t pipc__watched_open(pipc__watched_t *w, int pid, pipc__error_t *err);
bool pipc__watched_alive(const pipc__watched_t *w);
void pipc__watched_close(pipc__watched_t *w); /* pid 0 is allowed */

/* Start the thread: calls gone(arg, i) once, from the thread, for each watched[i] that ends;
 * watched[n] (entries with pid 0 are skipped) must outlive the watchdog. Noticed at once with
 * pidfds, within 50 ms without. All signals are blocked in the thread. */
pipc_status_t pipc__watchdog_start(pipc__watchdog_t **dog, const pipc__watched_t *watched, int n,
                                   void (*gone)(void *arg, int i), void *arg, pipc__error_t *err);

void pipc__watchdog_stop(pipc__watchdog_t *dog); /* joins the thread; NULL is allowed */
void pipc__watchdog_abandon(
    pipc__watchdog_t *dog); /* in a forked child, which has not the thread */

#endif
