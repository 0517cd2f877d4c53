/* topo/matrix_read.c - see matrix.h
 *
 * A text often holds more than the matrix. One of "nvidia-smi topo -p2p" is passed over; a second
 * one of "topo -m" is a second machine.
 */
#include "runtime/topo/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/cpuset.h"
#include "runtime/topo/matrix_words.h"

typedef struct reader {
    pipc__matrix_t *m;
    const char *path;
    pipc__error_t *err;
    int line;
    int cpu_column, numa_column, gpu_numa_column; /* which word after the cells, or unknown */
    int columns;                                  /* of these three */
    bool legend;
    int second;      /* the line where more columns begin; 0: none */
    bool second_p2p; /* and their matrix is one of -p2p */
    bool p2p;        /* the first one was */
    pipc__matrix_words_t w;
} reader_t;

static pipc_status_t wrong(const reader_t *r, const char *what, const char *word)
{
    return pipc__fail(r->err, PIPC_ERR_INVALID, "%s: line %d: %s%.40s", r->path, r->line, what,
                      word);
}

/* ---- cells --------------------------------------------------------------------------------- */

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

    if (!pipc__matrix_relation(word, &near, &nvlinks))
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
    d->gpu = pipc__matrix_numbered(name, "GPU");
    snprintf(d->name, sizeof(d->name), "%s", name);
    if (!d->gpu && !pipc__matrix_numbered(name, "NIC"))
        snprintf(d->netdev, sizeof(d->netdev), "%s", name);
    return PIPC_OK;
}

/* "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID": device names up to a word that is none.
 */
static pipc_status_t header(reader_t *r)
{
    int w = 0;

    r->legend = false;
    for (; w < r->w.n && strcmp(r->w.word[w], "CPU") && strcmp(r->w.word[w], "NUMA") &&
           strcmp(r->w.word[w], "GPU");
         w++) {
        pipc_status_t st = add_column(r, r->w.word[w]);
        if (st)
            return st;
    }
    for (; w < r->w.n; w++) {
        if (strcmp(r->w.word[w], "CPU") == 0)
            r->cpu_column = r->columns++;
        if (strcmp(r->w.word[w], "NUMA") == 0 && strcmp(r->w.word[w - 1], "GPU"))
            r->numa_column = r->columns++;
        if (strcmp(r->w.word[w], "GPU") == 0)
            r->gpu_numa_column = r->columns++;
    }
    return PIPC_OK;
}

/* "0", or the first of "0-1" and "0,2-17": a GPU may be near to several, and memory of GPUs has
 * higher numbers. */
static int node_number(const char *word)
{
    size_t n = strspn(word, "0123456789");

    return n > 0 && n < 6 && strchr("-,", word[n]) && atoi(word) < 65536 ? atoi(word)
                                                                         : PIPC__UNKNOWN;
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

/* Behind the cells no relation stands but N/A, which is also what a GPU near to no CPU has. */
static bool more_cells(const char *word)
{
    pipc__near_t near;
    int nvlinks;

    return strcmp(word, "N/A") && pipc__matrix_relation(word, &near, &nvlinks);
}

static pipc_status_t row(reader_t *r, int i)
{
    pipc__matrix_device_t *d = &r->m->dev[i];
    pipc_status_t st = PIPC_OK;

    if (d->line)
        return wrong(r, "a second row of ", d->name);
    d->line = r->line;
    if (r->w.n - 1 < r->m->n)
        return pipc__fail(r->err, PIPC_ERR_INVALID,
                          "%s: line %d: row %s has %d cells for %d columns; is the text complete?",
                          r->path, r->line, d->name, r->w.n - 1, r->m->n);
    if (r->w.n - 1 > r->m->n && more_cells(r->w.word[1 + r->m->n]))
        return pipc__fail(r->err, PIPC_ERR_INVALID,
                          "%s: line %d: row %s has more cells than the %d columns; is the text "
                          "complete?",
                          r->path, r->line, d->name, r->m->n);
    for (int j = 0; j < r->m->n && !st; j++)
        st = read_cell(r, i, j, r->w.word[1 + j]);
    return st ? st : affinity(r, d, r->w.word + 1 + r->m->n, r->w.n - 1 - r->m->n);
}

/* "NIC0: mlx5_0" */
static void legend(reader_t *r)
{
    char *colon = strchr(r->w.word[0], ':');
    int i;

    if (r->w.n < 2 || !colon || colon[1])
        return;
    *colon = '\0';
    i = find(r->m, r->w.word[0]);
    if (i >= 0 && !r->m->dev[i].gpu)
        snprintf(r->m->dev[i].netdev, PIPC__NAME_MAX, "%.*s", PIPC__NAME_MAX - 1, r->w.word[1]);
}

static bool is_p2p_row(const reader_t *r)
{
    for (int i = 1; i < r->w.n; i++)
        if (pipc__matrix_p2p_status(r->w.word[i]))
            return true;
    return false;
}

/* The matrix is another one than was thought: begin anew. */
static void forget(reader_t *r)
{
    pipc__matrix_release(r->m);
    memset(r->m, 0, sizeof(*r->m));
    r->columns = 0;
    r->cpu_column = r->numa_column = r->gpu_numa_column = PIPC__UNKNOWN;
    r->p2p = true;
}

/* A line below the columns. */
static pipc_status_t row_or_noise(reader_t *r)
{
    int i = find(r->m, r->w.word[0]);

    if (i >= 0 && is_p2p_row(r)) {
        r->second_p2p = r->second > 0;
        if (!r->second)
            forget(r);
        return PIPC_OK;
    }
    if (i >= 0 && r->second)
        return wrong(r, "a second matrix; one machine at a time", "");
    if (i >= 0)
        return row(r, i);
    if (pipc__matrix_numbered(r->w.word[0], "GPU") || pipc__matrix_numbered(r->w.word[0], "NIC"))
        return wrong(r, "a row without a column: ", r->w.word[0]);
    return PIPC_OK;
}

/* Another node's line, in what a launcher labelled. */
static bool other_label(const reader_t *r)
{
    const char *word = r->w.word[0];

    return r->w.label[0] && r->w.n > 1 && word[strlen(word) - 1] == ':' &&
           pipc__matrix_numbered(r->w.word[1], "GPU");
}

static pipc_status_t one_line(reader_t *r)
{
    if (r->w.n == 0 || r->w.word[0][0] == '#')
        return PIPC_OK;
    if (other_label(r))
        return wrong(r, "a second matrix; one machine at a time", "");
    if (pipc__matrix_header(&r->w)) {
        if (r->m->n == 0)
            return header(r);
        r->second = r->line;
        r->second_p2p = false;
    } else if (strcmp(r->w.word[0], "Legend:") == 0)
        r->legend = true;
    else if (r->legend && !r->second)
        legend(r);
    else if (r->m->n > 0)
        return row_or_noise(r);
    return PIPC_OK;
}

/* What only the end of the text shows. Rows of NICs are often cut off, and say nothing that those
 * of the GPUs do not. */
static pipc_status_t check_complete(reader_t *r)
{
    if (r->second && !r->second_p2p) {
        r->line = r->second;
        return wrong(r, "a second matrix; one machine at a time", "");
    }
    if (r->m->n == 0)
        return pipc__fail(r->err, PIPC_ERR_INVALID, "%s: no line of columns GPU0 GPU1 ... %s",
                          r->path,
                          r->p2p ? "of topo -m in it, only of topo -p2p"
                                 : "in it; nvidia-smi topo -m writes such a text");
    for (int i = 0; i < r->m->n; i++)
        if (r->m->dev[i].line == 0 && r->m->dev[i].gpu)
            return pipc__fail(r->err, PIPC_ERR_INVALID, "%s: no row %s; is the text complete?",
                              r->path, r->m->dev[i].name);
    return PIPC_OK;
}

/* What rocm-smi --showtopo and amd-smi topology print. Their GPU0 is no nvidia-smi's. */
static bool is_of_amd(const char *text)
{
    return strstr(text, "ROCm System Management") || strstr(text, "between two GPUs") ||
           strstr(text, "LINK TYPE TABLE") || strstr(text, "XGMI");
}

static int count(const char *text, char c)
{
    int n = 0;

    for (; *text; text++)
        n += *text == c;
    return n;
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
    int lines_before = 0; /* in what was one row */

    if (is_of_amd(text))
        return pipc__fail(
            err, PIPC_ERR_UNSUPPORTED,
            "%s: the text of rocm-smi or amd-smi, which tells too little of switches "
            "and CPUs. lstopo's XML is read with --hwloc-xml, a captured machine with "
            "--sysroot",
            path);
    pipc__matrix_unwrap(text);
    for (char *line = text, *next; line && !st; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r.line += 1 + lines_before;
        lines_before = count(line, '\r');
        pipc__matrix_split(&r.w, line);
        st = one_line(&r);
    }
    if (!st)
        st = check_complete(&r);
    return st ? st : check_symmetry(&r);
}

void pipc__matrix_release(pipc__matrix_t *m)
{
    for (int i = 0; i < m->n; i++)
        hwloc_bitmap_free(m->dev[i].cpus);
    m->n = 0;
}
