/* prolog/state.c - see state.h */
#include "prolog/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20

static bool is_trusted(const struct stat *st, uid_t owner)
{
    return st->st_uid == owner && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static pipc_status_t open_folder(const char *folder, uid_t owner, bool made, int *dir,
                                 pipc__error_t *err)
{
    struct stat st;

    *dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*dir < 0 && errno == ENOENT)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s: there is none", folder);
    if (*dir < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", folder);
    if (fstat(*dir, &st) == 0 && is_trusted(&st, owner)) {
        if (made)
            fchmod(*dir, 0755);
        return PIPC_OK;
    }
    close(*dir);
    *dir = -1;
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "%s: not ours alone to write; remove it, it is made again", folder);
}

pipc_status_t pipc__state_open(const char *folder, uid_t owner, int *dir, pipc__error_t *err)
{
    bool made = mkdir(folder, 0755) == 0;

    *dir = -1;
    if (!made && errno != EEXIST)
        return pipc__fail_errno(err, "%s: cannot be made", folder);
    return open_folder(folder, owner, made, dir, err);
}

pipc_status_t pipc__state_find(const char *folder, uid_t owner, int *dir, pipc__error_t *err)
{
    return open_folder(folder, owner, false, dir, err);
}

/* flock() with a deadline; no alarm(), which may be the program's own. */
static bool lock(int fd, int wait_ms)
{
    const struct timespec tick = {0, TICK_MS * 1000000L};

    if (wait_ms < 0)
        return flock(fd, LOCK_EX) == 0;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || wait_ms <= 0)
            return false;
        nanosleep(&tick, NULL);
        wait_ms -= TICK_MS;
    }
    return true;
}

pipc_status_t pipc__state_lock(int dir, const char *name, int wait_ms, int *fd, pipc__error_t *err)
{
    *fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (*fd < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", name);
    if (lock(*fd, wait_ms))
        return PIPC_OK;
    int why = errno;
    close(*fd);
    *fd = -1;
    errno = why;
    return why == EWOULDBLOCK
               ? pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s: another process has it locked", name)
               : pipc__fail_errno(err, "%s: cannot be locked", name);
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

pipc_status_t pipc__state_write(int dir, const char *name, mode_t mode, const void *bytes, size_t n,
                                pipc__error_t *err)
{
    char unfinished[PIPC__STATE_NAME_MAX + 8];

    if (!*name || strchr(name, '/') || strlen(name) >= PIPC__STATE_NAME_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: no name of a file", name);
    snprintf(unfinished, sizeof(unfinished), ".%s.new", name);
    unlinkat(dir, unfinished, 0);
    int fd = openat(dir, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return pipc__fail_errno(err, "%s: cannot be made", unfinished);
    bool ok = write_all(fd, bytes, n) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    if (close(fd))
        ok = false;
    if (ok && renameat(dir, unfinished, dir, name) == 0)
        return PIPC_OK;
    pipc__fail_errno(err, "%s: cannot be written", name);
    unlinkat(dir, unfinished, 0);
    return PIPC_ERR_SYSTEM;
}

/* One byte more than @max is asked for: a file can grow after its size was looked at. */
static pipc_status_t read_all(int fd, const char *name, size_t max, char **text, size_t *n,
                              pipc__error_t *err)
{
    char *buf = malloc(max + 2);
    size_t have = 0;
    ssize_t got = 1;

    if (!buf)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", name);
    while (have <= max && got > 0) {
        got = read(fd, buf + have, max + 1 - have);
        if (got > 0)
            have += (size_t)got;
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (got >= 0 && have <= max) {
        buf[have] = '\0';
        *text = buf;
        *n = have;
        return PIPC_OK;
    }
    free(buf);
    return got < 0 ? pipc__fail_errno(err, "%s: cannot be read", name)
                   : pipc__fail(err, PIPC_ERR_INVALID, "%s: larger than %zu bytes", name, max);
}

pipc_status_t pipc__state_read(int dir, const char *name, uid_t owner, size_t max, char **text,
                               size_t *n, pipc__error_t *err)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    size_t unused;
    pipc_status_t status;

    *text = NULL;
    if (fd < 0 && errno == ENOENT)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s: there is none", name);
    if (fd < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", name);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_trusted(&st, owner))
        status = pipc__fail(err, PIPC_ERR_INVALID,
                            "%s: not a plain file that is ours alone to write; remove it", name);
    else
        status = read_all(fd, name, max, text, n ? n : &unused, err);
    close(fd);
    return status;
}
