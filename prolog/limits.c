/* prolog/limits.c - see limits.h */
#include "prolog/limits.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/ini.h"

#define TEXT_MAX 65536 /* bytes of a file */
#define LANES_MAX 32
#define GPUS_MAX 1024
#define KEYS (sizeof(pipc__limits_keys) / sizeof(pipc__limits_keys[0]) - 1)

_Static_assert(PIPC__CODES <= 64, "pipc__exempt_t.ignore has a bit for each code");

#define EXEMPTION(section)                                                                         \
    {section,                                                                                      \
     "width",                                                                                      \
     PIPC__LIMITS_NUMBER,                                                                          \
     "0",                                                                                          \
     LANES_MAX,                                                                                    \
     offsetof(pipc__exempt_t, width),                                                              \
     "A link with as many lanes is not too narrow; 0 excuses none"},                               \
    {                                                                                              \
        section, "ignore", PIPC__LIMITS_CODES, "", 0, offsetof(pipc__exempt_t, ignore),            \
            "Codes that are not told, with commas between them"                                    \
    }

const pipc__limits_key_t pipc__limits_keys[] = {
    {"expect", "gpus", PIPC__LIMITS_NUMBER, "0", GPUS_MAX, offsetof(pipc__limits_t, gpus),
     "As many GPUs should be there; 0: not known"},
    {"thresholds", "errors_per_hour", PIPC__LIMITS_NUMBER, "480", 1000000,
     offsetof(pipc__limits_t, errors_per_hour),
     "Corrected errors of a link in an hour up to which they are not worth a warning"},
    EXEMPTION("model"),
    EXEMPTION("device"),
    {NULL, NULL, PIPC__LIMITS_NUMBER, NULL, 0, 0, NULL},
};

/* ---- values -------------------------------------------------------------------------------- */

static pipc__code_t code_named(const char *name, size_t n)
{
    int c = 0;

    while (c < PIPC__CODES &&
           (strlen(pipc__codes[c].name) != n || memcmp(pipc__codes[c].name, name, n) != 0))
        c++;
    return (pipc__code_t)c;
}

/* "PCI005, PCI015" */
static bool set_codes(const char *text, uint64_t *out)
{
    *out = 0;
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        size_t n = strcspn(text, ", \t");
        pipc__code_t code = code_named(text, n);
        if (code == PIPC__CODES)
            return false;
        *out |= 1ull << code;
        text += n;
        text += strspn(text, " \t");
        if (*text && *text++ != ',')
            return false;
    }
    return true;
}

static bool set(const pipc__limits_key_t *k, const char *text, void *out)
{
    char *field = (char *)out + k->offset;

    if (k->type == PIPC__LIMITS_CODES)
        return set_codes(text, (uint64_t *)(void *)field);
    return pipc__ini_number(text, 0, k->max, (int *)(void *)field);
}

static bool is_exemption(const char *section)
{
    return strcmp(section, "model") == 0 || strcmp(section, "device") == 0;
}

pipc__limits_t pipc__limits_default(void)
{
    pipc__limits_t limits;

    memset(&limits, 0, sizeof(limits));
    for (int c = 0; c < PIPC__CODES; c++)
        limits.severity[c] = pipc__codes[c].severity;
    for (const pipc__limits_key_t *k = pipc__limits_keys; k->key; k++)
        if (!is_exemption(k->section))
            set(k, k->def, &limits);
    return limits;
}

/* ---- the file ------------------------------------------------------------------------------ */

typedef struct parse {
    pipc__limits_t *out;
    bool severity[PIPC__CODES], seen[KEYS]; /* stood there already */
    bool exempt[PIPC__EXEMPT_MAX][KEYS];    /* ... of each exemption */
} parse_t;

static bool wrong(char *why, size_t cap, const char *key, const char *value, const char *right)
{
    snprintf(why, cap, "%.40s: wrong value \"%.40s\"; use %s", key, value, right);
    return false;
}

static bool twice(char *why, size_t cap, const char *key)
{
    snprintf(why, cap, "%.40s stands there twice", key);
    return false;
}

static bool take_severity(parse_t *p, const char *key, const char *value, char *why, size_t cap)
{
    pipc__code_t code = code_named(key, strlen(key));
    pipc__severity_t severity = strcmp(value, "off") == 0 ? PIPC__OK : pipc__severity_parse(value);

    if (code == PIPC__CODES) {
        snprintf(why, cap, "there is no code \"%.40s\"; pcie-ipc-health --help lists them", key);
        return false;
    }
    if (p->severity[code])
        return twice(why, cap, key);
    if (severity > pipc__code_most(code))
        return wrong(why, cap, key, value,
                     pipc__code_most(code) < PIPC__DRAIN ? "off, note, unknown or warn: never drain"
                                                         : "off, note, unknown, warn or drain");
    p->severity[code] = true;
    p->out->severity[code] = severity;
    return true;
}

static bool is_address(const char *name)
{
    unsigned int domain, bus, device, function;
    int n = 0;

    return sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &n) == 4 &&
           !name[n] && strspn(name, "0123456789abcdef:.") == strlen(name);
}

/* The exemption that @section is about, added if it is new; NULL when it is none or one too many.
 */
static pipc__exempt_t *exemption(pipc__limits_t *limits, const char *section)
{
    pipc__exempt_t x = {.vendor = -1, .device = -1};
    unsigned int vendor, device;
    int n = 0;

    if (strncmp(section, "device ", 7) == 0 && is_address(section + 7))
        snprintf(x.name, sizeof(x.name), "%s", section + 7);
    else if (sscanf(section, "model %4x:%4x%n", &vendor, &device, &n) == 2 && !section[n])
        x.vendor = (int)vendor, x.device = (int)device;
    else
        return NULL;
    for (int i = 0; i < limits->exempts; i++) {
        pipc__exempt_t *e = &limits->exempt[i];
        if (strcmp(e->name, x.name) == 0 && e->vendor == x.vendor && e->device == x.device)
            return e;
    }
    if (limits->exempts == PIPC__EXEMPT_MAX)
        return NULL;
    limits->exempt[limits->exempts] = x;
    return &limits->exempt[limits->exempts++];
}

static bool take(void *arg, const char *section, const char *key, const char *value, char *why,
                 size_t cap)
{
    parse_t *p = arg;
    const pipc__limits_key_t *k = pipc__limits_keys;
    size_t word = strcspn(section, " ");
    pipc__exempt_t *x = NULL;
    bool *seen;

    if (strcmp(section, "severity") == 0)
        return take_severity(p, key, value, why, cap);
    while (k->key && (strcmp(k->key, key) != 0 || strlen(k->section) != word ||
                      memcmp(k->section, section, word) != 0))
        k++;
    if (k->key && is_exemption(k->section))
        x = exemption(p->out, section);
    if (!k->key || (section[word] && !is_exemption(k->section))) {
        snprintf(why, cap, "there is no key \"%.40s\" in section \"%.40s\"", key, section);
        return false;
    }
    if (is_exemption(k->section) && !x) {
        snprintf(why, cap,
                 "[%.40s]: use [model VENDOR:DEVICE] or [device 0000:BB:DD.F], %d at most", section,
                 PIPC__EXEMPT_MAX);
        return false;
    }
    seen =
        x ? &p->exempt[x - p->out->exempt][k - pipc__limits_keys] : &p->seen[k - pipc__limits_keys];
    if (*seen)
        return twice(why, cap, key);
    *seen = true;
    if (!set(k, value, x ? (void *)x : (void *)p->out)) {
        char right[40];
        snprintf(right, sizeof(right), "0 to %d", k->max);
        return wrong(why, cap, key, value,
                     k->type == PIPC__LIMITS_CODES ? "codes as in PCI005, PCI015" : right);
    }
    return true;
}

pipc_status_t pipc__limits_parse(const char *from, const char *text, pipc__limits_t *out,
                                 pipc__error_t *err)
{
    parse_t p = {.out = out};
    pipc_status_t st;

    *out = pipc__limits_default();
    st = pipc__ini_text(from, text, take, &p, err);
    if (st)
        *out = pipc__limits_default();
    return st;
}

pipc_status_t pipc__limits_read(const char *path, uid_t owner, pipc__limits_t *out,
                                pipc__error_t *err)
{
    parse_t p = {.out = out};
    pipc_status_t st;

    *out = pipc__limits_default();
    st = pipc__ini_file(path, owner, TEXT_MAX, take, &p, err);
    if (st == PIPC_ERR_NOT_FOUND && owner != PIPC__INI_ANYBODY)
        return PIPC_OK;
    if (st)
        *out = pipc__limits_default();
    return st;
}

/* ---- what is excused ----------------------------------------------------------------------- */

static bool is_about(const pipc__exempt_t *x, const pipc__fact_t *f)
{
    if (x->name[0])
        return strcmp(x->name, f->name) == 0;
    return x->vendor == f->vendor && x->device == f->device;
}

bool pipc__limits_ignores(const pipc__limits_t *limits, const pipc__fact_t *f, pipc__code_t code)
{
    for (int i = 0; i < limits->exempts; i++)
        if (is_about(&limits->exempt[i], f) && limits->exempt[i].ignore >> code & 1)
            return true;
    return false;
}

int pipc__limits_width(const pipc__limits_t *limits, const pipc__fact_t *f)
{
    int least = 0; /* a device's own word need not stand behind its model's */

    for (int i = 0; i < limits->exempts; i++) {
        int width = is_about(&limits->exempt[i], f) ? limits->exempt[i].width : 0;
        if (width > 0 && (least == 0 || width < least))
            least = width;
    }
    return least;
}
