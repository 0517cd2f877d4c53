/* tools/bench/json.c - see json.h
 *
 *     {"schema": 1, "program": .., "version": .., "backend": ..,
 *      "groups": "flat" or "2 groups of 4" .., "path": "p2p", "host" or "mixed",
 *      "sms": .. or null, "iters": n, "rounds": n or null, "graph_replays": n or null,
 *      "burst": n or null, "burst_bytes": n or null, "time_msec": n or null, "drop": .. or null,
 *      "table": "shipped", "asked for" or a file, "beside": [NAME, ..],
 *      "overlap": null or {"wave_blocks": n, "block_threads": n, "thread_flops": 2048},
 *      "peer": "NCCL 2.28.9" .. or null,
 *      "variants": [{"name": .., "timed": true}, {"name": .., "timed": false, "why": ..}, ..],
 *      "ranks": [{"rank": 0, "host": .., "pid": .., "bdf": .. or null}, ..],      of the own node
 *      "nodes": null or {"nodes": n, "ranks_least": n, "ranks_most": n, "create_msec": ..,
 *                        "rails": [[{"rank": 0, "host": .., "nic": .. or null}, ..], ..]},
 *      "rows": [{"bytes": .., "count": .., "type": .., "redop": ..,
 *                "plan": "one-shot" or "nccl" .., "proto": "simple" .., "blocks": n or null,
 *                "beside": {NAME: "one-shot/push" .., ..},
 *                "out_of_place": CELL, "in_place": CELL,
 *                "overlap": null or {"own": OVERLAP, "peer": OVERLAP or null}}, ..],
 *      "means": [{"range": "up to 4M", "min_bytes": n, "max_bytes": n or null, "sizes": n,
 *                 "best": MEAN, "variants": {NAME: MEAN, ..}}, ..]}
 *     FIGURES: "usec": .. (p50), "min_usec": .., "p99_usec": .., "cpu_usec": .., "samples": n
 *     CELL: {FIGURES, "algbw_gbps": .., "busbw_gbps": .., "wrong": n or null,
 *            "peer_usec": .. or null, "ratio": .. or null, "peer_best": NAME or null,
 *            "variants": {NAME: {FIGURES, "ratio": ..}, ..},       gbps: 10^9 bytes a second
 *            "beside": {NAME: {FIGURES, "ratio": ..}, ..},         ratio: its time / ours
 *            "rails": null or {"intra_usec": .., "inter_usec": .., "busy_usec": ..}}
 *     OVERLAP: {"calls_alone_usec": .., "calls_beside_usec": .., "calls_slowdown": ..,
 *               "compute_alone_usec": .., "compute_beside_usec": .., "compute_slowdown": ..}
 *     MEAN: {"out_of_place": .. or null, "in_place": .. or null}
 *
 * means are there with a peer only, and are geometric means of ratios. nodes are those of one
 * communicator over several: a rail is an array of its ends, a node each; ranks_least and
 * ranks_most are of a node, nic is what UCX was given. A cell's rails are means over its own calls
 * and the ranks on rails: inter, with a job of the rail under way and nothing else to do; intra,
 * the rest of the call; busy, with a job under way.
 */
#include "config.h"

#include "runtime/tools/bench/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/outfile.h"
#include "runtime/comm/plans.h"
#include "runtime/tools/bench/beside.h"
#include "runtime/tune/file.h"

/* jansson: an object that memory did not suffice for is NULL, and so is what NULL is put into. */

static json_t *text_or_null(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

static json_t *count_or_null(long long n)
{
    return n ? json_integer(n) : json_null();
}

static json_t *number_or_null(double v)
{
    return v > 0 ? json_real(v) : json_null();
}

/* --- head ------------------------------------------------------------------------------------- */

static json_t *ranks(const bench_t *b)
{
    json_t *list = json_array();

    for (int i = 0; i < b->comm->local_size; i++) {
        const pipc__record_t *r = &b->comm->recs[i];
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:o}", "rank", r->rank, "host",
                                              r->host, "pid", r->pid, "bdf", text_or_null(r->bdf)));
    }
    return list;
}

static json_t *rail(const pipc__rails_t *r, int l)
{
    json_t *ends = json_array();

    for (int node = 0; node < r->nodes.n; node++) {
        const pipc__rail_end_t *e = &r->end[node * r->nodes.nrails + l];
        json_array_append_new(ends, json_pack("{s:i, s:s, s:o}", "rank", e->rank, "host", e->host,
                                              "nic", text_or_null(e->nic)));
    }
    return ends;
}

static json_t *nodes(const bench_t *b)
{
    const pipc__rails_t *r = &b->comm->rails;

    if (!pipc__rails_needed(r))
        return json_null();
    json_t *rails = json_array();
    for (int l = 0; l < r->nodes.nrails; l++)
        json_array_append_new(rails, rail(r, l));
    return json_pack("{s:i, s:i, s:i, s:f, s:o}", "nodes", r->nodes.n, "ranks_least",
                     r->nodes.least, "ranks_most", r->nodes.most, "create_msec",
                     b->create_usec * 1e-3, "rails", rails);
}

static json_t *variants(const bench_peer_t *peer)
{
    json_t *list = json_array();

    for (int v = 0; peer && v < peer->variants(); v++) {
        const char *why = peer->why_not(v);
        if (why)
            json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "name", peer->variant(v),
                                                  "timed", 0, "why", why));
        else if (peer->usable(v))
            json_array_append_new(list,
                                  json_pack("{s:s, s:b}", "name", peer->variant(v), "timed", 1));
    }
    return list;
}

static json_t *computes(const bench_t *b)
{
    if (!b->options.overlap)
        return json_null();
    return json_pack("{s:i, s:i, s:i}", "wave_blocks", b->device.wave_blocks, "block_threads",
                     b->device.wave_threads, "thread_flops", 2048);
}

static json_t *names_beside(const bench_t *b)
{
    json_t *list = json_array();

    for (int k = 1; k < b->nways; k++)
        json_array_append_new(list, json_string(b->own[k].name));
    return list;
}

static const char *path_name(const bench_t *b)
{
    return !b->comm->paths.host ? "p2p" : b->comm->paths.p2p ? "mixed" : "host";
}

/* How samples were taken. */
static void put_amounts(json_t *head, const bench_options_t *o)
{
    json_object_set_new(head, "iters", json_integer(o->iterations));
    json_object_set_new(head, "rounds", count_or_null(o->rounds));
    json_object_set_new(head, "graph_replays", count_or_null(o->graph));
    json_object_set_new(head, "burst", count_or_null(o->burst));
    json_object_set_new(head, "burst_bytes", count_or_null((long long)o->burst_bytes));
    json_object_set_new(head, "time_msec", count_or_null(o->time_msec));
    json_object_set_new(head, "drop", number_or_null(o->drop));
}

static json_t *head(const bench_t *b)
{
    const bench_options_t *o = &b->options;
    char text[128];
    json_t *head = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1,
        "program", "pcie-ipc-bench", "version", PACKAGE_VERSION, "backend", b->device.name,
        "groups", pipc__plans_describe(&b->comm->shape, text, sizeof(text)), "path", path_name(b),
        "sms", text_or_null(o->sms), "table", b->comm->table_from, "beside", names_beside(b),
        "overlap", computes(b), "peer", text_or_null(o->peer ? o->peer->version() : NULL),
        "variants", variants(o->peer), "ranks", ranks(b), "nodes", nodes(b));

    put_amounts(head, o);
    return head;
}

/* --- rows ------------------------------------------------------------------------------------- */

static json_t *figures(const bench_figures_t *f)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:i}", "usec", f->usec, "min_usec", f->min_usec,
                     "p99_usec", f->p99_usec, "cpu_usec", f->cpu_usec, "samples", f->samples);
}

static json_t *timed_variants(const bench_t *b, const bench_cell_t *c)
{
    const bench_peer_t *peer = b->options.peer;
    json_t *all = json_object();

    for (int v = 0; peer && v < peer->variants(); v++) {
        if (c->peer[v].usec <= 0)
            continue;
        json_t *o = figures(&c->peer[v]);
        json_object_set_new(o, "ratio", number_or_null(bench_ratio(c, v)));
        json_object_set_new(all, peer->variant(v), o);
    }
    return all;
}

static json_t *timed_beside(const bench_t *b, const bench_cell_t *c)
{
    json_t *all = json_object();

    for (int k = 0; k < b->nways - 1; k++) {
        if (c->beside[k].usec <= 0)
            continue;
        json_t *o = figures(&c->beside[k]);
        json_object_set_new(o, "ratio", number_or_null(c->beside[k].usec / c->own.usec));
        json_object_set_new(all, b->own[k + 1].name, o);
    }
    return all;
}

static json_t *choices_beside(const bench_t *b, size_t bytes)
{
    json_t *all = json_object();
    char text[PIPC__CHOICE_TEXT];

    for (int k = 0; k < b->nways - 1; k++)
        json_object_set_new(
            all, b->own[k + 1].name,
            json_string(pipc__choice_text(bench_beside_choice(b, BENCH_BESIDE(k), bytes), text)));
    return all;
}

static json_t *rail_times(const bench_rails_t *r)
{
    if (r->busy_usec <= 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "intra_usec", r->intra_usec, "inter_usec", r->inter_usec,
                     "busy_usec", r->busy_usec);
}

static json_t *cell(const bench_t *b, const bench_cell_t *c, size_t bytes)
{
    json_t *o = figures(&c->own);
    int best = bench_best(c);

    json_object_set_new(o, "algbw_gbps", json_real(bench_algbw(&c->own, bytes)));
    json_object_set_new(o, "busbw_gbps", json_real(bench_busbw(&c->own, bytes, b->comm->size)));
    json_object_set_new(o, "wrong",
                        bench_checked(b, bytes) ? json_integer((json_int_t)c->wrong) : json_null());
    json_object_set_new(o, "peer_usec", number_or_null(bench_peer_figures(c, BENCH_BEST).usec));
    json_object_set_new(o, "ratio", number_or_null(bench_ratio(c, BENCH_BEST)));
    json_object_set_new(o, "peer_best",
                        text_or_null(best < 0 ? NULL : b->options.peer->variant(best)));
    json_object_set_new(o, "variants", timed_variants(b, c));
    json_object_set_new(o, "beside", timed_beside(b, c));
    json_object_set_new(o, "rails", rail_times(&c->rails));
    return o;
}

static json_t *overlap(const bench_overlap_t *o)
{
    if (o->calls_alone <= 0 || o->compute_alone <= 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "calls_alone_usec", o->calls_alone,
                     "calls_beside_usec", o->calls_beside, "calls_slowdown",
                     o->calls_beside / o->calls_alone, "compute_alone_usec", o->compute_alone,
                     "compute_beside_usec", o->compute_beside, "compute_slowdown",
                     o->compute_beside / o->compute_alone);
}

static json_t *row(const bench_t *b, const bench_result_t *r)
{
    pipc__choice_t choice = pipc__comm_choice(b->comm, r->bytes, b->options.graph > 0);
    json_t *both = b->options.overlap ? json_pack("{s:o, s:o}", "own", overlap(&r->row.overlap[0]),
                                                  "peer", overlap(&r->row.overlap[1]))
                                      : json_null();

    return json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "bytes",
                     (json_int_t)r->bytes, "count", (json_int_t)r->count, "type",
                     pipc_dtype_string(r->dtype), "redop", pipc_redop_string(r->op), "plan",
                     pipc__algo_name(choice.algo), "proto", pipc__proto_name(choice.proto),
                     "blocks", count_or_null(choice.blocks), "beside", choices_beside(b, r->bytes),
                     "out_of_place", cell(b, &r->row.cell[0], r->bytes), "in_place",
                     cell(b, &r->row.cell[1], r->bytes), "overlap", both);
}

static json_t *rows(const bench_t *b, const bench_results_t *results)
{
    json_t *list = json_array();

    for (int i = 0; i < results->n; i++)
        if (json_array_append_new(list, row(b, &results->v[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* --- means ------------------------------------------------------------------------------------ */

static json_t *mean(const bench_results_t *results, const bench_range_t *range, int variant)
{
    int n;

    return json_pack("{s:o, s:o}", "out_of_place",
                     number_or_null(bench_mean_ratio(results, range, 0, variant, &n)), "in_place",
                     number_or_null(bench_mean_ratio(results, range, 1, variant, &n)));
}

static json_t *range_means(const bench_t *b, const bench_results_t *results,
                           const bench_range_t *range)
{
    const bench_peer_t *peer = b->options.peer;
    json_t *each = json_object();
    int sizes;

    bench_mean_ratio(results, range, 0, BENCH_BEST, &sizes);
    for (int v = 0; v < peer->variants(); v++)
        if (peer->usable(v))
            json_object_set_new(each, peer->variant(v), mean(results, range, v));
    return json_pack("{s:s, s:I, s:o, s:i, s:o, s:o}", "range", range->name, "min_bytes",
                     (json_int_t)range->min_bytes, "max_bytes",
                     range->max_bytes == SIZE_MAX ? json_null()
                                                  : json_integer((json_int_t)range->max_bytes),
                     "sizes", sizes, "best", mean(results, range, BENCH_BEST), "variants", each);
}

static json_t *means(const bench_t *b, const bench_results_t *results)
{
    json_t *list = json_array();

    for (int k = 0; b->options.peer && k < BENCH_RANGES; k++)
        json_array_append_new(list, range_means(b, results, &bench_ranges[k]));
    return list;
}

/* --- the file --------------------------------------------------------------------------------- */

static pipc_status_t write_file(const json_t *root, const char *path, pipc__error_t *err)
{
    char *text = json_dumps(root, JSON_INDENT(1));
    pipc__outfile_t out;
    pipc_status_t st = text ? pipc__outfile_open(&out, path, 0, err)
                            : pipc__fail(err, PIPC_ERR_NOMEM, "no memory for -J");

    if (!st) {
        fputs(text, out.f);
        st = pipc__outfile_close(&out, err);
    }
    free(text);
    return st;
}

pipc_status_t bench_json(const bench_t *b, const bench_results_t *results, pipc__error_t *err)
{
    if (!b->options.json_path)
        return PIPC_OK;
    json_t *root = head(b), *list = rows(b, results);
    pipc_status_t st;

    if (!root || json_object_set_new(root, "rows", list) ||
        json_object_set_new(root, "means", means(b, results)))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for -J");
    else
        st = write_file(root, b->options.json_path, err);
    json_decref(root);
    return st;
}
