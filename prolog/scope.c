/* prolog/scope.c - see scope.h */
#include "prolog/scope.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"

#define GPUS_MAX 64
#define PATH_BYTES 512

typedef struct gpus {
    int n;
    char path[GPUS_MAX][PATH_BYTES]; /* by minor: "pci0000:00/0000:00:01.0/0000:01:00.0" */
    bool of_job[GPUS_MAX];
} gpus_t;

/* What the NVIDIA driver calls /dev/nvidiaN; -1: it does not say. */
static int minor_of(const char *sysroot, const char *name)
{
    char text[4096], *at;

    if (!pipc__file_read(sysroot, text, sizeof(text), NULL,
                         "proc/driver/nvidia/gpus/%s/information", name) ||
        !(at = strstr(text, "Device Minor:")))
        return -1;
    at += strlen("Device Minor:");
    at += strspn(at, " \t");
    int minor = *at >= '0' && *at <= '9' ? atoi(at) : -1;
    return minor < GPUS_MAX ? minor : -1;
}

/* All of them, 0 to n-1, each with its way to the root. */
static bool read_gpus(const char *sysroot, gpus_t *g)
{
    char folder[PATH_BYTES];
    struct dirent *entry;
    bool ok = true;

    memset(g, 0, sizeof(*g));
    if (snprintf(folder, sizeof(folder), "%s/proc/driver/nvidia/gpus", sysroot) >=
        (int)sizeof(folder))
        return false;
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    while (ok && (entry = readdir(dir)) && g->n < GPUS_MAX) {
        if (entry->d_name[0] == '.')
            continue;
        int minor = minor_of(sysroot, entry->d_name);
        ok = minor >= 0 && !g->path[minor][0] &&
             pipc__file_link(sysroot, g->path[minor], PATH_BYTES, "sys/bus/pci/devices/%s",
                             entry->d_name);
        g->n++;
    }
    closedir(dir);
    for (int i = 0; ok && i < g->n; i++)
        ok = g->path[i][0] != '\0';
    return ok && g->n > 0;
}

/* "0,1,2" */
static bool read_job(const char *list, gpus_t *g)
{
    char *end;

    for (const char *p = list; *p >= '0' && *p <= '9'; p = end + 1) {
        unsigned long n = strtoul(p, &end, 10);
        if (n >= (unsigned long)g->n || g->of_job[n] || (*end && *end != ','))
            return false;
        g->of_job[n] = true;
        if (!*end)
            return true;
    }
    return false;
}

/* Is @name a part of @path, between "/"? */
static bool stands_on(const char *path, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = path; (p = strstr(p, name)); p++)
        if ((p == path || p[-1] == '/') && (!p[n] || p[n] == '/'))
            return true;
    return false;
}

static bool concerns(const gpus_t *g, const char *object)
{
    bool of_others = false;

    for (int i = 0; i < g->n; i++) {
        bool on = stands_on(g->path[i], object);
        if (on && g->of_job[i])
            return true;
        of_others = of_others || on;
    }
    return !of_others;
}

pipc__severity_t pipc__scope_verdict(const char *sysroot, const char *gpus,
                                     const pipc__findings_t *findings)
{
    static gpus_t g; /* static: 32 KB, in a program of one thread */
    pipc__severity_t worst = PIPC__OK;

    if (findings->verdict < PIPC__DRAIN || !gpus || !*gpus || !read_gpus(sysroot, &g) ||
        !read_job(gpus, &g))
        return findings->verdict;
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].severity > worst && concerns(&g, findings->list[i].object))
            worst = findings->list[i].severity;
    return worst;
}

const char *const *pipc__scope_gpus(const char *sysroot, const char *gpus)
{
    static gpus_t g;
    static const char *names[GPUS_MAX + 1];
    int n = 0;

    if (!gpus || !*gpus || !read_gpus(sysroot, &g) || !read_job(gpus, &g))
        return NULL;
    for (int i = 0; i < g.n; i++)
        if (g.of_job[i])
            names[n++] = strrchr(g.path[i], '/') ? strrchr(g.path[i], '/') + 1 : g.path[i];
    names[n] = NULL;
    return names;
}
