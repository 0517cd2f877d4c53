/* tests/nccl/opens.c - opens libraries that link NCCL, as Python opens torch's, and has each run:
 * opens local|global LIBRARY...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int mode = RTLD_NOW | (argc > 1 && !strcmp(argv[1], "global") ? RTLD_GLOBAL : RTLD_LOCAL);
    int (*run[8])(const char *, int), n = 0, rc = argc < 3;

    for (int i = 2; i < argc && n < 8; i++) {
        void *library = dlopen(argv[i], mode);
        void *symbol = library ? dlsym(library, "run") : NULL;
        if (!symbol) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        memcpy(&run[n++], &symbol, sizeof(symbol));
    }
    for (int i = 0; i < n; i++)
        rc |= run[i]("plain", 2);
    return rc;
}
