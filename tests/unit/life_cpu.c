/* tests/unit/life_cpu.c - communicators on the CPU that are created and destroyed leave nothing;
 * with a control that does leave something.
 *
 *     life_cpu                         a few hundred
 *     life_cpu --cycles 10000          that many; so also with PIPC_CYCLES in the environment
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/life.h"

/* Sums of small whole numbers are exact. */
static int call(pipc_comm_t *comm)
{
    static float x[5000], y[5000];
    int n = pipc_comm_size(comm);

    for (int i = 0; i < 5000; i++)
        x[i] = (float)(i + pipc_comm_rank(comm));
    for (int count = 1; count <= 5000; count += 4999) {
        memset(y, 0, sizeof(y));
        if (pipc_allreduce(comm, x, y, (size_t)count, PIPC_F32, PIPC_SUM, NULL))
            return 2;
        for (int i = 0; i < count; i++)
            if (y[i] != (float)(n * i + n * (n - 1) / 2))
                return 2;
    }
    return 0;
}

static int failed, tests;

static void tell(int good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
    fflush(stdout);
    failed |= !good;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {[LEAK_HEAP] = "a leak of the heap is seen",
                                        [LEAK_FD] = "so is one of file descriptors",
                                        [LEAK_THREAD] = "and of threads",
                                        [LEAK_MAPPING] = "and of mappings"};
    const char *cycles =
        argc == 3 && !strcmp(argv[1], "--cycles") ? argv[2] : getenv("PIPC_CYCLES");
    life_job_t job = {.backend = PIPC_BACKEND_CPU,
                      .cycles = cycles ? atoi(cycles) : 300,
                      .call = call,
                      .heap_slack = 256,
                      .resident_slack_kb = 512};

    if (!life_sees_heap()) {
        printf("1..0 # SKIP the heap is a tool's\n");
        return 0;
    }
    printf("1..5\n");
    tell(!life_run(&job, 2), "created and destroyed, they leave nothing");
    job.cycles = 40;
    for (job.leaks = LEAK_HEAP; job.leaks <= LEAK_MAPPING; job.leaks++)
        tell(life_run(&job, 2) == 1, names[job.leaks]);
    return failed;
}
