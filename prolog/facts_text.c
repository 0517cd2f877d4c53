/* prolog/facts_text.c - facts from what people paste into tickets
 *
 *     41:00.0 VGA compatible controller: NVIDIA Corporation ... [10de:2206] (rev a1)
 *             Capabilities: [78] Express (v2) Legacy Endpoint, MSI 00
 *                     LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L0s L1
 *                     LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)
 *     0000:40:01.1 ECAP_ACS+6.w = 001d                   setpci
 *     ACSCtl: SrcValid+ ... ReqRedir+                     lspci | grep ACSCtl: whose is not told
 *
 * and lines of a kernel's log (kernel_log.h). Indentation may be lost, lines may be cut or missing,
 * and several values may stand in one line. An address at a line's begin starts a device; an empty
 * line or one with # ends it, so that the remarks of people are nobody's. What is not there is
 * unknown.
 */
#include "prolog/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "prolog/facts_parts.h"
#include "prolog/kernel_log.h"
#include "runtime/topo/build.h"
#include "runtime/topo/dump.h"
#include "runtime/topo/text.h"

#define DEVICES_MAX 4096

enum { NVIDIA = 0x10de, AMD = 0x1002, INTEL = 0x8086 };

typedef struct entry {
    pipc__fact_t fact;
    pipc__pci_addr_t addr; /* domain PIPC__UNKNOWN: not told */
    int secondary;         /* the bus below it */
    int64_t ue_mask, ce_mask;
    bool virtual_bars; /* those of its virtual functions follow */
    bool relevant;     /* a GPU, what is beside it, a port, or a function whose ACS is told */
} entry_t;

typedef struct reader {
    entry_t *list;
    int n, cap;
    int open; /* whose lines these are, or -1 */
    int line;
    pipc__kernel_log_t log;
} reader_t;

/* ---- words --------------------------------------------------------------------------------- */

/* What stands behind @key, or NULL. */
static const char *after(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? at + strlen(key) + strspn(at + strlen(key), " \t") : NULL;
}

/* "16GT/s", "2.5GT/s", "2.5 GT/s": mega-transfers a second; -1 for what is none. */
static int speed(const char *text)
{
    static const int mts[] = {2500, 5000, 8000, 16000, 32000, 64000};
    char *end;
    double v = text ? strtod(text, &end) : 0;

    if (!text || end == text || strncmp(end + strspn(end, " "), "GT/s", 4) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(mts) / sizeof(mts[0]); i++)
        if (v * 1000 > mts[i] - 100 && v * 1000 < mts[i] + 100)
            return mts[i];
    return -1;
}

static int width(const char *text)
{
    return text && *text == 'x' ? pipc__express_width(atoi(text + 1)) : -1;
}

/* "ReqRedir+ CmpltRedir-": the bits whose names have a plus; -1 when none of them is there. */
typedef struct flag {
    const char *name;
    uint32_t bit;
} flag_t;

static int64_t flags(const char *text, const flag_t *table, size_t n)
{
    int64_t bits = -1;

    while (*text) {
        size_t len = strcspn(text, " \t");
        for (size_t i = 0; i < n && len > 1; i++) {
            if (strlen(table[i].name) != len - 1 || strncmp(text, table[i].name, len - 1) != 0)
                continue;
            bits = (bits < 0 ? 0 : bits) | (text[len - 1] == '+' ? table[i].bit : 0);
        }
        text += len;
        text += strspn(text, " \t");
    }
    return bits;
}

#define FLAGS(text, table) flags(text, table, sizeof(table) / sizeof((table)[0]))

static const flag_t acs_flags[] = {
    {"SrcValid", PIPC__ACS_SOURCE},
    {"TransBlk", 1 << 1},
    {"ReqRedir", PIPC__ACS_REQUEST},
    {"CmpltRedir", PIPC__ACS_COMPLETION},
    {"UpstreamFwd", PIPC__ACS_UPSTREAM},
    {"EgressCtrl", PIPC__ACS_EGRESS},
    {"DirectTrans", 1 << 6},
};
static const flag_t ce_flags[] = {
    {"RxErr", PIPC__CE_RECEIVER},       {"BadTLP", PIPC__CE_BAD_TLP},
    {"BadDLLP", PIPC__CE_BAD_DLLP},     {"Rollover", PIPC__CE_ROLLOVER},
    {"Timeout", PIPC__CE_TIMEOUT},      {"AdvNonFatalErr", PIPC__CE_ADVISORY},
    {"NonFatalErr", PIPC__CE_ADVISORY}, /* before pciutils 3.9 */
};
static const flag_t ue_flags[] = {
    {"DLP", 1 << 4},      {"SDES", 1 << 5},       {"TLP", 1 << 12},      {"FCP", 1 << 13},
    {"CmpltTO", 1 << 14}, {"CmpltAbrt", 1 << 15}, {"UnxCmplt", 1 << 16}, {"RxOF", 1 << 17},
    {"MalfTLP", 1 << 18}, {"ECRC", 1 << 19},      {"UnsupReq", 1 << 20}, {"ACSViol", 1 << 21},
};

/* ---- a device's first line ----------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;

    if (x->addr.domain < 0 || y->addr.domain < 0) /* those without an address as they came */
        return x->addr.domain < 0 && y->addr.domain < 0 ? x->addr.bus - y->addr.bus
                                                        : x->addr.domain - y->addr.domain;
    return pipc__pci_compare(x->addr, y->addr);
}

static pipc_status_t append(reader_t *r, const char *from, pipc__error_t *err)
{
    if (r->n == DEVICES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: more than %d devices; is this one machine?",
                          from, DEVICES_MAX);
    if (r->n == r->cap) {
        int cap = r->cap ? 2 * r->cap : 32;
        entry_t *more = realloc(r->list, sizeof(*more) * (size_t)cap);
        if (!more)
            return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", from);
        r->list = more;
        r->cap = cap;
    }
    r->list[r->n] = (entry_t){.fact = {.parent = -1, .vendor = -1, .device = -1, .errors = -1},
                              .addr = {PIPC__UNKNOWN, r->n, 0, 0},
                              .secondary = PIPC__UNKNOWN};
    r->list[r->n].fact.link = pipc__express_unknown();
    r->list[r->n].fact.more = pipc__extended_unknown();
    r->open = r->n++;
    return PIPC_OK;
}

/* The address that a line begins with, and where it ends; NULL without one. */
static const char *address(const char *line, pipc__pci_addr_t *addr)
{
    const char *start = line + strspn(line, " \t");
    size_t n = strspn(start, "0123456789abcdefABCDEF:.");
    char word[PIPC__NAME_MAX];

    if (n < 7 || n >= sizeof(word) || (start[n] && !strchr(" \t", start[n])))
        return NULL;
    memcpy(word, start, n);
    word[n] = '\0';
    const char *colon = strchr(word, ':');
    if (start != line && (!colon || !strchr(colon + 1, ':'))) /* indented: with its domain only */
        return NULL;
    return pipc__pci_parse(word, addr) ? start + n : NULL;
}

/* "[10de:2206]". Without it the words are all there is to know one card from another by. */
static void identify(pipc__fact_t *f, const char *text)
{
    unsigned int vendor, device, hash = 2166136261u;
    size_t end = strcspn(text, "(");

    for (const char *p = strchr(text, '['); p; p = strchr(p + 1, '['))
        if (strlen(p) >= 11 && p[5] == ':' && p[10] == ']' &&
            sscanf(p, "[%4x:%4x]", &vendor, &device) == 2) {
            f->vendor = (int)vendor;
            f->device = (int)device;
            return;
        }
    if (strstr(text, "NVIDIA"))
        f->vendor = NVIDIA;
    else if (strstr(text, "AMD/ATI"))
        f->vendor = AMD;
    else if (strstr(text, "Intel"))
        f->vendor = INTEL;
    for (size_t i = 0; i < end; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    if (f->vendor >= 0)
        f->device = (int)(hash >> 2 | 0x10000); /* no number that a card has */
}

static bool is_companion(const pipc__fact_t *f, const char *text)
{
    return f->vendor == NVIDIA &&
           (strcasestr(text, "Audio device") || strcasestr(text, "USB controller") ||
            strcasestr(text, "Serial bus controller"));
}

/* Display controllers of other makers are of no interest: a server's console is one. */
static bool is_gpu(const char *text)
{
    return pipc__dump_names_gpu(text) || strstr(text, "GPU") || strstr(text, "0x0302") ||
           strstr(text, "0x1200") || strstr(text, "0x0b40");
}

static bool is_nic(const char *text)
{
    return strcasestr(text, "Ethernet controller") || strcasestr(text, "Infiniband controller") ||
           strcasestr(text, "Network controller");
}

static void name_port(entry_t *e, const char *text)
{
    static const struct {
        const char *words;
        int port;
    } ports[] = {{"Root Port", PIPC__EXPRESS_ROOT},
                 {"Upstream Port", PIPC__EXPRESS_UPSTREAM},
                 {"Downstream Port", PIPC__EXPRESS_DOWNSTREAM},
                 {"Integrated Endpoint", PIPC__EXPRESS_INTEGRATED},
                 {"Legacy Endpoint", PIPC__EXPRESS_LEGACY},
                 {"Endpoint", PIPC__EXPRESS_ENDPOINT}};

    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        if (strstr(text, ports[i].words)) {
            e->fact.link.port = ports[i].port;
            e->relevant |= i < 3;
            return;
        }
}

/* Devices that a hypervisor invents: where one is, ports may be invented too. */
static bool is_of_guest(const char *text)
{
    static const char *const makers[] = {"QEMU",   "Red Hat", "Virtio", "VMware", "Hyper-V",
                                         "[1af4:", "[1b36:",  "[15ad:", "[1414:"};

    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (strstr(text, makers[i]))
            return true;
    return false;
}

/* A device that is gone reads all ones, its revision too. */
static void first_line(entry_t *e, const char *text)
{
    pipc__fact_t *f = &e->fact;

    identify(f, text);
    f->companion = is_companion(f, text);
    f->gpu = !f->companion && !strcasestr(text, "Audio device") && is_gpu(text);
    f->nic = !f->gpu && is_nic(text);
    e->relevant |= f->gpu || f->companion || f->nic || strcasestr(text, "PCI bridge");
    if (strstr(text, "(rev ff)"))
        f->answer = PIPC__LOST;
    name_port(e, text);
}

static pipc_status_t open_device(reader_t *r, pipc__pci_addr_t addr, const char *text,
                                 const char *from, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    r->open = -1;
    for (int i = r->n - 1; i >= 0 && r->open < 0; i--) /* the same again: more about it */
        if (r->list[i].addr.domain >= 0 && pipc__pci_compare(r->list[i].addr, addr) == 0)
            r->open = i;
    if (r->open >= 0)
        return PIPC_OK;
    st = append(r, from, err);
    if (!st) {
        r->list[r->open].addr = addr;
        pipc__pci_format(addr, r->list[r->open].fact.name);
        first_line(&r->list[r->open], text);
        r->log.facts->virtual_machine |= is_of_guest(text);
    }
    return st;
}

/* ---- its other lines ----------------------------------------------------------------------- */

/* What is on, as LnkCtl has it: what LnkCap has behind the same word can be on. */
static void take_aspm(pipc__fact_t *f, const char *control)
{
    static const char *const states[] = {"Disabled", "L0s Enabled", "L1 Enabled", "L0s L1 Enabled"};

    for (int i = 0; i < 4; i++)
        if (strncmp(control, states[i], strlen(states[i])) == 0)
            f->link.aspm = i;
}

static void take_link(entry_t *e, const char *line)
{
    pipc__express_t *l = &e->fact.link;
    const char *at;

    if ((at = after(line, "Express (v")) || (at = after(line, ") Express ")))
        name_port(e, at);
    if ((at = after(line, "LnkCap:"))) {
        l->max_mts = speed(after(at, "Speed "));
        l->max_width = width(after(at, "Width "));
    }
    if ((at = after(line, "LnkSta:"))) {
        l->mts = speed(after(at, "Speed "));
        l->width = width(after(at, "Width "));
    }
    if ((at = after(line, "LnkCtl:")) && (at = after(at, "ASPM ")))
        take_aspm(&e->fact, at);
    else if ((at = after(line, "ASPM ")))
        take_aspm(&e->fact, at);
    if ((at = after(line, "LnkCtl2:")))
        l->target_mts = speed(after(at, "Target Link Speed:"));
    if (strstr(line, "EqualizationComplete"))
        l->equalized = strstr(line, "EqualizationComplete+") != NULL;
    if ((at = after(line, "Status: D")) && *at >= '0' && *at <= '3')
        l->d_state = *at - '0';
}

/* setpci: "ECAP_ACS+6.w = 001d", and with -v "(ecap 000d @2a0) @2a6 = 001d". */
static int acs_of_setpci(const char *line)
{
    unsigned int base, at;
    const char *v = strcasestr(line, "(ecap 000d @"), *last = strrchr(line, ' ');
    char *end;

    if (!(strcasestr(line, "ECAP_ACS+6") || strcasestr(line, "ECAP_ACS+0x6")) &&
        (!v || sscanf(v + 12, "%3x) @%3x", &base, &at) != 2 || at != base + 6))
        return -1;
    if (!last || strlen(last + 1) != 4)
        return -1;
    unsigned long value = strtoul(last + 1, &end, 16);
    return *end || value == 0xffff ? -1 : (int)value;
}

static void take_errors(entry_t *e, const char *line)
{
    const char *at;
    int acs = acs_of_setpci(line);

    if ((at = after(line, "ACSCtl:")))
        acs = (int)FLAGS(at, acs_flags);
    if (acs >= 0) {
        e->fact.more.acs = acs;
        e->relevant = true;
    }
    if ((at = after(line, "UESta:")))
        e->fact.more.uncorrected = FLAGS(at, ue_flags);
    if ((at = after(line, "UEMsk:")))
        e->ue_mask = FLAGS(at, ue_flags);
    if ((at = after(line, "CESta:")))
        e->fact.more.corrected = FLAGS(at, ce_flags);
    if ((at = after(line, "CEMsk:")))
        e->ce_mask = FLAGS(at, ce_flags);
}

/* "[size=64G]", "256MB"; -1 for what is none. */
static int64_t size(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (end == text || !unit || n > 1 << 20)
        return -1;
    return (int64_t)n << (10 * (unit - units + 1));
}

/* "Region 1: Memory at 38000000000 (64-bit, prefetchable) [size=64G]", and of Resizable BAR "BAR 1:
 * current size: 256MB, supported: 64MB 128MB 256MB": virtual functions have such lines too, whose
 * capability is called Virtual. */
static void take_bar(entry_t *e, const char *line)
{
    pipc__extended_t *m = &e->fact.more;
    const char *at;
    int64_t bytes;

    if (strstr(line, "Resizable BAR"))
        e->virtual_bars = strstr(line, "Virtual Resizable BAR") != NULL;
    if ((at = after(line, "Memory at ")) && strstr(at, ", prefetchable)") &&
        (at = after(at, "[size=")) && (bytes = size(at)) > m->bar)
        m->bar = bytes;
    if (e->virtual_bars || !strstr(line, "BAR ") || !(at = after(line, "current size:")) ||
        (bytes = size(at)) < m->bar || !(at = after(at, "supported:")))
        return;
    m->bar = bytes;
    for (m->bar_max = bytes; *at; at += strspn(at, " \t")) {
        bytes = size(at);
        if (bytes > m->bar_max)
            m->bar_max = bytes;
        at += strcspn(at, " \t");
    }
}

/* "Bus: primary=00, secondary=41, subordinate=41" */
static void take_bus(entry_t *e, const char *line)
{
    const char *at = after(line, "secondary=");
    char *end;

    if (!at || !strstr(line, "primary="))
        return;
    unsigned long bus = strtoul(at, &end, 16);
    if (end != at && bus < 256)
        e->secondary = (int)bus;
}

/* A line that says whose ACS it is in no way: still, a port redirects. */
static pipc_status_t nameless(reader_t *r, const char *line, const char *from, pipc__error_t *err)
{
    pipc_status_t st = after(line, "ACSCtl:") ? append(r, from, err) : PIPC_OK;

    if (r->open < 0 || st)
        return st;
    snprintf(r->list[r->open].fact.name, PIPC__FACT_NAME_MAX, "line %d", r->line);
    take_errors(&r->list[r->open], line);
    r->open = -1;
    return PIPC_OK;
}

/* "ACS redirect on the downstream ports: ON (power-on default)": people write so of a switch, also
 * in a remark. What is denied in the same line is not believed. */
static bool tells_acs(const char *line)
{
    static const char *const off[] = {"off", "disable", "clear", " no ", " not ", "n't "};
    const char *acs = strstr(line, "ACS"), *word = acs ? strcasestr(acs, "redirect") : NULL;
    size_t n = word ? strlen("redirect") : 0;

    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
        if (strcasestr(line, off[i]))
            return false;
    while (n > 0 && (word = strpbrk(word + n, " :=("))) {
        word += strspn(word, " :=(");
        n = strcspn(word, " :=(),.;");
        if ((n == 2 && strncmp(word, "ON", 2) == 0) ||
            (n == 7 && strncasecmp(word, "enabled", 7) == 0))
            return true;
    }
    return false;
}

static pipc_status_t take_prose(reader_t *r, const char *from, pipc__error_t *err)
{
    pipc_status_t st = append(r, from, err);

    if (st)
        return st;
    snprintf(r->list[r->open].fact.name, PIPC__FACT_NAME_MAX, "line %d", r->line);
    r->list[r->open].fact.more.acs = PIPC__ACS_REQUEST;
    r->list[r->open].relevant = true;
    r->open = -1;
    return PIPC_OK;
}

static pipc_status_t one_line(reader_t *r, const char *line, const char *from, pipc__error_t *err)
{
    pipc__pci_addr_t addr;
    bool taken;
    pipc_status_t st;

    r->line++;
    line += *line == '+' ? 1 : 0;
    if (tells_acs(line))
        return take_prose(r, from, err);
    if (line[strspn(line, " \t")] == '\0' || *line == '#') {
        r->open = -1;
        return PIPC_OK;
    }
    if (strstr(line, "powersupersave")) { /* the file of the kernel's policy for ASPM */
        pipc__facts_policy(line, r->log.facts->aspm_policy);
        return PIPC_OK;
    }
    st = pipc__kernel_log_line(&r->log, line, &taken, err);
    if (st || taken)
        return st;
    const char *text = address(line, &addr);
    if (text && (st = open_device(r, addr, text, from, err)))
        return st;
    if (r->open < 0)
        return nameless(r, line, from, err);
    line = text ? text : line;
    take_link(&r->list[r->open], line);
    take_errors(&r->list[r->open], line);
    take_bus(&r->list[r->open], line);
    take_bar(&r->list[r->open], line);
    return PIPC_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int bridge_to(const reader_t *r, int i)
{
    const entry_t *e = &r->list[i];

    for (int b = 0; b < r->n; b++)
        if (r->list[b].secondary == e->addr.bus && r->list[b].addr.domain == e->addr.domain &&
            r->list[b].addr.bus != e->addr.bus)
            return b;
    return -1;
}

/* Ways up end: one that does not, or is longer than any machine's, is cut. */
static void find_parents(reader_t *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->list[i].addr.domain >= 0)
            r->list[i].fact.parent = bridge_to(r, i);
    for (int i = 0; i < r->n; i++) {
        int steps = 0;
        for (int k = i; k >= 0 && steps <= 32; k = r->list[k].fact.parent)
            steps++;
        if (steps > 32)
            r->list[i].fact.parent = -1;
    }
}

static bool same_slot(pipc__pci_addr_t a, pipc__pci_addr_t b)
{
    return a.domain >= 0 && a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

/* Status bits without those that nobody wants to be told; both may be unknown, -1. */
static int64_t unmasked(int64_t status, int64_t mask)
{
    return status > 0 && mask > 0 ? status & ~mask : status;
}

/* Functions of a GPU's card that are not its maker's words for it (AMD's audio); an AMD card's
 * switch where no more of the card is told (facts_sysfs.c does the same). */
static void know_cards(reader_t *r)
{
    for (int i = 0; i < r->n; i++) {
        entry_t *e = &r->list[i];
        bool above = false;
        for (int k = i - 1; k >= 0 && same_slot(r->list[k].addr, e->addr); k--)
            if (r->list[k].fact.gpu && !e->fact.gpu)
                e->fact.companion = e->relevant = true;
        for (int k = 0; k < r->n && e->fact.link.port == PIPC__EXPRESS_UPSTREAM; k++)
            above |= r->list[k].fact.parent == i;
        if (e->fact.link.port == PIPC__EXPRESS_UPSTREAM && !above && e->fact.vendor == AMD)
            e->fact.gpu = true;
        e->fact.more.uncorrected = unmasked(e->fact.more.uncorrected, e->ue_mask);
        e->fact.more.corrected = unmasked(e->fact.more.corrected, e->ce_mask);
    }
}

/* Keep what is of interest, and what is above it. */
static pipc_status_t keep(reader_t *r, pipc__facts_t *facts, const char *from, pipc__error_t *err)
{
    int *to = calloc((size_t)r->n + 1, sizeof(*to));

    facts->dev = calloc((size_t)r->n + 1, sizeof(*facts->dev));
    if (!to || !facts->dev) {
        free(to);
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", from);
    }
    for (int i = 0; i < r->n; i++)
        for (int k = i; r->list[i].relevant && k >= 0; k = r->list[k].fact.parent)
            to[k] = 1;
    for (int i = 0; i < r->n; i++)
        to[i] = to[i] ? facts->n++ : -1;
    for (int i = 0; i < r->n; i++)
        if (to[i] >= 0) {
            facts->dev[to[i]] = r->list[i].fact;
            if (r->list[i].fact.parent >= 0)
                facts->dev[to[i]].parent = to[r->list[i].fact.parent];
        }
    free(to);
    return PIPC_OK;
}

pipc_status_t pipc__facts_parse(pipc__facts_t *facts, char *text, const char *from,
                                pipc__error_t *err)
{
    reader_t r = {.open = -1, .log = {.facts = facts}};
    pipc_status_t st = PIPC_OK;

    memset(facts, 0, sizeof(*facts));
    facts->excerpt = true;
    for (char *line = text, *next; !st && line; line = next) {
        next = strchr(line, '\n'); /* not strtok: an empty line is one */
        if (next)
            *next++ = '\0';
        st = one_line(&r, line, from, err);
    }
    pipc__kernel_log_end(&r.log);
    if (!st && r.n == 0 && !facts->log)
        st = pipc__fail(err, PIPC_ERR_INVALID,
                        "%s: no device and no error in it; lspci -vvv, as root, writes such a text",
                        from);
    if (!st) {
        if (r.n > 0)
            qsort(r.list, (size_t)r.n, sizeof(*r.list), compare);
        find_parents(&r);
        know_cards(&r);
        st = keep(&r, facts, from, err);
    }
    free(r.list);
    return st;
}

pipc_status_t pipc__facts_text(pipc__facts_t *facts, const char *file, pipc__error_t *err)
{
    char *text;
    size_t len;
    pipc_status_t st = pipc__text_read(&text, file, &len, err);

    memset(facts, 0, sizeof(*facts));
    if (st)
        return st;
    pipc__text_clean(text, len);
    st = pipc__facts_parse(facts, text, file, err);
    free(text);
    return st;
}
