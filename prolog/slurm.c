/* prolog/slurm.c - see slurm.h */
#include "prolog/slurm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prolog/guard.h"

#define DEADLINE_MS 15000  /* of one call: scontrol itself gives up on a controller after 10 s */
#define ONE_MAX 65536      /* bytes of one node's line */
#define ALL_MAX (64 << 20) /* of all: 30000 nodes */

/* ---- reading ------------------------------------------------------------------------------- */

/* The word behind " KEY=", up to the next blank. */
static bool word(const char *line, const char *key, char *out, size_t cap)
{
    const char *at = line;
    size_t n = strlen(key);

    while ((at = strstr(at, key)) && at != line && at[-1] != ' ')
        at += n;
    if (!at)
        return false;
    at += n;
    return (size_t)snprintf(out, cap, "%.*s", (int)strcspn(at, " \n"), at) < cap;
}

/* "STATE" or "STATE+FLAG+FLAG*" has this flag. */
static bool has(const char *state, const char *flag)
{
    size_t n = strlen(flag);

    for (const char *p = state; (p = strstr(p, flag)); p += n)
        if ((p == state || p[-1] == '+') && (!p[n] || strchr("+*~#$@^!%-", p[n])))
            return true;
    return false;
}

/* "root@2026-11-30T09:04:24", of @n bytes */
static bool is_stamp(const char *text, size_t n)
{
    static const char form[] = "0000-00-00T00:00:00";
    const char *time = memchr(text, '@', n);

    if (!time || time == text || n - (size_t)(time + 1 - text) != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == '0' ? time[1 + i] < '0' || time[1 + i] > '9' : time[1 + i] != form[i])
            return false;
    return true;
}

/* A reason ends with " [USER@TIME]": the last one, since somebody may have copied another reason
 * with its own into it. What follows on the line are the fields that users of scontrol fill. One
 * without that is no reason of ours, and somebody's all the same. */
static void read_reason(const char *line, pipc__node_t *node)
{
    static const char *const behind[] = {" Comment=", " Extra="};
    const char *at = strstr(line, " Reason="), *end;

    if (!at)
        return;
    at += strlen(" Reason=");
    end = at + strlen(at);
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        const char *field = strstr(at, behind[i]);
        end = field && field < end ? field : end;
    }
    const char *last = NULL;
    for (const char *p = at - 1; (p = strstr(p, " [")) && p < end; p++) {
        size_t n = strcspn(p + 2, "] ");
        if (p[2 + n] == ']' && n < sizeof(node->by) && is_stamp(p + 2, n)) {
            snprintf(node->by, sizeof(node->by), "%.*s", (int)n, p + 2);
            last = p;
        }
    }
    end = last ? last : end;
    snprintf(node->reason, sizeof(node->reason), "%.*s", (int)(end > at ? end - at : 0), at);
}

bool pipc__slurm_line(const char *line, pipc__node_t *node)
{
    const char *extra = strstr(line, " Extra=");

    memset(node, 0, sizeof(*node));
    if (!word(line, "NodeName=", node->name, sizeof(node->name)) ||
        !pipc__config_is_node(node->name) ||
        !word(line, "State=", node->state, sizeof(node->state)))
        return false;
    node->drained =
        has(node->state, "DRAIN") || has(node->state, "DRAINED") || has(node->state, "DRAINING");
    node->out = node->drained || has(node->state, "DOWN") || has(node->state, "FAIL") ||
                has(node->state, "FAILING") || has(node->state, "ERROR");
    read_reason(line, node);
    if (extra)
        snprintf(node->extra, sizeof(node->extra), "%.*s", (int)strcspn(extra + 7, "\n"),
                 extra + 7);
    return true;
}

/* ---- calling ------------------------------------------------------------------------------- */

static pipc_status_t trusted(const pipc__slurm_t *slurm, pipc__error_t *err)
{
    struct stat st;

    if (stat(slurm->scontrol, &st))
        return pipc__fail_errno(err, "%s: cannot be used; set scontrol in pcie-ipc.conf",
                                slurm->scontrol);
    if (!S_ISREG(st.st_mode) || st.st_uid != slurm->owner || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: not a program that root alone can write; it is not run",
                          slurm->scontrol);
    return PIPC_OK;
}

/* TZ, so that the time beside a reason reads the same in summer and in winter. */
static pipc_status_t call(const pipc__slurm_t *slurm, char *const argv[], char *out, size_t cap,
                          pipc__error_t *err)
{
    static char locale[] = "LC_ALL=C", zone[] = "TZ=UTC0";
    char conf[PIPC__CONFIG_PATH_MAX + 16];
    char *const environment[] = {locale, zone, slurm->conf[0] ? conf : NULL, NULL};
    pipc__guard_t g;

    if (trusted(slurm, err))
        return err ? err->status : PIPC_ERR_INVALID;
    snprintf(conf, sizeof(conf), "SLURM_CONF=%s", slurm->conf);
    size_t n = pipc__guard_read(slurm->scontrol, argv, environment, DEADLINE_MS, out, cap, &g);
    g.said[strcspn(g.said, "\n")] = '\0';
    if (!g.clean) /* on some errors scontrol writes to stdout */
        return pipc__fail(err, PIPC_ERR_SYSTEM, "%s %s: %s%s%.200s", slurm->scontrol, argv[1],
                          g.why, g.said[0] ? ": " : "", g.said);
    if (n >= cap - 1)
        return pipc__fail(err, PIPC_ERR_SYSTEM, "%s %s: more than %zu bytes", slurm->scontrol,
                          argv[1], cap);
    return PIPC_OK;
}

static pipc_status_t read_lines(char *text, pipc__nodes_t *out, pipc__error_t *err)
{
    char *save = NULL;
    int cap = 0;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (out->n == cap) {
            cap = cap ? 2 * cap : 4;
            pipc__node_t *more = realloc(out->list, sizeof(*more) * (size_t)cap);
            if (!more)
                return pipc__fail(err, PIPC_ERR_NOMEM, "scontrol: out of memory");
            out->list = more;
        }
        if (pipc__slurm_line(line, &out->list[out->n]))
            out->n++;
    }
    return out->n ? PIPC_OK
                  : pipc__fail(err, PIPC_ERR_NOT_FOUND, "scontrol: shows no node in a known form");
}

pipc_status_t pipc__slurm_ask(const pipc__slurm_t *slurm, const char *name, pipc__nodes_t *out,
                              pipc__error_t *err)
{
    static char self[] = "scontrol", one[] = "-o", show[] = "show", node[] = "node";
    char word_of[PIPC__CONFIG_NODE_MAX];
    char *const argv[] = {self, one, show, node, name ? word_of : NULL, NULL};
    size_t cap = name ? ONE_MAX : ALL_MAX;
    pipc_status_t st;

    *out = (pipc__nodes_t){NULL, 0};
    if (name && !pipc__config_is_node(name))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: no name of a node", name);
    snprintf(word_of, sizeof(word_of), "%s", name ? name : "");
    char *text = malloc(cap);
    if (!text)
        return pipc__fail(err, PIPC_ERR_NOMEM, "scontrol: out of memory");
    st = call(slurm, argv, text, cap, err);
    if (!st)
        st = read_lines(text, out, err);
    free(text);
    if (!st && name && strcmp(out->list[0].name, name) != 0)
        st = pipc__fail(err, PIPC_ERR_NOT_FOUND, "scontrol: shows %s for %s", out->list[0].name,
                        name);
    return st;
}

pipc_status_t pipc__slurm_update(const pipc__slurm_t *slurm, const char *node,
                                 const pipc__slurm_update_t *update, pipc__error_t *err)
{
    static char self[] = "scontrol", verb[] = "update";
    const struct {
        const char *key, *value;
    } part[] = {{"nodename", node},
                {"state", update->state},
                {"reason", update->reason},
                {"extra", update->extra}};
    char text[4][PIPC__SLURM_TEXT_MAX + 16], answer[4096];
    char *argv[7] = {self, verb};
    int n = 2;

    if (!pipc__config_is_node(node))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: no name of a node", node);
    for (int i = 0; i < 4; i++) {
        if (!part[i].value)
            continue;
        snprintf(text[i], sizeof(text[i]), "%s=%s", part[i].key, part[i].value);
        argv[n++] = text[i];
    }
    return call(slurm, argv, answer, sizeof(answer), err);
}
