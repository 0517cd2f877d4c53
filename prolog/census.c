/* prolog/census.c - see census.h */
#include "prolog/census.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/reason.h"

#define MARK "pcie-ipc asks {"

void pipc__census_mark(const char *reason, char out[PIPC__SLURM_TEXT_MAX])
{
    snprintf(out, PIPC__SLURM_TEXT_MAX, MARK "%s}", reason);
}

/* Only what pipc__reason() can have made: it goes to every reader of Slurm's reasons. */
void pipc__census_reason(const char *extra, char out[PIPC__SLURM_TEXT_MAX])
{
    size_t n = strncmp(extra, MARK, strlen(MARK)) == 0 ? strcspn(extra += strlen(MARK), "}") : 0;

    out[0] = '\0';
    if (n == 0 || n >= PIPC__REASON_MAX || extra[n] != '}' ||
        strncmp(extra, PIPC__REASON_PREFIX, strlen(PIPC__REASON_PREFIX)) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (extra[i] < ' ' || extra[i] > '~')
            return;
    snprintf(out, PIPC__SLURM_TEXT_MAX, "%.*s", (int)n, extra);
}

static bool is_drained_by_us(const pipc__node_t *node)
{
    return node->drained &&
           strncmp(node->reason, PIPC__REASON_PREFIX, strlen(PIPC__REASON_PREFIX)) == 0;
}

/* A small cluster has one at least: a limit of none at all is mode = report. */
static int limit_of(pipc__share_t max_drain, int nodes)
{
    int n = max_drain.percent ? (int)((long)max_drain.n * nodes / 100) : max_drain.n;

    return n > 0 ? n : 1;
}

pipc__census_result_t pipc__census_count(const pipc__nodes_t *nodes, pipc__share_t max_drain,
                                         bool *pick)
{
    pipc__census_result_t count = {.nodes = nodes->n, .limit = limit_of(max_drain, nodes->n)};
    char reason[PIPC__SLURM_TEXT_MAX];

    for (int i = 0; i < nodes->n; i++)
        count.drained += is_drained_by_us(&nodes->list[i]);
    int room = count.limit - count.drained;
    for (int i = 0; i < nodes->n; i++) {
        pipc__census_reason(nodes->list[i].extra, reason);
        bool asks = reason[0] && !nodes->list[i].out;
        pick[i] = asks && count.asking < room;
        count.asking += asks;
    }
    return count;
}

static pipc_status_t grant(const pipc__slurm_t *slurm, const pipc__node_t *node, bool dry_run,
                           FILE *say, pipc__error_t *err)
{
    char reason[PIPC__SLURM_TEXT_MAX];
    const pipc__slurm_update_t update = {"drain", reason, ""};
    pipc_status_t st;

    pipc__census_reason(node->extra, reason);
    st = dry_run ? PIPC_OK : pipc__slurm_update(slurm, node->name, &update, err);
    if (!st)
        fprintf(say, "pcie-ipc: census: %s %s: %s\n", node->name,
                dry_run ? "would be drained" : "is drained", reason);
    return st;
}

pipc_status_t pipc__census(const pipc__slurm_t *slurm, pipc__share_t max_drain, bool dry_run,
                           pipc__census_result_t *count, FILE *say, pipc__error_t *err)
{
    pipc__nodes_t nodes;
    pipc_status_t st = pipc__slurm_ask(slurm, NULL, &nodes, err);
    bool *pick = st ? NULL : calloc((size_t)nodes.n, sizeof(*pick));

    memset(count, 0, sizeof(*count));
    if (!st && !pick)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "census: out of memory");
    if (!st)
        *count = pipc__census_count(&nodes, max_drain, pick);
    for (int i = 0; !st && i < nodes.n; i++)
        if (pick[i])
            st = grant(slurm, &nodes.list[i], dry_run, say, err);
    free(pick);
    free(nodes.list);
    return st;
}
