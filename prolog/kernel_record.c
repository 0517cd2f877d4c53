/* prolog/kernel_record.c - the firmware's records in a kernel's log
 *
 *     BERT: Error records from previous boot:
 *     {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4
 *     {1}[Hardware Error]: event severity: fatal
 *     {1}[Hardware Error]:  Error 0, type: fatal
 *     {1}[Hardware Error]:   section_type: PCIe error
 *     {1}[Hardware Error]:   device_id: 0000:40:01.1
 *     {1}[Hardware Error]:   aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00000000
 *
 * A fatal one ends the boot, so that it is read at the next one. Corrected and recoverable ones are
 * of a machine whose firmware handles errors itself, where the AER service counts none.
 */
#include <string.h>
#include <strings.h>

#include "prolog/kernel_line.h"

static bool is_record_line(const char *line)
{
    return strstr(line, "[Hardware Error]") || strstr(line, "aer_uncor_status") ||
           strstr(line, "aer_cor_status");
}

/* What the line says of the severity; no change where it says nothing. */
static void take_severity(pipc__kernel_record_t *r, const char *line)
{
    bool first = strstr(line, "event severity:") != NULL;
    const char *type = strstr(line, ", type: ");

    if (first || strstr(line, "Hardware error from"))
        memset(r, 0, sizeof(*r));
    else if (type) /* a record may have several sections */
        r->pcie = false, r->device[0] = '\0';
    bool fatal = strcasestr(line, "fatal") && !strcasestr(line, "non-fatal");
    if (first)
        r->survived = !fatal;
    if (fatal)
        r->severity = r->survived ? PIPC__RECORD_BAD : PIPC__RECORD_FATAL;
    else if (strstr(line, "recoverable") || strcasestr(line, "non-fatal"))
        r->severity = PIPC__RECORD_BAD;
    else if (type)
        r->severity = PIPC__RECORD_MILD;
}

/* That there was an error; of a fatal one the status has to tell which. */
static void take_device(pipc__kernel_log_t *log, const char *name)
{
    pipc__kernel_record_t *r = &log->record;

    memcpy(r->device, name, sizeof(r->device));
    if (!r->pcie)
        return;
    if (r->severity == PIPC__RECORD_FATAL)
        pipc__kernel_announce(log, name, PIPC__EVENT_UNCORRECTED);
    else
        pipc__kernel_count(
            log, name,
            r->severity == PIPC__RECORD_BAD ? PIPC__EVENT_UNCORRECTED : PIPC__EVENT_CORRECTED, 0);
}

static void take_uncorrected(pipc__kernel_log_t *log, uint32_t bits)
{
    pipc__kernel_record_t *r = &log->record;
    bool fatal = r->severity == PIPC__RECORD_FATAL, counted = r->pcie && !fatal;

    if (!bits || !r->device[0] || (counted && r->severity == PIPC__RECORD_MILD))
        return;
    log->announced[0] = '\0';
    pipc__event_kind_t kind = fatal ? PIPC__EVENT_RECORD : PIPC__EVENT_UNCORRECTED;
    pipc__event_t *e = counted ? pipc__kernel_event(log, r->device, kind, 0)
                               : pipc__kernel_count(log, r->device, kind, 0);
    pipc__kernel_bits(e, bits);
}

bool pipc__kernel_take_record(pipc__kernel_log_t *log, const char *line)
{
    char name[PIPC__FACT_NAME_MAX];
    uint32_t status, mask = 0;

    if (!is_record_line(line))
        return false;
    take_severity(&log->record, line);
    if (strstr(line, "section_type: PCIe"))
        log->record.pcie = true;
    if (pipc__kernel_name(line, name))
        take_device(log, name);
    if (pipc__kernel_number(line, "aer_uncor_status", &status)) {
        pipc__kernel_number(line, "aer_uncor_mask", &mask);
        take_uncorrected(log, status & ~mask);
    }
    if (pipc__kernel_number(line, "aer_cor_status", &status) && log->record.device[0]) {
        mask = 0;
        pipc__kernel_number(line, "aer_cor_mask", &mask);
        pipc__kernel_bits(pipc__kernel_event(log, log->record.device, PIPC__EVENT_CORRECTED, 0),
                          status & ~mask);
    }
    return true;
}
