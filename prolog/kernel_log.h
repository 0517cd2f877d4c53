/* prolog/kernel_log.h - what the lines of a kernel's log say of PCIe errors. Pure.
 */
#ifndef PIPC_PROLOG_KERNEL_LOG_H
#define PIPC_PROLOG_KERNEL_LOG_H

#include "prolog/facts.h"
#include "runtime/topo/topo.h"

typedef struct pipc__kernel_log {
    pipc__facts_t *facts;             /* where events go */
    char device[PIPC__FACT_NAME_MAX]; /* that the lines of a record are about, or "" */
    bool fatal;                       /* so is the record */
    pipc__event_kind_t kind;          /* of the last error that was reported */
} pipc__kernel_log_t;

/* Take one line, whatever it is. *taken: it is one of a kernel's about PCIe errors. PIPC_ERR_NOMEM
 * is all that can go wrong; of more devices than a machine has, those after the first 256 events
 * are left out. */
pipc_status_t pipc__kernel_log_line(pipc__kernel_log_t *log, const char *line, bool *taken,
                                    pipc__error_t *err);

/* The first whole address ("0000:41:00.0") in @text; false without one. */
bool pipc__kernel_log_address(const char *text, pipc__pci_addr_t *addr);

#endif
