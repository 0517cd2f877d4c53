/* prolog/prometheus.h - findings, links and errors for Prometheus, as the textfile collector of its
 * node exporter reads them
 */
#ifndef PIPC_PROLOG_PROMETHEUS_H
#define PIPC_PROLOG_PROMETHEUS_H

#include <stdio.h>
#include <sys/types.h>

#include "prolog/counters.h"
#include "prolog/judge.h"

/* Pure. @counters NULL: nothing is said of links. @time: of the check, seconds since 1970. */
void pipc__prometheus_print(const pipc__findings_t *findings, const pipc__counters_t *counters,
                            int64_t time, FILE *out);

/* What is wrong with @path for pipc__prometheus_write(): its name, which the collector would pass
 * over, or what is there already and is no regular file. NULL: nothing is. */
const char *pipc__prometheus_judge(const char *path);

/* Print, with the links of the machine below @sysroot as they are now, to the file at @path:
 * whole or not at all. Its folder must be there; it is refused as pipc__state_open() refuses one,
 * and @path as pipc__prometheus_judge() does. */
pipc_status_t pipc__prometheus_write(const char *path, uid_t owner, const char *sysroot,
                                     const pipc__findings_t *findings, pipc__error_t *err);

#endif
