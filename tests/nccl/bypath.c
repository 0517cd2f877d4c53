/* tests/nccl/bypath.c - as vLLM has NCCL: opened by its path, every function looked up in it.
 *
 *     bypath LIBRARY RANKS       prints the version
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/nccl/stand_in.h"

#define NEED(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #x);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *library;

static void *find(const char *name)
{
    void *f = dlsym(library, name);

    if (!f)
        fprintf(stderr, "there is no %s\n", name);
    NEED(f);
    return f;
}

/* F(AllReduce)(...) */
#define F(name) ((__typeof__(&nccl##name))find("nccl" #name))

static void work(ncclUniqueId id, int rank, int size, int version)
{
    float x[8] = {1, 2, 3}, y[8], z = rank ? 0 : 5;
    ncclComm_t c = NULL, d = NULL;

    NEED(!F(CommInitRank)(&c, size, id, rank));
    NEED(!F(Broadcast)(&z, &z, 1, ncclFloat32, 0, c, NULL) && z == 5);
    for (int i = 0; i < 5; i++)
        NEED(!F(AllReduce)(x, y, 8, ncclFloat32, ncclSum, c, NULL) && y[2] == 3 * (float)size);
    int rc = F(CommSplit)(c, 0, rank, &d, NULL);
    NEED(version < 21800 ? rc == ncclInvalidUsage : !rc && d);
    /* By its other name it is NCCL's, whatever the table says. */
    NEED(!((__typeof__(&ncclAllReduce))find("pncclAllReduce"))(x, y, 8, ncclFloat32, ncclSum, c,
                                                               NULL));
    NEED(!strcmp(F(GetErrorString)(0), "no error"));
    NEED(F(CommWindowDeregister)(c, NULL) == (version < 21800 ? ncclInvalidUsage : 0));
    NEED(!d || !F(CommDestroy)(d));
    NEED(!F(CommDestroy)(c));
}

int main(int argc, char **argv)
{
    int size = argc > 2 ? atoi(argv[2]) : 0, version = 0, failed = 0, status;
    ncclUniqueId id;

    library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    NEED(library);
    NEED(!F(GetVersion)(&version));
    printf("%d\n", version);
    fflush(stdout);
    NEED(!F(GetUniqueId)(&id));
    for (int r = 0; r < size; r++)
        if (!fork()) {
            alarm(20);
            work(id, r, size, version);
            exit(0);
        }
    for (int r = 0; r < size; r++) {
        wait(&status);
        failed |= status;
    }
    return failed != 0;
}
