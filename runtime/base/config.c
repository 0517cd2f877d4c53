/* base/config.c - see config.h */
#include "runtime/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX 65536   /* bytes of a file; more is no configuration */
#define LINE_MAX_INI 198 /* inih cuts longer lines in two, in silence */
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
    char *field = (char *)out + k->offset, *end;
    int index = 0;
    long number;

    switch (k->type) {
    case PIPC__CONFIG_ENUM:
        while (k->values[index] && strcmp(k->values[index], text) != 0)
            index++;
        *(int *)field = index;
        return k->values[index] != NULL;
    case PIPC__CONFIG_NUMBER:
        if (*text < '0' || *text > '9') /* strtol() takes signs and blanks */
            return false;
        errno = 0;
        number = strtol(text, &end, 10);
        *(int *)field = (int)number;
        return !*end && !errno && number <= k->max;
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

/* ---- the text ------------------------------------------------------------------------------ */

typedef struct parse {
    pipc__config_t *out;
    bool seen[KEYS];
    char why[256]; /* of the first line that is wrong */
} parse_t;

/* inih calls this for each "key = value", and gives the number of the first line for which it is 0.
 */
static int take(void *arg, const char *section, const char *key, const char *value)
{
    parse_t *p = arg;
    const pipc__config_key_t *k = pipc__config_keys;
    char right[128];

    while (k->key && (strcmp(k->key, key) != 0 || strcmp(k->section, section) != 0))
        k++;
    if (p->why[0])
        return 0;
    if (!k->key) {
        snprintf(p->why, sizeof(p->why), "there is no key \"%.40s\" in section \"%.40s\"", key,
                 section);
    } else if (p->seen[k - pipc__config_keys]) {
        snprintf(p->why, sizeof(p->why), "%s stands there twice", k->key);
    } else if (!set(k, value, p->out)) {
        wanted(k, right, sizeof(right));
        snprintf(p->why, sizeof(p->why), "%s: wrong value \"%.40s\"; %s", k->key, value, right);
    } else {
        p->seen[k - pipc__config_keys] = true;
    }
    return p->why[0] == '\0';
}

static int skip(void *arg, const char *section, const char *key, const char *value)
{
    (void)arg;
    (void)section;
    (void)key;
    (void)value;
    return 1;
}

static pipc_status_t parse_text(const char *path, const char *text, pipc__config_t *out,
                                pipc__error_t *err)
{
    parse_t p = {.out = out};
    int number = 1;

    for (const char *line = text; *line; number++) {
        size_t n = strcspn(line, "\n");
        if (n > LINE_MAX_INI)
            return pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: longer than %d bytes", path,
                              number, LINE_MAX_INI);
        line += n + (line[n] == '\n');
    }
    /* The form first: inih goes on after a line that it cannot read, and then takes keys for those
     * of another section. */
    number = ini_parse_string(text, skip, NULL);
    if (number)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: line %d: neither \"[section]\" nor \"key = value\"", path, number);
    number = ini_parse_string(text, take, &p);
    return number ? pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: %s", path, number, p.why)
                  : PIPC_OK;
}

/* ---- the file ------------------------------------------------------------------------------ */

static pipc_status_t trust(const char *path, const char *what, const struct stat *st, uid_t owner,
                           pipc__error_t *err)
{
    if (st->st_uid != owner)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: %s belongs to user %u; chown it to %u", path,
                          what, (unsigned int)st->st_uid, (unsigned int)owner);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: others can write %s; chmod go-w it", path,
                          what);
    return PIPC_OK;
}

/* The folder first, then the file in that very folder: checked by name, they could be others' by
 * the time they are opened. */
static int open_trusted(const char *path, uid_t owner, bool *absent, pipc__error_t *err)
{
    char folder[PIPC__CONFIG_PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat st;
    int dir, fd;

    *absent = false;
    if (!slash || snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >=
                      (int)sizeof(folder)) {
        pipc__fail(err, PIPC_ERR_INVALID, "%s: not an absolute path, or too long", path);
        return -1;
    }
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = dir >= 0
             ? openat(dir, slash + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
             : -1;
    if (fd < 0) {
        *absent = errno == ENOENT || errno == ENOTDIR;
        pipc__fail_errno(err, "%s: cannot be opened", path);
    } else if (fstat(dir, &st) || trust(path, "its folder", &st, owner, err) || fstat(fd, &st) ||
               trust(path, "the file", &st, owner, err) || !S_ISREG(st.st_mode)) {
        if (err && !err->text[0])
            pipc__fail(err, PIPC_ERR_INVALID, "%s: not a plain file", path);
        close(fd);
        fd = -1;
    }
    if (dir >= 0)
        close(dir);
    return fd;
}

static pipc_status_t read_text(const char *path, int fd, char *text, pipc__error_t *err)
{
    size_t have = 0;
    ssize_t n = 0;

    while (have < TEXT_MAX && (n = read(fd, text + have, TEXT_MAX - have)) > 0)
        have += (size_t)n;
    if (n < 0)
        return pipc__fail_errno(err, "%s: cannot be read", path);
    text[have] = '\0';
    if (have == TEXT_MAX || strlen(text) != have)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: not a text of less than %d bytes", path,
                          TEXT_MAX);
    return PIPC_OK;
}

pipc_status_t pipc__config_read(const char *path, uid_t owner, pipc__config_t *out,
                                pipc__error_t *err)
{
    pipc__error_t why = {PIPC_OK, ""};
    bool absent;
    char *text = NULL;
    int fd = open_trusted(path, owner, &absent, &why);
    pipc_status_t st = fd >= 0 || absent ? PIPC_OK : PIPC_ERR_INVALID;

    pipc__config_default(out);
    if (fd >= 0) {
        text = malloc(TEXT_MAX + 1);
        st = text ? read_text(path, fd, text, &why)
                  : pipc__fail(&why, PIPC_ERR_NOMEM, "%s: out of memory", path);
        close(fd);
    }
    if (text && !st)
        st = parse_text(path, text, out, &why);
    free(text);
    if (!st)
        return PIPC_OK;
    pipc__config_default(out);
    return pipc__fail(err, st, "%s", why.text);
}
