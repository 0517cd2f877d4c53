/* prolog/stress_record.c - see stress_record.h */
#include "prolog/stress_record.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/state.h"
#include "runtime/base/file.h"

#define RECORD_MAX 4096
#define LOCK "stress.lock"

/* ---- what it was run on -------------------------------------------------------------------- */

static const char *line_of(const char *root, const char *path, char out[64])
{
    if (!pipc__file_line(root, out, 64, "%s", path) || !out[0])
        strcpy(out, "?");
    return out;
}

/* "Video BIOS: 	 96.00.74.00.01" */
static void vbios_of(const char *root, const char *gpu, char out[64])
{
    char text[2048], *at;

    strcpy(out, "?");
    if (!pipc__file_read(root, text, sizeof(text), NULL, "proc/driver/nvidia/gpus/%s/information",
                         gpu) ||
        !(at = strstr(text, "Video BIOS:")))
        return;
    at += strlen("Video BIOS:");
    at += strspn(at, " \t");
    at[strcspn(at, " \t\n")] = '\0';
    if (*at)
        snprintf(out, 64, "%.63s", at);
}

void pipc__stress_machine(const char *root, const pipc__facts_t *facts, char out[512])
{
    char bios[64], driver[64], vbios[64];
    size_t used = (size_t)snprintf(out, 512, "BIOS %s, driver %s, VBIOS",
                                   line_of(root, "sys/class/dmi/id/bios_version", bios),
                                   line_of(root, "sys/module/nvidia/version", driver));

    for (int i = 0; i < facts->n; i++) {
        if (!facts->dev[i].gpu)
            continue;
        vbios_of(root, facts->dev[i].name, vbios);
        if (!strstr(out + strlen("BIOS "), vbios) && used < 512 - sizeof(vbios) - 1)
            used += (size_t)snprintf(out + used, 512 - used, " %s", vbios);
    }
}

/* ---- the record ---------------------------------------------------------------------------- */

bool pipc__stress_replaces(const pipc__stress_record_t *old, const pipc__stress_record_t *now)
{
    return strcmp(old->machine, now->machine) != 0 || strcmp(old->verdict, now->verdict) != 0 ||
           now->seconds >= old->seconds || now->gpus > old->gpus;
}

static bool text(const json_t *json, const char *key, char *out, size_t cap)
{
    const char *value = json_string_value(json_object_get(json, key));

    return value && (size_t)snprintf(out, cap, "%s", value) < cap;
}

pipc_status_t pipc__stress_last(const char *folder, uid_t owner, pipc__stress_record_t *out,
                                pipc__error_t *err)
{
    char *bytes = NULL;
    size_t n;
    int dir;
    pipc_status_t st = pipc__state_find(folder, owner, &dir, err);

    memset(out, 0, sizeof(*out));
    if (st)
        return st;
    st = pipc__state_read(dir, PIPC__STRESS_FILE, owner, RECORD_MAX, &bytes, &n, err);
    close(dir);
    if (st)
        return st;
    json_t *json = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, NULL);
    free(bytes);
    out->time = json_integer_value(json_object_get(json, "time"));
    out->seconds = json_integer_value(json_object_get(json, "seconds"));
    out->gpus = (int)json_integer_value(json_object_get(json, "gpus"));
    if (json_integer_value(json_object_get(json, "schema")) != 1 ||
        !text(json, "verdict", out->verdict, sizeof(out->verdict)) ||
        !text(json, "machine", out->machine, sizeof(out->machine)))
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s/%s: not what pcie-ipc-stress writes; remove it",
                        folder, PIPC__STRESS_FILE);
    json_decref(json);
    return st;
}

static pipc_status_t write_it(int dir, const pipc__stress_record_t *r, pipc__error_t *err)
{
    json_t *json = json_pack("{s:i, s:I, s:I, s:i, s:s, s:s}", "schema", 1, "time",
                             (json_int_t)r->time, "seconds", (json_int_t)r->seconds, "gpus",
                             r->gpus, "verdict", r->verdict, "machine", r->machine);
    char *bytes = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    pipc_status_t st =
        bytes ? pipc__state_write(dir, PIPC__STRESS_FILE, 0644, bytes, strlen(bytes), err)
              : pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");

    free(bytes);
    json_decref(json);
    return st;
}

pipc_status_t pipc__stress_keep(const char *folder, uid_t owner, const pipc__stress_record_t *now,
                                pipc__error_t *err)
{
    pipc__stress_record_t old;
    int dir, lock = -1;
    pipc_status_t st;

    if (!pipc__stress_last(folder, owner, &old, NULL) && !pipc__stress_replaces(&old, now))
        return PIPC_OK;
    st = pipc__state_open(folder, owner, &dir, err);
    if (st)
        return st;
    st = pipc__state_lock(dir, LOCK, 1000, &lock, err);
    if (!st)
        st = write_it(dir, now, err);
    if (lock >= 0)
        close(lock);
    close(dir);
    return st;
}
