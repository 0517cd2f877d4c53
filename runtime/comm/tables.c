/* comm/tables.c - see tables.h */
#include "runtime/comm/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"

/* --- what a table is good for ---------------------------------------------------------------- */

static void copy_text(char *to, size_t cap, const char *from, size_t from_cap)
{
    snprintf(to, cap, "%.*s", (int)strnlen(from, from_cap), from);
}

/* "" where some rank is on a CPU. */
static void list_gpus(char list[PIPC__TABLE_GPUS], const pipc__record_t *recs, int n)
{
    size_t used = 0;

    for (int r = 0; r < n; r++) {
        int len = (int)strnlen(recs[r].bdf, sizeof(recs[r].bdf));
        if (!len || used + (size_t)len + 2 > PIPC__TABLE_GPUS) {
            list[0] = '\0';
            return;
        }
        used += (size_t)snprintf(list + used, PIPC__TABLE_GPUS - used, "%s%.*s", r ? " " : "", len,
                                 recs[r].bdf);
    }
}

static uint64_t hash_node(const pipc__record_t *recs, int n, const pipc__shape_t *shape, int sms)
{
    uint64_t h = pipc__hash(PIPC__HASH_INIT, &shape->nranks, sizeof(shape->nranks));

    h = pipc__hash(h, &shape->nlevels, sizeof(shape->nlevels));
    h = pipc__hash(h, shape->group, sizeof(shape->group));
    h = pipc__hash(h, shape->order, sizeof(shape->order));
    h = pipc__hash(h, shape->reach, sizeof(shape->reach));
    h = pipc__hash(h, &shape->nvlink, sizeof(shape->nvlink));
    h = pipc__hash(h, &sms, sizeof(sms));
    for (int r = 0; r < n; r++) {
        h = pipc__hash(h, &recs[r].width, sizeof(recs[r].width));
        h = pipc__hash(h, recs[r].gpu, strnlen(recs[r].gpu, sizeof(recs[r].gpu)));
    }
    return h;
}

static uint64_t hash_nodes(const pipc__shape_t *shape, int nodes, int sms)
{
    uint64_t h = pipc__hash(PIPC__HASH_INIT, &nodes, sizeof(nodes));

    h = pipc__hash(h, &shape->nrails, sizeof(shape->nrails));
    h = pipc__hash(h, &shape->most, sizeof(shape->most));
    return pipc__hash(h, &sms, sizeof(sms));
}

void pipc__tables_key(pipc__table_key_t *key, const pipc__record_t *recs, int n,
                      const pipc__shape_t *shape, int nodes, int sms)
{
    uint64_t h = nodes > 1 ? hash_nodes(shape, nodes, sms) : hash_node(recs, n, shape, sms);

    if (recs[0].split) /* what goes over a loopback is no measure of a network */
        h = pipc__hash(h, &recs[0].split, sizeof(recs[0].split));
    memset(key, 0, sizeof(*key));
    key->topology = pipc__hash(h, &recs[0].staging_bytes, sizeof(recs[0].staging_bytes));
    copy_text(key->gpu, sizeof(key->gpu), recs[0].gpu, sizeof(recs[0].gpu));
    copy_text(key->driver, sizeof(key->driver), recs[0].driver, sizeof(recs[0].driver));
    copy_text(key->build, sizeof(key->build), recs[0].package, sizeof(recs[0].package));
    list_gpus(key->gpus, recs, n);
}

/* "model name\t: AMD EPYC ..." of the first processor; other architectures have other words. */
static void read_cpu(char name[PIPC__RECORD_GPU], const char *root)
{
    char text[4096];
    const char *at = pipc__file_read(root, text, sizeof(text), NULL, "proc/cpuinfo")
                         ? strstr(text, "model name")
                         : NULL;

    at = at ? strchr(at, ':') : NULL;
    at = at ? at + 1 + strspn(at + 1, " \t") : "";
    snprintf(name, PIPC__RECORD_GPU, "cpu %.*s", (int)strcspn(at, "\n#"), at);
    for (size_t len = strlen(name); len && name[len - 1] == ' '; len--)
        name[len - 1] = '\0';
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ..." or, of the open modules,
 * "... Open Kernel Module for x86_64  580.159.04  Release Build ...": the first word with a dot and
 * digits alone. */
static void read_driver(char driver[PIPC__RECORD_DRIVER], const char *root)
{
    char line[256], *save = NULL;

    if (!pipc__file_line(root, line, sizeof(line), "proc/driver/nvidia/version"))
        return;
    for (char *w = strtok_r(line, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
        if (strchr(w, '.') && !w[strspn(w, "0123456789.")]) {
            snprintf(driver, PIPC__RECORD_DRIVER, "%s", w);
            return;
        }
}

void pipc__tables_machine(char name[PIPC__RECORD_GPU], char driver[PIPC__RECORD_DRIVER],
                          const char *gpu, const char *root)
{
    driver[0] = '\0';
    if (*gpu) {
        snprintf(name, PIPC__RECORD_GPU, "%s", gpu);
        read_driver(driver, root);
    } else {
        read_cpu(name, root);
    }
}

uint32_t pipc__tables_width(const char *bdf, const char *root)
{
    int64_t lanes;

    if (!*bdf || !pipc__file_int(root, &lanes, "sys/bus/pci/devices/%s/current_link_width", bdf))
        return 0;
    return lanes > 0 && lanes <= 64 ? (uint32_t)lanes : 0;
}

/* --- where it lies --------------------------------------------------------------------------- */

bool pipc__tables_folder(char folder[PIPC__TABLE_PATH], bool site, pipc__getenv_t lookup)
{
    const char *config = lookup("XDG_CONFIG_HOME"), *home = lookup("HOME");
    int n;

    if (site)
        n = snprintf(folder, PIPC__TABLE_PATH, "%s/tables", PIPC_CONFDIR);
    else if (config && *config == '/')
        n = snprintf(folder, PIPC__TABLE_PATH, "%s/pcie-ipc/tables", config);
    else if (home && *home == '/')
        n = snprintf(folder, PIPC__TABLE_PATH, "%s/.config/pcie-ipc/tables", home);
    else
        return false;
    return n > 0 && n < PIPC__TABLE_PATH;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A file that steers what root runs must be in root's hands alone. */
static pipc_status_t judge_file(const struct stat *st, const char *path, pipc__error_t *err)
{
    if (!S_ISREG(st->st_mode))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: is no regular file", path);
    if ((size_t)st->st_size > PIPC__TABLE_BYTES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: is larger than any table", path);
    if (!geteuid() && (st->st_uid || st->st_mode & (S_IWGRP | S_IWOTH)))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: root takes a table that is root's and that no one "
                          "else can write; chown and chmod it",
                          path);
    return PIPC_OK;
}

static pipc_status_t read_all(int fd, char *text, size_t cap, size_t *len, const char *path,
                              pipc__error_t *err)
{
    *len = 0;
    for (;;) {
        ssize_t n = read(fd, text + *len, cap - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pipc__fail_errno(err, "%s", path);
        if (n == 0 || *len + (size_t)n == cap) {
            *len += (size_t)n;
            return PIPC_OK;
        }
        *len += (size_t)n;
    }
}

pipc_status_t pipc__tables_read(pipc__table_file_t *file, const char *path, bool want_times,
                                pipc__error_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO must not hold us */
    struct stat is;
    char *text = NULL;
    size_t len = 0;
    pipc_status_t st;

    memset(file, 0, sizeof(*file));
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s: no such file", path);
    if (fd < 0)
        return pipc__fail_errno(err, "%s", path);
    st = fstat(fd, &is) ? pipc__fail_errno(err, "%s", path) : judge_file(&is, path, err);
    if (!st && !(text = malloc(PIPC__TABLE_BYTES_MAX)))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: no memory for a table", path);
    if (!st)
        st = read_all(fd, text, PIPC__TABLE_BYTES_MAX, &len, path, err);
    close(fd);
    if (!st)
        st = pipc__table_parse(file, text, len, path, want_times, err);
    free(text);
    return st;
}

/* Read @path into @out. A file that is not there is no complaint; *used tells whether it was. */
static pipc_status_t try_file(pipc__table_file_t *out, const char *path,
                              const pipc__table_key_t *key, bool any_key, bool *used, char *why,
                              size_t cap)
{
    pipc__table_file_t file;
    pipc__error_t err;
    char text[160];
    pipc_status_t st = pipc__tables_read(&file, path, false, &err);

    *used = false;
    if (st) {
        if (st != PIPC_ERR_NOT_FOUND || any_key)
            snprintf(why, cap, "%s", err.text);
        return st;
    }
    const char *differs = pipc__table_key_differs(&file.key, key, text, sizeof(text));
    if (differs)
        snprintf(why, cap, "%s: was measured elsewhere (%s)%s", path, differs,
                 any_key ? "" : "; run pcie-ipc-tune here");
    *used = !differs || any_key;
    if (*used)
        *out = file;
    return PIPC_OK;
}

/* @any: also what was measured on other GPUs, with another driver or version. */
static bool find(pipc__table_file_t *file, const pipc__table_key_t *key, bool any,
                 pipc__getenv_t lookup, char from[PIPC__TABLE_PATH], char *why, size_t cap)
{
    const char *named = lookup("PCIE_IPC_TABLE");
    char folder[PIPC__TABLE_PATH];
    bool used = false;

    *why = '\0';
    if (named && *named) {
        snprintf(from, PIPC__TABLE_PATH, "%s", named);
        if (strcmp(named, "none"))
            try_file(file, named, key, true, &used, why, cap);
        return used;
    }
    for (int site = 0; site < 2 && !used; site++) {
        int n = pipc__tables_folder(folder, site, lookup)
                    ? snprintf(from, PIPC__TABLE_PATH, "%s/%016llx.table", folder,
                               (unsigned long long)key->topology)
                    : PIPC__TABLE_PATH;
        if (n >= PIPC__TABLE_PATH)
            continue;
        pipc_status_t st = try_file(file, from, key, any, &used, why, cap);
        if (st && st != PIPC_ERR_NOT_FOUND)
            return false; /* a file that is wrong is no reason to believe another one */
    }
    if (used)
        *why = '\0'; /* the site's is good; what was wrong with the user's does not matter */
    return used;
}

bool pipc__tables_find(pipc__table_file_t *file, const pipc__table_key_t *key,
                       pipc__getenv_t lookup, char from[PIPC__TABLE_PATH], char *why, size_t cap)
{
    return find(file, key, false, lookup, from, why, cap);
}

bool pipc__tables_look(pipc__table_file_t *file, const pipc__table_key_t *key,
                       pipc__getenv_t lookup)
{
    char from[PIPC__TABLE_PATH], why[160];

    return find(file, key, true, lookup, from, why, sizeof(why));
}
