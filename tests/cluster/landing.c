/* landing.c - where a CUDA program would land: without CUDA, by CUDA's rules
 *
 *     landing DEVDIR [SYSROOT] device0 | localid | torchrun
 *
 *     device0    takes device 0, as a program does that knows of no other
 *     localid    takes device SLURM_LOCALID, as MPI programs do
 *     torchrun   starts a worker a visible device, each with a LOCAL_RANK, as torchrun does
 *
 * Visible are the devices that CUDA_VISIBLE_DEVICES picks, in its order, from those whose file in
 * DEVDIR may be opened, counted in PCI bus order. SYSROOT/proc/driver/nvidia says which minor has
 * which address; without it minors are in bus order. Prints a line for each process that lands,
 * "PROCID LOCALRANK MINOR BDF", and fails if a task that was told its GPU lands on another.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX 64

struct gpu {
    int minor;
    char bdf[32], uuid[64];
};

static struct gpu gpus[MAX], *visible[MAX];
static int ngpus, nvisible;

static void die(const char *what)
{
    fprintf(stderr, "landing: %s\n", what);
    exit(2);
}

static const char *need(const char *name)
{
    const char *value = getenv(name);

    if (!value)
        die(name);
    return value;
}

/* "NAME: VALUE" in the driver's information file */
static int information(const char *root, const char *bdf, const char *name, char *value, size_t cap)
{
    char path[512], line[256], *at;
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, bdf);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, name, strlen(name)) || line[strlen(name)] != ':')
            continue;
        for (at = line + strlen(name) + 1; isspace((unsigned char)*at); at++)
            ;
        snprintf(value, cap, "%.*s", (int)strcspn(at, "\n"), at);
        fclose(f);
        return 1;
    }
    if (f)
        fclose(f);
    return 0;
}

static void all_gpus(const char *root)
{
    struct dirent **names;
    char path[512], text[64];
    int n;

    for (int i = 0; !root && i < MAX; i++)
        gpus[ngpus++].minor = i;
    if (!root)
        return;
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
    n = scandir(path, &names, NULL, alphasort); /* one domain: by name is by address */
    for (int i = 0; i < n; i++) {
        struct gpu *g = &gpus[ngpus];
        if (names[i]->d_name[0] == '.' ||
            !information(root, names[i]->d_name, "Device Minor", text, sizeof(text)))
            continue;
        g->minor = atoi(text);
        snprintf(g->bdf, sizeof(g->bdf), "%.20s", names[i]->d_name);
        information(root, names[i]->d_name, "GPU UUID", g->uuid, sizeof(g->uuid));
        ngpus++;
    }
}

static void keep_granted(const char *devdir)
{
    int kept = 0;

    for (int i = 0; i < ngpus; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/nvidia%d", devdir, gpus[i].minor);
        if (access(path, R_OK | W_OK) == 0)
            gpus[kept++] = gpus[i];
    }
    ngpus = kept;
}

static struct gpu *pick(const char *entry, size_t len)
{
    if (isdigit((unsigned char)*entry))
        return atoi(entry) < ngpus ? &gpus[atoi(entry)] : NULL;
    for (int i = 0; i < ngpus; i++)
        if (len > 4 && !strncmp(gpus[i].uuid, entry, len))
            return &gpus[i];
    return NULL;
}

/* CUDA ends the list at the first entry that is no device. */
static void make_visible(const char *list)
{
    for (int i = 0; !list && i < ngpus; i++)
        visible[nvisible++] = &gpus[i];
    while (list && *list && nvisible < MAX) {
        size_t len = strcspn(list, ",");
        struct gpu *g = pick(list, len);
        if (!g)
            return;
        visible[nvisible++] = g;
        list += len + (list[len] == ',');
    }
}

/* Take device @n, print it, and compare it with what the task was told. */
static int land(int n, int local_rank)
{
    const char *minor = getenv("PCIE_IPC_MINOR"), *bdf = getenv("PCIE_IPC_BDF");

    if (n >= nvisible) {
        printf("%s %d: invalid device ordinal %d of %d\n", need("SLURM_PROCID"), local_rank, n,
               nvisible);
        return 1;
    }
    printf("%s %d %d %s\n", need("SLURM_PROCID"), local_rank, visible[n]->minor, visible[n]->bdf);
    if (minor && atoi(minor) != visible[n]->minor) {
        printf("%s: told minor %s\n", need("SLURM_PROCID"), minor);
        return 1;
    }
    if (minor && *visible[n]->bdf && (!bdf || strcmp(bdf, visible[n]->bdf))) {
        printf("%s: told %s\n", need("SLURM_PROCID"), bdf ? bdf : "no address");
        return 1;
    }
    return 0;
}

static int torchrun(void)
{
    int failed = nvisible == 0, status;

    fflush(stdout);
    for (int i = 0; i < nvisible; i++) {
        char rank[16];
        snprintf(rank, sizeof(rank), "%d", i);
        if (fork() == 0) {
            setenv("LOCAL_RANK", rank, 1);
            status = land(atoi(need("LOCAL_RANK")), i);
            fflush(stdout);
            _exit(status);
        }
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

int main(int argc, char **argv)
{
    const char *how = argv[argc - 1], *order = getenv("CUDA_DEVICE_ORDER"),
               *mode = getenv("PCIE_IPC_MODE");

    if (argc < 3)
        die("landing DEVDIR [SYSROOT] device0 | localid | torchrun");
    if (mode && !strncmp(mode, "bind:switch", 11) && getenv("PCIE_IPC_MINOR") &&
        (!order || strcmp(order, "PCI_BUS_ID")))
        die("CUDA_DEVICE_ORDER is not PCI_BUS_ID: the fastest device would come first");
    all_gpus(argc > 3 ? argv[2] : NULL);
    keep_granted(argv[1]);
    make_visible(getenv("CUDA_VISIBLE_DEVICES"));
    if (!strcmp(how, "torchrun"))
        return torchrun();
    if (!strcmp(how, "localid"))
        return land(atoi(need("SLURM_LOCALID")), atoi(need("SLURM_LOCALID")));
    return land(0, atoi(need("SLURM_LOCALID")));
}
