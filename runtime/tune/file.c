/* tune/file.c - see file.h */
#include "runtime/tune/file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/numbers.h"

#define WORDS_MAX 8

typedef struct reader {
    pipc__table_file_t *file;
    const char *name;
    int line;
    bool want_times, versioned;
    int room; /* of file->times */
    pipc__error_t *err;
} reader_t;

static pipc_status_t wrong(const reader_t *r, const char *what)
{
    return pipc__fail(r->err, PIPC_ERR_INVALID,
                      "%s:%d: %s; write the table anew with pcie-ipc-tune", r->name, r->line, what);
}

/* --- choices --------------------------------------------------------------------------------- */

const char *pipc__choice_text(pipc__choice_t c, char buf[PIPC__CHOICE_TEXT])
{
    const char *algo = pipc__algo_name(c.algo), *proto = pipc__proto_name(c.proto);

    if (!algo || !proto)
        snprintf(buf, PIPC__CHOICE_TEXT, "?");
    else if (c.blocks)
        snprintf(buf, PIPC__CHOICE_TEXT, "%s/%s/%d", algo, proto, c.blocks);
    else if (c.proto)
        snprintf(buf, PIPC__CHOICE_TEXT, "%s/%s", algo, proto);
    else
        snprintf(buf, PIPC__CHOICE_TEXT, "%s", algo);
    return buf;
}

static bool parse_number(const char *text, unsigned long long most, unsigned long long *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno && *out <= most;
}

/* Index of text[len] among names(0), names(1), ... up to @n; -1. */
static int look_up(const char *text, size_t len, int n, const char *(*names)(int))
{
    for (int i = 0; i < n; i++)
        if (!strncmp(text, names(i), len) && !names(i)[len])
            return i;
    return -1;
}

static const char *proto_name(int i)
{
    return pipc__proto_name((pipc__proto_t)i);
}

bool pipc__choice_parse(pipc__choice_t *choice, const char *text)
{
    size_t algo = strcspn(text, "/"), proto = 0;
    unsigned long long blocks = 0;

    *choice =
        (pipc__choice_t){look_up(text, algo, PIPC__ALGOS, pipc__algo_name), PIPC__PROTO_SIMPLE, 0};
    if (choice->algo < 0)
        return false;
    text += algo;
    if (*text && choice->algo == PIPC__ALGO_NCCL)
        return false;
    if (*text) {
        proto = strcspn(++text, "/");
        int found = proto ? look_up(text, proto, PIPC__PROTOS, proto_name) : PIPC__PROTO_SIMPLE;
        if (found < 0)
            return false;
        choice->proto = (pipc__proto_t)found;
        text += proto;
    }
    if (*text && (!parse_number(text + 1, PIPC__BLOCKS_MAX, &blocks) || !blocks))
        return false;
    choice->blocks = (int)blocks;
    return choice->proto == PIPC__PROTO_SIMPLE || choice->algo == PIPC__ONE_SHOT;
}

/* --- lines ----------------------------------------------------------------------------------- */

static pipc_status_t read_text(const reader_t *r, char *to, size_t cap, const char *from)
{
    if (strlen(from) >= cap)
        return wrong(r, "is longer than any that pcie-ipc-tune writes");
    snprintf(to, cap, "%s", from);
    return PIPC_OK;
}

static pipc_status_t read_topology(reader_t *r, const char *text)
{
    char *end;

    errno = 0;
    r->file->key.topology = strtoull(text, &end, 16);
    if (!isxdigit((unsigned char)*text) || *end || errno)
        return wrong(r, "topology is not 16 hexadecimal digits");
    return PIPC_OK;
}

/* up-to MAX eager CHOICE graph CHOICE */
static pipc_status_t read_row(reader_t *r, char *const word[], int n)
{
    pipc__table_t *t = &r->file->table;
    unsigned long long bytes = SIZE_MAX;
    pipc__table_row_t row;

    if (n != 6 || strcmp(word[2], "eager") || strcmp(word[4], "graph"))
        return wrong(r, "a row is \"up-to BYTES eager CHOICE graph CHOICE\"");
    if (strcmp(word[1], "max") && !parse_number(word[1], SIZE_MAX - 1, &bytes))
        return wrong(r, "a row goes up to a number of bytes, or max");
    if (!pipc__choice_parse(&row.eager, word[3]) || !pipc__choice_parse(&row.graph, word[5]))
        return wrong(r, "no such choice; one is PLAN[/PROTOCOL[/BLOCKS]], or nccl");
    if (row.graph.proto == PIPC__PROTO_CE)
        return wrong(r, "protocol ce can't be captured into graphs");
    if (t->nrows == PIPC__TABLE_ROWS)
        return wrong(r, "too many rows");
    if (t->nrows && t->row[t->nrows - 1].max_bytes >= bytes)
        return wrong(r, "rows must go from small messages to large ones");
    row.max_bytes = (size_t)bytes;
    t->row[t->nrows++] = row;
    return PIPC_OK;
}

static bool parse_usec(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0;
}

static pipc_status_t keep_time(reader_t *r, const pipc__table_time_t *t)
{
    pipc__table_file_t *f = r->file;

    if (!r->want_times)
        return PIPC_OK;
    if (f->ntimes == r->room) {
        int room = r->room ? 2 * r->room : 256;
        pipc__table_time_t *more = realloc(f->times, (size_t)room * sizeof(*more));
        if (!more)
            return pipc__fail(r->err, PIPC_ERR_NOMEM, "%s: no memory for its times", r->name);
        f->times = more;
        r->room = room;
    }
    f->times[f->ntimes++] = *t;
    return PIPC_OK;
}

/* time BYTES eager|graph CHOICE MEDIAN TAIL SAMPLES */
static pipc_status_t read_time(reader_t *r, char *const word[], int n)
{
    pipc__table_time_t t = {0};
    unsigned long long bytes, samples;

    if (n != 7 || !parse_number(word[1], SIZE_MAX - 1, &bytes) ||
        (strcmp(word[2], "eager") && strcmp(word[2], "graph")) ||
        !parse_usec(word[4], &t.median_usec) || !parse_usec(word[5], &t.tail_usec) ||
        !parse_number(word[6], 1000000000, &samples))
        return wrong(r, "a time is \"time BYTES eager|graph CHOICE MEDIAN TAIL SAMPLES\"");
    char *colon = strchr(word[3], ':');
    if (colon)
        *colon = '\0';
    if (!pipc__choice_parse(&t.choice, word[3]) || (colon && t.choice.algo != PIPC__ALGO_NCCL))
        return wrong(r, "no such choice; one is PLAN[/PROTOCOL[/BLOCKS]], nccl or nccl:ALGO/PROTO");
    if (colon && read_text(r, t.variant, sizeof(t.variant), colon + 1))
        return PIPC_ERR_INVALID;
    t.bytes = (size_t)bytes;
    t.in_graph = *word[2] == 'g';
    t.samples = (int)samples;
    return keep_time(r, &t);
}

static int split(char *line, char *word[WORDS_MAX])
{
    char *save = NULL;
    int n = 0;

    for (char *w = strtok_r(line, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (n < WORDS_MAX)
            word[n] = w;
        n++;
    }
    return n;
}

/* The rest of @line behind its first word @key; NULL when that is another. */
static const char *value_of(const char *line, const char *key)
{
    size_t n = strlen(key);

    if (strncmp(line, key, n) || !isblank((unsigned char)line[n]))
        return NULL;
    return line + n + strspn(line + n, " \t");
}

static pipc_status_t read_version(reader_t *r, const char *line)
{
    const char *v = value_of(line, "table");
    unsigned long long version;

    if (!v || !parse_number(v, 1000000, &version))
        return wrong(r, "the first line is not \"table VERSION\"");
    if (version != PIPC__TABLE_VERSION)
        return wrong(r, "the table has a form that this pcie-ipc does not know");
    r->versioned = true;
    return PIPC_OK;
}

static pipc_status_t read_line(reader_t *r, char *line)
{
    pipc__table_key_t *k = &r->file->key;
    char *word[WORDS_MAX] = {NULL};
    const char *v;

    if (!r->versioned)
        return read_version(r, line);
    if ((v = value_of(line, "topology")))
        return read_topology(r, v);
    if ((v = value_of(line, "gpu")))
        return read_text(r, k->gpu, sizeof(k->gpu), v);
    if ((v = value_of(line, "gpus")))
        return read_text(r, k->gpus, sizeof(k->gpus), v);
    if ((v = value_of(line, "driver")))
        return read_text(r, k->driver, sizeof(k->driver), v);
    if ((v = value_of(line, "nccl")))
        return read_text(r, k->nccl, sizeof(k->nccl), v);
    if ((v = value_of(line, "build")))
        return read_text(r, k->build, sizeof(k->build), v);
    int n = split(line, word);
    if (!strcmp(word[0], "up-to"))
        return read_row(r, word, n);
    if (!strcmp(word[0], "time"))
        return read_time(r, word, n);
    return wrong(r, "no such line in a table");
}

/* Cut off what is for people, and blanks at both ends. */
static char *strip(char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    for (size_t n = strlen(line); n && strchr(" \t\r", line[n - 1]); n--)
        line[n - 1] = '\0';
    return line;
}

static pipc_status_t read_lines(reader_t *r, char *text)
{
    pipc_status_t st = PIPC_OK;
    const pipc__table_t *t = &r->file->table;

    while (!st && text) {
        char *end = strchr(text, '\n'), *line;
        if (end)
            *end = '\0';
        r->line++;
        line = strip(text);
        if (*line)
            st = read_line(r, line);
        text = end ? end + 1 : NULL;
    }
    if (!st && (!t->nrows || t->row[t->nrows - 1].max_bytes != SIZE_MAX))
        st = wrong(r, "there is no row \"up-to max\" at the end");
    return st;
}

pipc_status_t pipc__table_parse(pipc__table_file_t *file, const char *text, size_t len,
                                const char *name, bool want_times, pipc__error_t *err)
{
    reader_t r = {.file = file, .name = name, .want_times = want_times, .err = err};
    char *copy = malloc(len + 1);
    pipc__numbers_t numbers;

    memset(file, 0, sizeof(*file));
    if (!copy)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: no memory for a table", name);
    memcpy(copy, text, len);
    copy[len] = '\0';
    pipc__numbers_begin(&numbers);
    pipc_status_t st = strlen(copy) == len ? read_lines(&r, copy) : wrong(&r, "is not text");
    pipc__numbers_end(&numbers);
    free(copy);
    if (st)
        pipc__table_file_free(file);
    return st;
}

void pipc__table_file_free(pipc__table_file_t *file)
{
    int saved = errno;

    free(file->times);
    file->times = NULL;
    file->ntimes = 0;
    errno = saved;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_key(const pipc__table_key_t *k, FILE *out)
{
    fprintf(out, "table %d\ntopology %016llx\n", PIPC__TABLE_VERSION,
            (unsigned long long)k->topology);
    const struct {
        const char *name, *value;
    } rows[] = {{"gpu", k->gpu},
                {"gpus", k->gpus},
                {"driver", k->driver},
                {"nccl", k->nccl},
                {"build", k->build}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (*rows[i].value)
            fprintf(out, "%s %s\n", rows[i].name, rows[i].value);
}

void pipc__table_write(const pipc__table_file_t *file, FILE *out,
                       void (*note)(const pipc__table_file_t *file, int row, FILE *out))
{
    char eager[PIPC__CHOICE_TEXT], graph[PIPC__CHOICE_TEXT];
    pipc__numbers_t numbers;

    pipc__numbers_begin(&numbers);
    write_key(&file->key, out);
    for (int i = 0; i < file->table.nrows; i++) {
        const pipc__table_row_t *r = &file->table.row[i];
        if (r->max_bytes == SIZE_MAX)
            fprintf(out, "up-to max");
        else
            fprintf(out, "up-to %zu", r->max_bytes);
        fprintf(out, " eager %s graph %s", pipc__choice_text(r->eager, eager),
                pipc__choice_text(r->graph, graph));
        if (note)
            note(file, i, out);
        fprintf(out, "\n");
    }
    for (int i = 0; i < file->ntimes; i++) {
        const pipc__table_time_t *t = &file->times[i];
        fprintf(out, "time %zu %s %s%s%s %.3f %.3f %d\n", t->bytes, t->in_graph ? "graph" : "eager",
                pipc__choice_text(t->choice, eager), *t->variant ? ":" : "", t->variant,
                t->median_usec, t->tail_usec, t->samples);
    }
    pipc__numbers_end(&numbers);
}

/* --- the key --------------------------------------------------------------------------------- */

const char *pipc__table_key_differs(const pipc__table_key_t *there, const pipc__table_key_t *here,
                                    char *buf, size_t cap)
{
    const struct {
        const char *what, *there, *here;
        bool either; /* unknown on one side is no difference */
    } rows[] = {{"GPU", there->gpu, here->gpu, false},
                {"driver", there->driver, here->driver, false},
                {"NCCL", there->nccl, here->nccl, true},
                {"pcie-ipc", there->build, here->build, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool unknown = rows[i].either && (!*rows[i].there || !*rows[i].here);
        if (unknown || !strcmp(rows[i].there, rows[i].here))
            continue;
        snprintf(buf, cap, "%s %s there, %s here", rows[i].what,
                 *rows[i].there ? rows[i].there : "none", *rows[i].here ? rows[i].here : "none");
        return buf;
    }
    if (there->topology == here->topology)
        return NULL;
    snprintf(buf, cap, "topology %016llx there, %016llx here", (unsigned long long)there->topology,
             (unsigned long long)here->topology);
    return buf;
}
