/* prolog/identity.h - which card it is, of many alike: slot, UUID and the BIOS's version
 */
#ifndef PIPC_PROLOG_IDENTITY_H
#define PIPC_PROLOG_IDENTITY_H

#include <stdbool.h>

#include "prolog/facts.h"

/* Add to @facts, which came from the files below @root, what these say of identities. What is not
 * there stays unknown. The UUID is a GPU driver's to say, which may hang where the GPU is sick: a
 * prolog does not ask it. */
void pipc__identity_read(const char *root, bool ask_driver, pipc__facts_t *facts);

#endif
