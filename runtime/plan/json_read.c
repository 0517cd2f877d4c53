/* plan/json_read.c - see json.h
 *
 * A file is not trusted: what would index an array here is held against its limit, what an op names
 * against the width of its field. Whether those exist in the plan judges pipc__plan_validate().
 */
#include "runtime/plan/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"

typedef struct reader {
    const char *path;
    int program, op; /* where in the file, from 0 on; -1: not in one */
    pipc__error_t *err;
} reader_t;

/* Errors quote the file, and go to terminals. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static pipc_status_t wrong(const reader_t *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static pipc_status_t wrong(const reader_t *r, const char *fmt, ...)
{
    char what[160], program[32] = "", op[32] = "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    make_printable(what);
    if (r->program >= 0)
        snprintf(program, sizeof(program), " programs[%d]:", r->program);
    if (r->op >= 0)
        snprintf(op, sizeof(op), " ops[%d]:", r->op);
    return pipc__fail(r->err, PIPC_ERR_INVALID, "%.200s:%s%s %s", r->path, program, op, what);
}

/* @object is an object, and has no keys but @keys, which NULL ends. */
static pipc_status_t only(const reader_t *r, json_t *object, const char *what,
                          const char *const keys[])
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return wrong(r, "%s is no object", what);
    json_object_foreach(object, key, value)
    {
        int i = 0;
        while (keys[i] && strcmp(keys[i], key))
            i++;
        if (!keys[i])
            return wrong(r, "%s has an unknown key \"%.40s\"", what, key);
    }
    return PIPC_OK;
}

/* A number of @min..@max; when it is absent, @absent, or an error if that is negative. */
static pipc_status_t number(const reader_t *r, json_t *object, const char *key, int min, int max,
                            int absent, int *value)
{
    json_t *v = json_object_get(object, key);

    *value = absent;
    if (!v && absent < 0)
        return wrong(r, "\"%s\" is missing", key);
    if (!v)
        return PIPC_OK;
    if (!json_is_integer(v))
        return wrong(r, "\"%s\" is no whole number", key);
    json_int_t n = json_integer_value(v);
    if (n < min || n > max)
        return wrong(r, "\"%s\" is %" JSON_INTEGER_FORMAT ", and must be %d to %d", key, n, min,
                     max);
    *value = (int)n;
    return PIPC_OK;
}

static pipc_status_t boolean(const reader_t *r, json_t *object, const char *key, bool *value)
{
    json_t *v = json_object_get(object, key);

    *value = v && json_is_true(v);
    return v && !json_is_boolean(v) ? wrong(r, "\"%s\" is neither true nor false", key) : PIPC_OK;
}

/* Which of @names, which NULL ends, a string is. */
static pipc_status_t word(const reader_t *r, json_t *object, const char *key,
                          const char *const names[], int *value)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (!text)
        return wrong(r, "\"%s\" is missing or no string", key);
    for (*value = 0; names[*value]; (*value)++)
        if (!strcmp(names[*value], text))
            return PIPC_OK;
    return wrong(r, "\"%s\" can't be \"%.40s\"", key, text);
}

static pipc_status_t read_ref(const reader_t *r, json_t *from, int rank, const char *what,
                              pipc__ref_t *ref, bool *pre)
{
    static const char *const source_keys[] = {"place", "rank", "slot", "pre", NULL};
    static const char *const keys[] = {"place", "rank", "slot", NULL};
    pipc_status_t st = only(r, from, what, pre ? source_keys : keys);
    int place = 0, whose = 0, slot = 0;

    if (!st)
        st = word(r, from, "place", pipc__place_names, &place);
    if (!st)
        st = number(r, from, "rank", 0, PIPC__RANKS_MAX - 1, rank, &whose);
    if (!st)
        st = number(r, from, "slot", 0, UINT16_MAX, 0, &slot);
    if (!st && pre)
        st = boolean(r, from, "pre", pre);
    *ref = (pipc__ref_t){(uint8_t)place, (uint8_t)whose, (uint16_t)slot};
    return st;
}

static pipc_status_t read_sources(const reader_t *r, json_t *from, int rank, pipc__op_t *op)
{
    bool list = json_is_array(from), pre = false;
    size_t n = list ? json_array_size(from) : 1;

    if (list != (op->kind == PIPC__REDUCE))
        return wrong(r, list ? "a copy has one place in \"from\", not a list"
                             : "a reduce has a list of places in \"from\"");
    if (n > PIPC__RANKS_MAX)
        return wrong(r, "\"from\" has more than %d places", PIPC__RANKS_MAX);
    op->nsrc = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        pipc_status_t st =
            read_ref(r, list ? json_array_get(from, i) : from, rank, "\"from\"", &op->src[i], &pre);
        if (st)
            return st;
        op->pre |= (uint16_t)(pre << i);
    }
    return PIPC_OK;
}

static pipc_status_t read_move(const reader_t *r, json_t *from, int rank, pipc__op_t *op)
{
    static const char *const keys[] = {"op", "chunk", "from", "to", "post", NULL};
    pipc_status_t st = only(r, from, "the op", keys);
    int chunk = 0;
    bool post = false;

    if (!st)
        st = number(r, from, "chunk", 0, UINT16_MAX, -1, &chunk);
    if (!st)
        st = read_sources(r, json_object_get(from, "from"), rank, op);
    if (!st)
        st = read_ref(r, json_object_get(from, "to"), rank, "\"to\"", &op->dst, NULL);
    if (!st)
        st = boolean(r, from, "post", &post);
    op->chunk = (uint16_t)chunk;
    op->post = post;
    return st;
}

static pipc_status_t read_flag(const reader_t *r, json_t *from, pipc__op_t *op)
{
    static const char *const keys[] = {"op", "rank", "flag", "memory", NULL};
    static const char *const memories[] = {"device", "host", NULL};
    pipc_status_t st = only(r, from, "the op", keys);
    int peer = 0, flag = 0, memory = 0;

    if (!st)
        st = number(r, from, "rank", 0, PIPC__RANKS_MAX - 1, -1, &peer);
    if (!st)
        st = number(r, from, "flag", 0, UINT16_MAX, -1, &flag);
    if (!st && json_object_get(from, "memory"))
        st = word(r, from, "memory", memories, &memory);
    op->peer = (uint16_t)peer;
    op->flag = (uint16_t)flag;
    op->dst.place = memory ? PIPC__HOST : PIPC__SLOT;
    return st;
}

static pipc_status_t read_rail(const reader_t *r, json_t *from, int rank, pipc__op_t *op)
{
    static const char *const keys[] = {"op", "chunk", "at", "flag", "post", NULL};
    pipc_status_t st = only(r, from, "the op", keys);
    int chunk = 0, flag = 0;
    bool post = false;

    if (!st)
        st = number(r, from, "chunk", 0, UINT16_MAX, -1, &chunk);
    if (!st)
        st = read_ref(r, json_object_get(from, "at"), rank, "\"at\"", &op->dst, NULL);
    if (!st)
        st = number(r, from, "flag", 0, UINT16_MAX, -1, &flag);
    if (!st)
        st = boolean(r, from, "post", &post);
    op->chunk = (uint16_t)chunk;
    op->nsrc = 1;
    op->src[0] = op->dst;
    op->peer = (uint16_t)rank;
    op->flag = (uint16_t)flag;
    op->post = post;
    return st;
}

static pipc_status_t read_op(const reader_t *r, json_t *from, int rank, pipc__op_t *op)
{
    int kind = 0;

    if (!json_is_object(from))
        return wrong(r, "the op is no object");
    pipc_status_t st = word(r, from, "op", pipc__op_names, &kind);
    if (st)
        return st;
    op->kind = (uint8_t)kind;
    if (kind == PIPC__RAIL)
        return read_rail(r, from, rank, op);
    return kind == PIPC__COPY || kind == PIPC__REDUCE ? read_move(r, from, rank, op)
                                                      : read_flag(r, from, op);
}

static pipc_status_t read_ops(reader_t *r, json_t *ops, int rank, pipc__program_t *g)
{
    size_t n = json_array_size(ops);
    pipc_status_t st = PIPC_OK;

    if (!json_is_array(ops))
        return wrong(r, "\"ops\" is missing or no list");
    if (n > PIPC__PLAN_OPS_MAX)
        return wrong(r, "has %zu ops; %d are possible", n, PIPC__PLAN_OPS_MAX);
    if (g->ops)
        return wrong(r, "is a second program of this rank and stage");
    g->ops = calloc(n + 1, sizeof(*g->ops));
    if (!g->ops)
        return pipc__fail(r->err, PIPC_ERR_NOMEM, "%s: no memory for its plan", r->path);
    for (r->op = 0; !st && (size_t)r->op < n; r->op++) {
        st = read_op(r, json_array_get(ops, (size_t)r->op), rank, &g->ops[r->op]);
        g->nops = r->op + 1;
    }
    r->op = -1;
    return st;
}

static pipc_status_t read_program(reader_t *r, json_t *from, pipc__plan_t *p)
{
    static const char *const keys[] = {"rank", "stage", "ops", NULL};
    pipc_status_t st = only(r, from, "the program", keys);
    int rank = 0, stage = 0;

    if (!st)
        st = number(r, from, "rank", 0, p->nranks - 1, -1, &rank);
    if (!st)
        st = number(r, from, "stage", 0, p->nstages - 1, -1, &stage);
    return st ? st : read_ops(r, json_object_get(from, "ops"), rank, &p->program[rank][stage]);
}

/* A name goes into error texts and tables: printable, short, not empty. */
static pipc_status_t read_name(const reader_t *r, json_t *from, pipc__plan_t *p)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    size_t n = name ? strlen(name) : 0;

    if (!n || n >= sizeof(p->name))
        return wrong(r, "\"name\" must be a string of 1 to %zu characters", sizeof(p->name) - 1);
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~')
            return wrong(r, "\"name\" has characters that are not printable ASCII");
    memcpy(p->name, name, n + 1);
    return PIPC_OK;
}

static pipc_status_t read_head(const reader_t *r, json_t *from, pipc__plan_t *p)
{
    static const char *const keys[] = {"version", "name",   "collective", "ranks",
                                       "stages",  "chunks", "slots",      "flags",
                                       "rails",   "lean",   "programs",   NULL};
    static const char *const collectives[] = {"all-reduce", "reduce-scatter", "all-gather", NULL};
    const struct {
        const char *key;
        int min, max, absent, *value;
    } counts[] = {{"ranks", 1, PIPC__RANKS_MAX, -1, &p->nranks},
                  {"stages", 1, PIPC__STAGES_MAX, -1, &p->nstages},
                  {"chunks", 1, PIPC__CHUNKS_MAX, -1, &p->nchunks},
                  {"slots", 0, PIPC__SLOTS_MAX, -1, &p->nslots},
                  {"flags", 0, PIPC__FLAGS_MAX, -1, &p->nflags},
                  {"rails", 0, PIPC__RANKS_MAX, 0, &p->nrails},
                  {"lean", 0, 1, 0, &p->lean}};
    pipc_status_t st = only(r, from, "the plan", keys);
    int version, collective = 0;

    if (!st)
        st = number(r, from, "version", 1, 1, -1, &version);
    if (!st)
        st = read_name(r, from, p);
    if (!st)
        st = word(r, from, "collective", collectives, &collective);
    p->collective = (pipc__collective_t)collective;
    for (size_t i = 0; !st && i < sizeof(counts) / sizeof(counts[0]); i++)
        st = number(r, from, counts[i].key, counts[i].min, counts[i].max, counts[i].absent,
                    counts[i].value);
    return st;
}

static pipc_status_t read_plan(reader_t *r, json_t *from, pipc__plan_t *p)
{
    json_t *programs = json_object_get(from, "programs");
    pipc_status_t st = read_head(r, from, p);

    if (!st && !json_is_array(programs))
        st = wrong(r, "\"programs\" is missing or no list");
    for (r->program = 0; !st && (size_t)r->program < json_array_size(programs); r->program++)
        st = read_program(r, json_array_get(programs, (size_t)r->program), p);
    return st;
}

typedef struct source {
    FILE *file;
    size_t left; /* bytes that may still come */
    int error;   /* errno of a read that failed */
} source_t;

static size_t feed(void *buffer, size_t bytes, void *arg)
{
    source_t *s = arg;
    size_t n = fread(buffer, 1, bytes < s->left ? bytes : s->left, s->file);

    if (ferror(s->file))
        s->error = errno;
    s->left -= n;
    return n;
}

/* The JSON value in the file; NULL and an error when there is none. */
static json_t *load(const char *path, pipc_status_t *st, pipc__error_t *err)
{
    source_t s = {fopen(path, "re"), PIPC__PLAN_FILE_MAX, 0};
    json_error_t where;
    json_t *all = NULL;

    if (!s.file) {
        *st = pipc__fail_errno(err, "can't open the plan file %s", path);
        return NULL;
    }
    all = json_load_callback(feed, &s, JSON_REJECT_DUPLICATES, &where);
    errno = s.error;
    if (errno) {
        *st = pipc__fail_errno(err, "can't read the plan file %s", path);
    } else if (!s.left && fgetc(s.file) != EOF) {
        *st = pipc__fail(err, PIPC_ERR_INVALID, "%s: larger than %d bytes: no plan", path,
                         PIPC__PLAN_FILE_MAX);
    } else if (!all) {
        make_printable(where.text);
        *st = pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: %s", path, where.line, where.text);
    }
    fclose(s.file);
    if (*st) {
        json_decref(all);
        return NULL;
    }
    return all;
}

pipc_status_t pipc__plan_read_json(pipc__plan_t **plan, const char *path, pipc__error_t *err)
{
    reader_t r = {path, -1, -1, err};
    pipc_status_t st = PIPC_OK;

    *plan = NULL;
    json_t *all = load(path, &st, err);
    if (!all)
        return st;
    pipc__plan_t *p = calloc(1, sizeof(*p));
    if (p)
        st = read_plan(&r, all, p);
    else
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: no memory for its plan", path);
    json_decref(all);
    if (!st)
        st = pipc__plan_validate(p, err);
    if (st)
        pipc__plan_free(p);
    else
        *plan = p;
    return st;
}
