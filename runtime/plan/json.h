/* plan/json.h - plans as JSON: to keep, to change by hand, to check and to simulate again.
 *
 *     {
 *       "version": 1, "name": "two-shot", "collective": "all-reduce",
 *       "ranks": 2, "stages": 1, "chunks": 2, "slots": 4, "flags": 4, "rails": 2,
 *       "programs": [
 *         {"rank": 0, "stage": 0, "ops": [
 *           {"op": "copy", "chunk": 1, "from": {"place": "input"},
 *                                      "to": {"place": "slot", "rank": 1, "slot": 0}},
 *           {"op": "signal", "rank": 1, "flag": 0},
 *           {"op": "wait", "rank": 1, "flag": 1},
 *           {"op": "reduce", "chunk": 0, "from": [{"place": "input", "pre": true},
 *                                                 {"place": "slot", "slot": 1, "pre": true}],
 *                                        "to": {"place": "output"}, "post": true},
 *           {"op": "rail", "chunk": 0, "at": {"place": "output"}, "flag": 64, "post": true},
 *           ... ]},
 *         ... ]
 *     }
 *
 * collective  "all-reduce", "reduce-scatter", "all-gather"
 * rails       0 when left out: a plan of one node, without rails
 * programs    one for each rank and stage, at most; those left out are empty
 * place       "input", "slot", "output", "host" (a slot in host memory)
 * rank        of a place: whose, the program's own rank when left out;
 *             of a signal: whose flag; of a wait: who sets it
 * slot        0 when left out
 * flag        of a rail: the own flag that its end sets
 * pre, post   false when left out; see plan.h
 * memory      of a signal or wait: "device" when left out, or "host"
 *
 * Limits are those of plan.h. An unknown key is an error: a misspelt one would be taken for absent.
 */
#ifndef PIPC_PLAN_JSON_H
#define PIPC_PLAN_JSON_H

#include <stdio.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

#define PIPC__PLAN_FILE_MAX                                                                        \
    (16 << 20)                   /* bytes of a plan file; the largest plans have about one MB */
#define PIPC__PLAN_OPS_MAX 65535 /* ops of a program in a file */

/* Write @plan, an op a line. Reading gives the same plan back, byte for byte, unless the plan has
 * something in fields that its ops don't use. PIPC_ERR_INVALID for a plan with an op, place or
 * collective that has no name, PIPC_ERR_SYSTEM when @out can't be written. */
pipc_status_t pipc__plan_write_json(const pipc__plan_t *plan, FILE *out, pipc__error_t *err);

/* Read a plan, and let pipc__plan_validate() judge it. The caller releases it with
 * pipc__plan_free(); on failure *plan is NULL. PIPC_ERR_SYSTEM: the file can't be read;
 * PIPC_ERR_INVALID: it is no plan, and the text names file, program and op, or rank, stage and
 * step. */
pipc_status_t pipc__plan_read_json(pipc__plan_t **plan, const char *path, pipc__error_t *err);

/* The names of op kinds and places above, in order of their enumerations; NULL at the end. */
extern const char *const pipc__op_names[];
extern const char *const pipc__place_names[];

#endif
