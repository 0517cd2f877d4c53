/* topo/matrix_read.c - see matrix.h
 *
 * Columns are parted by tabs, by two tabs, by blanks: nvidia-smi has changed that more than once,
 * and people paste. No cell holds a blank or is empty, so words are what counts; only in the titles
 * of the last three columns do blanks stand inside.
 */
#include "runtime/topo/matrix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/cpuset.h"
#include "runtime/topo/device.h"

#define WORDS_MAX (PIPC__MATRIX_MAX + 16)
#define PIECE_MAX 16

typedef struct reader {
    pipc__matrix_t *m;
    const char *path;
    pipc__error_t *err;
    int line;
    int cpu_column, numa_column, gpu_numa_column; /* which word after the cells, or unknown */
    int columns;                                  /* of these three */
    bool legend;
    char *word[WORDS_MAX];
    int words;
    char piece[WORDS_MAX][PIECE_MAX]; /* copies of words that stood in one */
    int pieces;
} reader_t;

static pipc_status_t wrong(const reader_t *r, const char *what, const char *word)
{
    return pipc__fail(r->err, PIPC_ERR_INVALID, "%s: line %d: %s%.40s", r->path, r->line, what,
                      word);
}

/* The length of the relation, or of the numbered device, that a text begins with; 0: neither. */
static size_t piece_length(const char *text)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "PSB", "NODE", "SYS", "SOC"};
    static const char *const numbered[] = {"NV", "NIC", "GPU"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
        size_t n = strlen(numbered[i]), digits = 0;
        if (strncmp(text, numbered[i], n) == 0)
            digits = strspn(text + n, "0123456789");
        if (digits > 0 && n + digits < PIECE_MAX)
            return n + digits;
    }
    return 0;
}

/* "NODEPXB" and "NIC8NIC9": what is copied from a terminal loses the tab that fell on its edge.
 * False when the word is not made of such. */
static bool split_glued(reader_t *r, const char *word)
{
    size_t n;
    const char *p = word;

    while ((n = piece_length(p)) > 0)
        p += n;
    if (*p || p == word)
        return false;
    for (p = word; *p && r->words < WORDS_MAX && r->pieces < WORDS_MAX; p += n) {
        n = piece_length(p);
        snprintf(r->piece[r->pieces], PIECE_MAX, "%.*s", (int)n, p);
        r->word[r->words++] = r->piece[r->pieces++];
    }
    return true;
}

static void split(reader_t *r, char *line)
{
    char *save = NULL;

    r->words = r->pieces = 0;
    for (char *w = strtok_r(line, " \t", &save); w && r->words < WORDS_MAX;
         w = strtok_r(NULL, " \t", &save)) {
        pipc__make_printable(w);
        if (!split_glued(r, w))
            r->word[r->words++] = w;
    }
}

/* "GPU12" with the word GPU. */
static bool is_numbered(const char *word, const char *kind)
{
    size_t n = strlen(kind);

    return strncmp(word, kind, n) == 0 && isdigit((unsigned char)word[n]) &&
           word[n + strspn(word + n, "0123456789")] == '\0';
}

/* ---- cells --------------------------------------------------------------------------------- */

/* A word of the legend; false when it is none. */
static bool relation(const char *word, pipc__near_t *near, int *nvlinks)
{
    static const struct {
        const char *word;
        pipc__near_t near;
    } words[] = {{"X", PIPC__NEAR_SELF},  {"PIX", PIPC__NEAR_PIX}, {"PSB", PIPC__NEAR_PIX},
                 {"PXB", PIPC__NEAR_PXB}, {"PHB", PIPC__NEAR_PHB}, {"NODE", PIPC__NEAR_NODE},
                 {"SYS", PIPC__NEAR_SYS}, {"SOC", PIPC__NEAR_SYS}, {"N/A", PIPC__NEAR_UNKNOWN}};

    *nvlinks = 0;
    *near = PIPC__NEAR_UNKNOWN;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i].word) == 0) {
            *near = words[i].near;
            return true;
        }
    if (!is_numbered(word, "NV") || strlen(word) > 5)
        return false;
    *nvlinks = atoi(word + 2);
    return *nvlinks > 0;
}

static const char *cell_text(const pipc__matrix_t *m, int i, int j, char out[16])
{
    static const char *const words[] = {"N/A", "X", "PIX", "PXB", "PHB", "NODE", "SYS"};

    if (m->nvlinks[i][j] > 0)
        snprintf(out, 16, "NV%d", m->nvlinks[i][j]);
    else
        snprintf(out, 16, "%s", words[m->near[i][j]]);
    return out;
}

static pipc_status_t read_cell(reader_t *r, int i, int j, const char *word)
{
    const pipc__matrix_t *m = r->m;
    pipc__near_t near;
    int nvlinks;

    if (!relation(word, &near, &nvlinks))
        return pipc__fail(r->err, PIPC_ERR_INVALID,
                          "%s: line %d: row %s, column %s: \"%.40s\" is none of X, PIX, PXB, PHB, "
                          "NODE, SYS, NV#",
                          r->path, r->line, m->dev[i].name, m->dev[j].name, word);
    if ((near == PIPC__NEAR_SELF) != (i == j))
        return pipc__fail(
            r->err, PIPC_ERR_INVALID,
            "%s: line %d: row %s, column %s: \"%.40s\"; X stands where a device meets "
            "itself",
            r->path, r->line, m->dev[i].name, m->dev[j].name, word);
    r->m->near[i][j] = (unsigned char)near;
    r->m->nvlinks[i][j] = (short)nvlinks;
    return PIPC_OK;
}

/* Both cells of a pair say the same; where one says nothing, the other's word goes. */
static pipc_status_t check_symmetry(reader_t *r)
{
    pipc__matrix_t *m = r->m;
    char a[16], b[16];

    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < i; j++) {
            bool x = m->near[i][j] || m->nvlinks[i][j], y = m->near[j][i] || m->nvlinks[j][i];
            if (x && y && (m->near[i][j] != m->near[j][i] || m->nvlinks[i][j] != m->nvlinks[j][i]))
                return pipc__fail(r->err, PIPC_ERR_INVALID,
                                  "%s: line %d: row %s, column %s: %s, but line %d has %s for the "
                                  "same pair",
                                  r->path, m->dev[i].line, m->dev[i].name, m->dev[j].name,
                                  cell_text(m, i, j, a), m->dev[j].line, cell_text(m, j, i, b));
            int from = x ? i : j, to = x ? j : i;
            m->near[to][from] = m->near[from][to];
            m->nvlinks[to][from] = m->nvlinks[from][to];
        }
    return PIPC_OK;
}

/* ---- lines --------------------------------------------------------------------------------- */

static pipc_status_t add_column(reader_t *r, const char *name)
{
    pipc__matrix_device_t *d = &r->m->dev[r->m->n];

    if (r->m->n == PIPC__MATRIX_MAX)
        return wrong(r, "more columns than a machine has devices, at ", name);
    for (int i = 0; i < r->m->n; i++)
        if (strcmp(r->m->dev[i].name, name) == 0)
            return wrong(r, "two columns are called ", name);
    *d = (pipc__matrix_device_t){.numa = PIPC__UNKNOWN, .gpu_numa = PIPC__UNKNOWN};
    d->cpus = hwloc_bitmap_alloc();
    if (!d->cpus)
        return pipc__fail(r->err, PIPC_ERR_NOMEM, "%s: out of memory", r->path);
    r->m->n++;
    d->gpu = is_numbered(name, "GPU");
    snprintf(d->name, sizeof(d->name), "%s", name);
    if (!d->gpu && !is_numbered(name, "NIC"))
        snprintf(d->netdev, sizeof(d->netdev), "%s", name);
    return PIPC_OK;
}

/* "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID": device names up to a word that is none.
 */
static pipc_status_t header(reader_t *r)
{
    int w = 0;

    for (; w < r->words && strcmp(r->word[w], "CPU") && strcmp(r->word[w], "NUMA") &&
           strcmp(r->word[w], "GPU");
         w++) {
        pipc_status_t st = add_column(r, r->word[w]);
        if (st)
            return st;
    }
    for (; w < r->words; w++) {
        if (strcmp(r->word[w], "CPU") == 0)
            r->cpu_column = r->columns++;
        if (strcmp(r->word[w], "NUMA") == 0 && strcmp(r->word[w - 1], "GPU"))
            r->numa_column = r->columns++;
        if (strcmp(r->word[w], "GPU") == 0)
            r->gpu_numa_column = r->columns++;
    }
    return PIPC_OK;
}

static int node_number(const char *word)
{
    size_t n = strspn(word, "0123456789");

    return n > 0 && n < 6 && word[n] == '\0' && atoi(word) < 65536 ? atoi(word) : PIPC__UNKNOWN;
}

/* What stands after the cells. Rows of NICs have nothing there. With words missing it can't be told
 * which; a list of CPUs still looks like one. */
static pipc_status_t affinity(reader_t *r, pipc__matrix_device_t *d, char **word, int n)
{
    bool all = n >= r->columns;
    const char *cpus = r->cpu_column >= 0 && r->cpu_column < n ? word[r->cpu_column] : "N/A";

    if (!all && !strpbrk(cpus, "-,"))
        cpus = "N/A";
    if (strcmp(cpus, "N/A") && !pipc__cpuset_from_list(cpus, d->cpus))
        return wrong(r, "CPU affinity: not a list of CPUs: ", cpus);
    if (all && r->numa_column >= 0)
        d->numa = node_number(word[r->numa_column]);
    if (all && r->gpu_numa_column >= 0)
        d->gpu_numa = node_number(word[r->gpu_numa_column]);
    return PIPC_OK;
}

static int find(const pipc__matrix_t *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->dev[i].name, name) == 0)
            return i;
    return PIPC__UNKNOWN;
}

static pipc_status_t row(reader_t *r, int i)
{
    pipc__matrix_device_t *d = &r->m->dev[i];
    pipc_status_t st = PIPC_OK;

    if (d->line)
        return wrong(r, "a second row of ", d->name);
    d->line = r->line;
    if (r->words - 1 < r->m->n)
        return pipc__fail(r->err, PIPC_ERR_INVALID,
                          "%s: line %d: row %s has %d cells for %d columns; is the text complete?",
                          r->path, r->line, d->name, r->words - 1, r->m->n);
    for (int j = 0; j < r->m->n && !st; j++)
        st = read_cell(r, i, j, r->word[1 + j]);
    return st ? st : affinity(r, d, r->word + 1 + r->m->n, r->words - 1 - r->m->n);
}

/* "NIC0: mlx5_0" */
static void legend(reader_t *r)
{
    char *colon = strchr(r->word[0], ':');
    int i;

    if (r->words < 2 || !colon || colon[1])
        return;
    *colon = '\0';
    i = find(r->m, r->word[0]);
    if (i >= 0 && !r->m->dev[i].gpu)
        snprintf(r->m->dev[i].netdev, PIPC__NAME_MAX, "%.*s", PIPC__NAME_MAX - 1, r->word[1]);
}

/* A header is the first line whose words are devices; a row's second word is a relation. */
static bool is_header(const reader_t *r)
{
    pipc__near_t near;
    int nvlinks;

    return is_numbered(r->word[0], "GPU") &&
           (r->words == 1 || !relation(r->word[1], &near, &nvlinks));
}

static pipc_status_t one_line(reader_t *r)
{
    int i;

    if (r->words == 0 || r->word[0][0] == '#')
        return PIPC_OK;
    i = find(r->m, r->word[0]);
    if (i >= 0 && r->words > 1 && r->m->n > 1 && find(r->m, r->word[1]) >= 0)
        return wrong(r, "a second matrix; one machine at a time", "");
    if (strcmp(r->word[0], "Legend:") == 0)
        r->legend = true;
    else if (r->legend)
        legend(r);
    else if (r->m->n == 0)
        return is_header(r) ? header(r) : PIPC_OK;
    else if (i >= 0)
        return row(r, i);
    else if (is_numbered(r->word[0], "GPU") || is_numbered(r->word[0], "NIC"))
        return wrong(r, "a row without a column: ", r->word[0]);
    return PIPC_OK;
}

pipc_status_t pipc__matrix_read(pipc__matrix_t *m, const char *path, char *text, pipc__error_t *err)
{
    reader_t r = {.m = m,
                  .path = path,
                  .err = err,
                  .cpu_column = PIPC__UNKNOWN,
                  .numa_column = PIPC__UNKNOWN,
                  .gpu_numa_column = PIPC__UNKNOWN};
    pipc_status_t st = PIPC_OK;

    for (char *line = text, *next; line && !st; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        split(&r, line);
        st = one_line(&r);
    }
    if (!st && m->n == 0)
        st =
            pipc__fail(err, PIPC_ERR_INVALID,
                       "%s: no line of columns GPU0 GPU1 ... in it; nvidia-smi topo -m writes such "
                       "a text",
                       path);
    for (int i = 0; i < m->n && !st; i++)
        if (m->dev[i].line == 0)
            st = pipc__fail(err, PIPC_ERR_INVALID, "%s: no row %s; is the text complete?", path,
                            m->dev[i].name);
    return st ? st : check_symmetry(&r);
}

void pipc__matrix_release(pipc__matrix_t *m)
{
    for (int i = 0; i < m->n; i++)
        hwloc_bitmap_free(m->dev[i].cpus);
    m->n = 0;
}
