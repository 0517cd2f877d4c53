/* prolog/config_space.h - config space through libpci, which never ends the program
 */
#ifndef PIPC_PROLOG_CONFIG_SPACE_H
#define PIPC_PROLOG_CONFIG_SPACE_H

#include <stddef.h>

#include "prolog/express.h"
#include "runtime/base/error.h"
#include "runtime/topo/topo.h"

typedef struct pipc__config_space pipc__config_space_t;

/* Open the devices below <root>/sys/bus/pci. */
pipc_status_t pipc__config_space_open(pipc__config_space_t **space, const char *root,
                                      pipc__error_t *err);

/* Read what can be read of the first 256 bytes: without privilege that is 64, and 0 where the
 * function has no config file. PIPC_ERR_SYSTEM when libpci gave up: then only close is allowed. */
pipc_status_t pipc__config_space_read(pipc__config_space_t *space, pipc__pci_addr_t addr,
                                      unsigned char config[PIPC__CONFIG_MAX], size_t *bytes,
                                      pipc__error_t *err);

/* Read on, after 256 bytes: what extended.h decodes, a few words of each capability on the list.
 * What is not read is zero in @config. A part that cannot be read ends the list there. */
pipc_status_t pipc__config_space_extended(pipc__config_space_t *space, pipc__pci_addr_t addr,
                                          unsigned char config[PIPC__CONFIG_WHOLE_MAX],
                                          size_t *bytes, pipc__error_t *err);

void pipc__config_space_close(pipc__config_space_t *space);

#endif
