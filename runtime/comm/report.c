/* comm/report.c - see report.h: counting, and what is written of it. The process's own report is
 * report_exit.c's.
 */
#include "runtime/comm/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "config.h"
#include "runtime/base/numbers.h"

#define FIRST 10 /* the first class ends at 2^10 bytes, each next one at four times as much */

/* --- counting ----------------------------------------------------------------------------------
 */

size_t pipc__report_bytes(int class)
{
    return class < PIPC__REPORT_CLASSES - 1 ? (size_t)1 << (FIRST + 2 * class) : 0;
}

int pipc__report_class(size_t bytes)
{
    int class = 0;

    while (class < PIPC__REPORT_CLASSES - 1 && bytes > pipc__report_bytes(class))
        class ++;
    return class;
}

static void add(pipc__report_sum_t *sum, size_t bytes)
{
    atomic_fetch_add_explicit(&sum->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sum->bytes, bytes, memory_order_relaxed);
}

void pipc__report_own(pipc__report_t *r, int algo, pipc__proto_t proto, size_t bytes)
{
    add(&r->own[pipc__report_class(bytes)][algo][proto], bytes);
}

/* The place of a reason. Reasons are few, and come in the same order again and again. */
static int place(pipc__report_t *r, const char *why)
{
    for (int i = 0; i < PIPC__REPORT_WHYS - 1; i++) {
        const char *there = atomic_load_explicit(&r->why[i], memory_order_acquire);
        if (!there && atomic_compare_exchange_strong(&r->why[i], &there, why))
            return i;
        if (there == why || !strcmp(there, why))
            return i;
    }
    atomic_store(&r->why[PIPC__REPORT_WHYS - 1], "other reasons");
    return PIPC__REPORT_WHYS - 1;
}

void pipc__report_nccl(pipc__report_t *r, const char *why, size_t bytes)
{
    add(&r->nccl[pipc__report_class(bytes)][place(r, why)], bytes);
}

/* --- what it saved -----------------------------------------------------------------------------
 */

/* The least eager median of @algo and @proto at @bytes, whatever their blocks; of NCCL's own choice
 * for PIPC__ALGO_NCCL. Negative: none. */
static double median(const pipc__table_time_t *times, int n, size_t bytes, int algo,
                     pipc__proto_t proto)
{
    double best = -1;

    for (int i = 0; i < n; i++)
        if (times[i].bytes == bytes && !times[i].in_graph && !*times[i].variant &&
            times[i].choice.algo == algo && times[i].choice.proto == proto &&
            (best < 0 || times[i].median_usec < best))
            best = times[i].median_usec;
    return best;
}

bool pipc__report_saved(const pipc__table_time_t *times, int n, int algo, pipc__proto_t proto,
                        uint64_t calls, uint64_t bytes, double *usec)
{
    size_t mean = calls ? (size_t)(bytes / calls) : 0, at = 0;

    for (int i = 0; i < n; i++) /* the measured size next to it from above */
        if (times[i].bytes >= mean && (!at || times[i].bytes < at))
            at = times[i].bytes;
    double own = median(times, n, at, algo, proto);
    double nccl = median(times, n, at, PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE);
    if (!at || own < 0 || nccl < 0)
        return false;
    *usec = (double)calls * (nccl - own);
    return true;
}

/* --- rows --------------------------------------------------------------------------------------
 */

typedef struct row {
    size_t up_to; /* 0: no end */
    const char *who, *proto, *why;
    uint64_t calls, bytes;
    bool known; /* saved is */
    double saved;
} row_t;

typedef struct rows {
    int n;
    row_t row[PIPC__REPORT_CLASSES * (PIPC__PLAN_KINDS * PIPC__PROTOS + PIPC__REPORT_WHYS)];
    uint64_t calls, bytes;
    bool known; /* of some row of ours, and then the sum of those */
    double saved;
} rows_t;

static void add_row(rows_t *rows, const pipc__report_sum_t *sum, row_t row)
{
    row.calls = atomic_load(&sum->calls);
    row.bytes = atomic_load(&sum->bytes);
    if (!row.calls)
        return;
    rows->calls += row.calls;
    rows->bytes += row.bytes;
    rows->row[rows->n++] = row;
}

static void collect(rows_t *rows, const pipc__report_t *r)
{
    memset(rows, 0, sizeof(*rows));
    for (int c = 0; c < PIPC__REPORT_CLASSES; c++) {
        size_t up_to = pipc__report_bytes(c);
        for (int k = 0; k < PIPC__PLAN_KINDS; k++)
            for (int p = 0; p < PIPC__PROTOS; p++)
                add_row(rows, &r->own[c][k][p],
                        (row_t){.up_to = up_to,
                                .who = pipc__algo_name(k),
                                .proto = pipc__proto_name((pipc__proto_t)p)});
        for (int w = 0; w < PIPC__REPORT_WHYS; w++)
            add_row(rows, &r->nccl[c][w],
                    (row_t){.up_to = up_to, .who = "nccl", .why = atomic_load(&r->why[w])});
    }
}

static int index_of(const char *name, int n, const char *(*name_of)(int))
{
    int i = 0;

    while (i < n && strcmp(name_of(i), name))
        i++;
    return i;
}

static const char *proto_of(int i)
{
    return pipc__proto_name((pipc__proto_t)i);
}

static void estimate(rows_t *rows, const pipc__table_time_t *times, int n)
{
    for (int i = 0; i < rows->n; i++) {
        row_t *r = &rows->row[i];
        if (r->why)
            continue;
        r->known = pipc__report_saved(times, n, index_of(r->who, PIPC__PLAN_KINDS, pipc__algo_name),
                                      (pipc__proto_t)index_of(r->proto, PIPC__PROTOS, proto_of),
                                      r->calls, r->bytes, &r->saved);
        rows->known |= r->known;
        rows->saved += r->known ? r->saved : 0;
    }
}

/* --- writing -----------------------------------------------------------------------------------
 */

static void write_size(FILE *out, size_t bytes)
{
    static const struct {
        int bits;
        const char *unit;
    } units[] = {{20, "MB"}, {10, "KB"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (bytes >= (size_t)1 << units[i].bits) {
            fprintf(out, "%zu %s", bytes >> units[i].bits, units[i].unit);
            return;
        }
    fprintf(out, "%zu bytes", bytes);
}

static void write_row(const row_t *r, FILE *out)
{
    fprintf(out, "pcie-ipc:   %s ", r->up_to ? "up to" : "above");
    write_size(out, r->up_to ? r->up_to : pipc__report_bytes(PIPC__REPORT_CLASSES - 2));
    fprintf(out, ": %" PRIu64 " calls, %" PRIu64 " bytes, %s", r->calls, r->bytes,
            r->why ? "NCCL" : r->who);
    if (r->why)
        fprintf(out, ": %s", r->why);
    else if (strcmp(r->proto, "simple"))
        fprintf(out, "/%s", r->proto);
    if (r->known)
        fprintf(out, ", about %.3f ms saved", r->saved / 1000);
    fprintf(out, "\n");
}

static void write_summary(const rows_t *rows, const char *host, const char *table, FILE *out)
{
    fprintf(out, "pcie-ipc: AllReduce on %s: %" PRIu64 " calls, %" PRIu64 " bytes\n", host,
            rows->calls, rows->bytes);
    for (int i = 0; i < rows->n; i++)
        write_row(&rows->row[i], out);
    if (rows->known)
        fprintf(out, "pcie-ipc: time saved, by the times in %s: about %.3f ms\n", table,
                rows->saved / 1000);
    else
        fprintf(out,
                "pcie-ipc: time saved: unknown; pcie-ipc-tune measures what NCCL would take\n");
}

static void write_string(FILE *out, const char *text)
{
    if (!text) {
        fprintf(out, "null");
        return;
    }
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    fputc('"', out);
}

static void write_saved(FILE *out, bool known, double usec)
{
    if (known)
        fprintf(out, "%.3f", usec);
    else
        fprintf(out, "null");
}

static void write_json_row(const row_t *r, FILE *out)
{
    if (r->up_to)
        fprintf(out, "{\"up_to\": %zu, ", r->up_to);
    else
        fprintf(out, "{\"up_to\": null, ");
    fprintf(out, "\"who\": \"%s\", \"proto\": ", r->who);
    write_string(out, r->proto);
    fprintf(out, ", \"why\": ");
    write_string(out, r->why);
    fprintf(out, ", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"saved_usec\": ", r->calls,
            r->bytes);
    write_saved(out, r->known, r->saved);
    fprintf(out, "}");
}

static void write_json(const rows_t *rows, const char *host, const char *table, FILE *out)
{
    fprintf(out, "{\"pcie_ipc\": \"%s\", \"host\": ", PACKAGE_VERSION);
    write_string(out, host);
    fprintf(out, ", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"rows\": [", rows->calls,
            rows->bytes);
    for (int i = 0; i < rows->n; i++) {
        fprintf(out, i ? ", " : "");
        write_json_row(&rows->row[i], out);
    }
    fprintf(out, "], \"saved_usec\": ");
    write_saved(out, rows->known, rows->saved);
    fprintf(out, ", \"table\": ");
    write_string(out, table);
    fprintf(out, "}\n");
}

bool pipc__report_write(const pipc__report_t *report, bool json, const char *host,
                        const char *table, const pipc__table_time_t *times, int n, FILE *out)
{
    static rows_t rows; /* some 30 KiB; a process ends once */
    pipc__numbers_t numbers;

    collect(&rows, report);
    if (!rows.calls)
        return false;
    estimate(&rows, times, table ? n : 0);
    pipc__numbers_begin(&numbers);
    (json ? write_json : write_summary)(&rows, host, table, out);
    pipc__numbers_end(&numbers);
    return true;
}

/* --- the wish ----------------------------------------------------------------------------------
 */

/* "pcie-ipc-report.17.2.json" for the marker "17.2:0.1.0"; without one ".json" alone. */
static void name_file(char *file, size_t cap, const char *task)
{
    size_t n = task ? strcspn(task, ":") : 0;

    if (n != (task ? strspn(task, "0123456789.") : 0))
        n = 0;
    snprintf(file, cap, "pcie-ipc-report%s%.*s.json", n ? "." : "", (int)n, n ? task : "");
}

void pipc__report_parse(pipc__report_wish_t *wish, pipc__getenv_t lookup)
{
    const char *text = lookup("PCIE_IPC_REPORT"), *verbose = lookup("PCIE_IPC_VERBOSE");

    memset(wish, 0, sizeof(*wish));
    if (text && !strncmp(text, "json", 4) && (!text[4] || text[4] == ':')) {
        wish->how = PIPC__REPORT_JSON;
        if (text[4] && text[5])
            snprintf(wish->file, sizeof(wish->file), "%s", text + 5);
        else
            name_file(wish->file, sizeof(wish->file), lookup("PCIE_IPC_TASK"));
    } else if ((text && !strcmp(text, "summary")) || (verbose && !strcmp(verbose, "1"))) {
        wish->how = PIPC__REPORT_SUMMARY;
    }
    if (text && *text && strcmp(text, "none") && strcmp(text, "summary") &&
        wish->how != PIPC__REPORT_JSON)
        snprintf(wish->unknown, sizeof(wish->unknown), "%s", text);
}
