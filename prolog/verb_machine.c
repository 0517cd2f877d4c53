/* prolog/verb_machine.c - which machine a verb looks at */
#include "config.h"

#include <unistd.h>

#include "prolog/snapshot.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

enum { OPT_SYSROOT = 512, OPT_DUMP, OPT_TEXT, OPT_LIMITS }; /* apart from each verb's own */

const pipc__cli_option_t pipc__machine_options[] = {
    {"sysroot", "DIR", "read a captured machine: DIR holds sys and proc", OPT_SYSROOT},
    {"dump", "FILE", "read the text that lspci -xxxx wrote", OPT_DUMP},
    {"text", "FILE", "read lspci -vvv, setpci or a kernel's log, as pasted into a ticket",
     OPT_TEXT},
    {"limits", "FILE", "judge by this limits.conf", OPT_LIMITS},
    {NULL, NULL, NULL, 0},
};

void pipc__machine_take(pipc__machine_t *m, int id, const char *value)
{
    switch (id) {
    case OPT_SYSROOT:
        m->sysroot = value;
        break;
    case OPT_DUMP:
        m->dump = value;
        break;
    case OPT_TEXT:
        m->text = value;
        break;
    default:
        m->limits = (pipc__rule_file_t){value, PIPC__INI_ANYBODY};
        break;
    }
}

int pipc__machine_ready(pipc__machine_t *m)
{
    int named = !!m->sysroot + !!m->dump + !!m->text;

    if (named > 1)
        return pipc__verb_usage("--sysroot, --dump and --text", "one machine at a time");
    m->all = true;
    if (named == 1)
        return PIPC__CLI_GO_ON;
    m->sysroot = "/";
    if (!m->limits.path)
        m->limits.path = PIPC_LIMITS;
    if (!m->baseline.path)
        m->baseline.path = PIPC_BASELINE;
    m->acks.path = PIPC__STATE_FOLDER;
    if (geteuid() == 0)
        m->past = (pipc__past_t){.run = PIPC__RUN_FOLDER, .state = PIPC__STATE_FOLDER};
    return PIPC__CLI_GO_ON;
}
