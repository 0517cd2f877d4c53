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
 * line or one with # ends it, so that the remarks of people are nobody's; only that ACS redirects
 * is believed in words. What is not there is unknown.
 */
#include "prolog/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/facts_parts.h"
#include "prolog/kernel_log.h"
#include "prolog/text_entry.h"
#include "runtime/topo/build.h"
#include "runtime/topo/text.h"

#define DEVICES_MAX 4096
#define VENDOR_AMD 0x1002
#define VENDOR_INTEL 0x8086

typedef struct reader {
    pipc__text_entry_t *list;
    int n, cap;
    int open; /* whose lines these are, or -1 */
    int line;
    pipc__kernel_log_t log;
} reader_t;

/* ---- devices ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const pipc__text_entry_t *x = a, *y = b;

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
        pipc__text_entry_t *more = realloc(r->list, sizeof(*more) * (size_t)cap);
        if (!more)
            return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", from);
        r->list = more;
        r->cap = cap;
    }
    r->list[r->n] = (pipc__text_entry_t){
        .fact = {.parent = -1, .vendor = -1, .device = -1, .errors = -1, .uncorrected = -1},
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
        pipc__text_first_line(&r->list[r->open], text);
        r->log.facts->virtual_machine |= pipc__text_is_of_guest(text);
    }
    return st;
}

/* ---- its other lines ----------------------------------------------------------------------- */

/* A line that says whose ACS it is in no way: still, a port redirects. */
static pipc_status_t nameless(reader_t *r, const char *line, const char *from, pipc__error_t *err)
{
    pipc_status_t st = strstr(line, "ACSCtl:") ? append(r, from, err) : PIPC_OK;

    if (r->open < 0 || st)
        return st;
    snprintf(r->list[r->open].fact.name, PIPC__FACT_NAME_MAX, "line %d", r->line);
    pipc__text_registers(&r->list[r->open], line);
    r->open = -1;
    return PIPC_OK;
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

/* As a patch or a mail has it: behind "+", or "> ". */
static const char *unquoted(const char *line)
{
    if (*line == '+')
        return line + 1;
    if (*line != '>')
        return line;
    return line + (line[1] == ' ' ? 2 : 1);
}

static pipc_status_t one_line(reader_t *r, const char *line, const char *from, pipc__error_t *err)
{
    pipc__pci_addr_t addr;
    bool taken;
    pipc_status_t st;

    r->line++;
    line = unquoted(line);
    if (pipc__text_tells_acs(line))
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
    pipc__text_registers(&r->list[r->open], line);
    return PIPC_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int bridge_to(const reader_t *r, int i)
{
    const pipc__text_entry_t *e = &r->list[i];

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

/* Intel's graphics in the processor have no link, and no place but this one (facts_sysfs.c does the
 * same). */
static bool is_integrated(const reader_t *r, const pipc__text_entry_t *e)
{
    return e->fact.gpu && e->fact.vendor == VENDOR_INTEL && e->addr.domain == 0 &&
           e->addr.bus == 0 && e->addr.device == 2 && !r->log.facts->virtual_machine;
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
        pipc__text_entry_t *e = &r->list[i];
        bool above = false;
        if (is_integrated(r, e)) {
            e->fact.gpu = e->relevant = false;
            e->as = PIPC__LISTED_OTHER;
        }
        for (int k = i - 1; k >= 0 && same_slot(r->list[k].addr, e->addr); k--)
            if (r->list[k].fact.gpu && !e->fact.gpu)
                e->fact.companion = e->relevant = true;
        for (int k = 0; k < r->n && e->fact.link.port == PIPC__EXPRESS_UPSTREAM; k++)
            above |= r->list[k].fact.parent == i;
        if (e->fact.link.port == PIPC__EXPRESS_UPSTREAM && !above && e->fact.vendor == VENDOR_AMD)
            e->fact.gpu = true;
        e->fact.more.uncorrected = unmasked(e->fact.more.uncorrected, e->ue_mask);
        e->fact.more.corrected = unmasked(e->fact.more.corrected, e->ce_mask);
    }
}

/* What leads elsewhere is no matter of GPUs, nor is a device of another kind, whatever its own ACS
 * does. Ports above a NIC are kept with it. */
static pipc_status_t leave_out(reader_t *r, pipc__error_t *err)
{
    pipc__listed_t *list = calloc((size_t)r->n + 1, sizeof(*list));
    bool *elsewhere = calloc((size_t)r->n + 1, sizeof(*elsewhere));
    pipc_status_t st = PIPC_ERR_NOMEM;

    for (int i = 0; list && i < r->n; i++) {
        const pipc__text_entry_t *e = &r->list[i];
        bool maybe = e->fact.gpu || e->fact.companion;
        list[i] = (pipc__listed_t){e->addr, e->fact.parent, e->secondary,
                                   maybe ? PIPC__LISTED_MAYBE : e->as};
    }
    if (list && elsewhere)
        st = pipc__elsewhere(list, r->n, elsewhere, err);
    else
        pipc__fail(err, st, "out of memory");
    for (int i = 0; !st && i < r->n; i++) {
        pipc__text_entry_t *e = &r->list[i];
        bool other = e->as == PIPC__LISTED_OTHER && !e->fact.nic && !e->fact.companion;
        if (other || (elsewhere[i] && !e->fact.gpu))
            e->relevant = false;
    }
    free(list);
    free(elsewhere);
    return st;
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
        st = leave_out(&r, err);
    }
    if (!st)
        st = keep(&r, facts, from, err);
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
