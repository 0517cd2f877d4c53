/* exec/cuda_pin.c - see cuda_pin.h */
#include "runtime/exec/cuda_pin.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct pinned {
    struct pinned *next;
    void *base;
    size_t bytes;
    int users;
} pinned_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pinned_t *all;

static pinned_t **find(const void *base)
{
    pinned_t **at = &all;

    while (*at && (*at)->base != base)
        at = &(*at)->next;
    return at;
}

/* For all contexts: the next rank's is another one. */
static CUresult pin_first(const pipc__cuda_t *cu, void *base, size_t bytes)
{
    pinned_t *p = malloc(sizeof(*p));
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

    if (p)
        rc = cu->MemHostRegister(base, bytes,
                                 CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
    if (rc) {
        free(p);
        return rc;
    }
    *p = (pinned_t){all, base, bytes, 0};
    all = p;
    return CUDA_SUCCESS;
}

/* One user less. Under the lock. */
static void drop(const pipc__cuda_t *cu, pinned_t **at)
{
    pinned_t *p = *at;

    if (--p->users > 0)
        return;
    *at = p->next;
    cu->MemHostUnregister(p->base);
    free(p);
}

CUresult pipc__cuda_pin(const pipc__cuda_t *cu, void *base, size_t bytes, CUdeviceptr *there)
{
    CUresult rc = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    pinned_t **at = find(base);
    if (!*at) {
        rc = pin_first(cu, base, bytes);
        at = &all;
    } else if ((*at)->bytes != bytes) {
        rc = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    if (!rc) {
        (*at)->users++;
        rc = cu->MemHostGetDevicePointer(there, base, 0);
        if (rc)
            drop(cu, at);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void pipc__cuda_unpin(const pipc__cuda_t *cu, void *base)
{
    pthread_mutex_lock(&lock);
    pinned_t **at = find(base);
    if (base && *at)
        drop(cu, at);
    pthread_mutex_unlock(&lock);
}
