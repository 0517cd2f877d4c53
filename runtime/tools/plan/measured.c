/* tools/plan/measured.c - read the JSON of pcie-ipc-bench -J */
#include <jansson.h>
#include <limits.h>
#include <pcie-ipc/types.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tools/plan/calibrate.h"

static int kind_of(const char *name)
{
    for (int k = 0; name && k < PIPC__PLAN_KINDS; k++)
        if (!strcmp(pipc__plan_name((pipc__plan_kind_t)k), name))
            return k;
    return -1;
}

static size_t elem_bytes_of(const char *type)
{
    for (int d = 0; type && d < PIPC_DTYPE_COUNT; d++)
        if (!strcmp(pipc_dtype_string((pipc_dtype_t)d), type))
            return pipc_dtype_bytes((pipc_dtype_t)d);
    return 0;
}

/* Sums only, and sizes that move anything: other operations have other speeds. */
static void take_row(measured_set_t *set, json_t *row)
{
    const char *plan = json_string_value(json_object_get(row, "plan"));
    const char *op = json_string_value(json_object_get(row, "redop"));
    json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
    double usec = json_number_value(json_object_get(json_object_get(row, "out_of_place"), "usec"));
    measured_t m = {.bytes = (size_t)bytes,
                    .elem_bytes = elem_bytes_of(json_string_value(json_object_get(row, "type"))),
                    .kind = kind_of(plan),
                    .usec = usec};

    if (m.kind < 0 || !m.elem_bytes || bytes <= 0 || usec <= 0 || !op || strcmp(op, "sum") != 0 ||
        set->nrows == CALIBRATE_ROWS)
        set->skipped++;
    else
        set->row[set->nrows++] = m;
}

static pipc_status_t take_file(measured_set_t *set, const char *path, pipc__error_t *err)
{
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);
    pipc_status_t st = PIPC_OK;

    if (!root)
        return pipc__fail(err, why.line < 0 ? PIPC_ERR_SYSTEM : PIPC_ERR_INVALID, "%s:%d: %s", path,
                          why.line < 0 ? 0 : why.line, why.text);
    const char *program = json_string_value(json_object_get(root, "program"));
    const char *backend = json_string_value(json_object_get(root, "backend"));
    json_t *rows = json_object_get(root, "rows");
    int nranks = (int)json_array_size(json_object_get(root, "ranks"));
    bool cpu = backend && !strcmp(backend, "cpu");

    if (!program || strcmp(program, "pcie-ipc-bench") != 0 || !json_is_array(rows) || nranks < 1)
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s: not what pcie-ipc-bench -J writes", path);
    else if (set->nranks && (nranks != set->nranks || cpu != set->cpu))
        st = pipc__fail(
            err, PIPC_ERR_INVALID,
            "%s: %d ranks on %s, and %d on %s in the files before it; calibrate one kind "
            "at a time",
            path, nranks, cpu ? "cpu" : "cuda", set->nranks, set->cpu ? "cpu" : "cuda");
    set->nranks = nranks;
    set->cpu = cpu;
    for (size_t i = 0; !st && i < json_array_size(rows); i++)
        take_row(set, json_array_get(rows, i));
    json_decref(root);
    return st;
}

pipc_status_t measured_read(measured_set_t *set, const char *files, pipc__error_t *err)
{
    char path[PATH_MAX];
    pipc_status_t st = PIPC_OK;

    memset(set, 0, sizeof(*set));
    while (!st && *files) {
        size_t n = strcspn(files, ",");
        snprintf(path, sizeof(path), "%.*s", (int)n, files);
        st = take_file(set, path, err);
        files += n + (files[n] == ',');
    }
    if (!st && set->nrows < 2)
        st = pipc__fail(
            err, PIPC_ERR_INVALID,
            "--calibrate: %d rows that are sums by a plan known here; measure some sizes",
            set->nrows);
    return st;
}
