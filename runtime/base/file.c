/* base/file.c - see file.h */
#include "runtime/base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Join @root and the formatted path into @path[PATH_MAX]; false with ENAMETOOLONG. */
static bool join(char *path, const char *root, const char *fmt, va_list ap)
{
    int used = snprintf(path, PATH_MAX, "%s", root ? root : "");

    if (used < 0 || used >= PATH_MAX - 1)
        goto too_long;
    while (used > 0 && path[used - 1] == '/')
        used--;
    path[used++] = '/';
    path[used] = '\0';
    while (*fmt == '/')
        fmt++;
    int more = vsnprintf(path + used, (size_t)(PATH_MAX - used), fmt, ap);
    if (more >= 0 && more < PATH_MAX - used)
        return true;
too_long:
    errno = ENAMETOOLONG;
    return false;
}

static bool read_path(const char *path, char *buf, size_t cap, size_t *len)
{
    /* A captured machine may have a pipe in a file's place. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t have = 0;

    if (fd < 0)
        return false;
    while (have < cap - 1) {
        ssize_t n = read(fd, buf + have, cap - 1 - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int saved = errno;
            close(fd);
            errno = saved;
            return false;
        }
        if (n == 0)
            break;
        have += (size_t)n;
    }
    close(fd);
    buf[have] = '\0';
    if (len)
        *len = have;
    return true;
}

bool pipc__file_read(const char *root, char *buf, size_t cap, size_t *len, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    return ok && read_path(path, buf, cap, len);
}

/* Cut @buf to its first line and strip blanks at both ends. */
static void first_line(char *buf)
{
    char *start = buf;

    buf[strcspn(buf, "\n")] = '\0';
    while (isspace((unsigned char)*start))
        start++;
    size_t n = strlen(start);
    while (n > 0 && isspace((unsigned char)start[n - 1]))
        n--;
    memmove(buf, start, n);
    buf[n] = '\0';
}

bool pipc__file_line(const char *root, char *buf, size_t cap, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    if (!ok || !read_path(path, buf, cap, NULL))
        return false;
    first_line(buf);
    return true;
}

bool pipc__file_int(const char *root, int64_t *value, const char *fmt, ...)
{
    char path[PATH_MAX], buf[64], *end;
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    if (!ok || !read_path(path, buf, sizeof(buf), NULL))
        return false;
    first_line(buf);
    errno = 0;
    long long v = strtoll(buf, &end, 0);
    if (errno)
        return false;
    if (end == buf || (*end && !isspace((unsigned char)*end))) {
        errno = EINVAL;
        return false;
    }
    *value = v;
    return true;
}

bool pipc__file_link(const char *root, char *buf, size_t cap, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    if (!ok)
        return false;
    ssize_t n = readlink(path, buf, cap - 1);
    if (n < 0)
        return false;
    buf[n] = '\0';
    return true;
}
