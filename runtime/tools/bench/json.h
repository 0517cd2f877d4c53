/* tools/bench/json.h - the results for programs.
 */
#ifndef PIPC_BENCH_JSON_H
#define PIPC_BENCH_JSON_H

#include "runtime/tools/bench/measure.h"

typedef struct bench_json bench_json_t;

/* Start a document with what the head of the table says. NULL when memory is out. */
bench_json_t *bench_json_begin(const bench_t *b);

/* Add a row. False when memory is out. */
bool bench_json_row(bench_json_t *j, const bench_t *b, size_t count, pipc_dtype_t dtype,
                    pipc_redop_t op, const bench_row_t *row);

/* Write the document to options.json_path, whole or not at all, and release it (NULL is allowed). */
pipc_status_t bench_json_end(bench_json_t *j, const bench_t *b, pipc__error_t *err);

#endif
