/* nccl/tuner/seen.c - see seen.h */
#include "runtime/nccl/tuner/seen.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/file.h"
#include "runtime/comm/tables.h"

#define GPUS "proc/driver/nvidia/gpus"

typedef struct gpu {
    char bdf[16], uuid[48], model[64];
} gpu_t;

/* --- the machine ------------------------------------------------------------------------------ */

/* "Model: \t NVIDIA H200" in @text, without blanks around; false without such a line. */
static bool field(const char *text, const char *name, char *to, size_t cap)
{
    size_t n = strlen(name);

    while (text && strncmp(text, name, n))
        text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    if (!text)
        return false;
    text += n + strspn(text + n, " \t");
    snprintf(to, cap, "%.*s", (int)strcspn(text, "\n"), text);
    for (size_t len = strlen(to); len && isspace((unsigned char)to[len - 1]); len--)
        to[len - 1] = '\0';
    return *to;
}

/* The GPU at @bdf, if its device file may be opened. That is asked and not done: a device cgroup
 * answers, too, and nothing is woken. */
static bool read_gpu(gpu_t *gpu, const char *bdf, const char *root)
{
    char text[2048], minor[16], path[512];

    if (!pipc__file_read(root, text, sizeof(text), NULL, GPUS "/%s/information", bdf) ||
        !field(text, "Device Minor:", minor, sizeof(minor)) ||
        !field(text, "Model:", gpu->model, sizeof(gpu->model)))
        return false;
    if (!field(text, "GPU UUID:", gpu->uuid, sizeof(gpu->uuid)))
        gpu->uuid[0] = '\0';
    snprintf(gpu->bdf, sizeof(gpu->bdf), "%.*s", (int)sizeof(gpu->bdf) - 1, bdf);
    for (char *c = gpu->bdf; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    snprintf(path, sizeof(path), "%s/dev/nvidia%s", root ? root : "", minor);
    return !access(path, R_OK | W_OK);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const gpu_t *)a)->bdf, ((const gpu_t *)b)->bdf);
}

static int read_gpus(gpu_t gpu[PIPC__SEEN_MAX], const char *root)
{
    char path[256];
    int n = 0;

    snprintf(path, sizeof(path), "%s/" GPUS, root ? root : "");
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *e; n < PIPC__SEEN_MAX && (e = readdir(dir));)
        n += *e->d_name != '.' && read_gpu(&gpu[n], e->d_name, root);
    closedir(dir);
    qsort(gpu, (size_t)n, sizeof(*gpu), by_address);
    return n;
}

/* --- what of it the process sees ---------------------------------------------------------------
 */

/* The one of gpu[n] that @word of CUDA_VISIBLE_DEVICES names: a number where these go by bus
 * addresses, or a UUID or its beginning; -1. */
static int named(const char *word, const gpu_t *gpu, int n, bool numbers)
{
    int found = -1;
    char *end;

    if (isdigit((unsigned char)*word)) {
        long i = strtol(word, &end, 10);
        return numbers && !*end && i < n ? (int)i : -1;
    }
    for (int i = 0; i < n; i++)
        if (!strncmp(word, "GPU-", 4) && !strncmp(gpu[i].uuid, word, strlen(word))) {
            if (found >= 0)
                return -1; /* two begin so */
            found = i;
        }
    return found;
}

/* CUDA's own order is fastest first, which nobody but CUDA knows: then numbers only tell how many.
 */
static int pick(pipc__seen_t *seen, const gpu_t *gpu, int n, const char *list, const char *order)
{
    bool numbers = order && !strcmp(order, "PCI_BUS_ID"), all;
    char copy[1024], *save = NULL;
    int count = 0;

    if (strlen(list) >= sizeof(copy))
        return -1;
    for (const char *c = list; *c; c++)
        count += c == list || *c == ',';
    all = count == n && strspn(list, "0123456789,") == strlen(list);
    strcpy(copy, list);
    count = 0;
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        int i = named(w, gpu, n, numbers || all);
        if (i < 0 || count == PIPC__SEEN_MAX)
            return -1;
        memcpy(seen->bdf[count++], gpu[i].bdf, sizeof(gpu[i].bdf));
    }
    return count;
}

static void take_kind(pipc__seen_t *seen, const gpu_t *gpu, int n, const char *root)
{
    char name[PIPC__RECORD_GPU], driver[PIPC__RECORD_DRIVER];
    int i = 1;

    while (i < n && !strcmp(gpu[i].model, gpu[0].model))
        i++;
    pipc__tables_machine(name, driver, n && i == n ? gpu[0].model : "?", root);
    snprintf(seen->key.gpu, sizeof(seen->key.gpu), "%s", name);
    snprintf(seen->key.driver, sizeof(seen->key.driver), "%s", driver);
}

void pipc__seen_read(pipc__seen_t *seen, const char *nccl, pipc__getenv_t lookup, const char *root)
{
    const char *list = lookup("CUDA_VISIBLE_DEVICES");
    gpu_t gpu[PIPC__SEEN_MAX];
    int n = read_gpus(gpu, root);

    memset(seen, 0, sizeof(*seen));
    take_kind(seen, gpu, n, root);
    snprintf(seen->key.nccl, sizeof(seen->key.nccl), "%s", nccl);
    snprintf(seen->key.build, sizeof(seen->key.build), "%s", PACKAGE_VERSION);
    seen->ngpus = n;
    if (list) {
        seen->ngpus = pick(seen, gpu, n, list, lookup("CUDA_DEVICE_ORDER"));
        return;
    }
    for (int i = 0; i < n; i++)
        memcpy(seen->bdf[i], gpu[i].bdf, sizeof(gpu[i].bdf));
}

/* --- NCCL --------------------------------------------------------------------------------------
 */

void pipc__seen_nccl(const void *caller, char version[16])
{
    int (*get)(int *) = NULL, v = 0;
    Dl_info info;

    version[0] = '\0';
    if (!dladdr(caller, &info) || !info.dli_fname)
        return;
    void *lib = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        return;
    *(void **)(void *)&get = dlsym(lib, "ncclGetVersion");
    if (get && !get(&v) && v >= 10000) /* no tuner of these versions is older than 2.26 */
        snprintf(version, 16, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    dlclose(lib);
}

/* --- a table -----------------------------------------------------------------------------------
 */

static bool is_seen(const pipc__seen_t *seen, const char *bdf)
{
    for (int i = 0; i < seen->ngpus; i++)
        if (!strcmp(seen->bdf[i], bdf))
            return true;
    return false;
}

bool pipc__seen_fits(const pipc__seen_t *seen, const pipc__table_key_t *table)
{
    char copy[PIPC__TABLE_GPUS], text[160], *save = NULL;
    pipc__table_key_t here = seen->key;
    int n = 0;

    here.topology = table->topology; /* which is what the addresses stand for */
    if (!*here.nccl || !*table->nccl || pipc__table_key_differs(table, &here, text, sizeof(text)))
        return false;
    snprintf(copy, sizeof(copy), "%s", table->gpus);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save), n++)
        if (!is_seen(seen, w))
            return false;
    return n && n == seen->ngpus;
}
