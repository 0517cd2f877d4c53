/* sim/costs.c - see costs.h
 *
 * The built-in values are those of etc/links.conf, where each has a comment that says where it
 * comes from; a test compares the two.
 */
#include "runtime/sim/costs.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan.h"

#define TEXT_MAX 65536
#define LINE_MAX_INI 198 /* inih cuts longer lines in two, in silence */
#define KEYS (sizeof(pipc__cost_keys) / sizeof(pipc__cost_keys[0]) - 1)

static const char *const profiles[PIPC__PROFILES] = {"p2p", "nvlink", "host", "cpu"};

const char *pipc__profile_name(pipc__profile_t profile)
{
    return (unsigned int)profile < PIPC__PROFILES ? profiles[profile] : NULL;
}

#define NUMBER(section, key, field, unit, def, least, most)                                        \
    {                                                                                              \
        section, key, PIPC__COST_NUMBER, unit, def, least, most, offsetof(pipc__costs_t, field)    \
    }
#define MEMORY(name, p, gbps)                                                                      \
    NUMBER(name, "memory_gbps", exec[p].memory_gbps, "GB/s", gbps, 1e-3, 1e6)
#define EXEC(name, p, call, op, step, local, engines_, drift_, copy, reduce)                       \
    NUMBER(name, "call_usec", exec[p].call_usec, "us", call, 0, 1e6),                              \
        NUMBER(name, "op_usec", exec[p].op_usec, "us", op, 0, 1e6),                                \
        NUMBER(name, "step_usec", exec[p].step_usec, "us", step, 0, 1e6),                          \
        NUMBER(name, "local_usec", exec[p].local_usec, "us", local, 0, 1e6),                       \
        NUMBER(name, "engines", exec[p].engines, "stages", engines_, 1, PIPC__STAGES_MAX),         \
        NUMBER(name, "drift", exec[p].drift, "part", drift_, 0, 1),                                \
        {name,                                                                                     \
         "copy_gbps",                                                                              \
         PIPC__COST_CURVE,                                                                         \
         "GB/s",                                                                                   \
         copy,                                                                                     \
         1e-3,                                                                                     \
         1e6,                                                                                      \
         offsetof(pipc__costs_t, exec[p].copy_gbps)},                                              \
    {                                                                                              \
        name, "reduce_gbps", PIPC__COST_CURVE, "GB/s", reduce, 1e-3, 1e6,                          \
            offsetof(pipc__costs_t, exec[p].reduce_gbps)                                           \
    }

const pipc__cost_key_t pipc__cost_keys[] = {
    NUMBER("link", "speed_gts", speed_gts, "GT/s", "16", 2.5, 256),
    NUMBER("link", "width", width, "lanes", "16", 1, 32),
    NUMBER("link", "payload_bytes", payload_bytes, "bytes", "256", 16, 4096),
    NUMBER("link", "overhead_bytes", overhead_bytes, "bytes", "26", 0, 256),
    NUMBER("link", "credit", credit, "part", "0.94", 0.01, 1),
    NUMBER("link", "duplex", duplex, "part", "0.95", 0.5, 1),
    NUMBER("link", "nvlink_gbps", nvlink_gbps, "GB/s", "20.5", 1e-3, 1e4),
    NUMBER("link", "nvlink_duplex", nvlink_duplex, "part", "0.99", 0.5, 1),
    NUMBER("switch", "crowd", crowd, "part", "0.97", 0.01, 1),
    NUMBER("switch", "crowd_least", crowd_least, "part", "0.7", 0.01, 1),
    NUMBER("root", "p2p", root_p2p, "part", "0.83", 0.01, 1),
    NUMBER("root", "usec", root_usec, "us", "0.5", 0, 1e6),
    NUMBER("socket", "gbps", socket_gbps, "GB/s", "32", 1e-3, 1e5),
    NUMBER("socket", "usec", socket_usec, "us", "0.5", 0, 1e6),
    NUMBER("memory", "host_gbps", host_gbps, "GB/s", "150", 1e-3, 1e6),
    NUMBER("nic", "gbps", nic_gbps, "GB/s", "46", 1e-3, 1e5),
    NUMBER("nic", "usec", nic_usec, "us", "5", 0, 1e6),
    NUMBER("nic", "ranks", nic_ranks, "ranks", "4", 1, PIPC__RANKS_MAX),
    MEMORY("p2p", PIPC__PROFILE_P2P, "1500"),
    EXEC("p2p", PIPC__PROFILE_P2P, "4.5", "1", "1.4", "0.7", "4", "0", "600", "1200"),
    MEMORY("nvlink", PIPC__PROFILE_NVLINK, "1700"),
    EXEC("nvlink", PIPC__PROFILE_NVLINK, "4.6", "1", "1.4", "0.7", "4", "0.75", "650", "4500"),
    MEMORY("host", PIPC__PROFILE_HOST, "1500"),
    EXEC("host", PIPC__PROFILE_HOST, "5.3", "1.1", "2.55", "0.75", "4", "1", "600", "1200"),
    EXEC("cpu", PIPC__PROFILE_CPU, "0.06", "0.01", "0.05", "0.024", "1", "0",
         "16K:19.9 64K:16.8 256K:14.8 1M:19.3 4M:37.7 16M:27.6 64M:17 544M:14.3",
         "16K:18.7 64K:11.2 256K:13.5 1M:15 4M:20.5 16M:14.8 64M:9.85 544M:9.39"),
    {NULL, NULL, PIPC__COST_NUMBER, NULL, NULL, 0, 0, 0},
};

/* ---- curves and rates ----------------------------------------------------------------------- */

double pipc__curve_at(const pipc__curve_t *c, double bytes)
{
    int i = 1;

    if (c->n == 1 || bytes <= c->bytes[0])
        return c->value[0];
    while (i < c->n - 1 && bytes > c->bytes[i])
        i++;
    if (bytes >= c->bytes[i])
        return c->value[i];
    double part = log(bytes / c->bytes[i - 1]) / log(c->bytes[i] / c->bytes[i - 1]);
    return c->value[i - 1] + part * (c->value[i] - c->value[i - 1]);
}

double pipc__pcie_rate(const pipc__costs_t *k, int speed_mts, int width)
{
    double code = speed_mts <= 5000 ? 8.0 / 10 : 128.0 / 130;

    return 1e6 / 8 * speed_mts * width * code * k->payload_bytes /
           (k->payload_bytes + k->overhead_bytes) * k->credit;
}

/* ---- values --------------------------------------------------------------------------------- */

/* A number at @p within the key's limits, and where it ends; NULL when there is none. */
static const char *take_number(const pipc__cost_key_t *k, const char *p, double *out)
{
    char *end;

    if (!isdigit((unsigned char)*p)) /* strtod() takes signs, blanks, nan and inf */
        return NULL;
    errno = 0;
    *out = strtod(p, &end);
    return errno || *out < k->least || *out > k->most ? NULL : end;
}

/* "64K": bytes, and where it ends; NULL when there is none. */
static const char *take_size(const char *p, double *out)
{
    static const char units[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)*p))
        return NULL;
    *out = (double)strtoull(p, &end, 10);
    for (const char *u = *end ? strchr(units, *end) : NULL; u && u >= units; u--)
        *out *= 1024;
    if (*end && strchr(units, *end))
        end++;
    return *out > 0 && *out < 1e18 ? end : NULL;
}

/* "300", or "64K:200 1M:300": a curve. */
static bool take_curve(const pipc__cost_key_t *k, const char *p, pipc__curve_t *out)
{
    pipc__curve_t c = {1, {1}, {0}};
    const char *end = take_number(k, p, &c.value[0]);

    if (end && !*end) {
        *out = c;
        return true;
    }
    for (c.n = 0; *p; c.n++) {
        if (c.n == PIPC__CURVE_MAX || !(p = take_size(p, &c.bytes[c.n])) || *p++ != ':' ||
            !(p = take_number(k, p, &c.value[c.n])) || (*p && *p != ' ') ||
            (c.n && c.bytes[c.n] <= c.bytes[c.n - 1]))
            return false;
        while (*p == ' ')
            p++;
    }
    *out = c;
    return c.n > 0;
}

static bool set(const pipc__cost_key_t *k, const char *text, pipc__costs_t *out)
{
    void *field = (char *)out + k->offset;
    double number;

    if (k->type == PIPC__COST_CURVE)
        return take_curve(k, text, field);
    const char *end = take_number(k, text, &number);
    if (!end || *end)
        return false;
    *(double *)field = number;
    return true;
}

void pipc__costs_default(pipc__costs_t *out)
{
    memset(out, 0, sizeof(*out));
    for (const pipc__cost_key_t *k = pipc__cost_keys; k->key; k++)
        set(k, k->def, out);
}

/* ---- the text ------------------------------------------------------------------------------- */

typedef struct parse {
    pipc__costs_t *out;
    bool seen[KEYS];
    char why[256]; /* of the first line that is wrong */
} parse_t;

/* inih calls this for each "key = value", and gives the number of the first line for which it is 0.
 */
static int take(void *arg, const char *section, const char *key, const char *value)
{
    parse_t *p = arg;
    const pipc__cost_key_t *k = pipc__cost_keys;

    while (k->key && (strcmp(k->key, key) != 0 || strcmp(k->section, section) != 0))
        k++;
    if (p->why[0])
        return 0;
    if (!k->key)
        snprintf(p->why, sizeof(p->why), "there is no key \"%.40s\" in section \"%.40s\"", key,
                 section);
    else if (p->seen[k - pipc__cost_keys])
        snprintf(p->why, sizeof(p->why), "%s of [%s] stands there twice", key, section);
    else if (!set(k, value, p->out))
        snprintf(p->why, sizeof(p->why), "%s: wrong value \"%.60s\"; use a number from %g to %g%s",
                 key, value, k->least, k->most,
                 k->type == PIPC__COST_CURVE ? ", or sizes with numbers, as in 64K:5 1M:10" : "");
    else
        p->seen[k - pipc__cost_keys] = true;
    return p->why[0] == '\0';
}

static int skip(void *arg, const char *section, const char *key, const char *value)
{
    (void)arg;
    (void)section;
    (void)key;
    (void)value;
    return 1;
}

pipc_status_t pipc__costs_parse(pipc__costs_t *out, const char *text, const char *name,
                                pipc__error_t *err)
{
    parse_t p = {.out = out};
    int number = 1;

    pipc__costs_default(out);
    for (const char *line = text; *line; number++) {
        size_t n = strcspn(line, "\n");
        if (n > LINE_MAX_INI)
            return pipc__fail(err, PIPC_ERR_INVALID, "%s:%d: longer than %d bytes", name, number,
                              LINE_MAX_INI);
        line += n + (line[n] == '\n');
    }
    /* The form first: inih goes on after a line that it can't read, and would take the keys behind
     * a broken section line for those of the section before. */
    number = ini_parse_string(text, skip, NULL);
    if (number)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s:%d: neither \"[section]\" nor \"key = value\"",
                          name, number);
    number = ini_parse_string(text, take, &p);
    if (!number)
        return PIPC_OK;
    pipc__costs_default(out);
    return pipc__fail(err, PIPC_ERR_INVALID, "%s:%d: %s", name, number, p.why);
}

pipc_status_t pipc__costs_read(pipc__costs_t *out, const char *path, pipc__error_t *err)
{
    char *text = malloc(TEXT_MAX + 1);
    pipc_status_t st;

    pipc__costs_default(out); /* which changes errno */
    FILE *f = fopen(path, "re");
    if (!f) {
        st = pipc__fail_errno(err, "%s", path);
    } else if (!text) {
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    } else {
        errno = 0;
        size_t n = fread(text, 1, TEXT_MAX, f);
        text[n] = '\0';
        if (ferror(f))
            st = pipc__fail_errno(err, "%s", path);
        else if (n == TEXT_MAX || strlen(text) != n)
            st = pipc__fail(err, PIPC_ERR_INVALID, "%s: not a text of less than %d bytes", path,
                            TEXT_MAX);
        else
            st = pipc__costs_parse(out, text, path, err);
    }
    if (f)
        fclose(f);
    free(text);
    return st;
}
