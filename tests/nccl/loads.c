/* tests/nccl/loads.c - a program's first call of NCCL, while another thread opens a library whose
 * constructor opens one more and calls NCCL, as modules of Python may:
 *
 *     loads LIBRARY OTHER [FULL]      FULL: what is opened in NCCL's place; else the hook is
 * preloaded
 *
 * Built with -DLIBRARY it is LIBRARY. NCCL is loaded, RTLD_LOCAL. Who waits with a lock of its own
 * for the dynamic linker's hangs.
 */
#ifdef LIBRARY
extern void in_constructor(void);

__attribute__((constructor)) static void start(void)
{
    in_constructor();
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEED(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #x);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int (*begin)(void), (*end)(void);
static _Atomic int inside;
static const char *other;

void in_constructor(void);
void in_constructor(void)
{
    inside = 1;
    usleep(300000); /* and now the other thread is in its call */
    NEED(dlopen(other, RTLD_NOW));
    NEED(!begin() && !end());
}

static void *load(void *path)
{
    NEED(dlopen(path, RTLD_NOW));
    return NULL;
}

static void find(void *library, const char *name, int (**f)(void))
{
    void *symbol = dlsym(library, name);

    NEED(symbol);
    memcpy(f, &symbol, sizeof(symbol));
}

int main(int argc, char **argv)
{
    pthread_t t;

    NEED(argc > 2 && dlopen("libnccl.so.2", RTLD_NOW));
    void *library = argc > 3 ? dlopen(argv[3], RTLD_NOW) : RTLD_DEFAULT;
    NEED(library || argc < 4);
    find(library, "ncclGroupStart", &begin);
    find(library, "ncclGroupEnd", &end);
    other = argv[2];
    NEED(!pthread_create(&t, NULL, load, argv[1]));
    while (!inside)
        usleep(1000);
    NEED(!begin() && !end());
    NEED(!pthread_join(t, NULL));
    return 0;
}
#endif
