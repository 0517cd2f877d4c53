/* base/config.c - see config.h */
#include "runtime/base/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/ini.h"

#define TEXT_MAX 65536 /* bytes of a file; more is no configuration */
#define KEYS (sizeof(pipc__config_keys) / sizeof(pipc__config_keys[0]) - 1)

static const char *const modes[] = {"report", "enforce", NULL};

const pipc__config_key_t pipc__config_keys[] = {
    {"gate", "mode", PIPC__CONFIG_ENUM, "report", modes, 0, offsetof(pipc__config_t, mode),
     "report: a node with a fault is reported and the job runs; enforce: the prolog fails, so that "
     "Slurm drains the node"},
    {"gate", "cache", PIPC__CONFIG_NUMBER, "10", NULL, 300, offsetof(pipc__config_t, cache),
     "Seconds that one check stays good for the prologs of other jobs; 0 checks for every job"},
    {"gate", "sysroot", PIPC__CONFIG_FOLDER, "/", NULL, 0, offsetof(pipc__config_t, sysroot),
     "The machine that the prolog reads: the folder that holds sys and proc; other than / for "
     "trials only"},
    {NULL, NULL, PIPC__CONFIG_ENUM, NULL, NULL, 0, 0, NULL},
};

/* ---- values -------------------------------------------------------------------------------- */

/* Store @text; false when it is no value of this key. */
static bool set(const pipc__config_key_t *k, const char *text, pipc__config_t *out)
{
    char *field = (char *)out + k->offset;
    int index = 0;

    switch (k->type) {
    case PIPC__CONFIG_ENUM:
        while (k->values[index] && strcmp(k->values[index], text) != 0)
            index++;
        *(int *)field = index;
        return k->values[index] != NULL;
    case PIPC__CONFIG_NUMBER:
        return pipc__ini_number(text, 0, k->max, (int *)field);
    case PIPC__CONFIG_FOLDER:
        return *text == '/' &&
               snprintf(field, PIPC__CONFIG_PATH_MAX, "%s", text) < PIPC__CONFIG_PATH_MAX;
    }
    return false;
}

void pipc__config_default(pipc__config_t *out)
{
    memset(out, 0, sizeof(*out));
    for (const pipc__config_key_t *k = pipc__config_keys; k->key; k++)
        set(k, k->def, out);
}

/* What would be right: "one of: report, enforce" */
static void wanted(const pipc__config_key_t *k, char *buf, size_t cap)
{
    size_t used;

    if (k->type == PIPC__CONFIG_NUMBER) {
        snprintf(buf, cap, "use 0 to %d", k->max);
        return;
    }
    if (k->type == PIPC__CONFIG_FOLDER) {
        snprintf(buf, cap, "use a path that starts with /");
        return;
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
