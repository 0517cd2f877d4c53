/* tools/bench/json.h - the results for programs.
 */
#ifndef PIPC_BENCH_JSON_H
#define PIPC_BENCH_JSON_H

#include "runtime/tools/bench/measure.h"

/* Write all results to options.json_path, whole or not at all. Nothing to do without it. */
pipc_status_t bench_json(const bench_t *b, const bench_results_t *results, pipc__error_t *err);

#endif
