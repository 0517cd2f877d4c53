/* base/outfile.c - see outfile.h */
#include "runtime/base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_MAX 24 /* bytes of ".NUMBER.part" */

/* "-J /dev/stdout >FILE": FILE has the table, too, and would lose it. */
static bool is_stdout(const struct stat *st)
{
    struct stat out;

    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

/* Fill path and part. */
static pipc_status_t resolve(pipc__outfile_t *out, const char *path, int writer, pipc__error_t *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;

    *out = (pipc__outfile_t){.f = NULL};
    if (!there && lstat(path, &st) == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: a link to what is not there", path);
    if (strlen(path) >= sizeof(out->path) - PART_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%.200s...: the path is too long", path);
    strcpy(out->path, path);
    out->to_stdout = there && is_stdout(&st);
    if (out->to_stdout || (there && !S_ISREG(st.st_mode)))
        return PIPC_OK;
    if (there && !realpath(path, out->path))
        return pipc__fail_errno(err, "%s", path);
    if (snprintf(out->part, sizeof(out->part), "%s.%d.part", out->path, writer) >=
        (int)sizeof(out->part))
        return pipc__fail(err, PIPC_ERR_INVALID, "%.200s...: the path is too long", path);
    return PIPC_OK;
}

/* Anew, and never through a link that somebody else put there. */
static int make_part(const pipc__outfile_t *out)
{
    unlink(out->part);
    return open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* Straight to what is there: it may have gone since it was looked at, but is not made. */
static int open_as_it_is(const pipc__outfile_t *out)
{
    if (out->to_stdout) /* behind what was printed */
        return fflush(stdout) ? -1 : dup(STDOUT_FILENO);
    return open(out->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

pipc_status_t pipc__outfile_try(const char *path, int writer, pipc__error_t *err)
{
    pipc__outfile_t out;
    struct stat st;
    pipc_status_t status = resolve(&out, path, writer, err);

    if (status)
        return status;
    if (out.part[0]) {
        int fd = make_part(&out);
        if (fd < 0)
            return pipc__fail_errno(err, "%s: cannot be written", path);
        close(fd);
        unlink(out.part);
        return PIPC_OK;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
        return PIPC_OK;
    return pipc__fail_errno(err, "%s: cannot be written", path);
}

pipc_status_t pipc__outfile_open(pipc__outfile_t *out, const char *path, int writer,
                                 pipc__error_t *err)
{
    pipc_status_t status = resolve(out, path, writer, err);

    if (status)
        return status;
    int fd = out->part[0] ? make_part(out) : open_as_it_is(out);
    out->f = fd < 0 ? NULL : fdopen(fd, "w");
    if (out->f)
        return PIPC_OK;
    status = pipc__fail_errno(err, "%s: cannot be written", path);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && out->part[0])
        unlink(out->part);
    return status;
}

pipc_status_t pipc__outfile_close(pipc__outfile_t *out, pipc__error_t *err)
{
    bool bad = fflush(out->f) || ferror(out->f);
    int why = errno;

    if (fclose(out->f) && !bad) {
        bad = true;
        why = errno;
    }
    out->f = NULL;
    if (!bad && out->part[0] && rename(out->part, out->path)) {
        bad = true;
        why = errno;
    }
    if (!bad)
        return PIPC_OK;
    if (out->part[0])
        unlink(out->part);
    errno = why;
    return pipc__fail_errno(err, "%s: cannot be written", out->path);
}
