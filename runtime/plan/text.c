/* plan/text.c - see text.h */
#include "runtime/plan/text.h"

#include <stdarg.h>
#include <stdbool.h>

typedef struct text {
    char *at;
    size_t left; /* bytes, the final 0 included; never 0 */
} text_t;

static void __attribute__((format(printf, 2, 3))) add(text_t *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(t->at, t->left, fmt, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
    t->at += used;
    t->left -= used;
}

const char *pipc__collective_name(pipc__collective_t collective)
{
    switch (collective) {
    case PIPC__ALLREDUCE:
        return "all-reduce";
    case PIPC__REDUCE_SCATTER:
        return "reduce-scatter";
    case PIPC__ALLGATHER:
        return "all-gather";
    }
    return NULL;
}

/* "input", "slot 5 of rank 2", "host slot 1 of rank 2"; @own comes before what belongs to @rank. */
static void add_ref(text_t *t, int rank, pipc__ref_t ref, const char *own)
{
    static const char *const places[] = {
        [PIPC__INPUT] = "input",
        [PIPC__SLOT] = "slot",
        [PIPC__OUTPUT] = "output",
        [PIPC__HOST] = "host slot",
    };
    bool slot = ref.place == PIPC__SLOT || ref.place == PIPC__HOST;

    add(t, "%s", ref.rank == rank ? own : "");
    if (ref.place > PIPC__HOST)
        add(t, "place number %d", ref.place);
    else
        add(t, "%s", places[ref.place]);
    if (slot)
        add(t, " %d", ref.slot);
    if (ref.rank != rank)
        add(t, " of rank %d", ref.rank);
}

/* "copy chunk 3 from its input to slot 5 of rank 2"
 * "reduce chunk 3 from slot 0, input, slot 2, pre each, to its output, post"
 * "reduce chunk 3 from slot 0, input pre, to its output, post" */
static void add_move(text_t *t, int rank, const pipc__op_t *op)
{
    int nsrc = op->nsrc <= PIPC__RANKS_MAX ? op->nsrc : PIPC__RANKS_MAX;
    bool reduce = op->kind == PIPC__REDUCE, all = op->pre == (1u << nsrc) - 1;

    add(t, reduce ? "reduce chunk %d from " : "copy chunk %d from ", op->chunk);
    for (int i = 0; i < nsrc; i++) {
        add(t, "%s", i ? ", " : "");
        add_ref(t, rank, op->src[i], reduce ? "" : "its ");
        add(t, "%s", !all && op->pre >> i & 1 ? " pre" : "");
    }
    add(t, "%s to ", !nsrc ? "nothing" : reduce && all ? ", pre each," : reduce ? "," : "");
    add_ref(t, rank, op->dst, "its ");
    add(t, "%s", op->post ? ", post" : "");
}

static void add_flag(text_t *t, int rank, const pipc__op_t *op)
{
    const char *memory = op->dst.place == PIPC__HOST ? "host " : "";

    if (op->kind == PIPC__SIGNAL && op->peer == rank)
        add(t, "signal its own %sflag %d", memory, op->flag);
    else if (op->kind == PIPC__SIGNAL)
        add(t, "signal %sflag %d of rank %d", memory, op->flag, op->peer);
    else if (op->peer == rank)
        add(t, "wait for its own %sflag %d", memory, op->flag);
    else
        add(t, "wait for %sflag %d from rank %d", memory, op->flag, op->peer);
}

/* "sum chunk 3 over the nodes in its output, post, then set its own flag 66" */
static void add_rail(text_t *t, int rank, const pipc__op_t *op)
{
    add(t, "sum chunk %d over the nodes in ", op->chunk);
    add_ref(t, rank, op->dst, "its ");
    add(t, "%s, then set its own flag %d", op->post ? ", post" : "", op->flag);
}

void pipc__plan_op_text(const pipc__op_t *op, int rank, char *text, size_t bytes)
{
    text_t t = {text, bytes};

    if (!bytes)
        return;
    text[0] = '\0';
    if (op->kind == PIPC__COPY || op->kind == PIPC__REDUCE)
        add_move(&t, rank, op);
    else if (op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT)
        add_flag(&t, rank, op);
    else if (op->kind == PIPC__RAIL)
        add_rail(&t, rank, op);
    else
        add(&t, "op number %d", op->kind);
}

static void print_program(const pipc__plan_t *p, int rank, int stage, FILE *out)
{
    const pipc__program_t *program = &p->program[rank][stage];
    char words[PIPC__OP_TEXT];

    if (!program->nops)
        return;
    fprintf(out, "\nrank %d", rank);
    if (p->nstages > 1)
        fprintf(out, ", stage %d", stage);
    fprintf(out, "\n");
    for (int i = 0; i < program->nops; i++) {
        pipc__plan_op_text(&program->ops[i], rank, words, sizeof(words));
        fprintf(out, "%5d  %s\n", i, words);
    }
}

pipc_status_t pipc__plan_print(const pipc__plan_t *plan, FILE *out, pipc__error_t *err)
{
    const char *collective = pipc__collective_name(plan->collective);
    char rails[32] = "";

    if (plan->nrails)
        snprintf(rails, sizeof(rails), ", %d %srail%s", plan->nrails, plan->lean ? "lean " : "",
                 plan->nrails == 1 ? "" : "s");
    fprintf(out, "plan %s: %s of %d rank%s, %d chunk%s a round, %d stage%s, %d slots, %d flags%s\n",
            plan->name, collective ? collective : "no collective", plan->nranks,
            plan->nranks == 1 ? "" : "s", plan->nchunks, plan->nchunks == 1 ? "" : "s",
            plan->nstages, plan->nstages == 1 ? "" : "s", plan->nslots, plan->nflags, rails);
    for (int r = 0; r < plan->nranks; r++)
        for (int s = 0; s < plan->nstages; s++)
            print_program(plan, r, s, out);
    if (fflush(out) || ferror(out))
        return pipc__fail_errno(err, "can't write plan %s", plan->name);
    return PIPC_OK;
}
