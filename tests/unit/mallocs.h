/* tests/unit/mallocs.h - counts allocations of host memory: the program that links this has
 * malloc() and its kin replaced, for all libraries in the process.
 */
#ifndef TESTS_UNIT_MALLOCS_H
#define TESTS_UNIT_MALLOCS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MALLOCS_OF_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MALLOCS_OF_SANITIZER 1 /* or of another libc: not ours to replace */
#endif

typedef struct mallocs {
    unsigned long own, others; /* asked for by the program itself; by a shared library */
} mallocs_t;

/* Of the calling thread, between mallocs_begin() and mallocs_end(). */
void mallocs_begin(void);
mallocs_t mallocs_end(void);

#endif
