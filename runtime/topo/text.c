/* topo/text.c - see text.h */
#include "runtime/topo/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read as read() does, but wait for the writer of a pipe. */
static ssize_t read_more(int fd, char *at, size_t room)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    for (;;) {
        ssize_t n = read(fd, at, room);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
        if (errno == EAGAIN)
            poll(&p, 1, -1);
    }
}

static char *read_all(int fd, const char *path, size_t *len, pipc__error_t *err)
{
    size_t cap = 1 << 16, have = 0;
    char *text = malloc(cap + 1);
    ssize_t n = 0;

    while (text && (n = read_more(fd, text + have, cap - have)) > 0) {
        have += (size_t)n;
        if (have < cap || cap > PIPC__TEXT_MAX)
            continue;
        cap *= 2;
        char *more = realloc(text, cap + 1);
        if (!more)
            free(text);
        text = more;
    }
    *len = have;
    if (!text)
        pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    else if (n < 0)
        pipc__fail_errno(err, "%s: cannot be read", path);
    else if (have == 0)
        pipc__fail(err, PIPC_ERR_INVALID, "%s: it is empty", path);
    else if (have > PIPC__TEXT_MAX)
        pipc__fail(err, PIPC_ERR_INVALID, "%s: longer than %d MiB; is this the right file?", path,
                   PIPC__TEXT_MAX >> 20);
    else {
        text[have] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

char *pipc__text_read(const char *path, size_t *len, pipc__error_t *err)
{
    /* O_NONBLOCK: to open a pipe that nobody writes to must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char *text = NULL;
    struct stat st;

    if (fd < 0) {
        pipc__fail_errno(err, "%s: cannot be read", path);
        return NULL;
    }
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        pipc__fail(err, PIPC_ERR_INVALID,
                   "%s: a folder, not a file; a captured machine is read "
                   "with --sysroot",
                   path);
    else
        text = read_all(fd, path, len, err);
    close(fd);
    return text;
}

/* The length of an escape sequence at @p, where ESC stands: "ESC [ parameters letter", or ESC and
 * one byte. */
static size_t escape_length(const char *p, const char *end)
{
    const char *q = p + 1;

    if (q < end && *q == '[') {
        q++;
        while (q < end && *q >= ' ' && *q < '@')
            q++;
    }
    return (size_t)((q < end ? q + 1 : q) - p);
}

void pipc__text_clean(char *text, size_t len)
{
    const char *end = text + len;
    char *out = text;

    for (const char *p = text; p < end;) {
        if (*p == '\033') {
            p += escape_length(p, end);
            continue;
        }
        if (*p != '\r')
            *out++ = *p ? *p : '\n';
        p++;
    }
    *out = '\0';
}
