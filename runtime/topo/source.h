/* topo/source.h - where a tree is read from: the one way in for tools, whatever the source.
 *
 * A tool adds pipc__source_options to its sections (base/cli.h), ends the switch of its take() with
 *
 *     default:
 *         return pipc__source_take(&cli, &wants->source, id, value);
 *
 * and then
 *
 *     st = pipc__topo_load(&topo, &wants.source, &err);
 *     if (st) {
 *         fprintf(stderr, NAME ": %s\n", err.text);
 *         return pipc__source_exit(&wants.source, st);
 *     }
 *
 * What is here and the sources that parse files of other programs are libpipc-topofiles.la, which
 * tools and tests link beside libpipc-cli.la: the plugin and the runtime's library need none of it.
 */
#ifndef PIPC_TOPO_SOURCE_H
#define PIPC_TOPO_SOURCE_H

#include "runtime/base/cli.h"
#include "runtime/topo/topo.h"

typedef enum pipc__source_kind {
    PIPC__SOURCE_LIVE,
    PIPC__SOURCE_SYSROOT,
    PIPC__SOURCE_SYNTHETIC,
    PIPC__SOURCE_HWLOC_XML,
    PIPC__SOURCE_NCCL_XML,
    PIPC__SOURCE_TOPO_M,
    PIPC__SOURCE_DUMP,
    PIPC__SOURCE_JSON,
    PIPC__SOURCE_LSPCI_TREE
} pipc__source_kind_t;

typedef struct pipc__source { /* zeroed: the live machine */
    pipc__source_kind_t kind;
    const char *text; /* path or synthetic line, not owned; NULL for live */
} pipc__source_t;

/* Exit statuses of a tool that could not load its topology. */
enum { PIPC__EXIT_LIVE = 1, PIPC__EXIT_FILE = 2 };

/* --hwloc-xml, --nccl-xml, --topo-m, --sysroot, --dump, --lspci-tree, --topo-json, --synthetic; ids
 * from 0x1000. */
extern const pipc__cli_option_t pipc__source_options[];

/* Take one of them into @source, zeroed at first; as pipc__cli_t.take, a second one is refused as
 * "one machine at a time". */
int pipc__source_take(const pipc__cli_t *cli, pipc__source_t *source, int id, const char *value);

/* Make the tree; the caller releases it with pipc__topo_free(). On failure *topo is NULL and @err
 * names the file and the line or object in it:
 * PIPC_ERR_INVALID: the text is wrong. PIPC_ERR_SYSTEM, PIPC_ERR_NOT_FOUND: it can't be read.
 * PIPC_ERR_UNSUPPORTED: this build can't read the format, or not this version of it. */
pipc_status_t pipc__topo_load(pipc__topo_t **topo, const pipc__source_t *source,
                              pipc__error_t *err);

/* What kind of source a path is, by what it holds, for words like those of --compare A B: a folder
 * is a captured machine; a file is hwloc's XML, NCCL's XML, nvidia-smi's matrix, a dump, lspci's
 * tree or our JSON. *source borrows @path. PIPC_ERR_INVALID when it is none of them, and of a pipe,
 * which can be read once only. */
pipc_status_t pipc__source_guess(pipc__source_t *source, const char *path, pipc__error_t *err);

/* The exit status for a pipc__topo_load() that returned @st: 64 for a wrong synthetic line, 1 for
 * the live machine, 2 for files; 0 for PIPC_OK. */
int pipc__source_exit(const pipc__source_t *source, pipc_status_t st);

#endif
