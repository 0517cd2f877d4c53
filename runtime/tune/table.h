/* tune/table.h - what is done for which size: a plan, how its bytes are moved, on how many blocks.
 * Decided from a message's bytes and from whether its stream is being captured into a graph: both
 * are the same on every rank. Never from a pointer, an alignment or a local failure.
 */
#ifndef PIPC_TUNE_TABLE_H
#define PIPC_TUNE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/generate.h"
#include "runtime/plan/proto.h"

#define PIPC__ALGO_NCCL PIPC__PLAN_KINDS /* no plan of ours: NCCL does it */
#define PIPC__ALGOS (PIPC__PLAN_KINDS + 1)

typedef struct pipc__choice {
    int algo; /* pipc__plan_kind_t, or PIPC__ALGO_NCCL; then the rest is 0 */
    pipc__proto_t proto;
    int blocks; /* thread blocks at most; 0: the executor's default */
} pipc__choice_t;

typedef struct pipc__table_row {
    size_t max_bytes; /* messages up to this size (inclusive) */
    pipc__choice_t eager, graph;
} pipc__table_row_t;

#define PIPC__TABLE_ROWS 64

typedef struct pipc__table {
    int nrows; /* rows in ascending order; the last one's max_bytes is SIZE_MAX */
    pipc__table_row_t row[PIPC__TABLE_ROWS];
} pipc__table_t;

/* The shipped table for ranks that stand as @shape says, on GPUs whose calls may have @blocks
 * thread blocks, or on CPUs. It may name protocols that an executor has not: pipc__choose_fit(). */
pipc__table_t pipc__table_default(const pipc__shape_t *shape, bool on_gpu, int blocks);

/* A table of one row: @algo for every size. */
pipc__table_t pipc__table_fixed(int algo);

pipc__choice_t pipc__table_choose(const pipc__table_t *table, size_t bytes, bool in_graph);

/* Does it matter for messages of @bytes whether they go into a graph? */
bool pipc__table_asks_graph(const pipc__table_t *table, size_t bytes);

/* Does any row name @algo? */
bool pipc__table_names(const pipc__table_t *table, int algo);

/* Or any plan over nodes, whose jobs need rails? */
bool pipc__table_names_rails(const pipc__table_t *table);

/* Where @table names @algo, what @other says for those sizes in its place. For NCCL that is not
 * there. */
void pipc__table_replace(pipc__table_t *table, int algo, const pipc__table_t *other);

/* Let @proto end at messages of @bytes (0: none at all); simple takes over, on the default number
 * of blocks. */
void pipc__table_end(pipc__table_t *table, pipc__proto_t proto, size_t bytes);

bool pipc__choice_equal(pipc__choice_t a, pipc__choice_t b);

/* "one-shot", ..., "nccl"; NULL for what is none. Static. */
const char *pipc__algo_name(int algo);
/* "simple", "ll", "push", "ce", "ll128"; NULL for what is none. Static. */
const char *pipc__proto_name(pipc__proto_t proto);

/* Ranks compare it before they trust each other's choices. */
uint64_t pipc__table_digest(const pipc__table_t *table);

#endif
