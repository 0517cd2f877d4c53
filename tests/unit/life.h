/* tests/unit/life.h - communicators that are created and destroyed again and again must leave
 * nothing: the part that the CPU's and the GPU's test share. Ranks meet over a socket, as with srun
 * --pcie-ipc.
 */
#ifndef TESTS_UNIT_LIFE_H
#define TESTS_UNIT_LIFE_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/ranks.h"

/* What a process has. */
typedef struct life {
    long resident_kb, heap_bytes, fds, threads, mappings;
    long device_bytes; /* of the GPU's memory, that are not free */
} life_t;

typedef enum life_leak {
    LEAK_NONE,
    LEAK_HEAP,
    LEAK_FD,
    LEAK_THREAD,
    LEAK_MAPPING,
    LEAK_DEVICE,
    LEAKS
} life_leak_t;

typedef struct life_job {
    pipc_backend_t backend;
    int cycles;
    life_leak_t leaks;              /* a negative control: one of these a cycle */
    void (*open)(int rank);         /* before the first communicator; NULL: nothing to do */
    int (*call)(pipc_comm_t *comm); /* some verified calls; 0 when right */
    long (*device_bytes)(void);     /* that are in use; NULL: there is no device */
    void (*leak_device)(void);
    long most_device_bytes;             /* that a communicator may have */
    long heap_slack, resident_slack_kb; /* that others than the communicators may take meanwhile */
    char dir[64];                       /* of the sockets, made by life_run() */
} life_job_t;

/* False under valgrind and sanitizers, which have a heap of their own and keep what was freed. */
bool life_sees_heap(void);

/* Fork @n ranks, each with job->cycles communicators, one after the other. Rank 0 prints how long
 * their creation took. Returns 0; 1 when anything grew after the first ones (and says what on
 * stderr); 2 when anything failed. */
int life_run(life_job_t *job, int n);

#endif
