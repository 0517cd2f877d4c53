/* topo/dir.c - see dir.h */
#include "runtime/topo/dir.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

static bool join(char path[PATH_MAX], const char *root, const char *fmt, va_list ap)
{
    int used = snprintf(path, PATH_MAX, "%s/", root ? root : "");

    if (used > 0 && used < PATH_MAX) {
        int more = vsnprintf(path + used, (size_t)(PATH_MAX - used), fmt, ap);
        if (more >= 0 && more < PATH_MAX - used)
            return true;
    }
    errno = ENAMETOOLONG;
    return false;
}

DIR *pipc__dir_open(const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    return ok ? opendir(path) : NULL;
}

const char *pipc__dir_next(DIR *dir)
{
    struct dirent *e;

    do
        e = readdir(dir);
    while (e && e->d_name[0] == '.');
    return e ? e->d_name : NULL;
}

void pipc__dir_close(DIR *dir)
{
    int saved = errno;

    if (dir)
        closedir(dir);
    errno = saved;
}

bool pipc__dir_exists(const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    struct stat st;
    va_list ap;

    va_start(ap, fmt);
    bool ok = join(path, root, fmt, ap);
    va_end(ap);
    return ok && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}
