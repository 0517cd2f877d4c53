/* plan/json_write.c - see json.h. Written by hand and not by the JSON library, for an op a line. */
#include "runtime/plan/json.h"

#include <stdbool.h>
#include <stdlib.h>

#include <jansson.h>

#include "runtime/plan/text.h"

const char *const pipc__op_names[] = {
    [PIPC__COPY] = "copy", [PIPC__REDUCE] = "reduce", [PIPC__SIGNAL] = "signal",
    [PIPC__WAIT] = "wait", [PIPC__RAIL] = "rail",     NULL};
const char *const pipc__place_names[] = {[PIPC__INPUT] = "input",
                                         [PIPC__SLOT] = "slot",
                                         [PIPC__OUTPUT] = "output",
                                         [PIPC__HOST] = "host",
                                         NULL};

static void write_ref(FILE *out, int rank, pipc__ref_t ref, bool pre)
{
    fprintf(out, "{\"place\": \"%s\"", pipc__place_names[ref.place]);
    if (ref.rank != rank)
        fprintf(out, ", \"rank\": %d", ref.rank);
    if (ref.slot || ref.place == PIPC__SLOT || ref.place == PIPC__HOST)
        fprintf(out, ", \"slot\": %d", ref.slot);
    fprintf(out, "%s}", pre ? ", \"pre\": true" : "");
}

static void write_move(FILE *out, int rank, const pipc__op_t *op)
{
    bool list = op->kind == PIPC__REDUCE;

    fprintf(out, "\"chunk\": %d, \"from\": %s", op->chunk, list ? "[" : "");
    for (int i = 0; i < op->nsrc; i++) {
        fprintf(out, "%s", i ? ", " : "");
        write_ref(out, rank, op->src[i], op->pre >> i & 1);
    }
    fprintf(out, "%s, \"to\": ", list ? "]" : "");
    write_ref(out, rank, op->dst, false);
    fprintf(out, "%s", op->post ? ", \"post\": true" : "");
}

static void write_rail(FILE *out, int rank, const pipc__op_t *op)
{
    fprintf(out, "\"chunk\": %d, \"at\": ", op->chunk);
    write_ref(out, rank, op->dst, false);
    fprintf(out, ", \"flag\": %d%s", op->flag, op->post ? ", \"post\": true" : "");
}

static void write_op(FILE *out, int rank, const pipc__op_t *op)
{
    fprintf(out, "{\"op\": \"%s\", ", pipc__op_names[op->kind]);
    if (op->kind == PIPC__COPY || op->kind == PIPC__REDUCE)
        write_move(out, rank, op);
    else if (op->kind == PIPC__RAIL)
        write_rail(out, rank, op);
    else
        fprintf(out, "\"rank\": %d, \"flag\": %d%s", op->peer, op->flag,
                op->dst.place == PIPC__HOST ? ", \"memory\": \"host\"" : "");
    fprintf(out, "}");
}

/* Can the file say what is in @op? A broken plan may be written, for others to see, but not what
 * has no name. */
static bool has_words(const pipc__op_t *op)
{
    if (op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT)
        return op->dst.place == PIPC__SLOT || op->dst.place == PIPC__HOST;
    if (op->kind > PIPC__RAIL || op->dst.place > PIPC__HOST || op->nsrc > PIPC__RANKS_MAX ||
        (op->kind == PIPC__COPY && op->nsrc != 1))
        return false;
    if (op->kind == PIPC__RAIL)
        return true;
    for (int i = 0; i < op->nsrc; i++)
        if (op->src[i].place > PIPC__HOST)
            return false;
    return true;
}

static pipc_status_t write_program(const pipc__plan_t *p, int rank, int stage, bool first,
                                   FILE *out, pipc__error_t *err)
{
    const pipc__program_t *g = &p->program[rank][stage];

    fprintf(out, "%s\n    {\"rank\": %d, \"stage\": %d, \"ops\": [", first ? "" : ",", rank, stage);
    for (int i = 0; i < g->nops; i++) {
        if (!has_words(&g->ops[i]))
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "plan %s: rank %d, stage %d, step %d has no form in JSON", p->name,
                              rank, stage, i);
        fprintf(out, "%s\n      ", i ? "," : "");
        write_op(out, rank, &g->ops[i]);
    }
    fprintf(out, "]}");
    return PIPC_OK;
}

static pipc_status_t write_head(const pipc__plan_t *p, FILE *out, pipc__error_t *err)
{
    const char *collective = pipc__collective_name(p->collective);
    json_t *string = json_string(p->name);
    char *name = json_dumps(string, JSON_ENCODE_ANY); /* a name may need escapes */

    json_decref(string);
    if (!name || !collective) {
        free(name);
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "a plan whose name or collective has no form in "
                          "JSON");
    }
    fprintf(out, "{\n  \"version\": 1, \"name\": %s, \"collective\": \"%s\",\n", name, collective);
    fprintf(out, "  \"ranks\": %d, \"stages\": %d, \"chunks\": %d, \"slots\": %d, \"flags\": %d,",
            p->nranks, p->nstages, p->nchunks, p->nslots, p->nflags);
    if (p->nrails)
        fprintf(out, " \"rails\": %d,%s", p->nrails, p->lean ? " \"lean\": 1," : "");
    fprintf(out, "\n");
    free(name);
    return PIPC_OK;
}

pipc_status_t pipc__plan_write_json(const pipc__plan_t *plan, FILE *out, pipc__error_t *err)
{
    pipc_status_t st = write_head(plan, out, err);
    bool first = true;

    if (st)
        return st;
    fprintf(out, "  \"programs\": [");
    for (int r = 0; r < plan->nranks; r++)
        for (int s = 0; s < plan->nstages; s++) {
            if (!plan->program[r][s].nops)
                continue;
            st = write_program(plan, r, s, first, out, err);
            if (st)
                return st;
            first = false;
        }
    fprintf(out, "]\n}\n");
    if (fflush(out) || ferror(out))
        return pipc__fail_errno(err, "can't write plan %s", plan->name);
    return PIPC_OK;
}
