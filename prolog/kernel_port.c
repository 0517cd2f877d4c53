/* prolog/kernel_port.c - what the kernel's own PCIe services say
 *
 *     pcieport 0000:40:01.1: AER: Corrected error message received from 0000:41:00.0
 *     pcieport 0000:40:01.1: AER: Multiple Corrected error received: id=0008        (before 5.1)
 *     pcieport 0000:40:01.1: PCIe Bus Error: severity=Correctable, type=Physical Layer, ...
 *     pcieport 0000:40:01.1:   device [8086:2030] error status/mask=00000001/00002000
 *     pcieport 0000:40:01.1:    [ 0] RxErr
 *     pcieport 0000:40:01.1: AER: aer_status: 0x00000040, aer_mask: 0x00002000  (by the firmware)
 *     pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000
 *     pcieport 0000:40:01.1: pciehp: Slot(5): Link Down
 *     pci 0000:41:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at
 *         0000:40:01.1 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "prolog/kernel_line.h"

/* Corrected errors alone have these bits. */
#define CORRECTED_ALONE                                                                            \
    (PIPC__CE_RECEIVER | PIPC__CE_BAD_TLP | PIPC__CE_BAD_DLLP | PIPC__CE_ROLLOVER)

bool pipc__kernel_of_companion(const char *line)
{
    return strstr(line, "snd_") || strstr(line, "xhci") || strstr(line, "ucsi");
}

/* Words differ from version to version: Corrected, Correctable; Uncorrected, Uncorrectable. */
static pipc__event_kind_t kind_of(const char *words)
{
    return strncasecmp(words, "Correct", 7) == 0 ? PIPC__EVENT_CORRECTED : PIPC__EVENT_UNCORRECTED;
}

/* "id=0008" is bus, device and function below the domain of the port. */
static bool by_id(const char *line, const char *port, char name[PIPC__FACT_NAME_MAX])
{
    const char *at = strstr(line, "id=");
    pipc__pci_addr_t addr;
    char *end;

    if (!at || !pipc__kernel_log_address(port, &addr))
        return false;
    unsigned long id = strtoul(at + 3, &end, 16);
    if (end == at + 3 || id > 0xffff)
        return false;
    addr.bus = (int)(id >> 8);
    addr.device = (int)(id >> 3 & 31);
    addr.function = (int)(id & 7);
    pipc__pci_format(addr, name);
    return true;
}

/* Whose the error is: the sender's, or the port's own where that says nothing (all zeros). */
static bool announced(pipc__kernel_log_t *log, const char *line)
{
    const char *aer = strstr(line, "AER: "), *received;
    char port[PIPC__FACT_NAME_MAX], sender[PIPC__FACT_NAME_MAX];

    if (!aer || !(received = strstr(aer, " received")) || !pipc__kernel_name(line, port))
        return false;
    aer += strlen("AER: ");
    aer += strncmp(aer, "Multiple ", 9) == 0 ? 9 : 0;
    if (strncasecmp(aer + (strncasecmp(aer, "un", 2) == 0 ? 2 : 0), "correct", 7) != 0)
        return false;
    if ((!pipc__kernel_name(received, sender) && !by_id(received, port, sender)) ||
        strstr(sender, ":00:00.0"))
        memcpy(sender, port, sizeof(sender));
    pipc__kernel_announce(log, sender, kind_of(aer));
    return true;
}

static void set_kind(pipc__kernel_log_t *log, const char *name, pipc__event_kind_t kind)
{
    log->kind = kind;
    snprintf(log->whose, sizeof(log->whose), "%s", name);
}

static bool bus_error(pipc__kernel_log_t *log, const char *line)
{
    static const char words[] = "PCIe Bus Error: severity=";
    const char *severity = strstr(line, words);
    char name[PIPC__FACT_NAME_MAX];

    if (!severity || !pipc__kernel_name(line, name))
        return false;
    log->announced[0] = '\0';
    set_kind(log, name, kind_of(severity + strlen(words)));
    pipc__event_t *e = pipc__kernel_count(log, name, log->kind, 0);
    if (e && pipc__kernel_of_companion(line))
        e->companion = true;
    return true;
}

/* The line before it is lost, in which the error's kind is: what was announced of it, or what the
 * bits look like. It counts by this one. */
static void count_headless(pipc__kernel_log_t *log, const char *name, uint32_t status)
{
    pipc__event_kind_t kind =
        status & ~(uint32_t)CORRECTED_ALONE ? PIPC__EVENT_UNCORRECTED : PIPC__EVENT_CORRECTED;

    if (strcmp(log->announced, name) == 0) {
        kind = log->announced_kind;
        log->announced[0] = '\0';
    }
    set_kind(log, name, kind);
    pipc__kernel_count(log, name, kind, 0);
}

/* "error status/mask=00000001/00002000", of the error that was reported before */
static bool bus_status(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];
    uint32_t status, mask = 0;

    if (!pipc__kernel_number(line, "error status/mask=", &status) || !pipc__kernel_name(line, name))
        return false;
    const char *slash = strrchr(line, '/');
    if (slash[1] != 'm') /* cut before the mask, the last one is that of "status/mask" */
        mask = (uint32_t)strtoul(slash + 1, NULL, 16);
    if (strcmp(log->whose, name) != 0 || strcmp(log->announced, name) == 0)
        count_headless(log, name, status);
    pipc__kernel_bits(pipc__kernel_event(log, name, log->kind, 0), status & ~mask);
    return true;
}

/* "[ 6] BadTLP": the same bit by bit, of an event that is known */
static bool bus_bit(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];
    unsigned int bit;
    int end = 0;

    if (log->facts->events == 0 || !pipc__kernel_name(line, name) ||
        strcmp(log->whose, name) != 0) /* most lines end here */
        return false;
    const char *at = strstr(line, name), *open = at ? strchr(at, '[') : NULL;
    if (!open || sscanf(open, "[%2u] %n", &bit, &end) != 1 || end == 0 || bit > 31 ||
        open - at > (long)strlen(name) + 8)
        return false;
    for (int i = 0; i < log->facts->events; i++) {
        pipc__event_t *e = &log->facts->event[i];
        if (e->kind == log->kind && strcmp(e->name, name) == 0) {
            pipc__kernel_bits(e, 1u << bit);
            return true;
        }
    }
    return false;
}

/* What the firmware handed over, of the device of the record before: which kind it is the record
 * says. Without one it is corrected if no other error has such bits. */
static bool firmware_status(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];
    uint32_t status, mask = 0;

    if (!pipc__kernel_number(line, "aer_status", &status) || !pipc__kernel_name(line, name))
        return false;
    pipc__kernel_number(line, "aer_mask", &mask);
    status &= ~mask;
    bool mild = strcmp(log->record.device, name) == 0 ? log->record.severity == PIPC__RECORD_MILD
                                                      : !(status & ~(uint32_t)CORRECTED_ALONE);
    set_kind(log, name, mild ? PIPC__EVENT_CORRECTED : PIPC__EVENT_UNCORRECTED);
    pipc__event_t *e = pipc__kernel_event(log, name, log->kind, 0);
    if (e && strcmp(log->record.device, name) != 0)
        e->count++;
    pipc__kernel_bits(e, status);
    return true;
}

static bool link_event(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];

    if (strcasestr(line, "pciehp")
            ? !strcasestr(line, "Link Down") && !strcasestr(line, "Card not present")
            : !strstr(line, "Link Active not set"))
        return false;
    if (pipc__kernel_name(line, name))
        pipc__kernel_count(log, name, PIPC__EVENT_LINK_DOWN, 0);
    return true;
}

static bool retrained(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];

    if (!strcasestr(line, "retrain") || !strcasestr(line, "link") ||
        strstr(line, "[drm") || /* a screen's */
        !pipc__kernel_name(line, name))
        return false;
    pipc__kernel_count(log, name, PIPC__EVENT_RETRAINED, 0);
    return true;
}

/* The number of lanes behind the next " x" of @text; -1 without one. */
static int lanes(const char *text)
{
    const char *x = text ? strstr(text, " x") : NULL;

    return x ? pipc__express_width(atoi(x + 2)) : -1;
}

/* Speed alone is no event: an idle link has little of it. */
static bool limited(pipc__kernel_log_t *log, const char *line)
{
    const char *by = strstr(line, "available PCIe bandwidth, limited by ");
    char name[PIPC__FACT_NAME_MAX];

    if (!by)
        return false;
    int has = lanes(by), can = lanes(strstr(by, "capable of"));
    if (has < 0 || can <= has || !pipc__kernel_name(line, name))
        return true;
    pipc__event_t *e = pipc__kernel_count(log, name, PIPC__EVENT_NARROW, 0);
    if (e) {
        e->width = has;
        e->can = can;
        pipc__kernel_name(by, e->at);
    }
    return true;
}

bool pipc__kernel_take_port(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];

    if (bus_error(log, line) || bus_status(log, line) || announced(log, line) ||
        firmware_status(log, line) || link_event(log, line) || limited(log, line) ||
        retrained(log, line) || bus_bit(log, line))
        return true;
    if (!strcasestr(line, "DPC") || !strstr(line, "containment event") ||
        !pipc__kernel_name(line, name))
        return false;
    pipc__kernel_announce(log, name, PIPC__EVENT_UNCORRECTED);
    return true;
}
