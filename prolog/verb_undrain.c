/* prolog/verb_undrain.c - undrain: put nodes back that carry a reason of ours, from any machine
 * where scontrol works
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/reason.h"
#include "prolog/slurm.h"
#include "prolog/verbs.h"

#define NODES_MAX 256

enum { OPT_ALL = 256, OPT_DRY_RUN };

const pipc__cli_option_t pipc__undrain_options[] = {
    {"all", NULL, "all nodes of the cluster that carry a reason of ours", OPT_ALL},
    {"dry-run", NULL, "say which, and do nothing", OPT_DRY_RUN},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    bool all, dry_run;
    const char *node[NODES_MAX];
    int n;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    if (id == OPT_ALL)
        w->all = true;
    else if (id == OPT_DRY_RUN)
        w->dry_run = true;
    else if (!pipc__config_is_node(value))
        return pipc__verb_usage(value, "no name of a node; lists of Slurm's form are not taken");
    else
        w->node[w->n++] = value;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__undrain_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .arguments = NODES_MAX,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int failed(const char *what, const char *why)
{
    fprintf(stderr, PIPC__HEALTH_NAME ": %s: %s\n", what, why);
    return 1;
}

static bool is_ours(const pipc__node_t *node)
{
    return node->drained &&
           strncmp(node->reason, PIPC__REASON_PREFIX, strlen(PIPC__REASON_PREFIX)) == 0;
}

static int one(const wants_t *w, const pipc__slurm_t *slurm, const pipc__node_t *node)
{
    const pipc__slurm_update_t update = {"undrain", NULL, NULL};
    pipc__error_t err = {PIPC_OK, ""};

    if (!w->dry_run && pipc__slurm_update(slurm, node->name, &update, &err))
        return failed(node->name, err.text);
    printf("%s: %s: %s [%s]\n", node->name, w->dry_run ? "would be undrained" : "undrained",
           node->reason, node->by);
    return 0;
}

/* @name NULL: all of them, where one that is not ours is nothing to tell. */
static int some(const wants_t *w, const pipc__slurm_t *slurm, const char *name)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__nodes_t nodes;
    int status = 0;

    if (pipc__slurm_ask(slurm, name, &nodes, &err)) {
        free(nodes.list);
        return failed(name ? name : "all nodes", err.text);
    }
    for (int i = 0; i < nodes.n; i++) {
        const pipc__node_t *node = &nodes.list[i];
        if (is_ours(node))
            status |= one(w, slurm, node);
        else if (name)
            printf("%s: left as it is: %s%s%s\n", node->name, node->state,
                   node->reason[0] ? ", reason " : "", node->reason);
    }
    free(nodes.list);
    return status;
}

int pipc__verb_undrain(int argc, char **argv)
{
    wants_t w = {.n = 0};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (w.all == (w.n > 0))
        return pipc__verb_usage("undrain", "needs names of nodes, or --all");
    if (pipc__config_read(pipc__gate_here.config, pipc__gate_here.owner, &config, &err))
        return failed("undrain", err.text);
    const pipc__slurm_t slurm = {config.scontrol, config.slurm_conf, pipc__gate_here.owner};
    status = w.all ? some(&w, &slurm, NULL) : 0;
    for (int i = 0; i < w.n; i++)
        status |= some(&w, &slurm, w.node[i]);
    return pipc__cli_finish(&cli, status);
}
