/* prolog/snapshot.c - see snapshot.h */
#include "prolog/snapshot.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/counters.h"
#include "prolog/gpus.h"
#include "prolog/output.h"
#include "prolog/state.h"

#define LOCK "health.lock"
#define SNAPSHOT "health.json"
#define SNAPSHOT_MAX (4 << 20)
#define KEPT_MAX 100 /* findings, of about 400 bytes */

static const char *boot_id(char out[PIPC__BOOT_ID_MAX])
{
    pipc__boot_id(out);
    return out;
}

pipc_status_t pipc__run_open(pipc__run_t *run, const char *folder, uid_t owner, int wait_ms,
                             pipc__error_t *err)
{
    *run = (pipc__run_t){-1, -1, owner};
    pipc_status_t st = pipc__state_open(folder, owner, &run->dir, err);
    return st ? st : pipc__state_lock(run->dir, LOCK, wait_ms, &run->lock, err);
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
    char id[PIPC__BOOT_ID_MAX];
    double age = pipc__uptime() - json_number_value(json_object_get(json, "uptime"));

    return says(json, "boot_id", boot_id(id)) && says(json, "version", PACKAGE_VERSION) &&
           says(json, "sysroot", config->sysroot) && age >= 0 && age < config->cache;
}

bool pipc__last_check(const pipc__run_t *run, const pipc__config_t *config, bool all,
                      pipc__findings_t *out)
{
    char *text;
    size_t n;
    json_t *json;
    bool good;

    memset(out, 0, sizeof(*out));
    if (pipc__state_read(run->dir, SNAPSHOT, run->owner, SNAPSHOT_MAX, &text, &n, NULL))
        return false;
    json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    good = json && is_of_now(json, config) && (!all || says(json, "look", "all")) &&
           pipc__findings_from_json(json, out);
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

static json_t *whole(const pipc__config_t *config, bool all, const pipc__findings_t *findings)
{
    pipc__findings_t kept = *findings; /* worst first: cut, it has the same verdict */
    char id[PIPC__BOOT_ID_MAX];

    if (kept.n > KEPT_MAX)
        kept.n = KEPT_MAX;
    json_t *json = pipc__findings_to_json(&kept);
    const char *mode = config->mode == PIPC__MODE_ENFORCE ? "enforce" : "report";
    if (json && !json_object_set_new(json, "version", json_string(PACKAGE_VERSION)) &&
        !json_object_set_new(json, "boot_id", json_string(boot_id(id))) &&
        !json_object_set_new(json, "sysroot", json_string(config->sysroot)) &&
        !json_object_set_new(json, "mode", json_string(mode)) &&
        !json_object_set_new(json, "look", json_string(all ? "all" : "links")) &&
        !json_object_set_new(json, "reason", reason(findings)) &&
        !json_object_set_new(json, "time", json_integer(time(NULL))) &&
        !json_object_set_new(json, "uptime", json_real(pipc__uptime())))
        return json;
    json_decref(json);
    return NULL;
}

pipc_status_t pipc__keep_check(const pipc__run_t *run, const pipc__config_t *config, bool all,
                               const pipc__findings_t *findings, pipc__error_t *err)
{
    json_t *json = whole(config, all, findings);
    json_t *gpus = pipc__gpus_of_machine(run->dir, run->owner, config->sysroot, findings);
    bool ok = json && !json_object_set_new(json, "gpus", gpus);
    char *text = ok ? json_dumps(json, JSON_INDENT(2)) : NULL;
    pipc_status_t st = PIPC_ERR_NOMEM;

    json_decref(json);
    if (text)
        st = pipc__state_write(run->dir, SNAPSHOT, 0644, text, strlen(text), err);
    else
        pipc__fail(err, st, SNAPSHOT ": out of memory");
    free(text);
    return st;
}
