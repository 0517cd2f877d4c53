/* prolog/facts_dump.c - facts from the text of lspci -xxxx: it is unpacked into a captured machine
 * (topo/dump.h) and read as one, so that a dump and a machine cannot be judged differently
 */
#include "prolog/facts.h"

#include <string.h>

#include "runtime/topo/dump.h"

pipc_status_t pipc__facts_dump(pipc__facts_t *facts, const char *file, pipc__error_t *err)
{
    char root[PIPC__DUMP_ROOT_MAX];
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st = pipc__dump_unpack(file, root, err);

    memset(facts, 0, sizeof(*facts));
    if (!st && (st = pipc__facts_sysfs(facts, root, PIPC__LOOK_EXCERPT, &why)))
        pipc__fail(err, st, "%s: %s", file, why.text);
    pipc__dump_remove(root);
    return st;
}
