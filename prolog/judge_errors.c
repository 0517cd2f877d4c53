/* prolog/judge_errors.c - what is said of errors, and of ACS: nothing of it drains. Status bits
 * stick, and a kernel's counters begin at boot: they tell that something happened, and no rate.
 */
#include <stdio.h>
#include <string.h>

#include "prolog/judging.h"

typedef struct bit {
    uint32_t bit;
    const char *name;
} bit_t;

static const bit_t corrected[] = {
    {PIPC__CE_RECEIVER, "receiver error"},
    {PIPC__CE_BAD_TLP, "bad TLP"},
    {PIPC__CE_BAD_DLLP, "bad DLLP"},
    {PIPC__CE_ROLLOVER, "replay rollover"},
    {PIPC__CE_TIMEOUT, "replay timeout"},
    {PIPC__CE_ADVISORY, "advisory"},
    {1 << 14, "internal"},
    {1 << 15, "header log overflow"},
};
static const bit_t uncorrected[] = {
    {1 << 4, "data link protocol"},
    {1 << 5, "surprise down"},
    {1 << 12, "poisoned TLP"},
    {1 << 13, "flow control"},
    {1 << 14, "completion timeout"},
    {1 << 15, "completer abort"},
    {1 << 16, "unexpected completion"},
    {1 << 17, "receiver overflow"},
    {1 << 18, "malformed TLP"},
    {1 << 19, "ECRC"},
    {1 << 20, "unsupported request"},
    {1 << 21, "ACS violation"},
    {1 << 22, "internal"},
    {1 << 23, "blocked TLP"},
    {1 << 24, "blocked atomic"},
    {1 << 25, "blocked TLP prefix"},
    {1 << 26, "blocked poisoned TLP"},
};
static const bit_t redirects[] = {
    {PIPC__ACS_REQUEST, "requests"},
    {PIPC__ACS_COMPLETION, "completions"},
    {PIPC__ACS_UPSTREAM, "upstream forwarding"},
    {PIPC__ACS_EGRESS, "egress control"},
};

/* "replay rollover, replay timeout" */
static const char *names(uint32_t bits, const bit_t *table, size_t n, char *out, size_t cap)
{
    size_t used = 0;

    snprintf(out, cap, "unnamed");
    for (size_t i = 0; i < n && used < cap; i++)
        if (bits & table[i].bit)
            used +=
                (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "", table[i].name);
    return out;
}

const char *pipc__corrected_names(uint32_t bits, char *out, size_t cap)
{
    return names(bits, corrected, sizeof(corrected) / sizeof(corrected[0]), out, cap);
}

const char *pipc__uncorrected_names(uint32_t bits, char *out, size_t cap)
{
    return names(bits, uncorrected, sizeof(uncorrected) / sizeof(uncorrected[0]), out, cap);
}

pipc__severity_t pipc__corrected_most(int64_t bits, bool companion)
{
    return bits & PIPC__CE_SICK && !companion ? PIPC__WARN : PIPC__NOTE;
}

pipc__severity_t pipc__uncorrected_most(int64_t bits, bool companion)
{
    return bits & ~PIPC__UE_UNSUPPORTED && !companion ? PIPC__WARN : PIPC__NOTE;
}

/* A status, and how it is cleared: the bits fall where ones are written. */
static void judge_bits(judge_t *j, const pipc__fact_t *f, pipc__severity_t most, const char *offset,
                       const char *kind, const char *names)
{
    char advice[128];

    snprintf(advice, sizeof(advice),
             "setpci -s %.16s ECAP_AER+%s.l=ffffffff clears them; " PIPC__ADVICE_LINK, f->name,
             offset);
    pipc__judge_advise(j, PIPC__CODE_STATUS, most, f,
                       most > PIPC__NOTE && !strchr(f->name, ' ') ? advice : NULL, /* "line 3" */
                       "", "%s errors at some time: %s", kind, names);
}

/* Bits that nothing has cleared since they were set. */
static void judge_status(judge_t *j, const pipc__fact_t *f)
{
    int64_t bad = f->more.uncorrected, mild = f->more.corrected;
    char text[150];

    if (bad > 0)
        judge_bits(j, f, pipc__uncorrected_most(bad, f->companion), "4", "uncorrected",
                   pipc__uncorrected_names((uint32_t)bad, text, sizeof(text)));
    if (mild > 0)
        judge_bits(j, f, pipc__corrected_most(mild, f->companion), "10", "corrected",
                   pipc__corrected_names((uint32_t)mild, text, sizeof(text)));
}

/* Between GPUs is a port with some of them below it and others not. Where not all may be in view,
 * one below is enough, and where none is, a port. */
static bool is_between(const judge_t *j, const pipc__fact_t *f)
{
    int below = j->below[f - j->facts->dev].gpus;

    if (j->facts->excerpt)
        return j->gpus == 0 || (below > 0 && (below < j->gpus || j->gpus == 1));
    return below > 0 && below < j->gpus;
}

/* A card's own functions redirect among themselves at most. */
bool pipc__judge_redirects(const judge_t *j, const pipc__fact_t *f)
{
    return !f->gpu && !f->companion && !f->nic && f->more.acs >= 0 &&
           (f->more.acs & PIPC__ACS_REDIRECTS) && is_between(j, f);
}

static void judge_acs(judge_t *j, const pipc__fact_t *f)
{
    char text[100];

    if (pipc__judge_redirects(j, f))
        pipc__judge_find(j, PIPC__CODE_ACS, PIPC__DRAIN, f, "off between GPUs", "ACS redirects: %s",
                         names((uint32_t)f->more.acs, redirects,
                               sizeof(redirects) / sizeof(redirects[0]), text, sizeof(text)));
}

void pipc__judge_errors(judge_t *j, const pipc__fact_t *f)
{
    if (f->answer == PIPC__LOST || f->answer == PIPC__ASLEEP)
        return;
    judge_acs(j, f);
    judge_status(j, f);
    if (f->errors > 0)
        pipc__judge_find(j, PIPC__CODE_COUNTER, PIPC__DRAIN, f, "",
                         "%lld corrected errors of its link since boot", (long long)f->errors);
    if (f->uncorrected > 0)
        pipc__judge_find(j, PIPC__CODE_COUNTER, PIPC__DRAIN, f, "",
                         "%lld uncorrected errors since boot", (long long)f->uncorrected);
}
