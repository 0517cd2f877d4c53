/* prolog/conditions.h - under which conditions a check is made: what, when it changes, may change
 * the answer without any change of the machine
 */
#ifndef PIPC_PROLOG_CONDITIONS_H
#define PIPC_PROLOG_CONDITIONS_H

#define PIPC__CONDITIONS_MAX 320

/* One line: "kernel 6.1.0, driver 550.54.15, package 0.1.0, limits 8f0e..., baseline none". The
 * kernel and the driver are those of @sysroot; of the files (NULL: none) it has a digest. */
void pipc__conditions(const char *sysroot, const char *limits, const char *baseline,
                      char out[PIPC__CONDITIONS_MAX]);

#endif
