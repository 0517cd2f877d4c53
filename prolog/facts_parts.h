/* prolog/facts_parts.h - what facts_sysfs.c puts together; facts.h is for everybody else
 */
#ifndef PIPC_PROLOG_FACTS_PARTS_H
#define PIPC_PROLOG_FACTS_PARTS_H

#include "prolog/facts.h"
#include "runtime/topo/scan.h"

/* Add what the machine's files say beside its devices: the kernel's policy for ASPM, and at which
 * root ports its AER service counts. A counter of 0 elsewhere becomes unknown. */
void pipc__facts_node(pipc__facts_t *facts, const char *root);

/* Is it a virtual machine's? */
bool pipc__facts_guest(const pipc__scan_t *scan);

/* Of one device, whose folder below @root is @dir: what the kernel counted. */
void pipc__facts_counters(pipc__fact_t *fact, const char *root, const char *dir);

/* ... the IOMMU's group, and the BAR that is for
 * memory. */
void pipc__facts_memory(pipc__fact_t *fact, const char *root, const char *dir);

/* The policy within brackets in the kernel's "default [performance] powersave", or "". */
void pipc__facts_policy(const char *text, char out[PIPC__POLICY_MAX]);

/* The events of the kernel's log. What cannot be read, without privilege for one, is not there;
 * PIPC_ERR_NOMEM is all that can go wrong. */
pipc_status_t pipc__facts_log(pipc__facts_t *facts, const char *root, pipc__error_t *err);

#endif
