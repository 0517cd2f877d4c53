/* tests/unit/life.c - see life.h */
#include "tests/unit/life.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WARM 10 /* cycles before the first look */

/* --- what there is --------------------------------------------------------------------------- */

static long entries(const char *folder)
{
    DIR *d = opendir(folder);
    long n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static long lines(const char *file)
{
    FILE *f = fopen(file, "re");
    long n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static long resident(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

bool life_sees_heap(void)
{
    size_t before = mallinfo2().uordblks;
    void *volatile p = malloc(100);
    bool sees = mallinfo2().uordblks > before;

    free(p);
    return sees;
}

static life_t look(const life_job_t *job)
{
    return (life_t){.heap_bytes = (long)mallinfo2().uordblks,
                    .resident_kb = resident(),
                    .fds = entries("/proc/self/fd"),
                    .threads = entries("/proc/self/task"),
                    .mappings = lines("/proc/self/maps"),
                    .device_bytes = job->device_bytes ? job->device_bytes() : 0};
}

/* What @last has more than @first: "threads 7 -> 9" in buf[cap]; "" for nothing. */
static const char *growth(const life_job_t *job, const life_t *first, const life_t *last, char *buf,
                          size_t cap)
{
    const struct {
        const char *name;
        long first, last, slack;
    } all[] = {
        {"bytes of the heap", first->heap_bytes, last->heap_bytes, job->heap_slack},
        {"kB in memory", first->resident_kb, last->resident_kb, job->resident_slack_kb},
        {"file descriptors", first->fds, last->fds, 0},
        {"threads", first->threads, last->threads, 0},
        {"mappings", first->mappings, last->mappings, 2}, /* the heap's may be cut in two */
        {"bytes on the GPU", first->device_bytes, last->device_bytes, 0},
    };

    *buf = '\0';
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].last > all[i].first + all[i].slack) {
            size_t used = strlen(buf);
            snprintf(buf + used, cap - used, "%s%s %ld -> %ld", used ? ", " : "", all[i].name,
                     all[i].first, all[i].last);
        }
    return buf;
}

/* --- leaks on purpose ------------------------------------------------------------------------ */

static void *sleep_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *volatile kept[2];

static void leak(const life_job_t *job)
{
    pthread_t thread;

    if (job->leaks == LEAK_HEAP)
        kept[0] = malloc(100);
    if (job->leaks == LEAK_FD && dup(0) < 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        abort();
    if (job->leaks == LEAK_THREAD && pthread_create(&thread, NULL, sleep_for_ever, NULL))
        abort();
    /* Of which no two neighbours are alike, or the kernel makes them one. */
    if (job->leaks == LEAK_MAPPING)
        for (int i = 0; i < 2; i++)
            kept[i] = mmap(NULL, 4096, i ? PROT_READ : PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (job->leaks == LEAK_DEVICE)
        job->leak_device();
}

/* --- cycles ---------------------------------------------------------------------------------- */

static double msec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void tell_times(double *took, int n, double all, long held)
{
    double first = took[0];

    qsort(took, (size_t)n, sizeof(took[0]), ascending);
    printf(
        "# %d communicators, one after the other, in %.1f s; creation %.2f ms the first, %.2f ms "
        "the median, %.2f ms at most\n",
        n, all / 1e3, first, took[n / 2], took[n - 1]);
    if (held)
        printf("# a communicator has %.2f MiB on the GPU\n", (double)held / (1 << 20));
    fflush(stdout);
}

static void meet_in(const char *dir, int rank, int n)
{
    char text[16];

    setenv("PCIE_IPC_DIR", dir, 1);
    snprintf(text, sizeof(text), "%d", rank);
    setenv("PCIE_IPC_LOCAL_RANK", text, 1);
    snprintf(text, sizeof(text), "%d", n);
    setenv("PCIE_IPC_LOCAL_SIZE", text, 1);
}

/* *held: bytes on the GPU that went with the communicator. */
static int cycle(const life_job_t *job, double *took, long *held)
{
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;
    double start = msec();

    c.backend = job->backend;
    c.exchange = PIPC_EXCHANGE_SOCKET;
    if (pipc_comm_create(&comm, &c)) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        return 2;
    }
    *took = msec() - start;
    int bad = job->call(comm);
    *held = job->device_bytes ? job->device_bytes() : 0;
    if (pipc_comm_destroy(comm)) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        bad = 2;
    }
    *held -= job->device_bytes ? job->device_bytes() : 0;
    leak(job);
    return bad;
}

static int judge(const life_job_t *job, int rank, const life_t *first, const life_t *last,
                 long held)
{
    char text[256];
    int bad = 0;

    if (*growth(job, first, last, text, sizeof(text))) {
        fprintf(stderr, "# rank %d after %d communicators: %s\n", rank, job->cycles, text);
        bad = 1;
    }
    if (held > job->most_device_bytes) {
        fprintf(stderr, "# rank %d: %ld bytes on the GPU, and not %ld at most\n", rank, held,
                job->most_device_bytes);
        bad = 1;
    }
    return bad;
}

static int body(ranks_t *all, int rank, void *arg)
{
    const life_job_t *job = arg;
    double *took = calloc((size_t)job->cycles, sizeof(*took));
    life_t first = {0}, last;
    long held = 0;
    int bad = 0;

    if (!took)
        abort();
    meet_in(job->dir, rank, ranks_size(all));
    if (job->open)
        job->open(rank);
    ranks_gather(all, rank, NULL, 0, NULL);
    double start = msec();
    for (int i = 0; !bad && i < job->cycles; i++) {
        bad = cycle(job, &took[i], &held);
        if (i == WARM - 1)
            first = look(job);
    }
    last = look(job);
    if (!bad && !rank)
        tell_times(took, job->cycles, msec() - start, held);
    free(took);
    return bad ? bad : judge(job, rank, &first, &last, held);
}

int life_run(life_job_t *job, int n)
{
    char command[192];

    strcpy(job->dir, "/tmp/pcie-ipc-life.XXXXXX");
    if (!mkdtemp(job->dir))
        abort();
    int rc = ranks_run(n, body, job, 60 + job->cycles);
    snprintf(command, sizeof(command), "rm -rf '%s' '%s.done'", job->dir, job->dir);
    return system(command) ? 2 : rc;
}
