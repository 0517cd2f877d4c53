/* bind/spread.c - bind:spread: consecutive ranks take places in turn
 *
 * At every level of the tree the parts below take turns, each giving its GPUs in its own order,
 * which was made the same way; a part that has none left is passed over. So rank 0 and 1 stand at
 * two NUMA nodes where there are two, ranks 0 and 2 under two switches of the first one, and k
 * ranks use as many places as k can. Dealing GPUs out over the outermost switches alone would be
 * right on flat machines and put neighbours under one inner switch of nested ones.
 */
#include "runtime/bind/parts.h"

#include <stdlib.h>
#include <string.h>

/* One past the last of the ways that stand in one part at @level with the one at @from. */
static int part_end(const pipc__way_t *ways, int from, int n, int level)
{
    int end = from + 1;

    if (level >= ways[from].len - 1) /* a GPU is a part by itself */
        return end;
    while (end < n && level < ways[end].len - 1 && ways[end].key[level] == ways[from].key[level])
        end++;
    return end;
}

/* Deal out[n], which holds parts one behind the other, end[p] their ends, one of each in turn. */
static void take_turns(int *out, int n, const int *end, int parts)
{
    int dealt[PIPC__BIND_MAX] = {0}, count = 0;

    for (int turn = 0; count < n; turn++)
        for (int p = 0; p < parts; p++) {
            int first = p ? end[p - 1] : 0;
            if (first + turn < end[p])
                dealt[count++] = out[first + turn];
        }
    memcpy(out, dealt, sizeof(out[0]) * (size_t)n);
}

/* ways[n] share everything above @level. */
static void deal(const pipc__way_t *ways, int n, int level, int *out)
{
    int end[PIPC__BIND_MAX] = {0}, parts = 0;

    for (int from = 0; from < n; from = end[parts++]) {
        end[parts] = part_end(ways, from, n, level);
        if (end[parts] == from + 1)
            out[from] = ways[from].key[ways[from].len - 1];
        else
            deal(ways + from, end[parts] - from, level + 1, out + from);
    }
    take_turns(out, n, end, parts);
}

pipc_status_t pipc__bind_spread(const pipc__topo_t *topo, int *gpus, int n, pipc__error_t *err)
{
    pipc__way_t *ways = calloc((size_t)n, sizeof(*ways));

    if (!ways)
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    pipc__bind_ways(topo, PIPC__BIND_SPREAD, ways, gpus, n);
    deal(ways, n, 0, gpus);
    free(ways);
    return PIPC_OK;
}
