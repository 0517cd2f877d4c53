/* spank/object.h - open the second object */
#ifndef PIPC_SPANK_OBJECT_H
#define PIPC_SPANK_OBJECT_H

#include "spank/ops.h"

/* The object at @path for the life of the process; *ops points into it. PIPC_ERR_NOT_FOUND when it
 * can't be loaded, PIPC_ERR_MISMATCH when it is another version's. */
pipc_status_t pipc__object_open(const char *path, const pipc__spank_ops_t **ops,
                                pipc__error_t *err);

#endif
