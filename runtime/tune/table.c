/* tune/table.c - see table.h
 *
 * The shipped rows are where measurement starts. Two ranks: one-shot moves as many bytes over the
 * link as two-shot and waits once, so it always wins on GPUs. More ranks: one-shot sends n - 1
 * copies and pays from about 64 KB (8 ranks) or 256 KB (4 ranks) on. On CPUs one thread does all
 * the copying, and the crossover is earlier.
 *
 * Where ranks stand in groups, the links between groups carry S bytes each way with the island plan
 * and several times that with two-shot; what it costs, more waits in a row, is little from about a
 * megabyte on. A shape has levels only where some group has two ranks and another rank is outside.
 */
#include "runtime/tune/table.h"

#include "runtime/base/hash.h"

#define ISLAND_BYTES ((size_t)1 << 20)

pipc__table_t pipc__table_fixed(pipc__plan_kind_t plan)
{
    return (pipc__table_t){1, {{SIZE_MAX, plan}}};
}

pipc__table_t pipc__table_default(const pipc__shape_t *shape, int on_gpu)
{
    int n = shape->nranks;
    size_t cross = on_gpu ? (n <= 4 ? 256 << 10 : 64 << 10) : 16 << 10;

    if (shape->nlevels)
        return (pipc__table_t){3, {{cross, PIPC__ONE_SHOT}, {ISLAND_BYTES - 1, PIPC__TWO_SHOT},
                                   {SIZE_MAX, PIPC__ISLAND}}};
    if (n <= 2 && on_gpu)
        return pipc__table_fixed(PIPC__ONE_SHOT);
    return (pipc__table_t){2, {{cross, PIPC__ONE_SHOT}, {SIZE_MAX, PIPC__TWO_SHOT}}};
}

pipc__plan_kind_t pipc__table_choose(const pipc__table_t *table, size_t bytes)
{
    int i = 0;

    while (i < table->nrows - 1 && bytes > table->row[i].max_bytes)
        i++;
    return table->row[i].plan;
}

uint64_t pipc__table_digest(const pipc__table_t *table)
{
    uint64_t h = PIPC__HASH_INIT;

    for (int i = 0; i < table->nrows; i++) {
        uint64_t row[2] = {table->row[i].max_bytes, (uint64_t)table->row[i].plan};
        h = pipc__hash(h, row, sizeof(row));
    }
    return h;
}
