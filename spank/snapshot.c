/* spank/snapshot.c - see snapshot.h */
#include "spank/snapshot.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

pipc_status_t pipc__snapshot_read(const char *text, size_t len, pipc__snapshot_t *out,
                                  pipc__error_t *err)
{
    json_error_t where;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    const char *boot_id, *verdict, *reason = "";
    json_int_t time;
    pipc_status_t st = PIPC_OK;

    memset(out, 0, sizeof(*out));
    if (!root)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: %s", where.line, where.text);
    if (json_unpack_ex(root, &where, 0, "{s:s, s:I, s:s, s?s}", "boot_id", &boot_id, "time", &time,
                       "verdict", &verdict, "reason", &reason)) {
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s", where.text);
    } else {
        snprintf(out->boot_id, sizeof(out->boot_id), "%s", boot_id);
        snprintf(out->verdict, sizeof(out->verdict), "%s", verdict);
        snprintf(out->reason, sizeof(out->reason), "%s", reason);
        out->time = time;
    }
    json_decref(root);
    return st;
}
