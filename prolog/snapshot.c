/* prolog/snapshot.c - see snapshot.h */
#include "prolog/snapshot.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prolog/output.h"
#include "runtime/base/file.h"

#define LOCK "health.lock"
#define SNAPSHOT "health.json"
#define UNFINISHED ".health.json.new"
#define SNAPSHOT_MAX (4 << 20)
#define ID_MAX 64
#define KEPT_MAX 100 /* findings, of about 400 bytes */

static double uptime(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *boot_id(char out[ID_MAX])
{
    if (!pipc__file_line("/", out, ID_MAX, "proc/sys/kernel/random/boot_id"))
        out[0] = '\0';
    return out;
}

static bool is_trusted(int fd, uid_t owner)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == owner && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

pipc_status_t pipc__run_open(pipc__run_t *run, const char *folder, uid_t owner, pipc__error_t *err)
{
    *run = (pipc__run_t){-1, -1, owner};
    if (mkdir(folder, 0755) && errno != EEXIST)
        return pipc__fail_errno(err, "%s: cannot be made", folder);
    run->dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run->dir < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", folder);
    if (!is_trusted(run->dir, owner))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: not ours alone to write; remove it, it is made again", folder);
    run->lock = openat(run->dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (run->lock < 0)
        return pipc__fail_errno(err, "%s/" LOCK ": cannot be opened", folder);
    if (flock(run->lock, LOCK_EX))
        return pipc__fail_errno(err, "%s/" LOCK ": cannot be locked", folder);
    return PIPC_OK;
}

void pipc__run_close(pipc__run_t *run)
{
    if (run->lock >= 0)
        close(run->lock);
    if (run->dir >= 0)
        close(run->dir);
    *run = (pipc__run_t){-1, -1, run->owner};
}

static bool says(const json_t *json, const char *key, const char *want)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text && *want && strcmp(text, want) == 0;
}

static bool is_of_now(const json_t *json, const pipc__config_t *config)
{
    char id[ID_MAX];
    double age = uptime() - json_number_value(json_object_get(json, "uptime"));

    return says(json, "boot_id", boot_id(id)) && says(json, "version", PACKAGE_VERSION) &&
           says(json, "sysroot", config->sysroot) && age >= 0 && age < config->cache;
}

bool pipc__last_check(const pipc__run_t *run, const pipc__config_t *config, pipc__findings_t *out)
{
    int fd = openat(run->dir, SNAPSHOT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    json_t *json = NULL;
    bool good;

    memset(out, 0, sizeof(*out));
    if (fd < 0)
        return false;
    if (is_trusted(fd, run->owner) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size < SNAPSHOT_MAX)
        json = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
    close(fd);
    good = json && is_of_now(json, config) && pipc__findings_from_json(json, out);
    json_decref(json);
    return good;
}

static json_t *reason(const pipc__findings_t *findings)
{
    const pipc__finding_t *worst = findings->n > 0 ? &findings->list[0] : NULL;

    if (!worst || worst->severity < PIPC__WARN)
        return json_string("");
    return json_sprintf("%s: %s (%s)", worst->object, worst->seen, pipc__codes[worst->code].name);
}

static json_t *whole(const pipc__config_t *config, const pipc__findings_t *findings)
{
    pipc__findings_t kept = *findings; /* worst first: cut, it has the same verdict */
    char id[ID_MAX];

    if (kept.n > KEPT_MAX)
        kept.n = KEPT_MAX;
    json_t *json = pipc__findings_to_json(&kept);
    const char *mode = config->mode == PIPC__MODE_ENFORCE ? "enforce" : "report";
    if (json && !json_object_set_new(json, "version", json_string(PACKAGE_VERSION)) &&
        !json_object_set_new(json, "boot_id", json_string(boot_id(id))) &&
        !json_object_set_new(json, "sysroot", json_string(config->sysroot)) &&
        !json_object_set_new(json, "mode", json_string(mode)) &&
        !json_object_set_new(json, "reason", reason(findings)) &&
        !json_object_set_new(json, "time", json_integer(time(NULL))) &&
        !json_object_set_new(json, "uptime", json_real(uptime())))
        return json;
    json_decref(json);
    return NULL;
}

pipc_status_t pipc__keep_check(const pipc__run_t *run, const pipc__config_t *config,
                               const pipc__findings_t *findings, pipc__error_t *err)
{
    json_t *json = whole(config, findings);
    int fd = -1;
    bool ok = false;

    if (!json)
        return pipc__fail(err, PIPC_ERR_NOMEM, SNAPSHOT ": out of memory");
    unlinkat(run->dir, UNFINISHED, 0); /* of one that was killed; the lock is ours */
    fd = openat(run->dir, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        ok = json_dumpfd(json, fd, JSON_INDENT(2)) == 0 && write(fd, "\n", 1) == 1 &&
             fchmod(fd, 0644) == 0;
    json_decref(json);
    if (fd >= 0 && close(fd))
        ok = false;
    if (ok && renameat(run->dir, UNFINISHED, run->dir, SNAPSHOT) == 0)
        return PIPC_OK;
    return pipc__fail_errno(err, PIPC__RUN_FOLDER "/" SNAPSHOT ": cannot be written");
}
