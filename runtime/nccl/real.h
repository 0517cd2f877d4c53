/* nccl/real.h - the real NCCL, behind the hook.
 *
 * There may be several in a process: each caller gets the one that it would have without us.
 */
#ifndef PIPC_NCCL_REAL_H
#define PIPC_NCCL_REAL_H

#include <stdbool.h>

#include "runtime/nccl/abi.h"

typedef struct pipc__real {
    const void *base; /* where its object lies: two with one base are one */
    void *handle;     /* dlopen()'s; RTLD_NEXT: whatever is behind us in the global scope */
    char path[512];
    /* NULL: this version of NCCL has no such function. */
#define PIPC__REAL_MEMBER(name, args) ncclResult_t(*name) args;
    PIPC__NCCL_FUNCTIONS(PIPC__REAL_MEMBER)
#undef PIPC__REAL_MEMBER
} pipc__real_t;

/* The NCCL of the code at @caller, a return address; NULL, after a line, where there is none. The
 * first time for a caller this takes some microseconds, then next to nothing. Stays open. */
const pipc__real_t *pipc__real_of(const void *caller);

/* The same where that code is NCCL's own, else NULL: NCCL calls some of its functions as programs do,
 * and such a call is a part of its work. A program or library that NCCL is linked into is not told
 * from it, and counts as a caller. */
const pipc__real_t *pipc__real_around(const void *caller);

/* Its symbol @name; NULL where it has none. */
void *pipc__real_symbol(const pipc__real_t *real, const char *name);

/* Does @address lie in this library, or in another copy of it? */
bool pipc__real_is_hook(const void *address);

#endif
