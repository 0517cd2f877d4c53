/* spank/hints.c - see hints.h
 *
 * Each list holds every device that is as near as the task's own NIC: a library that would use two
 * must not be cut down to one. NCCL's list is the same for all ranks of a node, since NCCL speaks
 * of devices by their number in it.
 */
#include "spank/hints.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_active(const char *sysroot, const char *name, size_t len)
{
    char path[PATH_MAX], state[32] = "";
    int n = snprintf(path, sizeof(path), "%s/sys/class/infiniband/%.*s/ports/1/state", sysroot,
                     (int)len, name);
    FILE *f = n > 0 && n < (int)sizeof(path) ? fopen(path, "re") : NULL;

    if (f) {
        if (!fgets(state, sizeof(state), f))
            state[0] = '\0';
        fclose(f);
    }
    return !strncmp(state, "4:", 2); /* "4: ACTIVE" */
}

bool pipc__hints_active(const char *sysroot, const char *names, char *buf, size_t cap)
{
    size_t used = 0, n;

    buf[0] = '\0';
    for (; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        if (is_active(sysroot, names, n))
            used += (size_t)snprintf(used < cap ? buf + used : NULL, used < cap ? cap - used : 0,
                                     "%s%.*s", used ? "," : "", (int)n, names);
    }
    if (used >= cap)
        buf[0] = '\0';
    return *buf != '\0';
}

bool pipc__hints_ucx(const char *names, char *buf, size_t cap)
{
    size_t used = 0, n;

    for (; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        used += (size_t)snprintf(used < cap ? buf + used : NULL, used < cap ? cap - used : 0,
                                 "%s%.*s:1", used ? "," : "", (int)n, names);
    }
    return used > 0 && used < cap;
}

/* Set NAME unless the user has, and note it in @set. */
static void hint(spank_t sp, const char *name, const char *value, char *set, size_t cap)
{
    size_t used = strlen(set);

    if (spank_setenv(sp, name, value, 0) == ESPANK_SUCCESS)
        snprintf(set + used, cap - used, "%s%s", used ? " " : "", name);
}

void pipc__hints_export(spank_t sp, const pipc__task_t *t, const char *sysroot, char *set,
                        size_t cap)
{
    char active[PIPC__NAMES_MAX], text[PIPC__NAMES_MAX + PIPC__NAMES_MAX / 2];

    set[0] = '\0';
    if (t->options.nic == PIPC__OPT_NIC_NONE || !t->in.bind)
        return;
    if (pipc__hints_active(sysroot, t->out.rdma, active, sizeof(active)) &&
        pipc__hints_ucx(active, text, sizeof(text)))
        hint(sp, "UCX_NET_DEVICES", text, set, cap);
    if (pipc__hints_active(sysroot, t->out.rdma_node, active, sizeof(active))) {
        snprintf(text, sizeof(text), "=%s", active); /* "=": these names exactly */
        hint(sp, "NCCL_IB_HCA", text, set, cap);
    }
}
