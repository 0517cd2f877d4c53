/* tests/unit/random.c - see random.h */
#include "tests/unit/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/comm/plans.h"
#include "runtime/tune/file.h"

#define OWN (PIPC__PLAN_KINDS_LOCAL * PIPC__PROTOS)
#define NCCLS 4 /* so often NCCL stands among the choices */
#define CHOICES_MAX (OWN + NCCLS)
#define GUARD 64 /* bytes of poison before and behind a buffer, at least */
#define ROUNDS 4 /* of a graph */
#define KEY_OF_LIFE 0x11fe00000000ull

enum { WRONG = 1, FAILED = 2, HUNG = 3 };

typedef struct batch {
    uint64_t number;
    int n, captured; /* calls; of them the first ones go into a graph */
    bool sleeps;     /* this rank comes late to the middle of it */
    random_call_t call[RANDOM_BATCH];
    random_buffers_t b[RANDOM_BATCH];
} batch_t;

typedef struct run {
    const random_options_t *o;
    ranks_t *all;
    int rank, n;
    pipc_comm_t *_Atomic comm;
    random_choice_t choice[CHOICES_MAX];
    int nchoices;
    uint64_t calls, replayed; /* of all rounds; of them by graphs */
    uint64_t done[PIPC__ALGOS][PIPC__PROTOS];
    int p2p, host;  /* pairs, each direction one, by the memory in which they meet */
    char shape[64]; /* how they stand */
    double start;
    batch_t batch;
    _Atomic uint64_t ended; /* batches and other steps, for the watch */
    _Atomic int at;         /* call of the batch that was enqueued last */
    const char *_Atomic what;
    _Atomic bool over, hung;
} run_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- what a call is -------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *key)
{
    return random_mix(++*key);
}

static uint64_t below(uint64_t *key, uint64_t end)
{
    return draw(key) % end;
}

/* As many of one size as of another, from one element on, and often about a power of two. */
static size_t draw_count(uint64_t *key, size_t most)
{
    unsigned int bits = 0;
    size_t count;

    while (most >> bits > 1)
        bits++;
    count = (size_t)1 << below(key, bits + 1);
    if (below(key, 3))
        count += below(key, count);
    else
        count += below(key, 3) - 1;
    if (!below(key, 200))
        count = 0;
    return count < most ? count : most;
}

static unsigned int draw_skew(uint64_t *key, size_t elem)
{
    switch (below(key, 4)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return (unsigned int)(below(key, 64 / elem) * elem);
    default:
        return (unsigned int)below(key, 64);
    }
}

random_call_t random_call(uint64_t key, const random_choice_t *choices, int nchoices, bool in_graph)
{
    static const int blocks[] = {0, 0, 1, 2, 3, 7, 8, 16, 17, 32, 64, 128, 1024};
    random_call_t c = {.dtype = (pipc_dtype_t)below(&key, PIPC_DTYPE_COUNT),
                       .op = (pipc_redop_t)below(&key, PIPC_REDOP_COUNT),
                       .in_place = below(&key, 3) == 0,
                       .stream = below(&key, 16) == 0,
                       .blocks = blocks[below(&key, sizeof(blocks) / sizeof(blocks[0]))],
                       .choice = (int)below(&key, (uint64_t)nchoices)};
    size_t elem = random_bytes_of((int)c.dtype);

    while (choices[c.choice].most_bytes[in_graph] < elem)
        c.choice = (c.choice + 1) % nchoices;
    c.count = draw_count(&key, choices[c.choice].most_bytes[in_graph] / elem);
    c.out_skew = draw_skew(&key, elem);
    c.in_skew = c.in_place ? c.out_skew : draw_skew(&key, elem);
    if (choices[c.choice].what.algo == PIPC__ALGO_NCCL) { /* it takes whole elements alone */
        c.out_skew -= c.out_skew % elem;
        c.in_skew -= c.in_skew % elem;
    }
    return c;
}

/* --- what is possible here ------------------------------------------------------------------- */

static bool can(const pipc_comm_t *c, pipc__choice_t what, size_t bytes, bool in_graph)
{
    const pipc__exec_t *x = c->exec;

    return x->ops->can ? x->ops->can(x, c->plan[what.algo], what.proto, bytes, in_graph)
                       : what.proto == PIPC__PROTO_SIMPLE;
}

/* The longest message, at most @most; 0: none at all. */
static size_t find_limit(const pipc_comm_t *c, pipc__choice_t what, size_t most, bool in_graph)
{
    size_t yes = 0, no = most + 1;

    if (can(c, what, most, in_graph))
        return most;
    while (no - yes > 1) {
        size_t mid = yes + (no - yes) / 2;
        if (can(c, what, mid, in_graph))
            yes = mid;
        else
            no = mid;
    }
    return yes;
}

/* What every rank can. */
static void agree(run_t *t)
{
    random_choice_t all[PIPC__RANKS_MAX];
    int n = 0;

    for (int i = 0; i < CHOICES_MAX; i++) {
        ranks_gather(t->all, t->rank, &t->choice[i], sizeof(t->choice[i]), all);
        random_choice_t c = all[0];
        for (int r = 1; r < t->n; r++)
            for (int g = 0; g < 2; g++)
                if (all[r].most_bytes[g] < c.most_bytes[g])
                    c.most_bytes[g] = all[r].most_bytes[g];
        if (c.most_bytes[0])
            t->choice[n++] = c;
    }
    t->nchoices = n;
}

/* A plan that ranks that stand so can't have is left out. */
static void find_choices(run_t *t)
{
    size_t most = t->o->device->most_bytes;
    pipc__error_t err;

    memset(t->choice, 0, sizeof(t->choice));
    for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        bool made = !pipc__comm_prepare(t->comm, &one, &err);
        for (int p = 0; p < PIPC__PROTOS; p++) {
            random_choice_t *r = &t->choice[k * PIPC__PROTOS + p];
            r->what = (pipc__choice_t){k, (pipc__proto_t)p, 0};
            for (int graph = 0; graph < 2 && made; graph++)
                r->most_bytes[graph] = find_limit(t->comm, r->what, most, graph);
        }
    }
    for (int i = 0; t->o->nccl && i < NCCLS; i++)
        t->choice[OWN + i] = (random_choice_t){{PIPC__ALGO_NCCL, 0, 0}, {most, most}};
    agree(t);
}

/* --- a batch --------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t at)
{
    return (at + 255) / 256 * 256;
}

/* May floats be other ones than those of the sum in rank order? NCCL also rounds halves before it
 * adds them. */
static bool is_fuzzy(const run_t *t, const random_call_t *c)
{
    int algo = t->choice[c->choice].what.algo;

    if (algo == PIPC__ALGO_NCCL && c->op == PIPC_AVG)
        return true;
    return t->n > 2 && algo != PIPC__ONE_SHOT && algo != PIPC__TWO_SHOT;
}

/* Place the buffers of @c at *in and *out of the arenas and move these on. */
static random_buffers_t place(const run_t *t, const random_call_t *c, uint64_t *in, uint64_t *out)
{
    uint64_t bytes = c->count * random_bytes_of((int)c->dtype);
    random_buffers_t b = {.count = c->count,
                          .dtype = (int32_t)c->dtype,
                          .op = (int32_t)c->op,
                          .fuzzy = is_fuzzy(t, c)};

    b.out_from = *out;
    b.out = *out + GUARD + c->out_skew;
    b.out_end = *out = round_up(b.out + bytes + GUARD);
    b.in_from = b.out_from;
    b.in = b.out;
    b.in_end = b.out_end;
    if (c->in_place)
        return b;
    b.in_from = *in;
    b.in = *in + GUARD + c->in_skew;
    b.in_end = *in = round_up(b.in + bytes + GUARD);
    return b;
}

static void choose_batch(run_t *t, uint64_t number, bool graphs)
{
    const random_device_t *d = t->o->device;
    uint64_t key = random_mix(t->o->seed * 0x10001 + number);
    uint64_t in = (uint64_t)(uintptr_t)d->arena(false), out = (uint64_t)(uintptr_t)d->arena(true);
    uint64_t room = d->arena_bytes - d->most_bytes - 1024;
    uint64_t in_end = in + room, out_end = out + room;
    batch_t *b = &t->batch;

    b->number = number;
    b->n = 0;
    b->captured = graphs && below(&key, 2) ? 1 + (int)below(&key, RANDOM_BATCH) : 0;
    b->sleeps = below(&key, 40) == 0 && (int)below(&key, (uint64_t)t->n) == t->rank;
    while (b->n < RANDOM_BATCH && in < in_end && out < out_end) {
        random_call_t *c = &b->call[b->n];
        *c = random_call(draw(&key), t->choice, t->nchoices, b->n < b->captured);
        b->b[b->n++] = place(t, c, &in, &out);
    }
    if (b->captured > b->n)
        b->captured = b->n;
}

static const char *describe(const run_t *t, int i, char buf[256])
{
    const random_call_t *c = &t->batch.call[i];
    pipc__choice_t what = t->choice[c->choice].what;
    char text[PIPC__CHOICE_TEXT];

    what.blocks = c->blocks;
    snprintf(buf, 256,
             "rank %d, seed %llu, batch %llu, call %d: %s%s, %s of %zu %s, skew %u and %u, %s",
             t->rank, (unsigned long long)t->o->seed, (unsigned long long)t->batch.number, i,
             pipc__choice_text(what, text), i < t->batch.captured ? " in a graph" : "",
             pipc_redop_string(c->op), c->count, pipc_dtype_string(c->dtype), c->in_skew,
             c->out_skew, c->in_place ? "in place" : "out of place");
    return buf;
}

/* Between calls, the table says what the next one is; all plans in it are prepared. */
static void enqueue(run_t *t, int i)
{
    const random_call_t *c = &t->batch.call[i];
    const random_buffers_t *b = &t->batch.b[i];
    pipc__choice_t what = t->choice[c->choice].what;
    char text[256];

    what.blocks = c->blocks;
    atomic_store(&t->at, i);
    t->comm->table = (pipc__table_t){1, {{SIZE_MAX, what, what}}};
    if (i == t->batch.n / 2 && t->batch.sleeps)
        usleep(3000);
    while (i == t->batch.n / 2 && t->o->stop == t->rank)
        pause();
    if (!pipc_allreduce(t->comm, (const void *)(uintptr_t)b->in, (void *)(uintptr_t)b->out,
                        c->count, c->dtype, c->op, t->o->device->stream(c->stream)))
        return;
    fprintf(stderr, "# %s\n# in %s\n", pipc_last_error(), describe(t, i, text));
    _exit(t->hung ? HUNG : FAILED);
}

static void tell_wrong(const run_t *t, const random_verdict_t *v, int round)
{
    char text[256];

    fprintf(stderr, "# %llu elements or bytes are wrong, the first at byte %llu, round %d, of %s\n",
            (unsigned long long)v->wrong, (unsigned long long)(v->first & 0xffffffffffull), round,
            describe(t, (int)(v->first >> 40), text));
}

/* Ranks tell each other what they found; rank 0 tells whether to go on. */
static int compare(run_t *t, const random_verdict_t *v, bool *more)
{
    struct word {
        uint64_t digest, wrong;
        bool more;
    } mine = {v->digest, v->wrong, *more}, all[PIPC__RANKS_MAX];
    int bad = 0;

    t->what = "waiting for the other ranks";
    ranks_gather(t->all, t->rank, &mine, sizeof(mine), all);
    *more = all[0].more;
    for (int r = 0; r < t->n; r++) {
        if (all[r].digest != all[0].digest && !t->rank)
            fprintf(stderr, "# ranks 0 and %d have not the same results in batch %llu\n", r,
                    (unsigned long long)t->batch.number);
        bad |= all[r].wrong || all[r].digest != all[0].digest;
    }
    return bad ? WRONG : 0;
}

static void fill(run_t *t, int round)
{
    random_buffers_t spoilt[RANDOM_BATCH];
    batch_t *b = &t->batch;

    t->what = "filling";
    for (int i = 0; i < b->n; i++)
        b->b[i].key =
            random_mix(random_mix(t->o->seed) + (b->number * RANDOM_BATCH + (uint64_t)i) * ROUNDS +
                       (uint64_t)round);
    memcpy(spoilt, b->b, sizeof(spoilt));
    if (t->o->spoil == t->rank)
        spoilt[b->n - 1].key++;
    t->o->device->fill(spoilt, b->n, t->rank);
}

/* The calls in a graph, replayed, and the others behind it, one after the other. */
static void enqueue_round(run_t *t, int round)
{
    const random_device_t *d = t->o->device;
    batch_t *b = &t->batch;

    t->what = "enqueueing";
    if (b->captured && !round) {
        d->capture();
        for (int i = 0; i < b->captured; i++)
            enqueue(t, i);
        d->captured();
    }
    fill(t, round);
    t->what = "enqueueing";
    if (b->captured)
        d->replay();
    for (int i = b->captured; i < b->n; i++)
        enqueue(t, i);
}

static void count_calls(run_t *t)
{
    const batch_t *b = &t->batch;

    t->calls += (uint64_t)b->n;
    t->replayed += (uint64_t)b->captured;
    for (int i = 0; i < b->n; i++) {
        pipc__choice_t what = t->choice[b->call[i].choice].what;
        t->done[what.algo][what.proto]++;
    }
}

static int one_batch(run_t *t, uint64_t number, bool graphs, bool *more)
{
    random_verdict_t v = {0, RANDOM_NONE, 0};
    const random_options_t *o = t->o;
    int bad = 0;

    choose_batch(t, number, graphs);
    for (int round = 0; !bad && round < (t->batch.captured ? ROUNDS : 1); round++) {
        enqueue_round(t, round);
        t->what = "waiting for the results";
        o->device->check(t->batch.b, t->batch.n, t->rank, t->n, &v);
        count_calls(t);
        if (v.wrong)
            tell_wrong(t, &v, round);
        *more = (!o->batches || number + 1 < o->first + o->batches) &&
                (!o->calls || t->calls < o->calls) &&
                (o->seconds <= 0 || now() - t->start < o->seconds);
        bad = compare(t, &v, more);
        atomic_fetch_add(&t->ended, 1);
    }
    return bad;
}

/* --- a communicator -------------------------------------------------------------------------- */

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const run_t *t = ctx;

    ranks_gather(t->all, t->rank, mine, bytes, all);
    return 0;
}

static int create(run_t *t, uint64_t life)
{
    static const size_t staging[] = {2, 2, 4, 8, 64}; /* MiB */
    uint64_t key = random_mix(t->o->seed + KEY_OF_LIFE + life);
    pipc_callbacks_t calls = {sizeof(calls), t->rank, t->n, allgather, t};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;

    t->what = "creating a communicator";
    c.backend = t->o->device->backend;
    if (t->o->nccl)
        setenv("PCIE_IPC_NCCL", t->o->nccl, 1);
    c.plan = t->o->nccl ? "nccl" : "one-shot"; /* the others come with the search for choices */
    c.staging_bytes = staging[below(&key, sizeof(staging) / sizeof(staging[0]))] << 20;
    c.sms = below(&key, 2) ? PIPC_SMS_MAX : 0;
    c.callbacks = &calls;
    pipc_comm_t *comm;
    if (!pipc_comm_create(&comm, &c)) {
        t->p2p = comm->paths.p2p;
        t->host = comm->paths.host;
        pipc__plans_describe(&comm->shape, t->shape, sizeof(t->shape));
        t->comm = comm;
        return 0;
    }
    fprintf(stderr, "# rank %d: %s\n", t->rank, pipc_last_error());
    return FAILED;
}

/* Every other one knows of no graphs, for from the first one on calls are ordered in another way.
 */
static int one_life(run_t *t, uint64_t number, bool *more)
{
    unsigned int batches = t->o->device->batches;
    uint64_t life = number / batches;
    bool graphs = life % 2 && t->o->device->capture;
    int bad = create(t, life);

    if (bad)
        return bad;
    t->what = "looking for what is possible";
    find_choices(t);
    do
        bad = one_batch(t, number++, graphs, more);
    while (!bad && *more && number % batches);
    if (t->o->device->forget)
        t->o->device->forget();
    while (t->hung) /* the watch has the communicator, and ends the process */
        pause();
    t->what = "destroying the communicator";
    pipc_comm_t *comm = atomic_exchange(&t->comm, NULL);
    pipc_status_t st = pipc_comm_destroy(comm);
    if (st)
        fprintf(stderr, "# rank %d: %s\n", t->rank, pipc_last_error());
    return bad ? bad : st ? FAILED : 0;
}

/* The way that the plugin would tell of this rank's GPU. */
static void stand(const run_t *t)
{
    char way[64];

    if (t->o->groups < 1)
        return;
    snprintf(way, sizeof(way), "numa0/0000:00/0000:%02x:00.0", 1 + t->rank * t->o->groups / t->n);
    setenv("PCIE_IPC_WAY", way, 1);
    unsetenv("PCIE_IPC_BDF"); /* it is this rank's, whichever GPU it has */
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Says where a hang is; then the communicator is aborted, and what pipc_allreduce() and the kernels
 * say of it follows. */
static void *watch(void *arg)
{
    run_t *t = arg;
    pipc_status_t st = PIPC_OK;
    uint64_t seen = 0;
    double since = now();
    char text[256];

    while (!t->over && now() - since < t->o->patience) {
        usleep(50000);
        if (t->ended != seen)
            since = now();
        seen = t->ended;
    }
    if (t->over)
        return NULL;
    fprintf(stderr, "# HANG while %s; the last call: %s\n", t->what, describe(t, t->at, text));
    t->hung = true;
    pipc_comm_t *comm = t->comm;
    if (comm) {
        pipc_comm_abort(comm);
        sleep(1);
        pipc_comm_async_error(comm, &st);
        fprintf(stderr, "# rank %d: %s\n", t->rank, pipc_last_error());
    }
    _exit(HUNG);
}

static void tell_all(const run_t *t, int bad)
{
    char text[PIPC__CHOICE_TEXT];
    double took = now() - t->start;

    printf("# %llu calls a rank, %llu of them in graphs, by %d ranks (%s; %d pairs by P2P, %d by "
           "host memory) in %.1f s, %.0f a second, all verified: %s\n",
           (unsigned long long)t->calls, (unsigned long long)t->replayed, t->n, t->shape, t->p2p,
           t->host, took, (double)t->calls / took, bad ? "NOT RIGHT" : "0 wrong, 0 hangs");
    for (int k = 0; k < PIPC__ALGOS; k++)
        for (int p = 0; p < PIPC__PROTOS; p++)
            if (t->done[k][p])
                printf("# %12llu %s\n", (unsigned long long)t->done[k][p],
                       pipc__choice_text((pipc__choice_t){k, (pipc__proto_t)p, 0}, text));
    fflush(stdout);
}

int random_body(ranks_t *all, int rank, void *arg)
{
    const random_options_t *o = arg;
    static run_t t; /* for the watch, which may outlive this function */
    bool more = true;
    pthread_t thread;
    int bad = 0;

    t = (run_t){.o = o, .all = all, .rank = rank, .n = ranks_size(all), .what = "starting"};
    if (pthread_create(&thread, NULL, watch, &t))
        return FAILED;
    stand(&t);
    o->device->open(rank, o->device->arena_bytes);
    t.start = now();
    for (uint64_t number = o->first; !bad && more;) {
        bad = one_life(&t, number, &more);
        number += o->device->batches - number % o->device->batches;
    }
    if (!rank)
        tell_all(&t, bad);
    t.over = true;
    pthread_join(thread, NULL);
    o->device->close();
    return bad;
}

bool random_parse(random_options_t *o, int *ranks, int argc, char **argv)
{
    const struct {
        const char *name;
        uint64_t *number;
        double *seconds;
        int *rank;
        const char **text;
    } known[] = {
        {"--seed", &o->seed, NULL, NULL, NULL},
        {"--first", &o->first, NULL, NULL, NULL},
        {"--batches", &o->batches, NULL, NULL, NULL},
        {"--calls", &o->calls, NULL, NULL, NULL},
        {"--seconds", NULL, &o->seconds, NULL, NULL},
        {"--patience", NULL, &o->patience, NULL, NULL},
        {"--spoil", NULL, NULL, &o->spoil, NULL},
        {"--stop", NULL, NULL, &o->stop, NULL},
        {"--ranks", NULL, NULL, ranks, NULL},
        {"--groups", NULL, NULL, &o->groups, NULL},
        {"--nccl", NULL, NULL, NULL, &o->nccl},
    };
    const size_t n = sizeof(known) / sizeof(known[0]);

    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < n && strcmp(argv[i], known[k].name))
            k++;
        if (k == n || i + 1 == argc) {
            fprintf(stderr,
                    "%s: --seed, --first, --batches, --calls, --seconds, --patience, "
                    "--spoil, --stop, --ranks, --groups or --nccl, each with a value\n",
                    argv[i]);
            return false;
        }
        if (known[k].number)
            *known[k].number = strtoull(argv[i + 1], NULL, 10);
        else if (known[k].seconds)
            *known[k].seconds = strtod(argv[i + 1], NULL);
        else if (known[k].rank)
            *known[k].rank = atoi(argv[i + 1]);
        else
            *known[k].text = argv[i + 1];
    }
    return true;
}
