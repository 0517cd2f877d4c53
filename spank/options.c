/* spank/options.c - see options.h */
#include "spank/options.h"

#include <stdio.h>
#include <string.h>

static const char *const bind_values[] = {"switch", "none", NULL};
static const char *const ipc_values[] = {"auto", "require", "off", NULL};

const pipc__option_t pipc__spank_table[] = {
    {"bind", PIPC__OPTION_ENUM, PIPC__OPT_BIND_SWITCH, bind_values,
     offsetof(pipc__spank_options_t, bind), "GPU, cores and NIC of one PCIe switch for each task"},
    {"ipc", PIPC__OPTION_ENUM, PIPC__OPT_IPC_AUTO, ipc_values, offsetof(pipc__spank_options_t, ipc),
     "say if peers' GPU memory can't be reached; require fails the step then"},
    {"verbose", PIPC__OPTION_FLAG, 0, NULL, offsetof(pipc__spank_options_t, verbose),
     "print what each task was bound to"},
    {"help", PIPC__OPTION_FLAG, 0, NULL, offsetof(pipc__spank_options_t, help),
     "print this and end without a job"},
    {0},
};

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

        if (o->type == PIPC__OPTION_ENUM)
            n = snprintf(at, left, "%s%s:%s", used ? "," : "", o->key,
                         o->values[*(const int *)(const void *)field]);
        else if (*(const bool *)field && strcmp(o->key, "help"))
            n = snprintf(at, left, "%s%s", used ? "," : "", o->key);
        used += (size_t)n;
    }
    return used;
}
