/* prolog/links.c - see links.h */
#include "prolog/links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum there { NOTHING, OURS, OTHER } there_t;

static int open_folder(const char *folder, pipc__error_t *err)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (dir < 0) {
        pipc__fail_errno(err, "%s: cannot be opened; make it, and name it in slurm.conf", folder);
        return -1;
    }
    if (fstat(dir, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return dir;
    pipc__fail(err, PIPC_ERR_INVALID,
               "%s: others can write it, and root runs what is in it; chmod go-w it", folder);
    close(dir);
    return -1;
}

static there_t look(int dir, const char *target)
{
    char text[PATH_MAX];
    ssize_t n = readlinkat(dir, PIPC__LINK_NAME, text, sizeof(text));

    if (n < 0)
        return errno == ENOENT ? NOTHING : OTHER;
    return (size_t)n == strlen(target) && memcmp(text, target, (size_t)n) == 0 ? OURS : OTHER;
}

static pipc_status_t install(int dir, const char *folder, const char *target, FILE *out,
                             pipc__error_t *err)
{
    switch (look(dir, target)) {
    case OURS:
        fprintf(out, "%s/" PIPC__LINK_NAME ": is there already\n", folder);
        return PIPC_OK;
    case OTHER:
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s/" PIPC__LINK_NAME ": is something else; move it away", folder);
    case NOTHING:
        break;
    }
    if (symlinkat(target, dir, PIPC__LINK_NAME))
        return pipc__fail_errno(err, "%s/" PIPC__LINK_NAME ": cannot be made", folder);
    fprintf(out, "%s/" PIPC__LINK_NAME ": made, to %s\n", folder, target);
    return PIPC_OK;
}

pipc_status_t pipc__link_install(const char *folder, const char *target, FILE *out,
                                 pipc__error_t *err)
{
    int dir = open_folder(folder, err);
    pipc_status_t st;

    if (dir < 0)
        return PIPC_ERR_INVALID;
    st = install(dir, folder, target, out, err);
    close(dir);
    return st;
}

static bool is_empty(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e = NULL;

    while (d && (e = readdir(d)) && e->d_name[0] == '.')
        ;
    if (d)
        closedir(d);
    return d && !e;
}

static pipc_status_t take_away(int dir, const char *folder, const char *target, FILE *out,
                               pipc__error_t *err)
{
    switch (look(dir, target)) {
    case NOTHING:
        fprintf(out, "%s/" PIPC__LINK_NAME ": is not there\n", folder);
        return PIPC_OK;
    case OTHER:
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s/" PIPC__LINK_NAME ": is something else, and stays", folder);
    case OURS:
        break;
    }
    if (unlinkat(dir, PIPC__LINK_NAME, 0))
        return pipc__fail_errno(err, "%s/" PIPC__LINK_NAME ": cannot be removed", folder);
    fprintf(out, "%s/" PIPC__LINK_NAME ": removed\n", folder);
    /* Slurm takes a pattern that matches nothing for a prolog that failed. */
    if (is_empty(folder))
        fprintf(out,
                "%s: is empty now; take its Prolog= or Epilog= out of slurm.conf, or each job "
                "drains its nodes\n",
                folder);
    return PIPC_OK;
}

pipc_status_t pipc__link_remove(const char *folder, const char *target, FILE *out,
                                pipc__error_t *err)
{
    int dir = open_folder(folder, err);
    pipc_status_t st;

    if (dir < 0)
        return PIPC_ERR_INVALID;
    st = take_away(dir, folder, target, out, err);
    close(dir);
    return st;
}

bool pipc__link_is_there(const char *folder, const char *target)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool there = dir >= 0 && look(dir, target) == OURS;

    if (dir >= 0)
        close(dir);
    return there;
}
