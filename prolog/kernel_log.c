/* prolog/kernel_log.c - see kernel_log.h
 *
 *     pcieport 0000:40:01.1: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver
 * ID) pcieport 0000:40:01.1:   device [8086:2030] error status/mask=00000001/00002000 [Hardware
 * Error]: event severity: fatal [Hardware Error]:   device_id: 0000:40:01.1 [Hardware Error]:
 * aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00000000 NVRM: Xid (PCI:0000:41:00): 79, pid=1,
 * GPU has fallen off the bus.
 *
 * A record of [Hardware Error] comes at boot, of the error that ended the boot before: that is
 * how its fatal ones are known. The others the firmware reports while it handles errors itself.
 */
#include "prolog/kernel_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EVENTS_MAX 256
#define XID_LOST 79

bool pipc__kernel_log_address(const char *text, pipc__pci_addr_t *addr)
{
    static const char part[] = "0123456789abcdefABCDEF:.";
    char word[PIPC__NAME_MAX];

    for (const char *p = text; *p; p++) {
        size_t n = strspn(p, part);
        if (n == 0)
            continue;
        while (n > 0 && (p[n - 1] == ':' || p[n - 1] == '.')) /* punctuation after it */
            n--;
        if (n >= 12 && n < sizeof(word)) {
            memcpy(word, p, n);
            word[n] = '\0';
            const char *colon = strchr(word, ':');
            if (colon && strchr(colon + 1, ':') && pipc__pci_parse(word, addr))
                return true;
        }
        p += strspn(p, part) - 1;
    }
    return false;
}

static bool name_in(const char *line, char name[PIPC__FACT_NAME_MAX])
{
    pipc__pci_addr_t addr;

    if (!pipc__kernel_log_address(line, &addr))
        return false;
    pipc__pci_format(addr, name);
    return true;
}

/* The event of this device and kind, made if it is not there; NULL when there is no room for it. */
static pipc__event_t *event(pipc__facts_t *facts, const char *name, pipc__event_kind_t kind)
{
    for (int i = 0; i < facts->events; i++)
        if (facts->event[i].kind == kind && strcmp(facts->event[i].name, name) == 0)
            return &facts->event[i];
    if (facts->events == EVENTS_MAX)
        return NULL;
    pipc__event_t *e = &facts->event[facts->events++];
    snprintf(e->name, sizeof(e->name), "%s", name);
    e->kind = kind;
    return e;
}

/* "KEY: 0x00004000", "KEY 0x4000" */
static bool number_after(const char *line, const char *key, uint32_t *out)
{
    const char *at = strstr(line, key);
    char *end;

    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, ": =\t");
    unsigned long value = strtoul(at, &end, 16);
    *out = (uint32_t)value;
    return end != at;
}

static void add_bits(pipc__event_t *e, uint32_t bits)
{
    e->told = true;
    e->bits |= bits;
}

static bool of_companion(const char *line)
{
    return strstr(line, "snd_") || strstr(line, "xhci") || strstr(line, "ucsi");
}

/* "PCIe Bus Error: severity=...", and the line of status that follows it */
static bool bus_error(pipc__kernel_log_t *log, const char *line)
{
    const char *severity = strstr(line, "PCIe Bus Error: severity=");
    char name[PIPC__FACT_NAME_MAX];
    uint32_t status, mask = 0;
    pipc__event_t *e;

    if (severity && name_in(line, name)) {
        log->kind =
            strstr(severity, "severity=Correct") ? PIPC__EVENT_CORRECTED : PIPC__EVENT_UNCORRECTED;
        e = event(log->facts, name, log->kind);
        if (e)
            e->count++;
        if (e && of_companion(line))
            e->companion = true;
        return true;
    }
    if (!number_after(line, "error status/mask=", &status) || !name_in(line, name))
        return false;
    const char *slash = strrchr(line, '/');
    if (slash[1] != 'm') /* cut before the mask, the last one is that of "status/mask" */
        mask = (uint32_t)strtoul(slash + 1, NULL, 16);
    e = event(log->facts, name, log->kind);
    if (e)
        add_bits(e, status & ~mask);
    return true;
}

/* What the firmware kept, and what it reports while it handles errors itself. */
static bool record(pipc__kernel_log_t *log, const char *line)
{
    uint32_t status = 0, mask = 0;
    char name[PIPC__FACT_NAME_MAX];

    bool told = number_after(line, "aer_uncor_status", &status);
    if (!told && !strstr(line, "[Hardware Error]"))
        return false;
    bool fatal = strcasestr(line, "fatal") && !strcasestr(line, "non-fatal");
    if (strstr(line, "severity:") || fatal) /* the record's first line; others may repeat it */
        log->fatal = fatal;
    if (name_in(line, name))
        memcpy(log->device, name, sizeof(name));
    if (!told || !log->device[0])
        return true;
    number_after(line, "aer_uncor_mask", &mask);
    if (!(status & ~mask))
        return true;
    pipc__event_t *e =
        event(log->facts, log->device, log->fatal ? PIPC__EVENT_RECORD : PIPC__EVENT_UNCORRECTED);
    if (e) {
        e->count++;
        add_bits(e, status & ~mask);
    }
    return true;
}

/* "Xid (PCI:0000:41:00): 79": the address has no function there. */
static bool xid(pipc__kernel_log_t *log, const char *line)
{
    const char *at = strstr(line, "Xid (PCI:"), *close = at ? strchr(at, ')') : NULL;
    char text[PIPC__NAME_MAX], name[PIPC__FACT_NAME_MAX];
    pipc__pci_addr_t addr;

    if (!close || close[1] != ':')
        return false;
    at += strlen("Xid (PCI:");
    if (strtol(close + 2, NULL, 10) != XID_LOST || close - at >= 32)
        return true;
    snprintf(text, sizeof(text), "%.*s%s", (int)(close - at), at,
             memchr(at, '.', (size_t)(close - at)) ? "" : ".0");
    if (pipc__pci_parse(text, &addr)) {
        pipc__pci_format(addr, name);
        pipc__event_t *e = event(log->facts, name, PIPC__EVENT_LOST);
        if (e)
            e->count++;
    }
    return true;
}

static bool lost(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];

    if (!strstr(line, "device inaccessible") && !strstr(line, "fallen off the bus"))
        return false;
    if (name_in(line, name)) {
        pipc__event_t *e = event(log->facts, name, PIPC__EVENT_LOST);
        if (e)
            e->count++;
    }
    return true;
}

pipc_status_t pipc__kernel_log_line(pipc__kernel_log_t *log, const char *line, bool *taken,
                                    pipc__error_t *err)
{
    if (!log->facts->event)
        log->facts->event = calloc(EVENTS_MAX, sizeof(*log->facts->event));
    if (!log->facts->event)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    *taken = bus_error(log, line) || record(log, line) || xid(log, line) || lost(log, line);
    return PIPC_OK;
}
