/* tools/tune/store.c - see tune.h */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "config.h"
#include "runtime/base/hash.h"
#include "runtime/base/outfile.h"
#include "runtime/tools/bench/fold.h"
#include "runtime/tools/tune/tune.h"

/* Make @path's folders, as mkdir -p does. */
static pipc_status_t make_folders(const char *path, pipc__error_t *err)
{
    char part[PIPC__TABLE_PATH];

    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        if (mkdir(part, 0755) && errno != EEXIST)
            return pipc__fail_errno(err, "%s", part);
    }
    return PIPC_OK;
}

static const char *environment(const char *name)
{
    return secure_getenv(name);
}

static pipc_status_t find_path(const tune_t *t, const pipc__table_key_t *key,
                               char path[PIPC__TABLE_PATH], pipc__error_t *err)
{
    char folder[PIPC__TABLE_PATH];
    int n;

    if (t->output) {
        n = snprintf(path, PIPC__TABLE_PATH, "%s", t->output);
    } else {
        if (!pipc__tables_folder(folder, t->site, environment))
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "neither XDG_CONFIG_HOME nor HOME is set; give -o");
        n = snprintf(path, PIPC__TABLE_PATH, "%s/%016llx.table", folder,
                     (unsigned long long)key->topology);
    }
    if (n >= PIPC__TABLE_PATH - 8)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%.100s...: the path is too long; give another with -o", path);
    return t->output ? PIPC_OK : make_folders(path, err);
}

static void write_head(FILE *out, const tune_t *t)
{
    const pipc_comm_t *c = t->bench.comm;
    time_t now = time(NULL);
    char date[32] = "", where[128];
    struct tm tm;

    if (pipc__rails_needed(&c->rails))
        pipc__rails_describe(&c->rails, where, sizeof(where));
    else
        snprintf(where, sizeof(where), "%.63s", c->recs[0].host);
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
    fprintf(out,
            "# Table of pcie-ipc, measured by pcie-ipc-tune %s, %s: %d ranks on %s, %d rounds.\n"
            "# pcie-ipc-tune --show explains it; the manual pcie-ipc-tune(1) has the form.\n",
            PACKAGE_VERSION, date, c->size, where, t->rounds);
    if (*t->nccl_why_not)
        fprintf(out, "# Without NCCL: %s\n", t->nccl_why_not);
}

/* Whole or not at all: runtimes may read it at any moment, and other nodes may write the same file
 * in the same folder. */
static pipc_status_t write_file(const tune_t *t, const pipc__table_file_t *file, const char *path,
                                pipc__error_t *err)
{
    pipc__outfile_t out;
    pipc_status_t st = pipc__outfile_open(&out, path, t->bench.comm->rails.nodes.self, err);

    if (st)
        return st;
    write_head(out.f, t);
    pipc__table_write(file, out.f, tune_note);
    if (out.part[0]) /* for all to read, whatever the umask */
        fchmod(fileno(out.f), 0644);
    return pipc__outfile_close(&out, err);
}

/* Files are found by a name that the nodes of a job have in common, and passed over where the key
 * inside is another one: on nodes of two kinds all later jobs of this shape would be refused, as
 * the nodes would have different tables. */
pipc_status_t tune_judge_nodes(const tune_t *t, pipc__error_t *err)
{
    pipc_comm_t *c = t->bench.comm;
    pipc__table_key_t key;
    bool differs = false;

    pipc__tables_key(&key, c->recs, c->local_size, &c->shape, c->rails.nodes.n, c->sms);
    uint64_t kind = pipc__hash(PIPC__HASH_INIT, key.gpu, strlen(key.gpu));
    kind = pipc__hash(kind, key.driver, strlen(key.driver));
    pipc_status_t st = bench_compare(c, &kind, 1, &differs, err);
    if (st || !differs || t->output)
        return st;
    return pipc__fail(
        err, PIPC_ERR_MISMATCH,
        "the nodes are of several kinds (%s on %.63s): some would pass the table over; "
        "write it to a file of your own (-o FILE), and start such jobs with "
        "PCIE_IPC_TABLE=FILE",
        key.gpu, c->recs[0].host);
}

pipc_status_t tune_try(const tune_t *t, pipc__error_t *err)
{
    const pipc_comm_t *c = t->bench.comm;
    char path[PIPC__TABLE_PATH];
    pipc__table_key_t key;

    if (c->local_rank)
        return PIPC_OK;
    pipc__tables_key(&key, c->recs, c->local_size, &c->shape, c->rails.nodes.n, c->sms);
    pipc_status_t st = find_path(t, &key, path, err);
    return st ? st : pipc__outfile_try(path, c->rails.nodes.self, err);
}

pipc_status_t tune_store(const tune_t *t, char path[PIPC__TABLE_PATH], pipc__error_t *err)
{
    const pipc_comm_t *c = t->bench.comm;
    pipc__table_file_t file = {.times = t->times, .ntimes = t->ntimes};
    pipc_status_t st = pipc__admit(&file.table, t->times, t->ntimes, err);

    pipc__tables_key(&file.key, c->recs, c->local_size, &c->shape, c->rails.nodes.n, c->sms);
    if (t->bench.options.peer) { /* "NCCL 2.28.9" */
        const char *version = t->bench.options.peer->version();
        const char *digits = strpbrk(version, "0123456789");
        snprintf(file.key.nccl, sizeof(file.key.nccl), "%.*s",
                 digits ? (int)strspn(digits, "0123456789.") : 0, digits ? digits : "");
    }
    if (!st)
        st = find_path(t, &file.key, path, err);
    return st ? st : write_file(t, &file, path, err);
}

int tune_each_table(pipc__getenv_t lookup, int (*each)(const char *path, void *arg), void *arg)
{
    char folder[PIPC__TABLE_PATH], pattern[PIPC__TABLE_PATH + 16];
    int n = 0, rc = 0;

    for (int site = 0; !rc && site < 2; site++) {
        glob_t found;
        if (!pipc__tables_folder(folder, site, lookup))
            continue;
        snprintf(pattern, sizeof(pattern), "%s/*.table", folder);
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t i = 0; !rc && i < found.gl_pathc; i++, n++)
            rc = each(found.gl_pathv[i], arg);
        globfree(&found);
    }
    return n;
}
