/* comm/child.h - communicators that a forked child has inherited. They are the parent's: its pages,
 * its threads, its connections, of which the child has but copies and mappings.
 */
#ifndef PIPC_COMM_CHILD_H
#define PIPC_COMM_CHILD_H

#include "runtime/comm/comm.h"

/* How many times the way from the first process to this one was forked, since the first
 * communicator was created. Cheaper than getpid(), a system call, in each AllReduce. */
unsigned int pipc__child_generation(void);

/* Note in which process @comm is created. */
void pipc__child_born(pipc_comm_t *comm);

/* Was @comm created by a parent? */
static inline bool pipc__child_inherited(const pipc_comm_t *comm)
{
    return comm->generation != pipc__child_generation();
}

/* Unmap and free, as far as that leaves the parent alone. */
void pipc__child_abandon(pipc_comm_t *comm);

#endif
