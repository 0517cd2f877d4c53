/* nccl/hello.c - see hello.h */
#include "runtime/nccl/hello.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With the host's name it tells nodes apart: of two machines one name may be the same. */
static void read_boot(char boot[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, boot, 36);

    memset(boot + (n > 0 ? n : 0), 0, (size_t)(40 - (n > 0 ? n : 0)));
    if (fd >= 0)
        close(fd);
}

void pipc__hello_fill(pipc__hello_t *mine, uint64_t staging, const char *reason)
{
    memset(mine, 0, sizeof(*mine));
    mine->magic = PIPC__HELLO_MAGIC;
    mine->version = PIPC__HELLO_VERSION;
    mine->staging = staging;
    mine->pid = getpid();
    gethostname(mine->host, sizeof(mine->host) - 1);
    read_boot(mine->boot);
    mine->failed = reason != NULL;
    if (reason)
        snprintf(mine->reason, sizeof(mine->reason), "%s", reason);
}

bool pipc__hello_judge(const pipc__hello_t *all, int n, uint64_t *staging, char *why, size_t cap)
{
    *staging = UINT64_MAX;
    for (int r = 0; r < n; r++) {
        const pipc__hello_t *h = &all[r];
        if (h->magic != PIPC__HELLO_MAGIC || h->version != PIPC__HELLO_VERSION) {
            snprintf(why, cap, "rank %d has another pcie-ipc; install the same on every node", r);
            return false;
        }
        if (h->failed) {
            snprintf(why, cap, "rank %d on %.63s: %.135s", r, h->host, h->reason);
            return false;
        }
        if (h->staging < *staging)
            *staging = h->staging;
    }
    if (!*staging)
        snprintf(why, cap, "other communicators have all of the memory that pcie-ipc takes");
    return *staging > 0;
}

/* As pipc_comm_create() divides them. */
static bool is_beside(const pipc__hello_t *a, const pipc__hello_t *b)
{
    return !memcmp(a->boot, b->boot, sizeof(a->boot)) && !memcmp(a->host, b->host, sizeof(a->host));
}

bool pipc__hello_spans(const pipc__hello_t *all, int n)
{
    for (int r = 1; r < n; r++)
        if (!is_beside(&all[r], &all[0]))
            return true;
    return false;
}

bool pipc__hello_shares(const pipc__hello_t *all, int n, int rank)
{
    for (int r = 0; r < n; r++)
        if (r != rank && all[r].pid == all[rank].pid && is_beside(&all[r], &all[rank]))
            return true;
    return false;
}
