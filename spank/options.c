/* spank/options.c - see options.h */
#include "spank/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const bind_values[] = {"switch", "spread", "numa", "none", "map", NULL};
static const char *const mem_values[] = {"local", "none", NULL};
static const char *const nic_values[] = {"auto", "none", NULL};
static const char *const ipc_values[] = {"auto", "require", "off", NULL};
static const char *const path_values[] = {"auto", "p2p", "host", NULL};
static const char *const nodes_values[] = {"auto", "split", NULL};
static const char *const nccl_values[] = {"auto", "off", NULL};
static const char *const tuner_values[] = {"auto", "off", NULL};
static const char *const health_values[] = {"warn", "require", NULL};
static const char *const report_values[] = {"none", "summary", "json", NULL};

#define SPLIT_MAX 16 /* ranks of a node; PIPC__RANKS_MAX, which is no business of this layer */

#define FIELD(field) offsetof(pipc__spank_options_t, field)
#define ENUM(key, def, help)                                                                       \
    {                                                                                              \
#key, PIPC__OPTION_ENUM, def, key##_values, FIELD(key), help, NULL, 0                      \
    }
#define FLAG(key, help)                                                                            \
    {                                                                                              \
#key, PIPC__OPTION_FLAG, 0, NULL, FIELD(key), help, NULL, 0                                \
    }

const pipc__option_t pipc__spank_table[] = {
    {"bind", PIPC__OPTION_ENUM, PIPC__OPT_BIND_SWITCH, bind_values, FIELD(bind),
     "GPU, cores and NIC of one PCIe switch; spread: switches in turn; numa: by NUMA node; map: a "
     "GPU for each task, counted in bus order",
     "map", FIELD(map)},
    /* local by default: "preferred" falls back to other nodes, so it can fail no allocation. */
    ENUM(mem, PIPC__OPT_MEM_LOCAL, "take memory from the GPU's NUMA node while there is any"),
    ENUM(nic, PIPC__OPT_NIC_AUTO, "name the nearest RDMA devices to UCX and NCCL"),
    ENUM(ipc, PIPC__OPT_IPC_AUTO,
         "say if peers' GPU memory can't be reached; require fails the step then"),
    ENUM(path, PIPC__OPT_PATH_AUTO, "how ranks of a node exchange data"),
    {"nodes", PIPC__OPTION_NAMED, PIPC__OPT_NODES_AUTO, nodes_values, FIELD(nodes),
     "for tests: take each rank, or each so many ranks of a host, as a node of its own", "split",
     FIELD(split)},
    ENUM(nccl, PIPC__OPT_NCCL_AUTO,
         "preload libpcie-ipc-nccl.so, which does NCCL's AllReduce where it is faster"),
    ENUM(tuner, PIPC__OPT_TUNER_AUTO, "let NCCL choose by the measured table of this machine"),
    ENUM(health, PIPC__OPT_HEALTH_WARN,
         "say if the node's health check found a fault; require fails the step then"),
    {"report", PIPC__OPTION_NAMED, PIPC__OPT_REPORT_NONE, report_values, FIELD(report),
     "say at the end who did which calls; json: a line in a file", "json", FIELD(report_file)},
    FLAG(off, "as if the option had not been given, also to the whole job"),
    FLAG(verbose, "print what each task was bound to"),
    FLAG(help, "print this and end without a job"),
    {0},
};

/* ":4,5,2" behind the value that has this list. */
static size_t write_list(const pipc__option_list_t *list, char *buf, size_t cap)
{
    size_t used = 0;

    for (int i = 0; i < list->n; i++)
        used += (size_t)snprintf(used < cap ? buf + used : NULL, used < cap ? cap - used : 0,
                                 "%c%d", i ? ',' : ':', list->at[i]);
    return used;
}

pipc_status_t pipc__spank_options_judge(const pipc__spank_options_t *options, pipc__error_t *err)
{
    const char *n = options->split;
    size_t len = strlen(n);

    if (!len || (len <= 2 && *n != '0' && strspn(n, "0123456789") == len && atoi(n) <= SPLIT_MAX))
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "nodes:split:%s: takes how many ranks are a node, a number from 1 to %d", n,
                      SPLIT_MAX);
}

/* ":FILE" behind the value that was given one. */
static size_t write_text(const char *text, char *buf, size_t cap)
{
    return *text ? (size_t)snprintf(buf, cap, ":%s", text) : 0;
}

size_t pipc__spank_options_write(const pipc__spank_options_t *options, char *buf, size_t cap)
{
    size_t used = 0;

    if (cap)
        buf[0] = '\0';
    for (const pipc__option_t *o = pipc__spank_table; o->key; o++) {
        const char *field = (const char *)options + o->offset;
        char *at = used < cap ? buf + used : NULL;
        size_t left = used < cap ? cap - used : 0;
        int n = 0;

        if (o->type != PIPC__OPTION_FLAG)
            n = snprintf(at, left, "%s%s:%s", used ? "," : "", o->key,
                         o->values[*(const int *)(const void *)field]);
        else if (*(const bool *)field && strcmp(o->key, "help"))
            n = snprintf(at, left, "%s%s", used ? "," : "", o->key);
        used += (size_t)n;
        if (o->type == PIPC__OPTION_NAMED) {
            used += write_text((const char *)options + o->list_offset,
                               used < cap ? buf + used : NULL, used < cap ? cap - used : 0);
        } else if (o->list) {
            at = used < cap ? buf + used : NULL;
            used += write_list((const void *)((const char *)options + o->list_offset), at,
                               used < cap ? cap - used : 0);
        }
    }
    return used;
}

const char *pipc__spank_option_value(const pipc__spank_options_t *options, const char *key)
{
    const pipc__option_t *o = pipc__spank_table;

    while (strcmp(o->key, key))
        o++;
    return o->values[*(const int *)(const void *)((const char *)options + o->offset)];
}
