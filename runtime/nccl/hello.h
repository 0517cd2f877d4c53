/* nccl/hello.h - what the ranks of a communicator tell each other before anything is made.
 *
 * Every rank takes part, also one on which something failed before: the others would wait for it.
 * All judge the same, so all come to the same end.
 */
#ifndef PIPC_NCCL_HELLO_H
#define PIPC_NCCL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIPC__HELLO_MAGIC UINT32_C(0x70697063)
#define PIPC__HELLO_VERSION 3u

typedef struct pipc__hello {
    uint32_t magic, version; /* their place and the length of the whole never change */
    uint32_t failed;         /* 1: reason says why this rank can't */
    int32_t pid;             /* ranks of one process: see pipc__hello_shares() */
    uint64_t staging;        /* bytes that it has left for this communicator */
    char host[64];
    char boot[40];
    char reason[136];
} pipc__hello_t;

_Static_assert(sizeof(pipc__hello_t) == 264, "the length never changes");

/* Fill the own one; @reason NULL: nothing failed. */
void pipc__hello_fill(pipc__hello_t *mine, uint64_t staging, const char *reason);

/* May the ranks of all[n] have a communicator? Then *staging is what each has for it. False:
 * why[cap] names the first reason. Pure. */
bool pipc__hello_judge(const pipc__hello_t *all, int n, uint64_t *staging, char *why, size_t cap);

/* Are they on several nodes? Pure. */
bool pipc__hello_spans(const pipc__hello_t *all, int n);

/* Is another rank of all[n] a thread of @rank's process? Said too often, of processes of one number
 * in two PID namespaces, it does no harm. Pure. */
bool pipc__hello_shares(const pipc__hello_t *all, int n, int rank);

#endif
