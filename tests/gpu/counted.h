/* tests/gpu/counted.h - counts the driver's functions as the library calls them. It finds them all
 * by dlsym(), which the linker replaces (-Wl,--wrap=dlsym): what it gets instead counts and jumps
 * on, so a function that is added tomorrow is counted, too.
 */
#ifndef TESTS_GPU_COUNTED_H
#define TESTS_GPU_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTED_MAX 512

typedef struct counted {
    uint64_t calls[COUNTED_MAX];
} counted_t;

/* Calls of each function so far, from all threads, in the order in which they were looked up. */
counted_t counted_now(void);

/* "cuLaunchKernel"; NULL behind the last one. */
const char *counted_name(size_t i);

bool counted_works(void); /* false on a processor that it is not written for */

#endif
