/* spank/stepdir.c - see stepdir.h */
#include "spank/stepdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 4096 /* more were not made by a runtime, and root has other work */
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int pipc__stepdir_base(const char *base, char *out, size_t cap)
{
    const char *at = strstr(base, "%h");
    char host[HOST_NAME_MAX + 1] = "";
    int n;

    if (at && (gethostname(host, sizeof(host) - 1) || strchr(host, '/')))
        return 0;
    host[strcspn(host, ".")] = '\0';
    n = at ? snprintf(out, cap, "%.*s%s%s", (int)(at - base), base, host, at + 2)
           : snprintf(out, cap, "%s", base);
    return *out == '/' && n > 0 && (size_t)n < cap;
}

void pipc__stepdir_name(uid_t uid, uint32_t job, uint32_t step, char out[PIPC__STEPDIR_NAME_MAX])
{
    snprintf(out, PIPC__STEPDIR_NAME_MAX, "%u.%u.%u", (unsigned int)uid, job, step);
}

static bool is_folder(const struct stat *st, uid_t owner, mode_t mode)
{
    return S_ISDIR(st->st_mode) && st->st_uid == owner && (st->st_mode & 07777) == mode;
}

/* mkdir() with exactly this mode: 1 made, 0 it was there, -1 failed. In a task there is one thread.
 */
static int make(int at, const char *name, mode_t mode)
{
    mode_t mask = umask(0);
    int rc = mkdirat(at, name, mode);
    int keep = errno;

    umask(mask);
    errno = keep;
    return rc == 0 ? 1 : errno == EEXIST ? 0 : -1;
}

static pipc_status_t make_above(const char *base, pipc__error_t *err)
{
    char above[PATH_MAX];
    char *slash;

    snprintf(above, sizeof(above), "%s", base);
    slash = strrchr(above, '/');
    if (!slash || slash == above)
        return PIPC_OK;
    *slash = '\0';
    if (make(AT_FDCWD, above, 0755) < 0)
        return pipc__fail_errno(err, "%s can't be made; set rundir= in plugstack.conf", above);
    return PIPC_OK;
}

pipc_status_t pipc__stepdir_prepare(const char *base, pipc__error_t *err)
{
    struct stat st;
    pipc_status_t rc = PIPC_OK;

    /* The usual case is one look: the folder is there since the node's first step. */
    if (lstat(base, &st) == 0 && is_folder(&st, geteuid(), 01777))
        return PIPC_OK;
    rc = make_above(base, err);
    if (rc)
        return rc;
    if (make(AT_FDCWD, base, 01777) < 0)
        return pipc__fail_errno(err, "%s can't be made; set rundir= in plugstack.conf", base);
    if (lstat(base, &st) || !is_folder(&st, geteuid(), 01777))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s is no folder of root's with mode 1777; remove it, or set rundir= in "
                          "plugstack.conf",
                          base);
    return PIPC_OK;
}

/* BASE, if it is what pipc__stepdir_prepare() makes; else -1. */
static int open_base(const char *base, uid_t owner, pipc__error_t *err)
{
    struct stat st;
    int fd = open(base, FOLDER);

    if (fd < 0) {
        pipc__fail_errno(err, "%s can't be opened", base);
        return -1;
    }
    if (fstat(fd, &st) || !is_folder(&st, owner, 01777)) {
        pipc__fail(err, PIPC_ERR_INVALID, "%s is no folder of root's with mode 1777", base);
        close(fd);
        return -1;
    }
    return fd;
}

pipc_status_t pipc__stepdir_make(const char *base, const char *name, uid_t owner,
                                 pipc__error_t *err)
{
    struct stat st;
    pipc_status_t rc = PIPC_OK;
    int fd = open_base(base, owner, err);

    if (fd < 0)
        return PIPC_ERR_SYSTEM;
    /* Sticky BASE: once it is ours nobody else can replace it, so what is checked stays true. */
    if (make(fd, name, 0700) < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
        rc = pipc__fail_errno(err, "%s/%s can't be made", base, name);
    else if (!is_folder(&st, geteuid(), 0700))
        rc = pipc__fail(err, PIPC_ERR_INVALID,
                        "%s/%s was made by somebody else, or is open to others; remove it", base,
                        name);
    close(fd);
    return rc;
}

/* Empty an open folder of what a runtime leaves. Links, folders and others' files stay, and then so
 * does the folder: a user who puts them there may clean up himself. */
static void empty(DIR *dir, uid_t uid)
{
    struct dirent *entry;
    struct stat st;

    for (int n = 0; n < ENTRIES_MAX && (entry = readdir(dir)); n++)
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode)) && st.st_uid == uid)
            unlinkat(dirfd(dir), entry->d_name, 0);
}

/* NAME in the open BASE; 0, or -1 with errno. */
static int remove_at(int base, const char *name, uid_t uid)
{
    struct stat st;
    int fd = openat(base, name, FOLDER);
    DIR *dir;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (fstat(fd, &st) || st.st_uid != uid || !(dir = fdopendir(fd))) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    empty(dir, uid);
    closedir(dir);
    /* The user may put another folder in its place now; rmdir() takes an empty one at most. */
    return unlinkat(base, name, AT_REMOVEDIR) && errno != ENOENT ? -1 : 0;
}

pipc_status_t pipc__stepdir_remove(const char *base, const char *name, uid_t uid,
                                   pipc__error_t *err)
{
    int fd = open_base(base, geteuid(), err);
    pipc_status_t rc = PIPC_OK;

    if (fd < 0)
        return PIPC_ERR_SYSTEM;
    if (remove_at(fd, name, uid))
        rc = pipc__fail_errno(err, "%s/%s can't be removed", base, name);
    close(fd);
    return rc;
}

/* "UID.JOB.STEP" and nothing else: the name that pipc__stepdir_name() makes of its numbers.
 */
static bool parse(const char *name, unsigned int *uid, uint32_t *job)
{
    char again[PIPC__STEPDIR_NAME_MAX];
    uint32_t step;

    if (sscanf(name, "%u.%u.%u", uid, job, &step) != 3)
        return false;
    pipc__stepdir_name(*uid, *job, step, again);
    return !strcmp(name, again);
}

int pipc__stepdir_sweep(const char *base, uint32_t job)
{
    int fd = open_base(base, geteuid(), NULL), gone = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    while ((entry = readdir(dir))) {
        unsigned int uid;
        uint32_t of;
        if (parse(entry->d_name, &uid, &of) && of == job)
            gone += remove_at(dirfd(dir), entry->d_name, uid) == 0;
    }
    closedir(dir);
    return gone;
}
