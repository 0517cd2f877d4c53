/* prolog/kernel_log.c - see kernel_log.h: one line goes to the readers in turn */
#include "prolog/kernel_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 256
#define LATE_SECONDS 2

bool pipc__kernel_log_address(const char *text, pipc__pci_addr_t *addr)
{
    static const char part[] = "0123456789abcdefABCDEF:.";
    char word[PIPC__NAME_MAX];

    for (const char *p = text; *p; p++) {
        size_t n = strspn(p, part);
        if (n == 0 || *p == ':' || *p == '.') /* as in "(PCI:0000:41:00.0)" */
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

bool pipc__kernel_name(const char *line, char name[PIPC__FACT_NAME_MAX])
{
    pipc__pci_addr_t addr;

    if (!pipc__kernel_log_address(line, &addr))
        return false;
    pipc__pci_format(addr, name);
    return true;
}

bool pipc__kernel_number(const char *line, const char *key, uint32_t *out)
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

pipc__event_t *pipc__kernel_event(pipc__kernel_log_t *log, const char *name,
                                  pipc__event_kind_t kind, int xid)
{
    pipc__facts_t *facts = log->facts;

    for (int i = 0; i < facts->events; i++) {
        pipc__event_t *e = &facts->event[i];
        if (e->kind == kind && e->xid == xid && strcmp(e->name, name) == 0)
            return e;
    }
    if (facts->events == EVENTS_MAX)
        return NULL;
    pipc__event_t *e = &facts->event[facts->events++];
    snprintf(e->name, sizeof(e->name), "%s", name);
    e->kind = kind;
    e->xid = xid;
    e->last = log->time;
    return e;
}

pipc__event_t *pipc__kernel_count(pipc__kernel_log_t *log, const char *name,
                                  pipc__event_kind_t kind, int xid)
{
    pipc__event_t *e = pipc__kernel_event(log, name, kind, xid);

    if (e) {
        e->count++;
        e->before_boot = false;
        e->last = log->time;
    }
    return e;
}

void pipc__kernel_forget(pipc__kernel_log_t *log, const char *name, pipc__event_kind_t kind,
                         int xid)
{
    pipc__facts_t *facts = log->facts;
    int kept = 0;

    for (int i = 0; i < facts->events; i++) {
        const pipc__event_t *e = &facts->event[i];
        if (e->kind != kind || e->xid != xid || strcmp(e->name, name) != 0)
            facts->event[kept++] = *e;
    }
    memset(&facts->event[kept], 0, sizeof(*facts->event) * (size_t)(facts->events - kept));
    facts->events = kept;
}

void pipc__kernel_bits(pipc__event_t *event, uint32_t bits)
{
    if (!event)
        return;
    event->told = true;
    event->bits |= bits;
}

void pipc__kernel_announce(pipc__kernel_log_t *log, const char *name, pipc__event_kind_t kind)
{
    pipc__kernel_log_end(log); /* the one before had no details */
    snprintf(log->announced, sizeof(log->announced), "%s", name);
    log->announced_kind = kind;
}

void pipc__kernel_log_end(pipc__kernel_log_t *log)
{
    if (log->announced[0])
        pipc__kernel_count(log, log->announced, log->announced_kind, 0);
    log->announced[0] = '\0';
}

/* Does the machine boot here, or is NVIDIA's driver loaded anew? Where the boot's own lines were
 * left out, times that begin anew tell. Lines of several processors may be late by less. */
static bool is_boot(pipc__kernel_log_t *log, const char *line)
{
    long before = log->seconds;

    if (log->time.seconds >= 0)
        log->seconds = log->time.seconds;
    return strstr(line, "Linux version ") || strncmp(line, "-- Boot ", 8) == 0 ||
           strncmp(line, "-- Reboot --", 12) == 0 || log->seconds + LATE_SECONDS < before ||
           (strstr(line, "NVRM: loading NVIDIA ") && strstr(line, "Kernel Module"));
}

/* "pci 0000:41:00.0: [10de:20f1] type 00 class 0x030200": found when the bus was read, so that it
 * answered. */
static bool is_found(const char *line, char name[PIPC__FACT_NAME_MAX])
{
    const char *at = strstr(line, "pci "), *ids = at ? strstr(at, ": [") : NULL;
    unsigned int vendor, device;

    return ids && ids - at <= PIPC__FACT_NAME_MAX && pipc__kernel_name(at, name) &&
           sscanf(ids, ": [%4x:%4x] type ", &vendor, &device) == 2 && strstr(ids, "] type ");
}

/* A boot in the middle of a log: of what was before it nothing is so now. The same of one device
 * that was found again. */
static void take_boot(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];
    bool boot = is_boot(log, line), found = !boot && is_found(line, name);

    for (int i = 0; (boot || found) && i < log->facts->events; i++) {
        pipc__event_t *e = &log->facts->event[i];
        e->before_boot |= boot || strcmp(e->name, name) == 0;
    }
}

static bool take(pipc__kernel_log_t *log, const char *line)
{
    bool guest = strstr(line, "Hypervisor detected: ") != NULL;

    log->time = pipc__kernel_time(line);
    take_boot(log, line);
    log->facts->virtual_machine |= guest;
    return pipc__kernel_take_record(log, line) || pipc__kernel_take_port(log, line) ||
           pipc__kernel_take_ras(log, line) || pipc__kernel_take_iommu(log, line) ||
           pipc__kernel_take_driver(log, line) || guest;
}

pipc_status_t pipc__kernel_log_line(pipc__kernel_log_t *log, const char *line, bool *taken,
                                    pipc__error_t *err)
{
    char own[1024]; /* longer than what drivers write before a program's name */

    if (!log->facts->event)
        log->facts->event = calloc(EVENTS_MAX, sizeof(*log->facts->event));
    if (!log->facts->event)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    size_t n = pipc__kernel_own_part(line);
    *taken = false;
    if (!line[n]) {
        *taken = take(log, line);
    } else if (n < sizeof(own)) {
        memcpy(own, line, n);
        own[n] = '\0';
        *taken = take(log, own);
    }
    log->facts->log |= *taken;
    return PIPC_OK;
}
