/* topo/text.c - see text.h */
#include "runtime/topo/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

/* Double the room of a text that fills it; NULL, and the text is gone, without memory. */
static char *more_room(char *text, size_t *cap)
{
    char *more = realloc(text, 2 * *cap + 1);

    if (!more)
        free(text);
    *cap *= 2;
    return more;
}

static pipc_status_t read_all(char **text, int fd, const char *path, size_t *len,
                              pipc__error_t *err)
{
    size_t cap = 1 << 16;
    char *t = malloc(cap + 1);
    ssize_t n = 0;

    *len = 0;
    while (t && *len <= PIPC__TEXT_MAX && (n = read_more(fd, t + *len, cap - *len)) > 0) {
        *len += (size_t)n;
        if (*len == cap)
            t = more_room(t, &cap);
    }
    *text = t;
    if (!t)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    if (n < 0)
        return pipc__fail_errno(err, "%s: cannot be read", path);
    if (*len == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: it is empty", path);
    if (*len > PIPC__TEXT_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: longer than %d MiB; is this the right file?",
                          path, PIPC__TEXT_MAX >> 20);
    t[*len] = '\0';
    return PIPC_OK;
}

pipc_status_t pipc__text_read(char **text, const char *path, size_t *len, pipc__error_t *err)
{
    /* O_NONBLOCK: to open a pipe that nobody writes to must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    pipc_status_t status;
    struct stat st;

    *text = NULL;
    if (fd < 0)
        return pipc__fail_errno(err, "%s: cannot be read", path);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        status =
            pipc__fail(err, PIPC_ERR_INVALID,
                       "%s: a folder, not a file; a captured machine is read with --sysroot", path);
    else
        status = read_all(text, fd, path, len, err);
    close(fd);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
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

/* UTF-16, which PowerShell writes, has a mark of two bytes in front: keep the low byte of each two.
 * What is not ASCII becomes a question mark. */
static size_t from_utf16(char *text, size_t len)
{
    bool low_first = len >= 2 && memcmp(text, "\377\376", 2) == 0;
    bool high_first = len >= 2 && memcmp(text, "\376\377", 2) == 0;
    size_t n = 0;

    if (!low_first && !high_first)
        return len;
    for (size_t i = 2; i + 1 < len; i += 2)
        text[n++] = text[i + low_first] ? '?' : text[i + high_first];
    return n;
}

void pipc__text_clean(char *text, size_t len)
{
    const char *end = text + from_utf16(text, len);
    char *out = text;

    for (const char *p = text; p < end;) {
        if (*p == '\033') {
            p += escape_length(p, end);
            continue;
        }
        if (p + 1 < end && p[0] == '\302' && p[1] == '\240') { /* U+00A0 in UTF-8 */
            *out++ = ' ';
            p += 2;
            continue;
        }
        if (*p != '\r')
            *out++ = *p ? *p : '\n';
        p++;
    }
    *out = '\0';
}
