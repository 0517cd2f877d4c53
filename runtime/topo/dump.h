/* topo/dump.h - the text of lspci -x, -xxx or -xxxx, unpacked into a captured machine, so that a
 * dump and a machine cannot be read differently.
 */
#ifndef PIPC_TOPO_DUMP_H
#define PIPC_TOPO_DUMP_H

#include <stdbool.h>

#include "runtime/base/error.h"

#define PIPC__DUMP_ROOT_MAX 64

/* Unpack @file into a new folder below /tmp, which @root names: it holds sys/bus/pci/devices. End
 * with pipc__dump_remove(), also after a failure. PIPC_ERR_INVALID when the text holds no device's
 * bytes; @err names the file. */
pipc_status_t pipc__dump_unpack(const char *file, char root[PIPC__DUMP_ROOT_MAX],
                                pipc__error_t *err);

/* Does lspci's text for a class and a maker name a GPU? */
bool pipc__dump_names_gpu(const char *text);

/* "0302: 10de:2206 (rev a1)", older "Class 0302: Device 10de:2206", as lspci -n writes it: the
 * class (0x0302) and the ids; -1, and nothing told, for any other text. */
int pipc__dump_numbers(const char *text, int *vendor, int *device);

void pipc__dump_remove(const char *root); /* "" is allowed */

#endif
