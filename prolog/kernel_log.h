/* prolog/kernel_log.h - what the lines of a kernel's log say of PCIe errors, of links and of GPUs'
 * drivers. Pure.
 */
#ifndef PIPC_PROLOG_KERNEL_LOG_H
#define PIPC_PROLOG_KERNEL_LOG_H

#include "prolog/facts.h"
#include "runtime/topo/topo.h"

/* The firmware's record whose lines are being read. */
typedef struct pipc__kernel_record {
    enum { PIPC__RECORD_MILD, PIPC__RECORD_BAD, PIPC__RECORD_FATAL } severity;
    bool survived; /* the event as a whole was not fatal, whatever a section says */
    bool pcie;
    char device[PIPC__FACT_NAME_MAX]; /* or "" */
} pipc__kernel_record_t;

typedef struct pipc__kernel_log {
    pipc__facts_t *facts; /* where events go */
    pipc__kernel_record_t record;
    pipc__event_kind_t kind;          /* of the last error that was reported ... */
    char whose[PIPC__FACT_NAME_MAX];  /* ... and of which device; or "" */
    char nvidia[PIPC__FACT_NAME_MAX]; /* the GPU of a report of several lines, or "" */
    /* An error that was announced, and whose details should follow; "" or whose. */
    char announced[PIPC__FACT_NAME_MAX];
    pipc__event_kind_t announced_kind;
    pipc__event_time_t time; /* of the line */
    long seconds;            /* since boot, of the last line that told */
} pipc__kernel_log_t;

/* Take one line, whatever it is. *taken: it is one of a kernel's about such things. PIPC_ERR_NOMEM
 * is all that can go wrong; of more devices than a machine has, those after the first 256 events
 * are left out. */
pipc_status_t pipc__kernel_log_line(pipc__kernel_log_t *log, const char *line, bool *taken,
                                    pipc__error_t *err);

/* After the last line: an error whose details did not follow counts too. */
void pipc__kernel_log_end(pipc__kernel_log_t *log);

/* Does this record of the kernel's begin as one of those that are read, with nothing in that place
 * that a user could have named? In a text that people chose, lines may begin anywhere. */
bool pipc__kernel_is_own(const char *text);
#define PIPC__KERNEL_NVIDIA "NVRM: "

/* The first whole address ("0000:41:00.0") in @text; false without one. */
bool pipc__kernel_log_address(const char *text, pipc__pci_addr_t *addr);

#endif
