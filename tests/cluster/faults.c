/* tests/cluster/faults.c - a program whose ranks die, abort or come late in the middle of AllReduce.
 * Uses what a program would: the installed headers and library alone.
 *
 *     faults [--bytes N] [--calls N]
 *            [--hold-pmix]          this program holds PMIx itself, as an MPI program does
 *            [--kill R | --abort R | --exit R]   at half of the calls, rank R does so
 *            [--late R SECONDS]     before the first call, rank R sleeps
 *            [--mismatch R]         rank R asks for another plan than the others
 *            [--plan NAME]          all ask for it
 *            [--until-lost]         calls without end; the fault is somebody else's
 *            [--seconds S]          calls for S seconds of rank 0's
 *            [--gap S]              before each fifth call all ranks are silent for S seconds
 *
 * Each rank prints one line: "rank R: right" (exit 0), "rank R: wrong" (1), or "rank R: error
 * after T ms: TEXT" (3); with --seconds "right, N calls". T is from the moment the fault was due; with --until-lost T is the time of day
 * in milliseconds, to be compared with when the fault was made, and "rank R: going" comes first.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pcie-ipc/comm.h>
#ifdef HAVE_PMIX
#include <pmix.h>
#endif

static struct {
    int kill_rank, abort_rank, exit_rank, late_rank, mismatch_rank, late_seconds, calls, hold_pmix, until_lost,
        seconds, gap;
    size_t bytes;
    const char *plan;
} want = {-1, -1, -1, -1, -1, 0, 200, 0, 0, 0, 0, 1 << 20, NULL};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int more = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (!strcmp(argv[i], "--hold-pmix"))
            want.hold_pmix = 1;
        else if (!strcmp(argv[i], "--until-lost"))
            want.until_lost = 1;
        else if (!strcmp(argv[i], "--bytes"))
            want.bytes = (size_t)more, i++;
        else if (!strcmp(argv[i], "--calls"))
            want.calls = more, i++;
        else if (!strcmp(argv[i], "--kill"))
            want.kill_rank = more, i++;
        else if (!strcmp(argv[i], "--abort"))
            want.abort_rank = more, i++;
        else if (!strcmp(argv[i], "--exit"))
            want.exit_rank = more, i++;
        else if (!strcmp(argv[i], "--seconds"))
            want.seconds = more, i++;
        else if (!strcmp(argv[i], "--gap"))
            want.gap = more, i++;
        else if (!strcmp(argv[i], "--plan") && i + 1 < argc)
            want.plan = argv[++i];
        else if (!strcmp(argv[i], "--mismatch"))
            want.mismatch_rank = more, i++;
        else if (!strcmp(argv[i], "--late") && i + 2 < argc)
            want.late_rank = more, want.late_seconds = atoi(argv[i + 2]), i += 2;
        else
            exit(64);
    }
}

static double time_of_day_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int fail(int rank, double since)
{
    printf("rank %d: error after %.0f ms: %s\n", rank,
           want.until_lost ? time_of_day_ms() : now_ms() - since, pipc_last_error());
    fflush(stdout);
    /* With PMIx held by the program Slurm may end the step from now on: the line above is out. */
    sleep(want.hold_pmix ? 3 : 0);
    return 3;
}

static void misbehave(pipc_comm_t *comm, int rank)
{
    if (rank == want.kill_rank)
        raise(SIGKILL);
    if (rank == want.exit_rank)
        _exit(0);
    if (rank == want.abort_rank)
        pipc_comm_abort(comm);
}

/* With --seconds all ranks have to agree on the last call. */
static int goes_on(pipc_comm_t *comm, int call, double begun, int *more)
{
    int32_t mine = pipc_comm_rank(comm) || now_ms() - begun < want.seconds * 1e3, all = 1;

    *more = want.until_lost || call < want.calls;
    if (!want.seconds)
        return 0;
    if (pipc_allreduce(comm, &mine, &all, 1, PIPC_I32, PIPC_MIN, NULL))
        return 1;
    *more = all;
    return 0;
}

static void before_call(pipc_comm_t *comm, int call, double *due)
{
    int rank = pipc_comm_rank(comm);

    if (call == 1 && want.until_lost) {
        printf("rank %d: going\n", rank);
        fflush(stdout);
    }
    if (call % 5 == 4)
        sleep((unsigned int)want.gap);
    if (call == want.calls / 2) {
        *due = now_ms();
        misbehave(comm, rank);
    }
}

/* The first element of call @call that is wrong; @n: none. */
static size_t first_wrong(const float *y, size_t n, int call, int size)
{
    float sums[64] = {0};

    for (size_t i = 0; i < 64; i++)
        for (int r = 0; r < size; r++)
            sums[i] += (float)((i + (size_t)call + (size_t)r) % 64);
    for (size_t i = 0; i < n; i++)
        if (y[i] != sums[i % 64])
            return i;
    return n;
}

static int run(pipc_comm_t *comm)
{
    int rank = pipc_comm_rank(comm), call = 0, more = 1;
    size_t n = want.bytes / sizeof(float), wrong;
    float *x = malloc(want.bytes + 1), *y = malloc(want.bytes + 1);
    double begun = now_ms(), due = begun;

    while (more) {
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)((i + (size_t)call + (size_t)rank) % 64);
            y[i] = -1;
        }
        before_call(comm, call, &due);
        if (pipc_allreduce(comm, x, y, n, PIPC_F32, PIPC_SUM, NULL))
            return fail(rank, due);
        wrong = first_wrong(y, n, call, pipc_comm_size(comm));
        if (wrong < n) {
            printf("rank %d: wrong at call %d, element %zu\n", rank, call, wrong);
            return 1;
        }
        if (goes_on(comm, ++call, begun, &more))
            return fail(rank, due);
    }
    free(x);
    free(y);
    if (pipc_comm_destroy(comm))
        return fail(rank, due);
    if (want.seconds)
        printf("rank %d: right, %d calls\n", rank, call);
    else
        printf("rank %d: right\n", rank);
    return 0;
}

int main(int argc, char **argv)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    const char *id = getenv("SLURM_PROCID");
    int rank = id ? atoi(id) : 0;
    pipc_comm_t *comm;

    parse(argc, argv);
#ifdef HAVE_PMIX
    pmix_proc_t me;
    if (want.hold_pmix && PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 65;
#endif
    config.backend = PIPC_BACKEND_CPU;
    config.plan = rank == want.mismatch_rank ? "one-shot" : want.plan;
    if (pipc_comm_create(&comm, &config))
        return fail(rank, now_ms());
    if (rank == want.late_rank)
        sleep((unsigned int)want.late_seconds);
    int rc = run(comm);
#ifdef HAVE_PMIX
    if (want.hold_pmix)
        PMIx_Finalize(NULL, 0);
#endif
    return rc;
}
