/* prolog/stress/memory.c - see memory.h */
#include "prolog/stress/memory.h"

#include <linux/mempolicy.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/file.h"

#define NODES_MAX 1024
#define WORD (8 * sizeof(unsigned long))

/* Preferred, not bound: a node may be full, and then it is slower and not wrong. By the system
 * call, since its wrapper would be one more library to link. */
static void place(void *host, size_t bytes, const char *bdf)
{
    unsigned long nodes[NODES_MAX / WORD] = {0};
    int64_t node;

    if (!pipc__file_int(NULL, &node, "sys/bus/pci/devices/%s/numa_node", bdf) || node < 0 ||
        node >= NODES_MAX)
        return;
    nodes[(size_t)node / WORD] |= 1ul << (size_t)node % WORD;
    syscall(SYS_mbind, host, bytes, MPOL_PREFERRED, nodes, NODES_MAX + 1, 0);
}

static pipc_status_t open_host(stress_memory_t *m, const pipc__gpu_driver_t *cu, const char *bdf,
                               pipc__error_t *err)
{
    void *host = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (host == MAP_FAILED)
        return pipc__fail_errno(err, "%zu bytes of the host's memory; give a smaller --size",
                                m->bytes);
    place(host, m->bytes, bdf);
    memset(host, 0, m->bytes); /* here, and where it was placed */
    pipc_status_t st =
        PIPC__GPU_TRY(cu, bdf, err, MemHostRegister, host, m->bytes, PIPC__GPU_HOST_PORTABLE);
    if (st)
        munmap(host, m->bytes);
    else
        m->host = host;
    return st;
}

pipc_status_t stress_memory_open(stress_memory_t *m, const pipc__gpu_driver_t *cu, const char *bdf,
                                 bool host, size_t bytes, pipc__error_t *err)
{
    *m = (stress_memory_t){.bytes = bytes};
    if (host)
        return open_host(m, cu, bdf, err);
    pipc_status_t st = PIPC__GPU_TRY(cu, bdf, err, MemAlloc, &m->device, bytes);
    if (!st) /* in the stream of all, which what follows waits for */
        st = PIPC__GPU_TRY(cu, bdf, err, MemsetD8Async, m->device, 0, bytes, NULL);
    if (!st)
        st = PIPC__GPU_TRY(cu, bdf, err, StreamSynchronize, NULL);
    return st;
}

void stress_memory_close(stress_memory_t *m, const pipc__gpu_driver_t *cu)
{
    if (m->device)
        cu->MemFree(m->device);
    if (m->host) {
        cu->MemHostUnregister(m->host);
        munmap(m->host, m->bytes);
    }
    *m = (stress_memory_t){.bytes = 0};
}
