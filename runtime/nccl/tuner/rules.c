/* nccl/tuner/rules.c - see rules.h */
#include "runtime/nccl/tuner/rules.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tune/admit.h"

void pipc__rules_make(pipc__rules_t *rules, const pipc__table_time_t *times, int n)
{
    size_t sizes[PIPC__TABLE_ROWS];
    int nsizes = pipc__time_sizes(times, n, sizes);

    memset(rules, 0, sizeof(*rules));
    if (nsizes > PIPC__TABLE_ROWS)
        return;
    for (rules->n = 0; rules->n < nsizes; rules->n++) {
        pipc__rule_t *r = &rules->rule[rules->n];
        r->max_bytes = sizes[rules->n];
        for (int graph = 0; graph < 2; graph++)
            r->tell[graph] = pipc__told(&r->told[graph], times, n, r->max_bytes, graph);
    }
}

static const pipc__rule_t *find(const pipc__rules_t *rules, size_t bytes)
{
    int i = 0;

    while (i < rules->n && rules->rule[i].max_bytes < bytes)
        i++;
    return i < rules->n ? &rules->rule[i] : NULL;
}

const pipc__told_t *pipc__rules_look(const pipc__rules_t *rules, size_t bytes, bool registered)
{
    const pipc__rule_t *r = find(rules, bytes);

    return r && r->tell[registered] ? &r->told[registered] : NULL;
}

void pipc__rules_agree(pipc__rules_t *rules, const pipc__rules_t *other)
{
    for (int i = 0; i < rules->n; i++)
        for (int graph = 0; graph < 2; graph++) {
            pipc__rule_t *r = &rules->rule[i];
            const pipc__told_t *told = pipc__rules_look(other, r->max_bytes, graph);
            r->tell[graph] &=
                told && told->algo == r->told[graph].algo && told->proto == r->told[graph].proto;
        }
}

/* --- files -------------------------------------------------------------------------------------
 */

static size_t ranks_of(const pipc__table_key_t *key)
{
    size_t n = *key->gpus != '\0';

    for (const char *c = key->gpus; *c; c++)
        n += *c == ' ';
    return n;
}

/* One more file. @seen NULL: it was named, and is used whatever it was measured on. */
static void add_file(pipc__rules_t *rules, const char *path, const pipc__seen_t *seen,
                     size_t nranks)
{
    pipc__rules_t more;
    pipc__table_file_t file;
    pipc__error_t err;

    if (pipc__tables_read(&file, path, true, &err))
        return; /* the runtime says what is wrong with a file, and pcie-ipc-tune --show */
    if (ranks_of(&file.key) == nranks && (!seen || pipc__seen_fits(seen, &file.key))) {
        pipc__rules_make(&more, file.times, file.ntimes);
        if (*rules->from) {
            pipc__rules_agree(rules, &more);
        } else {
            *rules = more;
            snprintf(rules->from, sizeof(rules->from), "%s", path);
        }
    }
    pipc__table_file_free(&file);
}

static void add_folder(pipc__rules_t *rules, const char *folder, const pipc__seen_t *seen,
                       size_t nranks)
{
    char pattern[PIPC__TABLE_PATH + 16];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/*.table", folder);
    if (glob(pattern, 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_file(rules, found.gl_pathv[i], seen, nranks);
    globfree(&found);
}

void pipc__rules_find(pipc__rules_t *rules, const pipc__seen_t *seen, size_t nranks,
                      pipc__getenv_t lookup)
{
    const char *path = lookup("PCIE_IPC_TABLE");
    char folder[PIPC__TABLE_PATH];

    memset(rules, 0, sizeof(*rules));
    if (nranks < 2)
        return;
    if (path && *path) {
        if (strcmp(path, "none"))
            add_file(rules, path, NULL, nranks);
        return;
    }
    if (seen->ngpus < 0 || (size_t)seen->ngpus != nranks)
        return;
    for (int site = 0; site < 2; site++)
        if (pipc__tables_folder(folder, site, lookup))
            add_folder(rules, folder, seen, nranks);
}
