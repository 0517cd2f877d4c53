/* tests/nccl/old.c - a program of NCCL 2.14's, that asks for what came later, too: the hook defines
 * it, so the program starts where it would not; it gets an error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "tests/nccl/stand_in.h"

int main(void)
{
    float x[2] = {1, 2}, y[2] = {0};
    ncclComm_t c = NULL, d = NULL;
    ncclUniqueId id;
    int (*split)(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *);
    void *f = dlsym(RTLD_DEFAULT, "ncclCommSplit");

    memcpy(&split, &f, sizeof(f));
    if (ncclGetUniqueId(&id) || ncclCommInitRank(&c, 1, id, 0))
        return 1;
    if (f && (split(c, 0, 0, &d, NULL) != ncclInvalidUsage || d))
        return 2;
    for (int i = 0; i < 3; i++)
        if (ncclAllReduce(x, y, 2, ncclFloat32, ncclSum, c, NULL) || y[1] != 2)
            return 3;
    return ncclCommDestroy(c) ? 4 : 0;
}
