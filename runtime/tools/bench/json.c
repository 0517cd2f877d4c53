/* tools/bench/json.c - see json.h
 *
 *     {"schema": 1, "program": .., "version": .., "backend": .., "peer": .. or null,
 *      "groups": "flat" or "2 groups of 4" .., "path": "p2p" or "host",
 *      "ranks": [{"rank": 0, "host": .., "pid": .., "bdf": .. or null}, ..],
 *      "rows": [{"bytes": .., "count": .., "type": .., "redop": .., "plan": ..,
 *                "out_of_place": CELL, "in_place": CELL}, ..]}
 *     CELL: {"usec": .., "p99_usec": .., "algbw_gbps": .., "busbw_gbps": .., "wrong": n or null,
 *            "peer_usec": .. or null, "ratio": .. or null}        gbps: 10^9 bytes a second
 */
#include "runtime/tools/bench/json.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config.h"
#include "runtime/comm/plans.h"
#include "runtime/tools/bench/table.h"

struct bench_json {
    json_t *root, *rows; /* rows is root's */
};

static json_t *text_or_null(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

static json_t *ranks(const bench_t *b)
{
    json_t *list = json_array();

    for (int i = 0; i < b->comm->size; i++) {
        const pipc__record_t *r = &b->comm->recs[i];
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:o}", "rank", r->rank, "host", r->host,
                                              "pid", r->pid, "bdf", text_or_null(r->bdf)));
    }
    return list;
}

bench_json_t *bench_json_begin(const bench_t *b)
{
    bench_json_t *j = calloc(1, sizeof(*j));
    char text[128];

    if (!j)
        return NULL;
    j->rows = json_array();
    j->root = json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o}", "schema", 1, "program",
                        "pcie-ipc-bench", "version", PACKAGE_VERSION, "backend", b->device.name,
                        "peer", text_or_null(b->options.peer ? b->options.peer->version() : NULL),
                        "groups", pipc__plans_describe(&b->comm->shape, text, sizeof(text)), "path",
                        b->comm->recs[0].path == PIPC_PATH_HOST ? "host" : "p2p", "ranks", ranks(b),
                        "rows", j->rows);
    if (j->root)
        return j;
    free(j);
    return NULL;
}

static json_t *cell(const bench_t *b, const bench_cell_t *c, size_t bytes)
{
    json_t *o = json_pack("{s:f, s:f, s:f, s:f}", "usec", c->usec, "p99_usec", c->p99_usec,
                          "algbw_gbps", bench_algbw(c, bytes), "busbw_gbps",
                          bench_busbw(c, bytes, b->comm->size));
    bool peer = b->options.peer;

    json_object_set_new(o, "wrong", b->options.check ? json_integer((json_int_t)c->wrong) : json_null());
    json_object_set_new(o, "peer_usec", peer ? json_real(c->peer_usec) : json_null());
    json_object_set_new(o, "ratio", peer ? json_real(bench_ratio(c)) : json_null());
    return o;
}

bool bench_json_row(bench_json_t *j, const bench_t *b, size_t count, pipc_dtype_t dtype,
                    pipc_redop_t op, const bench_row_t *row)
{
    size_t bytes = count * pipc_dtype_bytes(dtype);
    json_t *o = json_pack("{s:I, s:I, s:s, s:s, s:s, s:o, s:o}", "bytes", (json_int_t)bytes, "count",
                          (json_int_t)count, "type", pipc_dtype_string(dtype), "redop",
                          pipc_redop_string(op), "plan", pipc__comm_choice_name(b->comm, bytes, b->options.graph > 0),
                          "out_of_place", cell(b, &row->cell[0], bytes), "in_place",
                          cell(b, &row->cell[1], bytes));

    return o && !json_array_append_new(j->rows, o);
}

pipc_status_t bench_json_end(bench_json_t *j, const bench_t *b, pipc__error_t *err)
{
    char part[PATH_MAX];
    pipc_status_t st = PIPC_OK;

    if (!j)
        return PIPC_OK;
    int n = snprintf(part, sizeof(part), "%s.part", b->options.json_path);
    if (n < 0 || n >= (int)sizeof(part))
        st = pipc__fail(err, PIPC_ERR_INVALID, "-J %s: the name is too long", b->options.json_path);
    else if (json_dump_file(j->root, part, JSON_INDENT(1)) || rename(part, b->options.json_path)) {
        st = pipc__fail_errno(err, "-J %s", b->options.json_path);
        unlink(part);
    }
    json_decref(j->root);
    free(j);
    return st;
}
