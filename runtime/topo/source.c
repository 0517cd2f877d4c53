/* topo/source.c - see source.h */
#include "runtime/topo/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/topo/files.h"
#include "runtime/topo/text.h"

#define FIRST_ID 0x1000
#define ID(kind) (FIRST_ID + (kind))

const pipc__cli_option_t pipc__source_options[] = {
    {"hwloc-xml", "FILE", "read the XML that lstopo wrote", ID(PIPC__SOURCE_HWLOC_XML)},
    {"nccl-xml", "FILE", "read NCCL's XML: NCCL_TOPO_DUMP_FILE or NCCL_TOPO_FILE",
     ID(PIPC__SOURCE_NCCL_XML)},
    {"topo-m", "FILE", "read the text of nvidia-smi topo -m", ID(PIPC__SOURCE_TOPO_M)},
    {"sysroot", "DIR", "read a captured machine: DIR holds sys and proc", ID(PIPC__SOURCE_SYSROOT)},
    {"dump", "FILE", "read the text that lspci -xxxx wrote", ID(PIPC__SOURCE_DUMP)},
    {"lspci-tree", "FILE", "read the text that lspci -tv wrote", ID(PIPC__SOURCE_LSPCI_TREE)},
    {"topo-json", "FILE", "read what pcie-ipc-topo --json wrote", ID(PIPC__SOURCE_JSON)},
    {"synthetic", "TEXT", "describe a machine, as in \"2x[sw:4gpu+1nic]\"",
     ID(PIPC__SOURCE_SYNTHETIC)},
    {NULL, NULL, NULL, 0},
};

static const char *option_name(pipc__source_kind_t kind)
{
    for (const pipc__cli_option_t *row = pipc__source_options; row->name; row++)
        if (row->id == (int)ID(kind))
            return row->name;
    return "";
}

int pipc__source_take(const pipc__cli_t *cli, pipc__source_t *source, int id, const char *value)
{
    char both[64];
    pipc__source_kind_t kind = (pipc__source_kind_t)(id - FIRST_ID);

    if (source->kind != PIPC__SOURCE_LIVE) {
        snprintf(both, sizeof(both), "--%s and --%s", option_name(source->kind), option_name(kind));
        return pipc__cli_usage(cli, both, "one machine at a time");
    }
    source->kind = kind;
    source->text = value;
    return PIPC__CLI_GO_ON;
}

pipc_status_t pipc__topo_load(pipc__topo_t **topo, const pipc__source_t *source, pipc__error_t *err)
{
    *topo = NULL;
    switch (source->kind) {
    case PIPC__SOURCE_LIVE:
        return pipc__topo_live(topo, err);
    case PIPC__SOURCE_SYSROOT:
        return pipc__topo_sysroot(topo, source->text, err);
    case PIPC__SOURCE_SYNTHETIC:
        return pipc__topo_synthetic(topo, source->text, err);
    case PIPC__SOURCE_HWLOC_XML:
        return pipc__topo_hwloc_xml(topo, source->text, err);
    case PIPC__SOURCE_NCCL_XML:
        return pipc__topo_nccl_xml(topo, source->text, err);
    case PIPC__SOURCE_TOPO_M:
        return pipc__topo_matrix(topo, source->text, err);
    case PIPC__SOURCE_DUMP:
        return pipc__topo_dump(topo, source->text, err);
    case PIPC__SOURCE_LSPCI_TREE:
        return pipc__topo_lspci_tree(topo, source->text, err);
    case PIPC__SOURCE_JSON:
        return pipc__topo_json_file(topo, source->text, err);
    }
    return pipc__fail(err, PIPC_ERR_INTERNAL, "source %d: no such kind of source",
                      (int)source->kind);
}

int pipc__source_exit(const pipc__source_t *source, pipc_status_t st)
{
    if (!st)
        return 0;
    if (source->kind == PIPC__SOURCE_SYNTHETIC)
        return st == PIPC_ERR_INVALID ? PIPC__CLI_USAGE : PIPC__EXIT_LIVE;
    return source->kind == PIPC__SOURCE_LIVE ? PIPC__EXIT_LIVE : PIPC__EXIT_FILE;
}

/* ---- which kind of file is it? --------------------------------------------------------------- */

/* Is the first element of an XML text @element? What stands before it, comments and "<?xml ...?>",
 * is stepped over. */
static bool starts_xml(const char *text, const char *element)
{
    const char *p = text;

    while ((p = strchr(p, '<')) && (p[1] == '!' || p[1] == '?')) {
        bool comment = strncmp(p, "<!--", 4) == 0;
        p = strstr(p, comment ? "-->" : ">");
        if (!p)
            return false;
    }
    return p && strncmp(p + 1, element, strlen(element)) == 0 &&
           strchr(" \t\r\n>/", p[1 + strlen(element)]);
}

/* Is there a line "00: 10 de ..."? */
static bool has_hex_line(const char *text)
{
    for (const char *p = text; (p = strstr(p, "00: ")); p++)
        if ((p == text || p[-1] == '\n') && strspn(p + 4, "0123456789abcdefABCDEF") == 2)
            return true;
    return false;
}

/* Is there a line "-[0000:00]-..." or "-+-[0000:00]-..."? */
static bool has_tree_line(const char *text)
{
    for (const char *p = text; p; p = (p = strchr(p, '\n')) ? p + 1 : NULL) {
        p += strspn(p, " >");
        if (strncmp(p, "-[", 2) == 0 || strncmp(p, "-+-[", 4) == 0)
            return true;
    }
    return false;
}

pipc_status_t pipc__source_guess(pipc__source_t *source, const char *path, pipc__error_t *err)
{
    pipc_status_t status;
    struct stat st;
    size_t len;
    char *text;

    *source = (pipc__source_t){PIPC__SOURCE_SYSROOT, path};
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return PIPC_OK;
    /* What is read here would be gone when the tree is read. */
    if (there && !S_ISREG(st.st_mode))
        return pipc__fail(
            err, PIPC_ERR_INVALID,
            "%s: no regular file, so that it is not looked into; name its kind, as in "
            "topo-json:%s",
            path, path);
    status = pipc__text_read(&text, path, &len, err);
    if (status)
        return status;
    pipc__text_clean(text, len);
    if (text[strspn(text, " \t\r\n")] == '{')
        source->kind = PIPC__SOURCE_JSON;
    else if (starts_xml(text, "topology"))
        source->kind = PIPC__SOURCE_HWLOC_XML;
    else if (starts_xml(text, "system"))
        source->kind = PIPC__SOURCE_NCCL_XML;
    else if (has_hex_line(text))
        source->kind = PIPC__SOURCE_DUMP;
    else if (has_tree_line(text))
        source->kind = PIPC__SOURCE_LSPCI_TREE;
    else if (strstr(text, "GPU0"))
        source->kind = PIPC__SOURCE_TOPO_M;
    else
        *source = (pipc__source_t){PIPC__SOURCE_LIVE, NULL};
    free(text);
    if (source->kind == PIPC__SOURCE_LIVE)
        return pipc__fail(
            err, PIPC_ERR_INVALID,
            "%s: neither hwloc's XML, NCCL's XML, nvidia-smi topo -m, lspci -xxxx or -tv nor "
            "pcie-ipc-topo --json",
            path);
    return PIPC_OK;
}
