/* prolog/links.h - the links in Slurm's prolog.d and epilog.d
 *
 * Links that an administrator makes by a command, not files of the package: a package leaves
 * *.dpkg-dist and *.rpmnew beside files that were changed, and Slurm's glob then runs those.
 */
#ifndef PIPC_PROLOG_LINKS_H
#define PIPC_PROLOG_LINKS_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/base/error.h"

#define PIPC__LINK_NAME "pcie-ipc"

/* Make <folder>/pcie-ipc a link to @target, and say on @out what was done. Done already is done.
 * What is there and not this link stays, and is an error; so is a folder that others can write. */
pipc_status_t pipc__link_install(const char *folder, const char *target, FILE *out,
                                 pipc__error_t *err);

/* Remove it, if it is this link. */
pipc_status_t pipc__link_remove(const char *folder, const char *target, FILE *out,
                                pipc__error_t *err);

/* Is it there? */
bool pipc__link_is_there(const char *folder, const char *target);

#endif
