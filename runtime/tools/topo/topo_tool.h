/* tools/topo/topo_tool.h - the parts of pcie-ipc-topo, and what it was asked for */
#ifndef PIPC_TOOLS_TOPO_TOPO_TOOL_H
#define PIPC_TOOLS_TOPO_TOPO_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime/base/cli.h"
#include "runtime/bind/bind.h"
#include "runtime/topo/source.h"

typedef struct topo_wants {
    pipc__source_t source;
    bool json, xml;
    const char *compare, *compare_with; /* words that name machines; without the second @source */
    const char *svg;                    /* path, "-", or NULL */
    pipc__bind_request_t binding;       /* nranks 0: not asked for. Its GPUs come from the tree */
    bool bind_given;
} topo_wants_t;

/* Take the value of --ranks and --bind; as pipc__cli_t.take. */
int topo_binding_ranks(const pipc__cli_t *cli, topo_wants_t *w, const char *value);
int topo_binding_mode(const pipc__cli_t *cli, topo_wants_t *w, const char *value);

/* What the plugin would do with all GPUs and all CPUs of the machine: as a table, and as the JSON
 * array [{"rank", "gpu", "index", "minor", "numa", "cpus", "near", "nic", "group", "shared"}]. */
pipc_status_t topo_binding_print(const pipc__bind_request_t *req, const pipc__topo_t *topo,
                                 FILE *out, pipc__error_t *err);
pipc_status_t topo_binding_json(const pipc__bind_request_t *req, const pipc__topo_t *topo,
                                json_t **out, pipc__error_t *err);

/* The tree of @source; with NVLinks from NVML for this machine. */
pipc_status_t topo_load(const pipc__source_t *source, pipc__topo_t **topo, pipc__error_t *err);

/* --compare: print what changed. Exit status as of diff: 0 nothing, 1 something, 2 trouble, which
 * is on stderr then. */
int topo_difference(const pipc__cli_t *cli, const topo_wants_t *w);

#endif
