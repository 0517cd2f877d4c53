/* tests/unit/mallocs.h - counts allocations of host memory: the program that links this has
 * malloc() and its kin replaced, for all libraries in the process.
 */
#ifndef TESTS_UNIT_MALLOCS_H
#define TESTS_UNIT_MALLOCS_H

#include <stdbool.h>

typedef struct mallocs {
    unsigned long own, others; /* asked for by the program itself; by a shared library */
} mallocs_t;

/* Of the calling thread, between mallocs_begin() and mallocs_end(). */
void mallocs_begin(void);
mallocs_t mallocs_end(void);

/* False where malloc() is a tool's, a sanitizer's or valgrind's: nothing is counted then. */
bool mallocs_work(void);

#endif
