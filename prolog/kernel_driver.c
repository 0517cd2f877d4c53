/* prolog/kernel_driver.c - what GPUs' drivers say in a kernel's log
 *
 *     NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.
 *     NVRM: Xid (0000:41:00): 31, ...                                   older drivers
 *     NVRM: Xid (PCI:0000:41:00 GPU-I:05 GPU-CI:00): 94, ...            MIG
 *     NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x24:0xffff:1220)
 *     amdgpu 0000:c3:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block
 *     xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/kernel_line.h"

#define XID "NVRM: Xid ("
#define RECOVERY                                                                                   \
    154 /* "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"               \
         */

/* "Xid (PCI:0000:41:00): 79": the address has no function there. Of a part of a GPU (MIG) the
 * instances follow it: "(PCI:0000:41:00 GPU-I:05 GPU-CI:00)". */
static bool xid(pipc__kernel_log_t *log, const char *line)
{
    const char *at = strstr(line, XID), *close = at ? strchr(at, ')') : NULL;
    char text[PIPC__NAME_MAX], name[PIPC__FACT_NAME_MAX], *end;
    pipc__pci_addr_t addr;

    if (!close || close[1] != ':')
        return false;
    at += strlen(XID);
    at += strncmp(at, "PCI:", 4) == 0 ? 4 : 0;
    size_t n = strcspn(at, " )");
    long number = strtol(close + 2, &end, 10);
    if (end == close + 2 || number < 1 || number > 9999 || n >= 32)
        return true;
    snprintf(text, sizeof(text), "%.*s%s", (int)n, at, memchr(at, '.', n) ? "" : ".0");
    if (!pipc__pci_parse(text, &addr))
        return true;
    pipc__pci_format(addr, name);
    if (number == RECOVERY && strstr(end, "to 0x0 "))
        pipc__kernel_forget(log, name, PIPC__EVENT_XID, RECOVERY); /* it needs none any more */
    else
        pipc__kernel_count(log, name, PIPC__EVENT_XID, (int)number);
    return true;
}

/* Words alone may be anybody's: those of @by, in the same line before them, count. */
static const struct {
    const char *by, *words;
    pipc__event_kind_t kind;
} table[] = {
    {"NVRM: ", "fallen off the bus", PIPC__EVENT_OFF_BUS},
    {"power state", "device inaccessible", PIPC__EVENT_LOST},
    {"power state", "config space inaccessible", PIPC__EVENT_LOST},
    {": ", "Refused to change power state", PIPC__EVENT_LOST}, /* before 5.6 */
    {"amdgpu", "lost from bus", PIPC__EVENT_OFF_BUS},
    {"amdgpu", "lost from the bus", PIPC__EVENT_OFF_BUS},
    {"NVRM: ", "lost from the bus", PIPC__EVENT_OFF_BUS},
    {": ", "evice recovery failed", PIPC__EVENT_UNRECOVERED}, /* device, before 5.x Device */
    {"NVRM: ", "GPU is lost", PIPC__EVENT_OFF_BUS},
    {"", "Unable to determine the device handle", PIPC__EVENT_OFF_BUS}, /* nvidia-smi */
    {"NVRM: ", "RmInitAdapter failed", PIPC__EVENT_NO_START},
    {"NVRM: ", "rm_init_adapter failed", PIPC__EVENT_NO_START},
    {"amdgpu", "Fatal error during GPU init", PIPC__EVENT_NO_START},
    {"NVRM: ", "BAR1 is 0M", PIPC__EVENT_NO_START},
    {"", "nvidia: probe of 0", PIPC__EVENT_NO_START}, /* before 6.8 */
    {"", "amdgpu: probe of 0", PIPC__EVENT_NO_START},
    {"nvidia ", "probe with driver nvidia failed", PIPC__EVENT_NO_START},
    {"amdgpu ", "probe with driver amdgpu failed", PIPC__EVENT_NO_START},
    {"amdgpu", "uncorrectable hardware error", PIPC__EVENT_HARDWARE},
    {"amdgpu", "GPU Recovery Failed", PIPC__EVENT_GIVEN_UP},
    {"amdgpu", "GPU reset end with ret = -", PIPC__EVENT_GIVEN_UP},
    {"xe ", "Xe has declared device", PIPC__EVENT_GIVEN_UP},
    {"i915 ", "declaring it wedged", PIPC__EVENT_GIVEN_UP},
    /* any driver, since 6.15; "but recovered through reset" is one that is well */
    {"[drm] ", "device wedged, needs recovery", PIPC__EVENT_GIVEN_UP},
};

/* Where the @i-th stands in @line, or NULL. */
static const char *find(const char *line, size_t i)
{
    const char *by = strstr(line, table[i].by);

    return by ? strstr(by + strlen(table[i].by), table[i].words) : NULL;
}

/* NVIDIA's driver writes some reports in several lines, the address in the first. */
static bool name_of(const pipc__kernel_log_t *log, const char *line, char name[PIPC__FACT_NAME_MAX])
{
    if (pipc__kernel_name(line, name))
        return true;
    if (!strstr(line, "NVRM:") || !log->nvidia[0])
        return false;
    memcpy(name, log->nvidia, PIPC__FACT_NAME_MAX);
    return true;
}

/* "0 uncorrectable hardware errors", "0 new uncorrectable ...": a count that is well. */
static bool counts_none(const char *line, const char *at)
{
    at -= at - line >= 4 && strncmp(at - 4, "new ", 4) == 0 ? 4 : 0;
    return at - line >= 3 && strncmp(at - 3, " 0 ", 3) == 0;
}

bool pipc__kernel_take_driver(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];

    if (xid(log, line))
        return true;
    if (strstr(line, "NVRM: The NVIDIA GPU "))
        pipc__kernel_name(line, log->nvidia);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *at = find(line, i);
        if (!at)
            continue;
        pipc__event_t *e = NULL;
        if (!counts_none(line, at) && name_of(log, line, name))
            e = pipc__kernel_count(log, name, table[i].kind, 0);
        if (e)
            e->companion = pipc__kernel_of_companion(line);
        return true;
    }
    return false;
}
