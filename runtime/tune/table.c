/* tune/table.c - see table.h
 *
 * The shipped rows are where measurement starts. Two ranks: one-shot moves as many bytes over the
 * link as two-shot and waits once, so it always wins on GPUs. More ranks: one-shot sends n - 1
 * copies and pays from about 64 KB (8 ranks) or 256 KB (4 ranks) on. On CPUs one thread does all
 * the copying, and the crossover is earlier: 32 KB with two ranks, 16 KB with four.
 *
 * Where ranks stand in groups, the links between groups carry S bytes each way with the island plan
 * and several times that with two-shot; what it costs, more waits in a row, is little from about a
 * megabyte on. Uneven groups, and three or six of them, keep their ranks less busy, and the ring is
 * predicted to be level or ahead (doc/plans.md). A shape has levels only where some group has two
 * ranks and another rank is outside.
 *
 * On GPUs the smallest messages go with flags in the data: one trip over the link where flags
 * beside the data need two. shipped[] has what else GPUs do before that; what was measured for it,
 * doc/measurements.md.
 */
#include "runtime/tune/table.h"

#include <string.h>

#include "runtime/base/hash.h"

#define ISLAND_BYTES ((size_t)1 << 20)
#define NODES_ONE_BYTES ((size_t)64 << 10)
#define KB(n) ((size_t)(n) << 10)
#define MB(n) ((size_t)(n) << 20)

/* By what all pairs meet. NVLINK is a PEER that has rows of its own beside those. */
typedef enum link { PEER, NVLINK, HOST } link_t;

/* Rows for GPUs, by the number of ranks (0: all other numbers), by what they meet, and how many
 * blocks a call must be allowed: those that fit, from the first one on, each from where the last
 * one ends up to its own size. Behind them the plans of plans_of(). With few blocks LL, which sends
 * everything twice, is behind earlier, and LL128, which has no chunks to hide its waits in. */
static const struct {
    int ranks;
    link_t link;
    int least_blocks;
    size_t max_bytes;
    pipc__proto_t proto; /* of one-shot */
    int blocks;
} shipped[] = {
    {2, NVLINK, 0, KB(128), PIPC__PROTO_LL, 0},
    {2, NVLINK, 24, MB(8), PIPC__PROTO_LL128, 0},
    {2, NVLINK, 16, MB(4), PIPC__PROTO_LL128, 0},
    {2, NVLINK, 8, MB(1), PIPC__PROTO_LL128, 0},
    {2, NVLINK, 0, KB(512), PIPC__PROTO_LL128, 0},
    {2, PEER, 64, MB(1), PIPC__PROTO_LL, 0},
    {2, PEER, 0, KB(512), PIPC__PROTO_LL, 0},
    {2, PEER, 0, SIZE_MAX, PIPC__PROTO_PUSH, 0},
    {2, HOST, 0, KB(256), PIPC__PROTO_LL, 0},
    {2, HOST, 0, SIZE_MAX, PIPC__PROTO_PUSH, 24}, /* more crowd the bus */
    {0, PEER, 0, KB(64), PIPC__PROTO_LL, 0},
    {0, HOST, 0, KB(64), PIPC__PROTO_LL, 0},
};
#define NSHIPPED ((int)(sizeof(shipped) / sizeof(shipped[0])))

static pipc__table_row_t row_of(size_t max_bytes, int algo)
{
    pipc__choice_t c = {algo, PIPC__PROTO_SIMPLE, 0};

    return (pipc__table_row_t){max_bytes, c, c};
}

pipc__table_t pipc__table_fixed(int algo)
{
    return (pipc__table_t){1, {row_of(SIZE_MAX, algo)}};
}

/* Are the outermost groups alike, and two, four, ... of them? */
static bool in_pairs(const pipc__shape_t *shape)
{
    int groups = pipc__shape_groups(shape, 0), size[PIPC__RANKS_MAX] = {0};

    for (int r = 0; r < shape->nranks; r++)
        size[shape->group[0][r]]++;
    for (int g = 1; g < groups; g++)
        if (size[g] != size[0])
            return false;
    return !(groups & (groups - 1));
}

/* Over nodes one owner and one job are the least that can be waited for. GPUs have NCCL there, and
 * nobody has measured plans against it yet: a table made on the machine may name them. */
static pipc__table_t plans_over_nodes(void)
{
    return (pipc__table_t){
        2, {row_of(NODES_ONE_BYTES, PIPC__NODES_ONE), row_of(SIZE_MAX, PIPC__NODES)}};
}

static pipc__table_t plans_of(const pipc__shape_t *shape, bool on_gpu)
{
    int n = shape->nranks;
    size_t cross = on_gpu ? (n <= 4 ? KB(256) : KB(64)) : n <= 2 ? KB(32) : KB(16);

    if (shape->nlevels)
        return (pipc__table_t){3,
                               {row_of(cross, PIPC__ONE_SHOT),
                                row_of(ISLAND_BYTES - 1, PIPC__TWO_SHOT),
                                row_of(SIZE_MAX, in_pairs(shape) ? PIPC__ISLAND : PIPC__RING)}};
    if (n <= 2 && on_gpu)
        return pipc__table_fixed(PIPC__ONE_SHOT);
    return (pipc__table_t){2, {row_of(cross, PIPC__ONE_SHOT), row_of(SIZE_MAX, PIPC__TWO_SHOT)}};
}

static bool all_by_host(const pipc__shape_t *shape)
{
    int r = 0;

    while (r < shape->nranks && shape->reach[r] == 1u << r)
        r++;
    return r == shape->nranks;
}

static bool has_rows(int ranks)
{
    int i = 0;

    while (i < NSHIPPED && shipped[i].ranks != ranks)
        i++;
    return i < NSHIPPED;
}

/* The rows of shipped[] for @shape, which may be too few to reach every size. */
static pipc__table_t rows_of_gpus(const pipc__shape_t *shape, int blocks)
{
    int ranks = has_rows(shape->nranks) ? shape->nranks : 0;
    link_t link = all_by_host(shape) ? HOST : shape->nvlink ? NVLINK : PEER;
    pipc__table_t t = {0};

    for (int i = 0; i < NSHIPPED; i++) {
        size_t from = t.nrows ? t.row[t.nrows - 1].max_bytes : 0;
        bool fits = shipped[i].link == link || (shipped[i].link == PEER && link == NVLINK);
        if (shipped[i].ranks != ranks || !fits || shipped[i].least_blocks > blocks ||
            shipped[i].max_bytes <= from)
            continue;
        pipc__table_row_t row = row_of(shipped[i].max_bytes, PIPC__ONE_SHOT);
        row.eager.proto = row.graph.proto = shipped[i].proto;
        row.eager.blocks = row.graph.blocks = shipped[i].blocks;
        t.row[t.nrows++] = row;
    }
    return t;
}

pipc__table_t pipc__table_default(const pipc__shape_t *shape, bool on_gpu, int blocks)
{
    pipc__table_t t = shape->nrails ? plans_over_nodes() : plans_of(shape, on_gpu), with;

    if (on_gpu && shape->nrails)
        return pipc__table_fixed(PIPC__ALGO_NCCL);
    if (!on_gpu || shape->nranks < 2)
        return t;
    with = rows_of_gpus(shape, blocks);
    for (int i = 0; i < t.nrows; i++)
        if (!with.nrows || t.row[i].max_bytes > with.row[with.nrows - 1].max_bytes)
            with.row[with.nrows++] = t.row[i];
    pipc__table_end(&with, PIPC__PROTO_LL, pipc__ll_bytes_max(shape->nranks));
    pipc__table_end(&with, PIPC__PROTO_LL128, pipc__ll128_bytes_max(shape->nranks));
    return with;
}

static const pipc__table_row_t *find(const pipc__table_t *table, size_t bytes)
{
    int i = 0;

    while (i < table->nrows - 1 && bytes > table->row[i].max_bytes)
        i++;
    return &table->row[i];
}

pipc__choice_t pipc__table_choose(const pipc__table_t *table, size_t bytes, bool in_graph)
{
    const pipc__table_row_t *row = find(table, bytes);

    return in_graph ? row->graph : row->eager;
}

bool pipc__table_asks_graph(const pipc__table_t *table, size_t bytes)
{
    const pipc__table_row_t *row = find(table, bytes);

    return !pipc__choice_equal(row->eager, row->graph);
}

static bool row_names(const pipc__table_row_t *row, int algo)
{
    return row->eager.algo == algo || row->graph.algo == algo;
}

bool pipc__table_names(const pipc__table_t *table, int algo)
{
    int i = 0;

    while (i < table->nrows && !row_names(&table->row[i], algo))
        i++;
    return i < table->nrows;
}

bool pipc__table_names_rails(const pipc__table_t *table)
{
    int k = PIPC__PLAN_KINDS_LOCAL;

    while (k < PIPC__PLAN_KINDS && !pipc__table_names(table, k))
        k++;
    return k < PIPC__PLAN_KINDS;
}

/* A row that @bytes cuts becomes two, unless there is no room for one more. */
static void cut(pipc__table_t *table, size_t bytes)
{
    int i = 0;

    while (i < table->nrows && table->row[i].max_bytes < bytes)
        i++;
    if (!bytes || i == table->nrows || table->row[i].max_bytes == bytes ||
        table->nrows == PIPC__TABLE_ROWS)
        return;
    memmove(&table->row[i + 1], &table->row[i], (size_t)(table->nrows - i) * sizeof(table->row[0]));
    table->row[i].max_bytes = bytes;
    table->nrows++;
}

void pipc__table_replace(pipc__table_t *table, int algo, const pipc__table_t *other)
{
    for (int i = 0; i < other->nrows - 1; i++)
        if (row_names(find(table, other->row[i].max_bytes), algo))
            cut(table, other->row[i].max_bytes);
    for (int i = 0; i < table->nrows; i++) {
        pipc__table_row_t *r = &table->row[i];
        if (r->eager.algo == algo)
            r->eager = pipc__table_choose(other, r->max_bytes, false);
        if (r->graph.algo == algo)
            r->graph = pipc__table_choose(other, r->max_bytes, true);
    }
}

static void end_choice(pipc__choice_t *choice, pipc__proto_t proto)
{
    if (choice->proto == proto)
        *choice = (pipc__choice_t){PIPC__ONE_SHOT, PIPC__PROTO_SIMPLE, 0};
}

void pipc__table_end(pipc__table_t *table, pipc__proto_t proto, size_t bytes)
{
    const pipc__table_row_t *last = find(table, bytes);

    if (last->eager.proto == proto || last->graph.proto == proto)
        cut(table, bytes);
    for (int i = 0; i < table->nrows; i++)
        if (table->row[i].max_bytes > bytes) {
            end_choice(&table->row[i].eager, proto);
            end_choice(&table->row[i].graph, proto);
        }
}

bool pipc__choice_equal(pipc__choice_t a, pipc__choice_t b)
{
    return a.algo == b.algo && a.proto == b.proto && a.blocks == b.blocks;
}

const char *pipc__algo_name(int algo)
{
    return algo == PIPC__ALGO_NCCL ? "nccl" : pipc__plan_name((pipc__plan_kind_t)algo);
}

const char *pipc__proto_name(pipc__proto_t proto)
{
    static const char *const names[PIPC__PROTOS] = {[PIPC__PROTO_SIMPLE] = "simple",
                                                    [PIPC__PROTO_LL] = "ll",
                                                    [PIPC__PROTO_PUSH] = "push",
                                                    [PIPC__PROTO_CE] = "ce",
                                                    [PIPC__PROTO_LL128] = "ll128"};

    return (unsigned int)proto < PIPC__PROTOS ? names[proto] : NULL;
}

uint64_t pipc__table_digest(const pipc__table_t *table)
{
    uint64_t h = PIPC__HASH_INIT;

    for (int i = 0; i < table->nrows; i++) {
        const pipc__table_row_t *r = &table->row[i];
        uint64_t row[] = {r->max_bytes,
                          (uint64_t)r->eager.algo,
                          (uint64_t)r->eager.proto,
                          (uint64_t)r->eager.blocks,
                          (uint64_t)r->graph.algo,
                          (uint64_t)r->graph.proto,
                          (uint64_t)r->graph.blocks};
        h = pipc__hash(h, row, sizeof(row));
    }
    return h;
}
