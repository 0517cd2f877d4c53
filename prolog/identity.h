/* prolog/identity.h - which card it is, of many alike: slot, UUID and the BIOS's version
 */
#ifndef PIPC_PROLOG_IDENTITY_H
#define PIPC_PROLOG_IDENTITY_H

#include "prolog/facts.h"

/* Add to @facts, which came from the files below @root, what these say of identities. What is not
 * there stays unknown. */
void pipc__identity_read(const char *root, pipc__facts_t *facts);

#endif
