/* base/outfile.h - the file that an option names for output: whole or not at all
 *
 * What is written goes to a file beside it, "FILE.0.part", which takes its name at the end, so that
 * readers never meet a half of it. A link is followed, so that it stays one. What is there and is
 * no regular file (a device, a pipe) is written to as it is: a file that took its name would
 * replace it, for root /dev/null too.
 *
 *     st = pipc__outfile_try(path, 0, err);             before the work that the file will tell of
 *     ...
 *     st = pipc__outfile_open(&out, path, 0, err);
 *     if (!st) {
 *         fprintf(out.f, ...);
 *         st = pipc__outfile_close(&out, err);
 *     }
 *
 * For tools only, as base/cli.h: in libpipc-cli.la.
 */
#ifndef PIPC_BASE_OUTFILE_H
#define PIPC_BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime/base/error.h"

typedef struct pipc__outfile {
    FILE *f;
    char path[PATH_MAX]; /* what is written, links resolved */
    char part[PATH_MAX]; /* "": it is written to as it is */
    bool to_stdout;      /* it is what stdout goes to */
} pipc__outfile_t;

/* Can @path be written? Makes and removes the file beside it, waits for no reader of a pipe, and
 * changes nothing else. @writer tells those apart who write the same path at a time. */
pipc_status_t pipc__outfile_try(const char *path, int writer, pipc__error_t *err);

/* Begin to write @path, to out->f. */
pipc_status_t pipc__outfile_open(pipc__outfile_t *out, const char *path, int writer,
                                 pipc__error_t *err);

/* End, and give the file its name; where it could not be written it is removed. */
pipc_status_t pipc__outfile_close(pipc__outfile_t *out, pipc__error_t *err);

#endif
