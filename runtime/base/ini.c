/* base/ini.c - see ini.h */
#include "runtime/base/ini.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the text ------------------------------------------------------------------------------ */

typedef struct parse {
    pipc__ini_take_t *take;
    void *arg;
    char why[256]; /* of the first line that is wrong */
} parse_t;

/* inih calls this for each "key = value", and gives the number of the first line for which it is 0.
 */
static int hand_over(void *arg, const char *section, const char *key, const char *value)
{
    parse_t *p = arg;

    if (!p->why[0] && !p->take(p->arg, section, key, value, p->why, sizeof(p->why)) && !p->why[0])
        snprintf(p->why, sizeof(p->why), "%.40s is wrong", key);
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

/* What inih would cut in silence. */
static pipc_status_t judge_lengths(const char *from, const char *text, pipc__error_t *err)
{
    int number = 1;

    for (const char *line = text; *line; number++) {
        size_t n = strcspn(line, "\n"), blank = strspn(line, " \t");
        if (n > PIPC__INI_LINE_MAX)
            return pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: longer than %d bytes", from,
                              number, PIPC__INI_LINE_MAX);
        if (line[blank] == '[' && strcspn(line + blank + 1, "]\n") > PIPC__INI_SECTION_MAX)
            return pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: a name of more than %d bytes",
                              from, number, PIPC__INI_SECTION_MAX);
        line += n + (line[n] == '\n');
    }
    return PIPC_OK;
}

/* The text without the blanks that lines begin with; the caller frees it. inih takes an indented
 * line for more of the key above it, which was then the one that an error named. */
static char *without_indent(const char *text)
{
    char *lines = malloc(strlen(text) + 1), *to = lines;
    bool begins = true;

    if (!lines)
        return NULL;
    for (; *text; text++) {
        if (begins && *text != '\n' && isspace((unsigned char)*text))
            continue;
        begins = *text == '\n';
        *to++ = *text;
    }
    *to = '\0';
    return lines;
}

static pipc_status_t parse_lines(const char *from, const char *lines, parse_t *p,
                                 pipc__error_t *err)
{
    /* The form first: inih goes on after a line that it cannot read, and then takes keys for those
     * of another section. */
    int number = ini_parse_string(lines, skip, NULL);

    if (number)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: line %d: neither \"[section]\" nor \"key = value\"", from, number);
    number = ini_parse_string(lines, hand_over, p);
    return number ? pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: %s", from, number, p->why)
                  : PIPC_OK;
}

pipc_status_t pipc__ini_text(const char *from, const char *text, pipc__ini_take_t *take, void *arg,
                             pipc__error_t *err)
{
    parse_t p = {.take = take, .arg = arg};
    pipc_status_t st = judge_lengths(from, text, err);
    char *lines = st ? NULL : without_indent(text);

    if (!st)
        st = lines ? parse_lines(from, lines, &p, err)
                   : pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", from);
    free(lines);
    return st;
}

bool pipc__ini_number(const char *text, long least, long most, int *out)
{
    char *end;
    long number;

    if (*text < '0' || *text > '9') /* strtol() takes signs and blanks */
        return false;
    errno = 0;
    number = strtol(text, &end, 10);
    *out = (int)number;
    return !*end && !errno && number >= least && number <= most;
}

void pipc__ini_plain(char *to, size_t cap, const char *from)
{
    size_t n = 0;

    from += strspn(from, " \t\n");
    for (; n < cap - 1 && from[n]; n++)
        to[n] = from[n] < ' ' || from[n] > '~' || from[n] == ';' ? '_' : from[n];
    while (n > 0 && to[n - 1] == ' ') /* where it was cut, too */
        n--;
    to[n] = '\0';
}

/* ---- the file ------------------------------------------------------------------------------ */

static pipc_status_t trust(const char *path, const char *what, const struct stat *st, uid_t owner,
                           pipc__error_t *err)
{
    if (owner == PIPC__INI_ANYBODY)
        return PIPC_OK;
    if (st->st_uid != owner)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: %s belongs to user %u; chown it to %u", path,
                          what, (unsigned int)st->st_uid, (unsigned int)owner);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: others can write %s; chmod go-w it", path,
                          what);
    return PIPC_OK;
}

/* The folder that holds @path, and what stands behind it. */
static int open_folder(const char *path, const char **name, pipc__error_t *err)
{
    char folder[PIPC__INI_PATH_MAX] = "./";
    const char *slash = strrchr(path, '/');
    int dir = -1;

    *name = slash ? slash + 1 : path;
    if (slash && snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >=
                     (int)sizeof(folder)) {
        errno = ENAMETOOLONG;
        pipc__fail_errno(err, "%s: cannot be opened", path);
        return -1;
    }
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        pipc__fail_errno(err, "%s: cannot be opened", path);
    return dir;
}

/* A link is followed where the caller answers for what is behind it. */
static int open_file(int dir, const char *path, const char *name, uid_t owner, pipc__error_t *err)
{
    int nofollow = owner == PIPC__INI_ANYBODY ? 0 : O_NOFOLLOW;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow);

    if (fd < 0)
        pipc__fail_errno(err, "%s: cannot be opened", path);
    return fd;
}

/* The folder first, then the file in that very folder: checked by name, they could be others' by
 * the time they are opened. */
static pipc_status_t open_trusted(const char *path, uid_t owner, int *fd, pipc__error_t *err)
{
    const char *name;
    struct stat st;
    int dir = open_folder(path, &name, err);
    pipc_status_t status = PIPC_ERR_INVALID;

    *fd = dir >= 0 ? open_file(dir, path, name, owner, err) : -1;
    if (*fd < 0)
        status = errno == ENOENT || errno == ENOTDIR ? PIPC_ERR_NOT_FOUND : PIPC_ERR_INVALID;
    else if (fstat(dir, &st) || trust(path, "its folder", &st, owner, err) || fstat(*fd, &st) ||
             trust(path, "the file", &st, owner, err))
        status = PIPC_ERR_INVALID;
    else if (!S_ISREG(st.st_mode))
        status = pipc__fail(err, PIPC_ERR_INVALID, "%s: not a plain file", path);
    else
        status = PIPC_OK;
    if (dir >= 0)
        close(dir);
    if (status && *fd >= 0)
        close(*fd);
    if (err)
        err->status = status;
    return status;
}

static pipc_status_t read_text(const char *path, int fd, size_t max, char *text, pipc__error_t *err)
{
    size_t have = 0;
    ssize_t n = 0;

    while (have < max && (n = read(fd, text + have, max - have)) > 0)
        have += (size_t)n;
    if (n < 0)
        return pipc__fail_errno(err, "%s: cannot be read", path);
    text[have] = '\0';
    if (have == max || strlen(text) != have)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: not a text of less than %zu bytes", path,
                          max);
    return PIPC_OK;
}

pipc_status_t pipc__ini_file(const char *path, uid_t owner, size_t max, pipc__ini_take_t *take,
                             void *arg, pipc__error_t *err)
{
    char *text;
    int fd;
    pipc_status_t st = open_trusted(path, owner, &fd, err);

    if (st)
        return st;
    text = malloc(max + 1);
    st = text ? read_text(path, fd, max, text, err)
              : pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    close(fd);
    if (!st)
        st = pipc__ini_text(path, text, take, arg, err);
    free(text);
    return st;
}
