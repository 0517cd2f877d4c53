/* spank/options.h - the keys of --pcie-ipc; the one table of parser, help, man page and tests */
#ifndef PIPC_SPANK_OPTIONS_H
#define PIPC_SPANK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/option.h"

enum { PIPC__OPT_BIND_SWITCH, PIPC__OPT_BIND_NONE };
enum { PIPC__OPT_IPC_AUTO, PIPC__OPT_IPC_REQUIRE, PIPC__OPT_IPC_OFF };

typedef struct pipc__spank_options {
    int bind; /* PIPC__OPT_BIND_... */
    int ipc;  /* PIPC__OPT_IPC_... */
    bool verbose, help;
} pipc__spank_options_t;

extern const pipc__option_t pipc__spank_table[]; /* ends with a NULL key */

/* What was chosen, in a form that parses back to it: every key that has a value, and the flags that
 * are set but help. Writes buf[cap], returns the length it needs, as snprintf does. */
size_t pipc__spank_options_write(const pipc__spank_options_t *options, char *buf, size_t cap);

#endif
