/* prolog/prometheus.c - see prometheus.h */
#include "prolog/prometheus.h"

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prolog/state.h"
#include "runtime/base/ini.h"

#define LOCK ".pcie-ipc-health.lock" /* the collector reads *.prom alone */
#define LOCK_MS 5000
#define SUFFIX ".prom"
#define MT 1000000.0 /* of a mega-transfer */

/* ---- the text ------------------------------------------------------------------------------ */

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: between quotes, where these three mean something else. */
static void value(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
}

static void label(FILE *out, const char *begin, const char *name, const char *text)
{
    fprintf(out, "%s%s=\"", begin, name);
    value(out, text);
    fputc('"', out);
}

static void print_verdict(const pipc__findings_t *findings, FILE *out)
{
    head(out, "pcie_ipc_health_verdict", "gauge", "Verdict of the last check: the one that is 1.");
    for (int s = 0; s < PIPC__SEVERITIES; s++)
        fprintf(out, "pcie_ipc_health_verdict{verdict=\"%s\"} %d\n",
                pipc__severity_name((pipc__severity_t)s), findings->verdict == (pipc__severity_t)s);
}

static bool is_same(const pipc__finding_t *a, const pipc__finding_t *b)
{
    return a->code == b->code && a->severity == b->severity && strcmp(a->object, b->object) == 0;
}

/* What is the same but for its words is one series, which may stand there once only. */
static void print_findings(const pipc__findings_t *findings, FILE *out)
{
    head(out, "pcie_ipc_health_findings", "gauge",
         "Findings of the last check, by code, severity and device.");
    for (int i = 0; i < findings->n; i++) {
        const pipc__finding_t *f = &findings->list[i];
        int n = 1;
        bool told = false;
        for (int k = 0; k < i && !told; k++)
            told = is_same(&findings->list[k], f);
        for (int k = i + 1; k < findings->n; k++)
            n += is_same(&findings->list[k], f);
        if (told)
            continue;
        label(out, "pcie_ipc_health_findings{", "code", pipc__codes[f->code].name);
        label(out, ",", "severity", pipc__severity_name(f->severity));
        label(out, ",", "object", f->object);
        fprintf(out, "} %d\n", n);
    }
}

/* A link is told once, by its lower end; what the port says of it goes first: see deltas.c. */
static void print_links(const pipc__counters_t *c, bool width, FILE *out)
{
    const char *name =
        width ? "pcie_ipc_link_width_lanes" : "pcie_ipc_link_speed_transfers_per_second";

    head(out, name, "gauge",
         width ? "Lanes of a link."
               : "Transfers a second and lane of a link; low while it is idle.");
    for (int i = 0; i < c->n; i++) {
        const pipc__counter_t *d = &c->dev[i], *port = d->parent >= 0 ? &c->dev[d->parent] : d;
        int lanes = port->width >= 0 ? port->width : d->width;
        int mts = port->mts >= 0 ? port->mts : d->mts;
        if (!d->link || (width ? lanes : mts) < 0)
            continue;
        fputs(name, out);
        label(out, "{", "device", d->name);
        label(out, ",", "port", port == d ? "" : port->name);
        label(out, ",", "gpu", d->gpu ? "yes" : "no");
        fprintf(out, "} %.0f\n", width ? lanes : mts * MT);
    }
}

/* 0 is no count where nobody counts. */
static void print_errors(const pipc__counters_t *c, FILE *out)
{
    head(out, "pcie_ipc_aer_counting", "gauge", "Does the kernel count PCIe errors here?");
    fprintf(out, "pcie_ipc_aer_counting %d\n", c->counting);
    head(out, "pcie_ipc_aer_errors_total", "counter",
         "PCIe errors that the kernel counted at a device since boot, by kind.");
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < PIPC__COUNTS; k++) {
            int64_t n = c->dev[i].count[k];
            if (n < 0 || (n == 0 && !c->dev[i].counts))
                continue;
            label(out, "pcie_ipc_aer_errors_total{", "device", c->dev[i].name);
            label(out, ",", "kind", pipc__count_names[k]);
            fprintf(out, "} %" PRId64 "\n", n);
        }
}

void pipc__prometheus_print(const pipc__findings_t *findings, const pipc__counters_t *counters,
                            int64_t time, FILE *out)
{
    head(out, "pcie_ipc_health_info", "gauge", "The version that checked.");
    fprintf(out, "pcie_ipc_health_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    head(out, "pcie_ipc_health_check_timestamp_seconds", "gauge",
         "When the last check was, since 1970.");
    fprintf(out, "pcie_ipc_health_check_timestamp_seconds %" PRId64 "\n", time);
    print_verdict(findings, out);
    print_findings(findings, out);
    if (!counters)
        return;
    print_links(counters, true, out);
    print_links(counters, false, out);
    print_errors(counters, out);
}

/* ---- the file ------------------------------------------------------------------------------ */

static char *text_of(const char *sysroot, const pipc__findings_t *findings, size_t *n)
{
    pipc__counters_t c;
    pipc__error_t err;
    char *text = NULL;
    FILE *out = open_memstream(&text, n);

    if (!out)
        return NULL;
    bool found = pipc__counters_find(sysroot, &c, &err) == PIPC_OK;
    pipc__prometheus_print(findings, found ? &c : NULL, time(NULL), out);
    pipc__counters_free(&c);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static pipc_status_t write_file(int dir, const char *name, const char *text, size_t n,
                                pipc__error_t *err)
{
    int lock = -1;
    pipc_status_t st = pipc__state_lock(dir, LOCK, LOCK_MS, &lock, err);

    if (!st)
        st = pipc__state_write(dir, name, 0644, text, n, err);
    if (lock >= 0)
        close(lock);
    return st;
}

/* A device or a link by mistake: root's file would take its place. */
const char *pipc__prometheus_judge(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), end = strlen(SUFFIX);
    struct stat about;

    if (n <= end || strcmp(name + n - end, SUFFIX) != 0)
        return "does not end in " SUFFIX "; the collector would not read it";
    if (lstat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return "is no regular file, which this would replace; remove it, or name another";
    return NULL;
}

pipc_status_t pipc__prometheus_write(const char *path, uid_t owner, const char *sysroot,
                                     const pipc__findings_t *findings, pipc__error_t *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PIPC__INI_PATH_MAX] = ".", *text;
    struct stat about;
    size_t n = 0;
    int dir;
    pipc_status_t st;
    const char *why = pipc__prometheus_judge(path);

    if (why)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: %s", path, why);
    if (slash && (size_t)snprintf(folder, sizeof(folder), "%.*s",
                                  slash == path ? 1 : (int)(slash - path), path) >= sizeof(folder))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: the path is too long", path);
    if (lstat(folder, &about)) /* a folder that is mistyped is not made */
        return pipc__fail_errno(err, "%s: cannot be opened", folder);
    st = pipc__state_open(folder, owner, &dir, err);
    if (st)
        return st;
    text = text_of(sysroot, findings, &n);
    st = text ? write_file(dir, slash ? slash + 1 : path, text, n, err)
              : pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    free(text);
    close(dir);
    return st;
}
