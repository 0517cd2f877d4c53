/* prolog/kernel_line.h - what the readers of a kernel's lines share (kernel_log.h is for callers).
 * Each takes a line, or leaves it to the next.
 */
#ifndef PIPC_PROLOG_KERNEL_LINE_H
#define PIPC_PROLOG_KERNEL_LINE_H

#include "prolog/kernel_log.h"

/* The AER service's and DPC's reports, hotplug's, and what enumeration says of a slow path. */
bool pipc__kernel_take_port(pipc__kernel_log_t *log, const char *line);

/* The firmware's records: BERT's of the boot before, and those of errors that it handles itself. */
bool pipc__kernel_take_record(pipc__kernel_log_t *log, const char *line);

/* The same as rasdaemon keeps it. */
bool pipc__kernel_take_ras(pipc__kernel_log_t *log, const char *line);

/* What an IOMMU refused. */
bool pipc__kernel_take_iommu(pipc__kernel_log_t *log, const char *line);

/* What drivers of GPUs say. */
bool pipc__kernel_take_driver(pipc__kernel_log_t *log, const char *line);

/* How much of @line the kernel wrote by itself: where it names a program, a user chose the rest. */
size_t pipc__kernel_own_part(const char *line);

/* Is the line by a driver for sound or USB? */
bool pipc__kernel_of_companion(const char *line);

/* When a line was written, as far as it says so. */
pipc__event_time_t pipc__kernel_time(const char *line);

/* Count one of this device and kind (and @xid, else 0), and note the time of the line; NULL when
 * there is no room for it. */
pipc__event_t *pipc__kernel_count(pipc__kernel_log_t *log, const char *name,
                                  pipc__event_kind_t kind, int xid);

/* The same without counting one more. */
pipc__event_t *pipc__kernel_event(pipc__kernel_log_t *log, const char *name,
                                  pipc__event_kind_t kind, int xid);

/* Nothing of this kind is so any more. */
void pipc__kernel_forget(pipc__kernel_log_t *log, const char *name, pipc__event_kind_t kind,
                         int xid);

/* Bits of the status, masked ones aside; none where there is no event. */
void pipc__kernel_bits(pipc__event_t *event, uint32_t bits);

/* Details may follow: if they don't, it counts as one that tells none. */
void pipc__kernel_announce(pipc__kernel_log_t *log, const char *name, pipc__event_kind_t kind);

/* The first whole address in @line; false without one. */
bool pipc__kernel_name(const char *line, char name[PIPC__FACT_NAME_MAX]);

/* "KEY: 0x00004000", "KEY 0x4000"; false when it is not there. */
bool pipc__kernel_number(const char *line, const char *key, uint32_t *out);

#endif
