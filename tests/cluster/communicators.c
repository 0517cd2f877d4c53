/* tests/cluster/communicators.c - several communicators in one program, one after the other and at the
 * same time. Uses what a program would: the installed headers and library alone.
 *
 *     communicators [--threads]    --threads: three threads create and use theirs at the same time, each
 *                                  in a tag of its own
 * Prints "rank R: right" and returns 0, or says what went wrong and returns 1.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcie-ipc/comm.h>

#define COMMS 3
#define COUNT 5000

static pipc_comm_t *create(unsigned int tag)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    config.backend = PIPC_BACKEND_CPU;
    config.scope = PIPC_SCOPE_NODE;
    config.tag = tag;
    if (pipc_comm_create(&comm, &config))
        fprintf(stderr, "create: %s\n", pipc_last_error());
    return comm;
}

static int sum(pipc_comm_t *comm, int call)
{
    int size = pipc_comm_size(comm), rank = pipc_comm_rank(comm);
    float x[COUNT];

    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(rank + i % 100 + call);
    if (pipc_allreduce(comm, x, x, COUNT, PIPC_F32, PIPC_SUM, NULL)) {
        fprintf(stderr, "allreduce: %s\n", pipc_last_error());
        return 1;
    }
    for (int i = 0; i < COUNT; i++)
        if (x[i] != (float)(size * (i % 100 + call) + size * (size - 1) / 2))
            return 1;
    return 0;
}

static int one_after_the_other(unsigned int tag)
{
    int wrong = 0;

    for (int i = 0; !wrong && i < COMMS; i++) {
        pipc_comm_t *comm = create(tag);
        wrong = !comm || sum(comm, i) || pipc_comm_destroy(comm);
    }
    return wrong;
}

static int all_at_once(void)
{
    pipc_comm_t *comm[COMMS];
    int wrong = 0;

    for (int i = 0; i < COMMS; i++)
        if (!(comm[i] = create(0)))
            return 1;
    for (int call = 0; call < 10; call++)
        for (int i = 0; i < COMMS; i++)
            wrong |= sum(comm[(i + call) % COMMS], call + i);
    for (int i = 0; i < COMMS; i++)
        wrong |= pipc_comm_destroy(comm[i]) != PIPC_OK;
    return wrong;
}

static void *thread(void *arg)
{
    return one_after_the_other(*(unsigned int *)arg) ? "wrong" : NULL;
}

static int in_threads(void)
{
    unsigned int tag[COMMS];
    pthread_t t[COMMS];
    void *failed;
    int wrong = 0;

    for (unsigned int i = 0; i < COMMS; i++) {
        tag[i] = i + 1;
        pthread_create(&t[i], NULL, thread, &tag[i]);
    }
    for (int i = 0; i < COMMS; i++) {
        pthread_join(t[i], &failed);
        wrong |= failed != NULL;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && !strcmp(argv[1], "--threads");
    int wrong = threads ? in_threads() : one_after_the_other(0) || all_at_once();
    const char *rank = getenv("SLURM_PROCID");

    printf("rank %s: %s\n", rank ? rank : "?", wrong ? "wrong" : "right");
    return wrong;
}
