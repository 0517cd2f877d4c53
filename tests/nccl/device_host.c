/* tests/nccl/device_host.c - see runtime/nccl/device.h: host memory in place of a GPU's. A stream
 * is NULL, or points to an int that says whether it is being captured.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/nccl/device.h"

const pipc_backend_t pipc__device_backend = PIPC_BACKEND_CPU;

bool pipc__device_captures(void *stream)
{
    return stream && *(int *)stream;
}

bool pipc__device_enter(pipc__visit_t *visit, int ordinal, const char **why)
{
    memset(visit, 0, sizeof(*visit));
    visit->device = ordinal;
    *why = NULL;
    return true;
}

void pipc__device_leave(pipc__visit_t *visit)
{
    (void)visit;
}

void *pipc__device_host_alloc(size_t bytes)
{
    return malloc(bytes);
}

void pipc__device_host_free(void *memory)
{
    free(memory);
}

int pipc__device_query(const pipc__visit_t *visit)
{
    (void)visit;
    return 0;
}
