/* tune/told.c - see told.h */
#include "runtime/tune/told.h"

#include <string.h>

#include "runtime/tune/admit.h"

static const struct {
    const char *name;
    pipc__told_t told;
} names[] = {
    {"tree", {0, PIPC__TOLD_ANY}}, {"tree-ll", {0, 0}}, {"tree-ll128", {0, 1}},
    {"tree-simple", {0, 2}},       {"ring-ll", {1, 0}}, {"ring-ll128", {1, 1}},
    {"ring-simple", {1, 2}},
};

bool pipc__told_parse(pipc__told_t *told, const char *variant)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i].name, variant)) {
            *told = names[i].told;
            return true;
        }
    return false;
}

const char *pipc__told_name(const pipc__told_t *told)
{
    size_t i = 0;

    while (names[i].told.algo != told->algo || names[i].told.proto != told->proto)
        i++; /* all that pipc__told() gives came from there */
    return names[i].name;
}

static const pipc__table_time_t *find(const pipc__table_time_t *times, int n, size_t bytes,
                                      bool in_graph, const char *variant)
{
    for (int i = 0; i < n; i++)
        if (times[i].bytes == bytes && times[i].in_graph == in_graph &&
            times[i].choice.algo == PIPC__ALGO_NCCL && !strcmp(times[i].variant, variant))
            return &times[i];
    return NULL;
}

/* Is @variant level with NCCL's own choice at @bytes? What was not measured says nothing. */
static bool is_level(const pipc__table_time_t *times, int n, size_t bytes, bool in_graph,
                     const char *variant)
{
    const pipc__table_time_t *told = find(times, n, bytes, in_graph, variant);
    const pipc__table_time_t *own = find(times, n, bytes, in_graph, "");

    return !told || !own || told->median_usec <= own->median_usec * PIPC__ADMIT_GAIN;
}

/* In the other mode there is no gain to pay for a loss: graphs may be taken for eager calls. */
static bool is_no_loss(const pipc__table_time_t *times, int n, size_t bytes, bool in_graph,
                       const char *variant)
{
    const pipc__table_time_t *told = find(times, n, bytes, in_graph, variant);
    const pipc__table_time_t *own = find(times, n, bytes, in_graph, "");

    return !told || !own || told->median_usec <= own->median_usec;
}

static bool wins(const pipc__table_time_t *times, int n, const size_t *sizes, int nsizes, int at,
                 bool in_graph, const pipc__table_time_t *told)
{
    const pipc__table_time_t *own = find(times, n, sizes[at], in_graph, "");

    return own && told->median_usec * PIPC__ADMIT_GAIN <= own->median_usec &&
           told->tail_usec <= own->tail_usec &&
           is_no_loss(times, n, sizes[at], !in_graph, told->variant) &&
           (!at || is_level(times, n, sizes[at - 1], in_graph, told->variant)) &&
           (at + 1 == nsizes || is_level(times, n, sizes[at + 1], in_graph, told->variant));
}

bool pipc__told(pipc__told_t *told, const pipc__table_time_t *times, int n, size_t bytes,
                bool in_graph)
{
    size_t sizes[PIPC__TABLE_ROWS];
    int nsizes = pipc__time_sizes(times, n, sizes), at = 0;
    const pipc__table_time_t *best = NULL;
    pipc__told_t is;

    if (nsizes > PIPC__TABLE_ROWS) /* no table of pcie-ipc-tune has */
        return false;
    while (at < nsizes && sizes[at] < bytes)
        at++;
    if (at == nsizes)
        return false;
    for (int i = 0; i < n; i++) {
        const pipc__table_time_t *t = &times[i];
        if (t->bytes == sizes[at] && t->in_graph == in_graph && t->choice.algo == PIPC__ALGO_NCCL &&
            pipc__told_parse(&is, t->variant) && (!best || t->median_usec < best->median_usec) &&
            wins(times, n, sizes, nsizes, at, in_graph, t)) {
            best = t;
            *told = is;
        }
    }
    return best;
}
