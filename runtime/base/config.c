/* base/config.c - see config.h */
#include "runtime/base/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/ini.h"

#define TEXT_MAX 65536 /* bytes of a file; more is no configuration */
#define KEYS (sizeof(pipc__config_keys) / sizeof(pipc__config_keys[0]) - 1)

static const char *const modes[] = {"report", "enforce", NULL};
static const char *const scopes[] = {"node", "job", NULL};
static const char *const wakes[] = {"never", "nvml", "copy", NULL};
static const char *const undrains[] = {"auto", "never", NULL};

#define AT(field) offsetof(pipc__config_t, field)

const pipc__config_key_t pipc__config_keys[] = {
    {"gate", "mode", PIPC__CONFIG_ENUM, "report", modes, 0, 0, AT(mode),
     "report: a node with a fault is reported and the job runs; enforce: the prolog fails, so that "
     "Slurm drains the node"},
    {"gate", "scope", PIPC__CONFIG_ENUM, "node", scopes, 0, 0, AT(scope),
     "node: a fault anywhere on the node counts; job: one on the way to a GPU of the job, and the "
     "healthcheck drains nothing by itself"},
    {"gate", "cache", PIPC__CONFIG_NUMBER, "10", NULL, 0, 300, AT(cache),
     "Seconds that one check stays good for the prologs of other jobs; 0 checks for every job"},
    {"gate", "deadline", PIPC__CONFIG_NUMBER, "3", NULL, 1, 60, AT(deadline),
     "Seconds that a prolog takes at most, from the second one after a change on; slurmd calls it "
     "hung 2 s before MessageTimeout"},
    {"gate", "wake", PIPC__CONFIG_ENUM, "never", wakes, 0, 0, AT(wake),
     "How a slow link is told from an idle one: never; nvml, which asks and touches no GPU; copy, "
     "which wakes the GPUs of the starting job, and asks elsewhere"},
    {"gate", "sysroot", PIPC__CONFIG_PATH, "/", NULL, 0, 0, AT(sysroot),
     "The machine that the prolog reads: the folder that holds sys and proc; other than / for "
     "trials only"},
    {"gate", "prometheus", PIPC__CONFIG_PATH, "none", NULL, 0, 0, AT(prometheus),
     "The file, ending in .prom, that the healthcheck leaves for Prometheus; none: no file"},
    {"slurm", "undrain", PIPC__CONFIG_ENUM, "auto", undrains, 0, 0, AT(undrain),
     "auto: the healthcheck puts a node back that it drained, when two checks in a row find it "
     "repaired; never: an administrator does"},
    {"slurm", "max_drain", PIPC__CONFIG_SHARE, "0", NULL, 0, 0, AT(max_drain),
     "Drain no more nodes than this, N or N% of the cluster's, counted by the census; 0 is no "
     "limit"},
    {"slurm", "census", PIPC__CONFIG_NODE, "none", NULL, 0, 0, AT(census),
     "The node whose healthcheck takes the census for max_drain; none: pcie-ipc-health census is "
     "run in one place"},
    {"slurm", "scontrol", PIPC__CONFIG_PATH, "/usr/bin/scontrol", NULL, 0, 0, AT(scontrol),
     "Slurm's command that the healthcheck calls"},
    {"slurm", "conf", PIPC__CONFIG_PATH, "none", NULL, 0, 0, AT(slurm_conf),
     "The slurm.conf that scontrol reads; none: where it looks by itself"},
    {NULL, NULL, PIPC__CONFIG_ENUM, NULL, NULL, 0, 0, 0, NULL},
};

/* ---- values -------------------------------------------------------------------------------- */

bool pipc__config_is_node(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(text);

    return n > 0 && n < PIPC__CONFIG_NODE_MAX && *text != '-' && strspn(text, allowed) == n;
}

static bool set_share(const char *text, pipc__share_t *out)
{
    char digits[8];
    size_t n = strlen(text);

    out->percent = n > 0 && text[n - 1] == '%';
    if (out->percent)
        n--;
    return n > 0 && n < sizeof(digits) &&
           snprintf(digits, sizeof(digits), "%.*s", (int)n, text) > 0 &&
           pipc__ini_number(digits, 0, out->percent ? 100 : 100000, &out->n);
}

/* Store @text; false when it is no value of this key. */
static bool set(const pipc__config_key_t *k, const char *text, pipc__config_t *out)
{
    char *field = (char *)out + k->offset;
    bool none = strcmp(text, "none") == 0 && strcmp(k->def, "none") == 0;
    int index = 0;

    switch (k->type) {
    case PIPC__CONFIG_ENUM:
        while (k->values[index] && strcmp(k->values[index], text) != 0)
            index++;
        *(int *)(void *)field = index;
        return k->values[index] != NULL;
    case PIPC__CONFIG_NUMBER:
        return pipc__ini_number(text, k->min, k->max, (int *)(void *)field);
    case PIPC__CONFIG_PATH:
        return (none || *text == '/') && snprintf(field, PIPC__CONFIG_PATH_MAX, "%s",
                                                  none ? "" : text) < PIPC__CONFIG_PATH_MAX;
    case PIPC__CONFIG_NODE:
        return (none || pipc__config_is_node(text)) &&
               snprintf(field, PIPC__CONFIG_NODE_MAX, "%s", none ? "" : text) >= 0;
    case PIPC__CONFIG_SHARE:
        return set_share(text, (pipc__share_t *)(void *)field);
    }
    return false;
}

void pipc__config_default(pipc__config_t *out)
{
    memset(out, 0, sizeof(*out));
    for (const pipc__config_key_t *k = pipc__config_keys; k->key; k++)
        set(k, k->def, out);
}

/* What would be right: "use one of: report, enforce" */
static void wanted(const pipc__config_key_t *k, char *buf, size_t cap)
{
    size_t used;

    switch (k->type) {
    case PIPC__CONFIG_NUMBER:
        snprintf(buf, cap, "use %d to %d", k->min, k->max);
        return;
    case PIPC__CONFIG_PATH:
        snprintf(buf, cap, "use a path that starts with /");
        return;
    case PIPC__CONFIG_NODE:
        snprintf(buf, cap, "use a node's name, or none");
        return;
    case PIPC__CONFIG_SHARE:
        snprintf(buf, cap, "use a number of nodes, or 0%% to 100%%");
        return;
    case PIPC__CONFIG_ENUM:
        break;
    }
    used = (size_t)snprintf(buf, cap, "use one of:");
    for (const char *const *v = k->values; *v && used < cap; v++)
        used += (size_t)snprintf(buf + used, cap - used, "%s %s", v == k->values ? "" : ",", *v);
}

/* ---- the file ------------------------------------------------------------------------------ */

typedef struct parse {
    pipc__config_t *out;
    bool seen[KEYS];
} parse_t;

static bool take(void *arg, const char *section, const char *key, const char *value, char *why,
                 size_t cap)
{
    parse_t *p = arg;
    const pipc__config_key_t *k = pipc__config_keys;
    char right[128];

    while (k->key && (strcmp(k->key, key) != 0 || strcmp(k->section, section) != 0))
        k++;
    if (!k->key) {
        snprintf(why, cap, "there is no key \"%.40s\" in section \"%.40s\"", key, section);
        return false;
    }
    if (p->seen[k - pipc__config_keys]) {
        snprintf(why, cap, "%s stands there twice", k->key);
        return false;
    }
    if (!set(k, value, p->out)) {
        wanted(k, right, sizeof(right));
        snprintf(why, cap, "%s: wrong value \"%.40s\"; %s", k->key, value, right);
        return false;
    }
    p->seen[k - pipc__config_keys] = true;
    return true;
}

pipc_status_t pipc__config_read(const char *path, uid_t owner, pipc__config_t *out,
                                pipc__error_t *err)
{
    parse_t p = {.out = out};
    pipc_status_t st;

    pipc__config_default(out);
    st = pipc__ini_file(path, owner, TEXT_MAX, take, &p, err);
    if (!st || st == PIPC_ERR_NOT_FOUND)
        return PIPC_OK;
    pipc__config_default(out);
    return st;
}
