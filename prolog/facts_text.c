/* prolog/facts_text.c - facts from what people paste into tickets
 *
 *     41:00.0 VGA compatible controller: NVIDIA Corporation ... [10de:2206] (rev a1)
 *             Capabilities: [78] Express (v2) Legacy Endpoint, MSI 00
 *                     LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L0s L1
 *                     LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)
 *     0000:40:01.1 ECAP_ACS+6.w = 001d                   setpci
 *     ACSCtl: SrcValid+ ... ReqRedir+                     lspci | grep ACSCtl: whose is not told
 *     $ lspci -vvv -s 41:00.0 | grep Lnk                  the lines that follow are of this device
 *
 * links as sysfs and nvidia-smi tell them (text_files.h) and lines of a kernel's log
 * (kernel_log.h). Lines may be quoted (text_line.h), indented or not, cut or missing, and several
 * values may stand in one. An address at a line's begin starts a device; an empty line or one with
 * # ends it, so that the remarks of people are nobody's; only that ACS redirects is believed in
 * words. What is not there is unknown.
 */
#include "prolog/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/facts_parts.h"
#include "prolog/kernel_log.h"
#include "prolog/text_entry.h"
#include "prolog/text_files.h"
#include "prolog/text_line.h"
#include "runtime/topo/build.h"
#include "runtime/topo/text.h"

#define DEVICES_MAX 4096
#define SMI " 3D controller: NVIDIA Corporation" /* what nvidia-smi tells of is one */

typedef struct reader {
    pipc__text_entry_t *list;
    int n, cap;
    int open; /* whose lines these are, or -1 */
    int line;
    bool acs;                 /* the register of ACS was named */
    bool doubled;             /* an empty line follows each line, and means nothing */
    pipc__text_asked_t asked; /* by setpci, in the line before */
    pipc__link_word_t file;   /* of sysfs, whose text is the next line; or none */
    pipc__smi_t smi;
    pipc__kernel_log_t log;
} reader_t;

/* ---- devices ------------------------------------------------------------------------------- */

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

/* @text: what follows the address, or NULL where only a command names it. */
static pipc_status_t open_device(reader_t *r, pipc__pci_addr_t addr, const char *text,
                                 const char *from, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    r->open = -1;
    for (int i = r->n - 1; i >= 0 && r->open < 0; i--) /* the same again: more about it */
        if (r->list[i].addr.domain >= 0 && pipc__pci_compare(r->list[i].addr, addr) == 0)
            r->open = i;
    bool again = r->open >= 0;
    if (!again && (st = append(r, from, err)))
        return st;
    pipc__text_entry_t *e = &r->list[r->open];
    if (!again) {
        e->addr = addr;
        pipc__pci_format(addr, e->fact.name);
        e->asked_only = true;
    }
    if (!text)
        return PIPC_OK;
    /* Only registers were told so far; and what people say of a device is not what it is. */
    if (e->asked_only || (e->as == PIPC__LISTED_MAYBE && pipc__text_has_class(text)))
        pipc__text_first_line(e, text);
    e->asked_only = false;
    if (pipc__text_is_lost(text))
        pipc__text_lose(&e->fact);
    else if (strstr(text, "(rev ") && !strstr(text, "(rev ff)") && pipc__text_has_class(text))
        pipc__text_answers(&e->fact);
    r->log.facts->virtual_machine |= pipc__text_is_of_guest(text);
    return PIPC_OK;
}

/* ---- its other lines ----------------------------------------------------------------------- */

/* A line that says whose it is in no way. Still, a port redirects, and a link has a width: all that
 * is told of a link, up to the next LnkCap, is one device's. */
static pipc_status_t nameless(reader_t *r, const char *line, const char *from, pipc__error_t *err)
{
    bool acs = strstr(line, "ACSCtl:"), cap = strstr(line, "LnkCap:"),
         sta = strstr(line, "LnkSta:");
    const pipc__express_t *l = r->open >= 0 ? &r->list[r->open].fact.link : NULL;
    pipc_status_t st = PIPC_OK;

    if (acs || (!l && (cap || sta)) || (l && cap && l->max_width >= 0) ||
        (l && sta && l->width >= 0))
        st = append(r, from, err);
    if (r->open < 0 || st)
        return st;
    pipc__text_entry_t *e = &r->list[r->open];
    if (!e->fact.name[0])
        snprintf(e->fact.name, PIPC__FACT_NAME_MAX, "line %d", r->line);
    pipc__text_registers(e, line);
    if (acs)
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

static bool take_acs(pipc__text_entry_t *e, long value)
{
    if (value < 0 || value >= 0xffff)
        return false;
    e->fact.more.acs = (int)value;
    return e->relevant = true;
}

/* What setpci printed, in the line after its command. */
static bool take_answer(reader_t *r, const char *line)
{
    pipc__text_asked_t asked = r->asked;
    long value = asked ? pipc__text_answer(line) : -1;

    r->asked = PIPC__ASKED_NOTHING;
    if (value < 0 || r->open < 0)
        return false;
    pipc__text_entry_t *e = &r->list[r->open];
    if (asked == PIPC__ASKED_ACS)
        take_acs(e, value);
    if (asked != PIPC__ASKED_VENDOR)
        return true;
    if (value != 0xffff && value != 0xffffffff) {
        pipc__text_answers(&e->fact);
        return true;
    }
    pipc__text_lose(&e->fact);
    return e->relevant = true;
}

static pipc_status_t take_word(reader_t *r, const pipc__link_word_t *word, const char *text,
                               const char *from, pipc__error_t *err)
{
    pipc_status_t st = word->named ? open_device(r, word->addr, text, from, err) : PIPC_OK;

    if (!st && r->open >= 0 && word->value)
        pipc__text_link_word(&r->list[r->open], word);
    return st;
}

/* What tells of links in other words than lspci's; *taken: this line did. */
static pipc_status_t take_files(reader_t *r, const char *line, const char *from, bool *taken,
                                pipc__error_t *err)
{
    pipc__link_word_t word[4];
    pipc_status_t st = PIPC_OK;

    *taken = true;
    if (r->file.key && *line >= '0' && *line <= '9') {
        word[0] = r->file;
        word[0].value = line;
        r->file.key = PIPC__LINK_NONE;
        return take_word(r, &word[0], NULL, from, err);
    }
    r->file.key = PIPC__LINK_NONE;
    if (pipc__text_sysfs(line, &word[0])) {
        if (!word[0].value)
            r->file = word[0];
        return take_word(r, &word[0], NULL, from, err);
    }
    if (pipc__text_smi(&r->smi, line, &word[0]))
        return take_word(r, &word[0], SMI, from, err);
    int n = pipc__text_smi_row(&r->smi, line, word);
    for (int i = 0; i < n && !st; i++)
        st = take_word(r, &word[i], SMI, from, err);
    *taken = n > 0;
    return st;
}

static pipc_status_t one_line(reader_t *r, char *line, const char *from, pipc__error_t *err)
{
    pipc__pci_addr_t addr;
    bool taken;
    pipc_status_t st;

    r->line++;
    line = pipc__text_plain(line);
    r->acs |= strstr(line, "ECAP_ACS+") != NULL;
    if (pipc__text_tells_acs(line))
        return take_prose(r, from, err);
    if (take_answer(r, line))
        return PIPC_OK;
    st = take_files(r, line, from, &taken, err);
    if (st || taken)
        return st;
    if (pipc__text_command(line, &addr, &r->asked))
        return open_device(r, addr, NULL, from, err);
    bool empty = line[strspn(line, " \t")] == '\0';
    if (empty && r->doubled)
        return PIPC_OK;
    if (empty || *line == '#') {
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
    const char *text = pipc__text_address(line, &addr);
    if (text && (st = open_device(r, addr, text, from, err)))
        return st;
    /* A loop over all ports prints addresses and values: "40:01.1 001d" */
    if (text && r->acs && take_acs(&r->list[r->open], pipc__text_answer(text)))
        return PIPC_OK;
    if (r->open < 0 || r->list[r->open].addr.domain < 0)
        return nameless(r, line, from, err);
    pipc__text_registers(&r->list[r->open], text ? text : line);
    return PIPC_OK;
}

/* Some mailers and pages put an empty line behind each line. */
static bool is_doubled(const char *text)
{
    int lines = 0, doubled = 0;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        bool empty = text[strspn(text, " \t")] == '\n';
        lines += !empty;
        doubled += !empty && end[1 + strspn(end + 1, " \t")] == '\n';
    }
    return lines >= 8 && doubled >= lines - lines / 8;
}

/* A command whose answer is not there tells nothing. */
static bool is_something(const reader_t *r)
{
    for (int i = 0; i < r->n; i++)
        if (!r->list[i].asked_only || r->list[i].relevant || pipc__text_has_link(&r->list[i]))
            return true;
    return false;
}

pipc_status_t pipc__facts_parse(pipc__facts_t *facts, char *text, const char *from,
                                pipc__error_t *err)
{
    reader_t r = {.open = -1, .log = {.facts = facts}, .doubled = is_doubled(text)};
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
    if (!st && !is_something(&r) && !facts->log)
        st = pipc__fail(err, PIPC_ERR_INVALID,
                        "%s: no device and no error in it; lspci -vvv, as root, writes such a text",
                        from);
    if (!st)
        st = pipc__text_keep(r.list, r.n, facts, from, err);
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
