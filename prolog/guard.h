/* prolog/guard.h - run a program that may crash, hang or lie, and be done by a deadline. libc only.
 */
#ifndef PIPC_PROLOG_GUARD_H
#define PIPC_PROLOG_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__GUARD_RECORD_FD 3 /* where the program writes its record */

typedef struct pipc__guard {
    bool clean;       /* it ended by itself, in time, with status 0 */
    char why[128];    /* else: "was killed by signal 11", "gave no answer in 3 s", ... */
    char record[256]; /* what it wrote to PIPC__GUARD_RECORD_FD; longer ones are cut */
    char said[4096];  /* what it wrote to stderr; longer texts are cut */
} pipc__guard_t;

/* Run @path with @argv, stdin and stdout on /dev/null, an environment of LC_ALL=C alone, and no
 * open file of the caller's. Returns within @deadline_ms (and a few more), whatever the program
 * does: its whole process group is killed then, and not waited for, since nothing kills what sleeps
 * in a driver. */
void pipc__guard_run(const char *path, char *const argv[], int deadline_ms, pipc__guard_t *out);

/* The same, where what it writes to stdout comes to @buf, of @cap bytes, with a 0 behind it: the
 * number of bytes. cap - 1 says that there may have been more. @out has no record. */
size_t pipc__guard_read(const char *path, char *const argv[], char *const environment[],
                        int deadline_ms, char *buf, size_t cap, pipc__guard_t *out);

#endif
