/* prolog/text_registers.c - the lines that tell of a device's registers, as lspci -vvv and setpci
 * write them:
 *
 *     LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)
 *     0000:40:01.1 ECAP_ACS+6.w = 001d
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "prolog/text_entry.h"
#include "prolog/text_files.h"

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
    {"RxErr", PIPC__CE_RECEIVER},
    {"BadTLP", PIPC__CE_BAD_TLP},
    {"BadDLLP", PIPC__CE_BAD_DLLP},
    {"Rollover", PIPC__CE_ROLLOVER},
    {"Timeout", PIPC__CE_TIMEOUT},
    {"AdvNonFatalErr", PIPC__CE_ADVISORY},
    {"NonFatalErr", PIPC__CE_ADVISORY}, /* before pciutils 3.9 */
    {"CorrIntErr", 1 << 14},
    {"HeaderOF", 1 << 15},
};
static const flag_t ue_flags[] = {
    {"DLP", 1 << 4},
    {"SDES", 1 << 5},
    {"TLP", 1 << 12},
    {"FCP", 1 << 13},
    {"CmpltTO", 1 << 14},
    {"CmpltAbrt", 1 << 15},
    {"UnxCmplt", 1 << 16},
    {"RxOF", 1 << 17},
    {"MalfTLP", 1 << 18},
    {"ECRC", 1 << 19},
    {"UnsupReq", 1 << 20},
    {"ACSViol", 1 << 21},
    /* since pciutils 3.10 */
    {"UncorrIntErr", 1 << 22},
    {"BlockedTLP", 1 << 23},
    {"AtomicOpBlocked", 1 << 24},
    {"TLPBlockedErr", 1 << 25},
    {"PoisonTLPBlocked", 1 << 26},
    {"DMWrReqBlocked", 1 << 27},
    {"IDECheck", 1 << 28},
    {"MisIDETLP", 1 << 29},
    {"PCRC_CHECK", 1 << 30},
    {"TLPXlatBlocked", 1u << 31},
};

/* What is on, as LnkCtl has it: what LnkCap has behind the same word can be on. */
static void take_aspm(pipc__fact_t *f, const char *control)
{
    static const char *const states[] = {"Disabled", "L0s Enabled", "L1 Enabled", "L0s L1 Enabled"};

    for (int i = 0; i < 4; i++)
        if (strncmp(control, states[i], strlen(states[i])) == 0)
            f->link.aspm = i;
}

void pipc__text_lose(pipc__fact_t *f)
{
    f->answer = PIPC__LOST;
}

void pipc__text_answers(pipc__fact_t *f)
{
    f->was_lost |= f->answer == PIPC__LOST;
    f->answer = PIPC__ANSWERS;
}

/* Shown again, idle and at work, before and after, or of another machine with the same addresses:
 * what it could do once it can do, and a width that was less is remembered. */
void pipc__text_link_status(pipc__fact_t *f, int mts, int width)
{
    pipc__express_t *l = &f->link;

    if (width > 0)
        pipc__text_answers(f);
    if (mts > l->mts)
        l->mts = mts;
    if (l->width > 0 && width > 0 && l->width != width) {
        int less = l->width < width ? l->width : width;
        f->narrowest = f->narrowest && f->narrowest < less ? f->narrowest : less;
    }
    if (width > l->width)
        l->width = width;
}

static void take_link(pipc__text_entry_t *e, const char *line)
{
    pipc__express_t *l = &e->fact.link;
    const char *at;

    if ((at = after(line, "Express (v")) || (at = after(line, ") Express ")))
        pipc__text_port(e, at);
    if ((at = after(line, "LnkCap:"))) {
        l->max_mts = speed(after(at, "Speed "));
        l->max_width = width(after(at, "Width "));
        if (l->max_width > 0)
            pipc__text_answers(&e->fact);
    }
    if ((at = after(line, "LnkSta:")))
        pipc__text_link_status(&e->fact, speed(after(at, "Speed ")), width(after(at, "Width ")));
    if (strstr(line, "SltSta:"))
        e->present = strstr(line, "PresDet+") != NULL;
    if (strstr(line, "LnkSta:"))
        e->down = (at = after(line, "Width ")) && strncmp(at, "x0", 2) == 0;
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

/* Since pciutils 3.10 their flags go on in two more lines, which have no key. */
static void take_uncorrected(pipc__text_entry_t *e, const char *line)
{
    int64_t *of = e->going_on == PIPC__FLAGS_MASK ? &e->ue_mask : &e->fact.more.uncorrected;
    int64_t more = e->going_on && !strchr(line, ':') ? FLAGS(line, ue_flags) : -1;
    const char *at;

    if (more >= 0)
        *of = *of < 0 ? more : *of | more;
    else
        e->going_on = PIPC__FLAGS_NONE;
    if ((at = after(line, "UESta:"))) {
        e->fact.more.uncorrected = FLAGS(at, ue_flags);
        e->going_on = PIPC__FLAGS_STATUS;
    }
    if ((at = after(line, "UEMsk:"))) {
        e->ue_mask = FLAGS(at, ue_flags);
        e->going_on = PIPC__FLAGS_MASK;
    }
}

static void take_errors(pipc__text_entry_t *e, const char *line)
{
    const char *at;
    unsigned int value;
    int acs = acs_of_setpci(line);

    if ((at = after(line, "ACSCtl:")))
        acs = (int)FLAGS(at, acs_flags);
    else if ((at = after(line, "ACSCtl")) && *at == '=' && sscanf(at, "= 0x%4x", &value) == 1)
        acs = value < 0xffff ? (int)value : -1;
    if (acs >= 0) {
        e->fact.more.acs = acs;
        e->relevant = true;
    }
    take_uncorrected(e, line);
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
static void take_bar(pipc__text_entry_t *e, const char *line)
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

/* "IOVCtl: Enable+", "Initial VFs: 16, Total VFs: 16, Number of VFs: 16", "VF offset: 4, stride: 1"
 */
static void take_virtual(pipc__text_entry_t *e, const char *line)
{
    const char *at;
    int offset, stride;

    if ((at = after(line, "IOVCtl:")))
        e->vf_off = strstr(at, "Enable-") != NULL;
    if ((at = after(line, "Number of VFs:")))
        e->vfs = atoi(at);
    if ((at = after(line, "VF offset:")) && sscanf(at, "%5d, stride: %5d", &offset, &stride) == 2) {
        e->vf_offset = offset;
        e->vf_stride = stride;
    }
}

/* "Bus: primary=00, secondary=41, subordinate=41" */
static void take_bus(pipc__text_entry_t *e, const char *line)
{
    const char *at = after(line, "secondary=");
    char *end;

    if (!at || !strstr(line, "primary="))
        return;
    unsigned long bus = strtoul(at, &end, 16);
    if (end != at && bus < 256)
        e->secondary = (int)bus;
}

/* "ACS redirect on the downstream ports: ON (power-on default)": people write so of a switch, also
 * in a remark. What is denied in the same line is not believed. */
bool pipc__text_tells_acs(const char *line)
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

void pipc__text_registers(pipc__text_entry_t *e, const char *line)
{
    static const char lost[] = "!!! Unknown header type 7f";

    if (strncmp(line + strspn(line, " \t"), lost, strlen(lost)) == 0)
        pipc__text_lose(&e->fact);
    take_link(e, line);
    take_errors(e, line);
    take_bus(e, line);
    take_bar(e, line);
    take_virtual(e, line);
}
