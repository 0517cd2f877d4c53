/* spank/hints.c - see hints.h
 *
 * Each list holds every device that is as near as the task's own NIC: a library that would use two
 * must not be cut down to one. NCCL's list is the same for all ranks of a node, since NCCL speaks
 * of devices by their number in it.
 */
#include "spank/hints.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

/* Does the first line of @file of device @name begin with @with? */
static bool begins(const char *sysroot, const char *name, size_t len, const char *file,
                   const char *with)
{
    char path[PATH_MAX], line[32] = "";
    int n = snprintf(path, sizeof(path), "%s/sys/class/infiniband/%.*s/%s", sysroot, (int)len, name,
                     file);
    FILE *f = n > 0 && n < (int)sizeof(path) ? fopen(path, "re") : NULL;

    if (f) {
        if (!fgets(line, sizeof(line), f))
            line[0] = '\0';
        fclose(f);
    }
    return !strncmp(line, with, strlen(with));
}

/* "1: CA", InfiniBand or RoCE, with "4: ACTIVE". EFA ("7: unspecified"), iWARP ("4: RNIC") and
 * usNIC are no devices that NCCL's and every UCX's verbs can use, and UCX_NET_DEVICES takes TCP
 * away as well: a job would be left with no network. */
static bool is_usable(const char *sysroot, const char *name, size_t len)
{
    return begins(sysroot, name, len, "node_type", "1:") &&
           begins(sysroot, name, len, "ports/1/state", "4:");
}

bool pipc__hints_usable(const char *sysroot, const char *names, char *buf, size_t cap)
{
    size_t used = 0, n;

    buf[0] = '\0';
    for (; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        if (is_usable(sysroot, names, n))
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

/* --- what was set, to be taken back ----------------------------------------------------------- */

static unsigned int digest(const char *value)
{
    return (unsigned int)pipc__hash(PIPC__HASH_INIT, value, strlen(value));
}

void pipc__hints_note(char *set, size_t cap, const char *name, const char *value)
{
    size_t used = strlen(set);

    snprintf(set + used, cap - used, "%s%s:%08x", used ? " " : "", name, digest(value));
}

void pipc__hints_forget(const char *set)
{
    char copy[PIPC__HINTS_MAX];

    snprintf(copy, sizeof(copy), "%s", set);
    for (char *save = NULL, *name = strtok_r(copy, " ", &save); name;
         name = strtok_r(NULL, " ", &save)) {
        char *colon = strchr(name, ':');
        if (!colon)
            continue;
        *colon = '\0';
        const char *value = getenv(name);
        if (value && digest(value) == strtoul(colon + 1, NULL, 16))
            unsetenv(name);
    }
}

/* Set NAME unless the user has, and note it in @set. */
static void hint(spank_t sp, const char *name, const char *value, char *set, size_t cap)
{
    if (spank_setenv(sp, name, value, 0) == ESPANK_SUCCESS)
        pipc__hints_note(set, cap, name, value);
}

void pipc__hints_export(spank_t sp, const pipc__task_t *t, const char *sysroot, char *set,
                        size_t cap)
{
    char active[PIPC__NAMES_MAX], text[PIPC__NAMES_MAX + PIPC__NAMES_MAX / 2];

    set[0] = '\0';
    if (t->options.nic == PIPC__OPT_NIC_NONE || !t->in.bind)
        return;
    if (pipc__hints_usable(sysroot, t->out.rdma, active, sizeof(active)) &&
        pipc__hints_ucx(active, text, sizeof(text)))
        hint(sp, "UCX_NET_DEVICES", text, set, cap);
    if (pipc__hints_usable(sysroot, t->out.rdma_node, active, sizeof(active))) {
        snprintf(text, sizeof(text), "=%s", active); /* "=": these names exactly */
        hint(sp, "NCCL_IB_HCA", text, set, cap);
    }
}
