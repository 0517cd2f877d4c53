/* nccl/side.h - the side table: what we know of the program's communicators.
 *
 * The program keeps NCCL's own ncclComm_t, so all that we don't stand in front of works as ever;
 * what belongs to us hangs on its address here.
 *
 *     new --Nth call--> set up --all ranks could--> served --error, abort--> dead
 *                          `--------some could not--> forwarded, for good
 */
#ifndef PIPC_NCCL_SIDE_H
#define PIPC_NCCL_SIDE_H

#include <pcie-ipc/comm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/nccl/real.h"

typedef enum pipc__side_state {
    PIPC__SIDE_NEW,
    PIPC__SIDE_SETTING_UP, /* by one thread; calls of others are forwarded */
    PIPC__SIDE_SERVED,
    PIPC__SIDE_FORWARDED
} pipc__side_state_t;

typedef struct pipc__side pipc__side_t;
struct pipc__side {
    ncclComm_t comm;
    const pipc__real_t *real;
    pipc__side_t *next; /* in the table */
    _Atomic int users;  /* threads that hold it, the table not counted */
    _Atomic int state;  /* pipc__side_state_t */
    _Atomic int calls;  /* that could have been ours, before the set-up */
    _Atomic bool suspended;
    _Atomic bool windows;    /* one was ever registered with it, or was to be */
    bool shared;             /* other ranks of the communicator are threads of this process */
    _Atomic bool expected;   /* and its end is: see retire.h */
    _Atomic bool finalizing; /* ours is being released, the program still holds NCCL's */
    _Atomic bool released;   /* and now it is */
    pthread_mutex_t gate;    /* held to set stop, to look at it first, and to take ours away */
    bool stop;               /* comm may be gone: the program has given it up */
    _Atomic int inside;      /* calls on comm that the program has not made: pipc__side_enter() */
    pipc_comm_t *ours;       /* in state served */
    const char *why;         /* in state forwarded after a set-up: the report's reason. Static */
    size_t staging;          /* bytes that it has of the process's */
};

/* The entry of @comm, held until pipc__side_drop(); NULL: there is none. */
pipc__side_t *pipc__side_take(ncclComm_t comm);

/* The same; where there is none a new one, of @real's. NULL: no memory. */
pipc__side_t *pipc__side_make(ncclComm_t comm, const pipc__real_t *real);

void pipc__side_drop(pipc__side_t *side);

/* Before and after each call of NCCL's on side->comm that the program has not asked for. False: it
 * was given up, and comm may be gone. Not with the gate held meanwhile: the call may be one that
 * waits for other ranks and that only the program's ncclCommAbort() ends. */
bool pipc__side_enter(pipc__side_t *side);
void pipc__side_leave(pipc__side_t *side);

/* With stop set: wait for such calls to end. Where one still waits after a while it is surely far
 * enough inside for NCCL to end it, as it ends the program's own. */
void pipc__side_clear(const pipc__side_t *side);

/* Was it given up? */
bool pipc__side_is_gone(pipc__side_t *side);

/* Take the entry of @comm out of the table, held; NULL: there is none. The caller ends it. */
pipc__side_t *pipc__side_remove(ncclComm_t comm);

/* Free one that is out of the table, once no other thread holds it. */
void pipc__side_free(pipc__side_t *side);

#endif
