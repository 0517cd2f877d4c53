/* spank/options.h - the keys of --pcie-ipc; the one table of parser, help, man page and tests */
#ifndef PIPC_SPANK_OPTIONS_H
#define PIPC_SPANK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/option.h"

enum {
    PIPC__OPT_BIND_SWITCH,
    PIPC__OPT_BIND_SPREAD,
    PIPC__OPT_BIND_NUMA,
    PIPC__OPT_BIND_NONE,
    PIPC__OPT_BIND_MAP
};
enum { PIPC__OPT_MEM_LOCAL, PIPC__OPT_MEM_NONE };
enum { PIPC__OPT_NIC_AUTO, PIPC__OPT_NIC_NONE };
enum { PIPC__OPT_IPC_AUTO, PIPC__OPT_IPC_REQUIRE, PIPC__OPT_IPC_OFF };
enum { PIPC__OPT_PATH_AUTO, PIPC__OPT_PATH_P2P, PIPC__OPT_PATH_HOST };
enum { PIPC__OPT_NODES_AUTO, PIPC__OPT_NODES_SPLIT };
enum { PIPC__OPT_NCCL_AUTO, PIPC__OPT_NCCL_OFF };
enum { PIPC__OPT_TUNER_AUTO, PIPC__OPT_TUNER_OFF };
enum { PIPC__OPT_HEALTH_WARN, PIPC__OPT_HEALTH_REQUIRE };
enum { PIPC__OPT_REPORT_NONE, PIPC__OPT_REPORT_SUMMARY, PIPC__OPT_REPORT_JSON };

#define PIPC__MODE_MAX 976 /* all options written out, a list of 64 entries and two texts included */

typedef struct pipc__spank_options {
    int bind, mem, nic, ipc, path, nodes, nccl, tuner, health, report; /* PIPC__OPT_..._... */
    bool off; /* as if the option had not been given */
    bool verbose, help;
    pipc__option_list_t map;                 /* of bind:map */
    char split[PIPC__OPTION_TEXT_MAX];       /* of nodes:split; a number or nothing */
    char report_file[PIPC__OPTION_TEXT_MAX]; /* of report:json */
} pipc__spank_options_t;

extern const pipc__option_t pipc__spank_table[]; /* ends with a NULL key */

/* What the table can't say of options that were parsed. PIPC_ERR_INVALID. */
pipc_status_t pipc__spank_options_judge(const pipc__spank_options_t *options, pipc__error_t *err);

/* What was chosen, in a form that parses back to it: every key that has a value, and the flags that
 * are set but help. Writes buf[cap], returns the length it needs, as snprintf does. */
size_t pipc__spank_options_write(const pipc__spank_options_t *options, char *buf, size_t cap);

/* The value of @key, one of the table's that has values, as text. */
const char *pipc__spank_option_value(const pipc__spank_options_t *options, const char *key);

#endif
