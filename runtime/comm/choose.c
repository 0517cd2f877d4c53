/* comm/choose.c - see choose.h */
#include "runtime/comm/choose.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/comm/tables.h"

/* What the ranks tell each other of their files. */
typedef struct finding {
    uint64_t digest; /* 0: no file */
    int32_t status;  /* what failed before; then @why has its text */
    char from[256];
    char why[320]; /* what speaks against a file; "" nothing */
} finding_t;

_Static_assert(sizeof(finding_t) <= PIPC__GATHER_MAX, "a finding fits a gather");

/* All the same? Else *other is the first rank that differs from rank 0. */
static bool agree(const finding_t *all, int n, int *other)
{
    for (*other = 1; *other < n; ++*other)
        if (all[*other].digest != all[0].digest)
            return false;
    return true;
}

/* One line a communicator, from its rank 0. */
static void tell(const pipc_comm_t *c, const finding_t *all, bool same, int other)
{
    char name[128];
    int r = 0;

    if (c->rank)
        return;
    if (!same) {
        const finding_t *f = &all[other];
        pipc__log(PIPC__LOG_WARN,
                  "%s has another table (%.255s%s%.319s) than rank 0 (%.255s%s%.319s); "
                  "all ranks use the shipped one",
                  pipc__control_name(c->ctl, other, name, sizeof(name)),
                  f->digest ? f->from : "none", *f->why ? ": " : "", f->why,
                  all[0].digest ? all[0].from : "none", *all[0].why ? ": " : "", all[0].why);
        return;
    }
    while (r < c->local_size && !*all[r].why)
        r++;
    if (r < c->local_size)
        pipc__log(PIPC__LOG_WARN, "%.319s; %s", all[r].why,
                  all[0].digest ? "it is used because PCIE_IPC_TABLE names it"
                                : "the shipped table is used");
    else if (all[0].digest)
        pipc__log(PIPC__LOG_INFO, "table: %.255s", all[0].from);
}

/* May ranks that stand as @c's run @algo? Over nodes plans over rails alone, on a node all but
 * these. */
static bool suits(const pipc_comm_t *c, int algo)
{
    return algo == PIPC__ALGO_NCCL ||
           pipc__rails_needed(&c->rails) == (algo >= PIPC__PLAN_KINDS_LOCAL);
}

/* Rows of @table that name what does not suit do what @shipped says there. Returns how many of its
 * algorithms suit, and in *unfit how many do not. */
static int fit_rows(const pipc_comm_t *c, pipc__table_t *table, const pipc__table_t *shipped,
                    int *unfit)
{
    bool named[PIPC__ALGOS];
    int fit = 0;

    *unfit = 0;
    for (int k = 0; k < PIPC__ALGOS; k++)
        named[k] = pipc__table_names(table, k);
    for (int k = 0; k < PIPC__ALGOS; k++) {
        fit += named[k] && suits(c, k);
        if (!named[k] || suits(c, k))
            continue;
        pipc__table_replace(table, k, shipped);
        ++*unfit;
    }
    return fit;
}

/* comm->table is what is shipped. */
static void look_for_file(const pipc_comm_t *c, const pipc__wish_t *wish,
                          const pipc__record_t *recs, finding_t *mine, pipc__table_file_t *file)
{
    char from[PIPC__TABLE_PATH] = "";
    bool spans = pipc__rails_needed(&c->rails);
    const char *where = spans ? "one node" : "several nodes";
    pipc__table_key_t key;
    int fit = 0, unfit = 0;

    pipc__tables_key(&key, recs, c->local_size, &c->shape, c->rails.nodes.n, wish->config->sms);
    bool found = pipc__tables_find(file, &key, wish->lookup, from, mine->why, sizeof(mine->why));
    if (found)
        fit = fit_rows(c, &file->table, &c->table, &unfit);
    if (fit)
        mine->digest = pipc__table_digest(&file->table) | 1;
    if (found && !fit)
        snprintf(mine->why, sizeof(mine->why), "%.200s: its plans are for %s", from, where);
    else if (unfit)
        snprintf(mine->why, sizeof(mine->why), "%.200s: rows with plans for %s are passed over",
                 from, where);
    snprintf(mine->from, sizeof(mine->from), "%.*s", (int)sizeof(mine->from) - 1, from);
}

/* The file's table, if there is one and it is the same on all ranks; then *there is its key. */
static pipc_status_t take_file(pipc_comm_t *c, const pipc__wish_t *wish, const pipc__record_t *recs,
                               pipc_status_t own, pipc__table_key_t *there, pipc__error_t *err)
{
    pipc__table_file_t file;
    finding_t mine = {.status = (int32_t)own}, all[PIPC__RANKS_MAX];
    pipc__error_t met;
    char name[128];
    int other = 0;

    if (own)
        snprintf(mine.why, sizeof(mine.why), "%.*s", (int)sizeof(mine.why) - 1, err->text);
    else if (wish->kind < 0)
        look_for_file(c, wish, recs, &mine, &file);
    pipc_status_t st = pipc__control_gather(c->ctl, &mine, sizeof(mine), all, &met);
    if (own)
        return own;
    if (st)
        return pipc__fail(err, st, "%s", met.text);
    for (int r = 0; r < c->local_size; r++)
        if (all[r].status)
            return pipc__fail(err, (pipc_status_t)all[r].status, "%s: %.*s",
                              pipc__control_name(c->ctl, r, name, sizeof(name)),
                              (int)sizeof(all[r].why) - 1, all[r].why);
    bool same = agree(all, c->local_size, &other);
    tell(c, all, same, other);
    if (same && mine.digest) {
        c->table = file.table;
        *there = file.key;
        snprintf(c->table_from, sizeof(c->table_from), "%s", mine.from);
    }
    return PIPC_OK;
}

/* Without NCCL: what the shipped table says in its place. */
static void do_without_nccl(pipc_comm_t *c, bool on_gpu)
{
    pipc__table_t shipped = pipc__table_default(&c->shape, on_gpu, c->most_blocks);

    pipc__table_replace(&c->table, PIPC__ALGO_NCCL, &shipped);
}

static pipc_status_t make_nccl(pipc_comm_t *c, const pipc__wish_t *wish, pipc__error_t *err)
{
    const char *path = wish->lookup("PCIE_IPC_NCCL");

    return pipc__nccl_create(&c->nccl, c->ctl, c->local_rank, c->local_size,
                             path && *path ? path : NULL, wish->config->nccl_comm, err);
}

/* Only now is NCCL's version known: a table that names no NCCL opens none. */
static void tell_of_version(const pipc_comm_t *c, const pipc__table_key_t *there)
{
    const char *here = pipc__nccl_version(c->nccl);

    if (*there->nccl && strcmp(there->nccl, here) && !c->rank)
        pipc__log(PIPC__LOG_WARN,
                  "%s was measured with NCCL %s, this is %s; run pcie-ipc-tune again",
                  c->table_from, there->nccl, here);
}

pipc_status_t pipc__choose_table(pipc_comm_t *c, const pipc__wish_t *wish,
                                 const pipc__record_t *recs, pipc_status_t own, pipc__error_t *err)
{
    pipc__table_key_t there = {0};
    pipc__error_t why;
    pipc_status_t st;
    int n = c->local_size;

    c->table = wish->kind < 0 ? pipc__table_default(&c->shape, wish->on_gpu, c->most_blocks)
                              : pipc__table_fixed(wish->kind);
    snprintf(c->table_from, sizeof(c->table_from), "%s", wish->kind < 0 ? "shipped" : "asked for");
    st = take_file(c, wish, recs, own, &there, err);
    pipc__table_end(&c->table, PIPC__PROTO_LL, wish->on_gpu ? pipc__ll_bytes_max(n) : 0);
    pipc__table_end(&c->table, PIPC__PROTO_LL128, wish->on_gpu ? pipc__ll128_bytes_max(n) : 0);
    if (st || c->leaves || !pipc__table_names(&c->table, PIPC__ALGO_NCCL))
        return st;
    if (wish->on_gpu && pipc__rails_needed(&c->rails))
        return PIPC_OK; /* over nodes it is made when all have voted: build_nodes.c */
    if (wish->on_gpu && !make_nccl(c, wish, &why)) {
        tell_of_version(c, &there);
        return PIPC_OK;
    }
    if (wish->kind >= 0)
        return wish->on_gpu ? pipc__fail(err, why.status, "%s", why.text)
                            : pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                                         "plan nccl needs GPUs; use another "
                                         "plan with the CPU backend");
    if (wish->on_gpu && !c->rank)
        pipc__log(PIPC__LOG_WARN, "without NCCL, which the table asks for: %s", why.text);
    do_without_nccl(c, wish->on_gpu);
    return PIPC_OK;
}

static bool is_all_nccl(const pipc__table_t *table)
{
    int k = 0;

    while (k < PIPC__ALGO_NCCL && !pipc__table_names(table, k))
        k++;
    return k == PIPC__ALGO_NCCL;
}

bool pipc__choose_leaves_all(const pipc_comm_t *c)
{
    return is_all_nccl(&c->table);
}

bool pipc__choose_has_work(const pipc_comm_t *c, const pipc__wish_t *wish,
                           const pipc__record_t *mine)
{
    pipc__table_file_t file;
    pipc__table_key_t key;
    pipc__shape_t shape;
    int unfit;

    if (wish->kind >= 0)
        return wish->kind != PIPC__ALGO_NCCL;
    pipc__shape_flat(&shape, c->rails.nodes.local_size);
    pipc__rails_shape(&c->rails, &shape);
    pipc__tables_key(&key, mine, 1, &shape, c->rails.nodes.n, wish->config->sms);
    pipc__table_t shipped = pipc__table_default(&shape, wish->on_gpu, 0);
    if (!pipc__tables_look(&file, &key, wish->lookup) ||
        !fit_rows(c, &file.table, &shipped, &unfit))
        return !is_all_nccl(&shipped);
    return !is_all_nccl(&file.table);
}

/* --- what executors can ----------------------------------------------------------------------- */

bool pipc__comm_can(const pipc_comm_t *c, pipc__choice_t choice, size_t bytes, bool in_graph)
{
    const pipc__exec_ops_t *ops = c->exec->ops;

    if (choice.algo == PIPC__ALGO_NCCL)
        return c->nccl;
    if (choice.proto == PIPC__PROTO_SIMPLE)
        return c->plan[choice.algo];
    return c->plan[choice.algo] && ops->can &&
           ops->can(c->exec, c->plan[choice.algo], choice.proto, bytes, in_graph);
}

typedef struct misfits {
    uint64_t row[2]; /* a bit a row: its eager choice, and that of graphs, can't be had */
} misfits_t;

_Static_assert(PIPC__TABLE_ROWS <= 64, "a bit a row");

/* A row without an end is asked for messages of this size: no memory holds more. */
#define LARGEST ((size_t)1 << 40)

/* From the smallest message of a row to the largest; NCCL is not the executor's. */
static misfits_t find_misfits(const pipc_comm_t *c)
{
    misfits_t m = {{0, 0}};

    for (int i = 0; i < c->table.nrows; i++)
        for (int graph = 0; graph < 2; graph++) {
            const pipc__table_row_t *r = &c->table.row[i];
            pipc__choice_t choice = graph ? r->graph : r->eager;
            size_t least = i ? r[-1].max_bytes + 1 : 1;
            size_t most = r->max_bytes < LARGEST ? r->max_bytes : LARGEST;
            if (choice.algo != PIPC__ALGO_NCCL && choice.proto != PIPC__PROTO_SIMPLE &&
                !(pipc__comm_can(c, choice, least, graph) &&
                  pipc__comm_can(c, choice, most, graph)))
                m.row[graph] |= (uint64_t)1 << i;
        }
    return m;
}

/* LL128's sizes are push's where it is not to be had; simple always is. */
static void step_down(pipc__choice_t *choice)
{
    choice->proto = choice->proto == PIPC__PROTO_LL128 ? PIPC__PROTO_PUSH : PIPC__PROTO_SIMPLE;
    choice->blocks = 0;
}

/* What some rank can't, no rank does. Returns of how many choices that is so. A rank without a
 * table counts as the others do. */
static int step_down_all(pipc_comm_t *c, const misfits_t all[])
{
    int n = 0;

    for (int i = 0; i < PIPC__TABLE_ROWS; i++)
        for (int graph = 0; graph < 2; graph++) {
            bool bad = false;
            for (int r = 0; r < c->local_size; r++)
                bad |= all[r].row[graph] >> i & 1;
            if (bad && i < c->table.nrows)
                step_down(graph ? &c->table.row[i].graph : &c->table.row[i].eager);
            n += bad;
        }
    return n;
}

pipc_status_t pipc__choose_fit(pipc_comm_t *c, pipc_status_t own, pipc__error_t *err)
{
    misfits_t mine, all[PIPC__RANKS_MAX];
    pipc__error_t met;
    int n, sum = 0;

    do { /* as often on every rank */
        mine = own ? (misfits_t){{0, 0}} : find_misfits(c);
        pipc_status_t st = pipc__control_gather(c->ctl, &mine, sizeof(mine), all, &met);
        if (st)
            return own ? own : pipc__fail(err, st, "%s", met.text);
        n = step_down_all(c, all);
        sum += n;
    } while (n);
    if (sum && !own && !c->rank)
        pipc__log(PIPC__LOG_INFO, "%d choices of the table can't be had here; others instead", sum);
    return own;
}

/* Rank @failed failed with @st, and NCCL is not there (@why). A rank that failed itself has more to
 * say: @own, with its text in @err. */
static pipc_status_t refuse(const pipc_comm_t *c, pipc_status_t own, int failed, pipc_status_t st,
                            const pipc__error_t *why, pipc__error_t *err)
{
    char name[128];

    if (own) {
        pipc__error_t mine = *err;
        return pipc__fail(err, own, "%.330s; and NCCL can't take over: %s", mine.text, why->text);
    }
    return pipc__fail(err, st, "%s failed, and NCCL can't take over: %s",
                      pipc__control_name(c->ctl, failed, name, sizeof(name)), why->text);
}

pipc_status_t pipc__choose_fallback(pipc_comm_t *c, const pipc__wish_t *wish, pipc_status_t own,
                                    pipc__error_t *err)
{
    int mine = own, all[PIPC__RANKS_MAX], failed = -1;
    pipc__error_t why;
    bool hopeless = false;

    if (!wish->on_gpu || c->leaves || (wish->kind >= 0 && wish->kind != PIPC__ALGO_NCCL) ||
        wish->config->path == PIPC_PATH_P2P)
        return own;
    pipc_status_t st = pipc__control_gather(c->ctl, &mine, sizeof(mine), all, &why);
    for (int r = 0; !st && r < c->local_size; r++) {
        hopeless |= all[r] && all[r] != PIPC_ERR_UNREACHABLE && all[r] != PIPC_ERR_UNSUPPORTED;
        failed = failed < 0 && all[r] ? r : failed;
    }
    if (st || failed < 0 || hopeless)
        return own;
    if (pipc__rails_needed(&c->rails))
        c->rails.whole = true; /* all nodes hear of it, and make NCCL's communicator together */
    else if (!c->nccl && make_nccl(c, wish, &why))
        return refuse(c, own, failed, (pipc_status_t)all[failed], &why, err);
    if (c->local_rank == failed)
        pipc__log(PIPC__LOG_WARN, "NCCL does it all: %s", err->text);
    c->table = pipc__table_fixed(PIPC__ALGO_NCCL);
    c->why_nccl = "memory is out of reach, or there are no kernels for a GPU";
    return PIPC_OK;
}
