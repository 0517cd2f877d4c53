/* tune/table.h - which plan for which size. Decided from bytes alone, so the same on every rank.
 */
#ifndef PIPC_TUNE_TABLE_H
#define PIPC_TUNE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/generate.h"

typedef struct pipc__table_row {
    size_t max_bytes; /* messages up to this size (inclusive) */
    pipc__plan_kind_t plan;
} pipc__table_row_t;

#define PIPC__TABLE_ROWS 8

typedef struct pipc__table {
    int nrows; /* rows in ascending order; the last one's max_bytes is SIZE_MAX */
    pipc__table_row_t row[PIPC__TABLE_ROWS];
} pipc__table_t;

/* The shipped table for ranks that stand as @shape says, on GPUs or on CPUs. */
pipc__table_t pipc__table_default(const pipc__shape_t *shape, int on_gpu);

/* A table of one row: @plan for every size. */
pipc__table_t pipc__table_fixed(pipc__plan_kind_t plan);

pipc__plan_kind_t pipc__table_choose(const pipc__table_t *table, size_t bytes);

/* Ranks compare it before they trust each other's choices. */
uint64_t pipc__table_digest(const pipc__table_t *table);

#endif
