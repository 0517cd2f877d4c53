/* prolog/baseline_file.c - the baseline as a text that git can keep: each value of an entry has one
 * form, which is written and read in one place
 */
#include "prolog/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/ini.h"

#define LANES_MAX 32
#define MTS_MAX 1000000
#define MIB_SHIFT 20

enum {
    CLASS,
    BIOS,
    KIND,
    PATH,
    SLOT,
    DEVICE,
    SERIAL,
    UUID,
    WIDTH,
    MAX_SPEED,
    TARGET,
    REDIRECTS,
    BAR
};

const pipc__baseline_key_t pipc__baseline_keys[] = {
    [CLASS] = {"baseline", "class"},       [BIOS] = {"baseline", "bios"},
    [KIND] = {"device", "kind"},           [PATH] = {"device", "path"},
    [SLOT] = {"device", "slot"},           [DEVICE] = {"device", "device"},
    [SERIAL] = {"device", "serial"},       [UUID] = {"device", "uuid"},
    [WIDTH] = {"device", "width"},         [MAX_SPEED] = {"device", "max_speed"},
    [TARGET] = {"device", "target_speed"}, [REDIRECTS] = {"device", "acs_redirect"},
    [BAR] = {"device", "memory_bar"},      {NULL, NULL},
};

static const char *const kinds[] = {"gpu", "nic", "port", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const answers[] = {"no", "yes", NULL};

/* ---- values -------------------------------------------------------------------------------- */

static int id_of(const char *section, const char *key)
{
    for (int id = 0; pipc__baseline_keys[id].key; id++)
        if (strcmp(pipc__baseline_keys[id].section, section) == 0 &&
            strcmp(pipc__baseline_keys[id].key, key) == 0)
            return id;
    return -1;
}

/* "00-11-22-33-44-55-66-77", the highest byte first, as lspci has it */
static void print_serial(uint64_t serial, char *out, size_t cap)
{
    size_t used = 0;

    for (int shift = 56; shift >= 0 && used < cap; shift -= 8)
        used += (size_t)snprintf(out + used, cap - used, "%s%02x", used ? "-" : "",
                                 (unsigned int)(serial >> shift & 0xff));
}

static bool print_speed(int mts, char *out, size_t cap)
{
    snprintf(out, cap, mts % 1000 ? "%d.%d GT/s" : "%d GT/s", mts / 1000, mts % 1000 / 100);
    return mts > 0;
}

static bool print_text(const char *text, char *out, size_t cap)
{
    snprintf(out, cap, "%s", text);
    return *text != '\0';
}

static bool print_value(const pipc__baseline_entry_t *e, int id, char *out, size_t cap)
{
    switch (id) {
    case KIND:
        return print_text(kinds[e->kind], out, cap);
    case PATH:
        return print_text(e->path, out, cap);
    case SLOT:
        return print_text(e->who.slot, out, cap);
    case DEVICE:
        snprintf(out, cap, "%04x:%04x", (unsigned int)e->vendor, (unsigned int)e->device);
        return e->vendor >= 0 && e->device >= 0;
    case SERIAL:
        print_serial(e->who.serial, out, cap);
        return e->who.serial != 0;
    case UUID:
        return print_text(e->who.uuid, out, cap);
    case WIDTH:
        snprintf(out, cap, "%d", e->width);
        return e->width > 0;
    case MAX_SPEED:
        return print_speed(e->max_mts, out, cap);
    case TARGET:
        return print_speed(e->target_mts, out, cap);
    case REDIRECTS:
        return e->redirects >= 0 && print_text(switches[e->redirects > 0], out, cap);
    case BAR:
        snprintf(out, cap, "%lld MiB", (long long)(e->bar >> MIB_SHIFT));
        return e->bar >> MIB_SHIFT > 0;
    default:
        return false;
    }
}

bool pipc__baseline_value(const pipc__baseline_entry_t *entry, const char *key,
                          char out[PIPC__BASELINE_VALUE_MAX])
{
    return print_value(entry, id_of("device", key), out, PIPC__BASELINE_VALUE_MAX);
}

/* What is no plain text would not be written as it was read. */
static bool take_text(const char *value, char *out, size_t cap)
{
    pipc__ini_plain(out, cap, value);
    return *value && strcmp(out, value) == 0;
}

static bool take_word(const char *value, const char *const *words, int *out)
{
    *out = 0;
    while (words[*out] && strcmp(words[*out], value) != 0)
        ++*out;
    return words[*out] != NULL;
}

static bool take_model(const char *value, int *vendor, int *device)
{
    static const char hex[] = "0123456789abcdef";

    if (strspn(value, hex) != 4 || value[4] != ':' || strspn(value + 5, hex) != 4 || value[9])
        return false;
    *vendor = (int)strtol(value, NULL, 16);
    *device = (int)strtol(value + 5, NULL, 16);
    return true;
}

static bool take_serial(const char *value, uint64_t *out)
{
    char same[32];

    *out = 0;
    for (const char *p = value; *p && p - value < 24; p++)
        if (*p != '-')
            *out = *out << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
    print_serial(*out, same, sizeof(same));
    return *out != 0 && strcmp(value, same) == 0; /* any other form is none */
}

static bool take_speed(const char *value, int *out)
{
    char same[32];
    int whole = 0, tenth = 0;

    if (sscanf(value, "%6d.%1d", &whole, &tenth) < 1 || whole < 0 || whole > MTS_MAX / 1000 ||
        tenth < 0)
        return false;
    *out = 1000 * whole + 100 * tenth;
    return print_speed(*out, same, sizeof(same)) && strcmp(value, same) == 0;
}

static bool take_size(const char *value, int64_t *out)
{
    char number[12];
    size_t n = strspn(value, "0123456789");
    int mib;

    if (n >= sizeof(number) || strcmp(value + n, " MiB") != 0)
        return false;
    memcpy(number, value, n);
    number[n] = '\0';
    if (!pipc__ini_number(number, 1, INT32_MAX, &mib))
        return false;
    *out = (int64_t)mib << MIB_SHIFT;
    return true;
}

static bool take_value(pipc__baseline_entry_t *e, int id, const char *value)
{
    switch (id) {
    case KIND:
        return take_word(value, kinds, &e->kind);
    case PATH:
        return take_text(value, e->path, sizeof(e->path));
    case SLOT:
        return take_text(value, e->who.slot, sizeof(e->who.slot));
    case DEVICE:
        return take_model(value, &e->vendor, &e->device);
    case SERIAL:
        return take_serial(value, &e->who.serial);
    case UUID:
        return take_text(value, e->who.uuid, sizeof(e->who.uuid));
    case WIDTH:
        return pipc__ini_number(value, 1, LANES_MAX, &e->width);
    case MAX_SPEED:
        return take_speed(value, &e->max_mts);
    case TARGET:
        return take_speed(value, &e->target_mts);
    case REDIRECTS:
        return take_word(value, switches, &e->redirects);
    case BAR:
        return take_size(value, &e->bar);
    default:
        return false;
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

void pipc__baseline_print(const pipc__baseline_t *b, FILE *out)
{
    char value[PIPC__BASELINE_VALUE_MAX];

    fprintf(out,
            "# The GPUs of %s, NICs beside them and ports above them, when all was\n"
            "# well: pcie-ipc-health compares with it. See pcie-ipc-baseline(5).\n"
            "# Made by: pcie-ipc-health baseline learn%s\n\n[baseline]\nclass = %s\n",
            b->class ? "each machine of a class" : "this machine", b->class ? " --class" : "",
            answers[b->class > 0]);
    if (b->bios[0])
        fprintf(out, "bios = %s\n", b->bios);
    for (int i = 0; i < b->n; i++) {
        fprintf(out, "\n[%s]\n", b->list[i].name);
        for (int id = KIND; pipc__baseline_keys[id].key; id++)
            if (print_value(&b->list[i], id, value, sizeof(value)))
                fprintf(out, "%s = %s\n", pipc__baseline_keys[id].key, value);
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct parse {
    pipc__baseline_t *out;
    int last;          /* the entry of the line before */
    unsigned int seen; /* of section baseline */
} parse_t;

static bool is_name(const char *name)
{
    return *name && strlen(name) < PIPC__FACT_NAME_MAX &&
           name[strspn(name, "0123456789abcdef:.")] == '\0';
}

/* The entry of this name, added if it is new; NULL when it cannot be. */
static pipc__baseline_entry_t *entry(parse_t *p, const char *name)
{
    pipc__baseline_entry_t *e;

    for (int k = 0; k < p->out->n; k++) { /* mostly that of the line before */
        int i = (p->last + k) % p->out->n;
        if (strcmp(p->out->list[i].name, name) == 0) {
            p->last = i;
            return &p->out->list[i];
        }
    }
    e = is_name(name) ? pipc__baseline_add(p->out) : NULL;
    if (!e)
        return NULL;
    snprintf(e->name, sizeof(e->name), "%s", name);
    p->last = p->out->n - 1;
    return e;
}

static bool take(void *arg, const char *section, const char *key, const char *value, char *why,
                 size_t cap)
{
    parse_t *p = arg;
    bool own = strcmp(section, "baseline") == 0, good;
    int id = id_of(own ? "baseline" : "device", key);
    pipc__baseline_entry_t *e = own || id < 0 ? NULL : entry(p, section);
    unsigned int *seen = e ? &e->seen : &p->seen;

    if (id < 0) {
        snprintf(why, cap, "there is no key \"%.40s\" in section \"%.40s\"", key, section);
        return false;
    }
    if (!own && !e) {
        snprintf(why, cap, "[%.40s]: no address as 0000:41:00.0, or more than %d sections", section,
                 PIPC__BASELINE_MAX);
        return false;
    }
    if (*seen >> id & 1) {
        snprintf(why, cap, "%.40s stands there twice", key);
        return false;
    }
    *seen |= 1u << id;
    if (id == CLASS)
        good = take_word(value, answers, &p->out->class);
    else if (id == BIOS)
        good = take_text(value, p->out->bios, sizeof(p->out->bios));
    else
        good = take_value(e, id, value);
    if (!good)
        snprintf(why, cap, "%.40s: wrong value \"%.40s\"; learn the baseline again", key, value);
    return good;
}

/* Each entry has a place of its own. */
static pipc_status_t judge_places(const char *from, const pipc__baseline_t *b, pipc__error_t *err)
{
    for (int i = 0; i < b->n; i++) {
        const pipc__baseline_entry_t *e = &b->list[i];
        if (!(e->seen >> KIND & 1) || !(e->seen >> PATH & 1))
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "%s: [%s] has no kind or no path; learn the baseline again", from,
                              e->name);
        if (pipc__baseline_at(b, e->path) != e)
            return pipc__fail(err, PIPC_ERR_INVALID, "%s: [%s] has the path of another section",
                              from, e->name);
    }
    return PIPC_OK;
}

static pipc_status_t end(const char *from, pipc__baseline_t *out, pipc_status_t st,
                         pipc__error_t *err)
{
    if (!st)
        st = judge_places(from, out, err);
    if (st)
        pipc__baseline_free(out);
    else
        out->there = true;
    return st;
}

pipc_status_t pipc__baseline_parse(const char *from, const char *text, pipc__baseline_t *out,
                                   pipc__error_t *err)
{
    parse_t p = {.out = out};

    memset(out, 0, sizeof(*out));
    return end(from, out, pipc__ini_text(from, text, take, &p, err), err);
}

pipc_status_t pipc__baseline_read(const char *path, uid_t owner, pipc__baseline_t *out,
                                  pipc__error_t *err)
{
    parse_t p = {.out = out};
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    st = pipc__ini_file(path, owner, PIPC__BASELINE_TEXT_MAX, take, &p, err);
    if (st == PIPC_ERR_NOT_FOUND && owner != PIPC__INI_ANYBODY)
        return PIPC_OK;
    return end(path, out, st, err);
}
