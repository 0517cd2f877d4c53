/* spank/health.c - see health.h */
#include "spank/health.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 65536 /* a snapshot is some hundred bytes */

pipc__health_t pipc__health_judge(const pipc__snapshot_t *snapshot, const char *boot_id,
                                  int64_t now, char *why, size_t cap)
{
    snprintf(why, cap, "%s", snapshot->reason);
    if (strcmp(snapshot->boot_id, boot_id)) {
        snprintf(why, cap, "the snapshot is of another boot");
        return PIPC__HEALTH_UNKNOWN;
    }
    /* A clock that was set back makes it look new: then it is as little known. */
    if (snapshot->time > now + 300 || snapshot->time < now - PIPC__HEALTH_FRESH) {
        snprintf(why, cap, "the snapshot is not of the last %d hours", PIPC__HEALTH_FRESH / 3600);
        return PIPC__HEALTH_UNKNOWN;
    }
    if (!strcmp(snapshot->verdict, "drain"))
        return PIPC__HEALTH_BAD;
    if (!strcmp(snapshot->verdict, "ok") || !strcmp(snapshot->verdict, "note") ||
        !strcmp(snapshot->verdict, "warn"))
        return PIPC__HEALTH_GOOD;
    if (!*why)
        snprintf(why, cap, "the check itself could not tell");
    return PIPC__HEALTH_UNKNOWN;
}

/* read() until the end; a file that is being replaced is a whole one all the same. */
static long read_all(int fd, char *buf, size_t cap)
{
    size_t used = 0;

    while (used < cap) {
        ssize_t n = read(fd, buf + used, cap - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return (long)used;
        used += (size_t)n;
    }
    errno = EFBIG;
    return -1;
}

long pipc__health_text(const char *path, uint32_t owner, char *buf, size_t cap, char *why,
                       size_t why_cap)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    long n = -1;

    if (fd < 0 && errno == ENOENT) {
        snprintf(why, why_cap, "there is no %s", path);
        return -1;
    }
    if (fd < 0 || fstat(fd, &st)) {
        snprintf(why, why_cap, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_uid != owner || st.st_mode & (S_IWGRP | S_IWOTH)) {
        snprintf(why, why_cap, "%s is no file of root's that only root can write", path);
        errno = EPERM;
    } else {
        n = read_all(fd, buf, cap);
        if (n < 0)
            snprintf(why, why_cap, "%s: %s", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return n;
}

static void get_boot_id(char *id, size_t cap)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    id[0] = '\0';
    if (f) {
        if (fgets(id, (int)cap, f))
            id[strcspn(id, "\n")] = '\0';
        fclose(f);
    }
}

pipc__health_t pipc__health_of_node(const char *path, const pipc__spank_ops_t *ops, char *why,
                                    size_t cap)
{
    static char text[TEXT_MAX];
    char boot_id[64];
    pipc__snapshot_t snapshot;
    pipc__error_t err = {PIPC_OK, ""};
    long n = pipc__health_text(path, 0, text, sizeof(text), why, cap);

    if (n < 0)
        return errno == ENOENT ? PIPC__HEALTH_ABSENT : PIPC__HEALTH_UNKNOWN;
    if (!ops) {
        snprintf(why, cap, "the second object of the plugin is missing");
        return PIPC__HEALTH_UNKNOWN;
    }
    if (ops->read_snapshot(text, (size_t)n, &snapshot, &err)) {
        snprintf(why, cap, "%s: %s", path, err.text);
        return PIPC__HEALTH_UNKNOWN;
    }
    get_boot_id(boot_id, sizeof(boot_id));
    return pipc__health_judge(&snapshot, boot_id, (int64_t)time(NULL), why, cap);
}
