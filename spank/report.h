/* spank/report.h - the texts that a user reads; pure. None has a newline or the node's name. */
#ifndef PIPC_SPANK_REPORT_H
#define PIPC_SPANK_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "spank/ops.h"

#define PIPC__REPORT_MAX 1024

/* "0-3,8": the CPUs of @mask; as many ranges as fit, then "...". */
void pipc__report_cpus(const pipc__cpus_t *mask, char *buf, size_t cap);

/* verbose: one task. @rank is its number in the step; @memory: that of out->mem_node is preferred.
 */
void pipc__report_task(const pipc__place_in_t *in, const pipc__place_out_t *out, unsigned int rank,
                       bool memory, char buf[PIPC__REPORT_MAX]);

/* Tasks that have no granted core near their GPU. */
void pipc__report_far(const pipc__place_in_t *in, const pipc__place_out_t *out,
                      char buf[PIPC__REPORT_MAX]);

/* verbose: the node. @mode is PCIE_IPC_MODE. */
void pipc__report_node(const pipc__place_in_t *in, const pipc__place_out_t *out, const char *mode,
                       char buf[PIPC__REPORT_MAX]);

/* Peers' devices that the device cgroup hides, with the remedy that Slurm @version ("22.05.8";
 * NULL: not known) has. */
void pipc__report_hidden(const pipc__place_out_t *out, const char *version,
                         char buf[PIPC__REPORT_MAX]);

/* Does this Slurm have --gres-flags=allow-task-sharing (23.11 and newer)? */
bool pipc__has_task_sharing(const char *version);

/* Is @nspace (PMIX_NAMESPACE; NULL: absent) that of step @step? Slurm's names are slurm.pmix.J.S;
 * one that was inherited from a step around this one has another S. Foreign names are believed. */
bool pipc__pmix_is_ours(const char *nspace, unsigned int step);

#endif
