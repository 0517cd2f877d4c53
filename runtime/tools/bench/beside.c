/* tools/bench/beside.c - see beside.h */
#include "runtime/tools/bench/beside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/choose.h"
#include "runtime/tune/file.h"

/* One of the list, taken apart. */
typedef struct wish {
    char name[BENCH_BESIDE_NAME];
    bool same, shipped;
    pipc__choice_t choice; /* else */
    int sms;               /* in pipc_comm_config_t's terms, or SMS_SAME: as the run has it */
} wish_t;

#define SMS_SAME (-2)

static bool parse_sms(const char *text, int *sms)
{
    char *end;
    long n = strtol(text, &end, 10);

    *sms = (int)n;
    if (isdigit((unsigned char)*text))
        return !*end && n > 0 && n <= PIPC__BLOCKS_MAX;
    *sms = !strcmp(text, "max") ? PIPC_SMS_MAX : 0;
    return *sms || !strcmp(text, "default");
}

static bool parse_one(wish_t *w, const char *text, size_t n)
{
    char word[BENCH_BESIDE_NAME];

    memset(w, 0, sizeof(*w));
    if (!n || n >= sizeof(word))
        return false;
    snprintf(word, sizeof(word), "%.*s", (int)n, text);
    memcpy(w->name, word, sizeof(word));
    char *at = strchr(word, '@');
    w->sms = SMS_SAME;
    if (at) {
        *at = '\0';
        if (!parse_sms(at + 1, &w->sms))
            return false;
    }
    w->same = !strcmp(word, "same");
    w->shipped = !strcmp(word, "shipped");
    return w->same || w->shipped || pipc__choice_parse(&w->choice, word);
}

/* The next one of *list; false at its end, with *good telling whether that is a good one. */
static bool next(const char **list, wish_t *w, bool *good)
{
    size_t n = strcspn(*list, ",");

    *good = parse_one(w, *list, n);
    if (!*good)
        return false;
    *list += n + ((*list)[n] == ',');
    return true;
}

bool bench_beside_good(const char *list)
{
    bool good = true, more = true;
    wish_t w;
    int n = 0;

    while (more && good) {
        more = next(&list, &w, &good) && *list;
        n++;
    }
    return good && n <= BENCH_BESIDE_MAX && list[-1] != ',';
}

/* --- opening --------------------------------------------------------------------------------- */

/* Blocks of a call, as pipc_comm_config_t's sms would give them. */
static pipc_status_t budget(const bench_t *b, const wish_t *w, int *blocks, pipc__error_t *err)
{
    const pipc__exec_t *x = b->comm->exec;

    *blocks = b->own[0].most_blocks;
    if (w->sms == SMS_SAME)
        return PIPC_OK;
    if (!x->ops->blocks)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "--beside %s needs GPUs; leave out what follows the @", w->name);
    int all = x->ops->blocks(x, true);
    *blocks = !w->sms ? x->ops->blocks(x, false) : w->sms < 0 || w->sms > all ? all : w->sms;
    return PIPC_OK;
}

static pipc_status_t need_nccl(bench_t *b, pipc__error_t *err)
{
    const char *path = getenv("PCIE_IPC_NCCL");
    pipc_comm_t *c = b->comm;

    if (!b->device.stream)
        return pipc__fail(err, PIPC_ERR_INVALID, "--beside nccl needs GPUs");
    if (c->nccl)
        return PIPC_OK;
    return pipc__nccl_create(&c->nccl, c->ctl, c->rank, c->size, path && *path ? path : NULL, NULL,
                             err);
}

/* The communicator makes the plans that the table names, and is left with it. */
static pipc_status_t open_one(bench_t *b, const wish_t *w, pipc__error_t *err)
{
    bench_own_t *o = &b->own[b->nways];
    bool on_gpu = b->device.stream;
    pipc_status_t st = budget(b, w, &o->most_blocks, err);

    if (st)
        return st;
    memcpy(o->name, w->name, sizeof(o->name));
    if (w->same) {
        o->table = b->own[0].table;
    } else if (w->shipped) {
        o->table = pipc__table_default(&b->comm->shape, on_gpu, o->most_blocks);
    } else {
        o->table = pipc__table_fixed(w->choice.algo);
        o->table.row[0].eager = o->table.row[0].graph = w->choice;
    }
    if (pipc__table_names(&o->table, PIPC__ALGO_NCCL))
        st = need_nccl(b, err);
    if (!st)
        st = pipc__comm_prepare(b->comm, &o->table, err);
    if (!st && w->shipped) {
        st = pipc__choose_fit(b->comm, PIPC_OK, err);
        o->table = b->comm->table;
    }
    b->nways += !st;
    return st;
}

pipc_status_t bench_beside_open(bench_t *b, pipc__error_t *err)
{
    const char *list = b->options.beside;
    bool good = true;
    pipc_status_t st = PIPC_OK;
    wish_t w;

    snprintf(b->own[0].name, sizeof(b->own[0].name), "pcie-ipc");
    b->own[0].table = b->comm->table;
    b->own[0].most_blocks = b->comm->most_blocks;
    b->nways = 1;
    b->now = BENCH_OWN;
    while (list && *list && !st && next(&list, &w, &good))
        st = open_one(b, &w, err);
    b->comm->table = b->own[0].table;
    return st;
}

/* --- being ----------------------------------------------------------------------------------- */

static const bench_own_t *of(const bench_t *b, int who)
{
    return &b->own[who == BENCH_OWN ? 0 : BENCH_BESIDE(who) + 1];
}

void bench_become(bench_t *b, int who)
{
    if (b->nways < 2 || who >= 0 || who == b->now)
        return;
    b->comm->table = of(b, who)->table;
    b->comm->most_blocks = of(b, who)->most_blocks;
    b->now = who;
}

pipc__choice_t bench_beside_choice(const bench_t *b, int who, size_t bytes)
{
    return pipc__table_choose(&of(b, who)->table, bytes, b->options.graph > 0);
}

bool bench_beside_can(const bench_t *b, int who, size_t bytes)
{
    return who == BENCH_OWN ||
           pipc__comm_can(b->comm, bench_beside_choice(b, who, bytes), bytes, b->options.graph > 0);
}
