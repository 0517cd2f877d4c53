/* tests/emulate/emulate.c - fibres, their schedule and their stores. See emulate.h
 *
 * Shared memory is thread_local (cuda.h), so the fibres of a block that has some run on an OS
 * thread of their block's own, a carrier. Carriers hand a token on: one fibre runs at a time, on
 * whichever.
 *
 *     carrier 0   fibre a --> fibre b ...............> fibre a
 *     carrier 1                      `--> fibre c --'
 */
#include "tests/emulate/emulate.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10)
#define STORES 16   /* of a thread that are on their way */
#define BARRIERS 48 /* of a block: 0, named ones, one a warp */
#define NAP 2000    /* steps */

typedef struct carrier {
    sem_t go;
    ucontext_t home;
    struct fibre *next; /* who goes on when go is posted; NULL: it is all over */
    struct fibre *heir; /* who goes on, on another carrier, when a fibre has ended; NULL: nobody */
    struct carrier *free;
} carrier_t;

typedef struct store {
    char *p;
    uint64_t v;
    unsigned int bytes;
} store_t;

typedef struct block {
    carrier_t *carrier;
    struct meeting {
        uint32_t came;
        bool yes;
        struct fibre *waiting;
    } meeting[BARRIERS];
} block_t;

typedef struct fibre {
    emulated_place_t place; /* first: emulated_now points to it */
    ucontext_t context;
    char *stack;
    struct run *run;
    block_t *block;
    store_t stores[STORES];
    int nstores;
    uint64_t sleeps_until; /* step */
    uint32_t index;        /* in runnable[] */
    bool said;             /* the answer of the last barrier */
    struct fibre *next;    /* of those that wait there, or are free */
} fibre_t;

/* A stream. */
typedef struct run {
    emulated_stream_t stream;
    int launch;
    block_t *blocks;
    uint32_t left; /* fibres that have not ended */
    uint64_t sleeps_until;
} run_t;

const emulated_place_t *emulated_now;

static struct {
    const emulation_t *e;
    run_t runs[EMULATED_STREAMS];
    fibre_t **runnable;
    uint32_t nrunnable, room;
    uint64_t step, random;
    store_t *late; /* EMULATED_UNORDERED: of threads that have met at a barrier */
    uint32_t nlate, late_room;
    carrier_t main;
    carrier_t *carriers; /* free ones */
    fibre_t *fibres;     /* free ones */
} all;

static void die(const char *what)
{
    fprintf(stderr, "# emulation, seed %llu: %s\n", (unsigned long long)all.e->seed, what);
    exit(99);
}

static void *must(void *p)
{
    if (!p)
        die("no memory");
    return p;
}

/* Marsaglia's xorshift64. */
static uint32_t below(uint32_t n)
{
    all.random ^= all.random << 13;
    all.random ^= all.random >> 7;
    all.random ^= all.random << 17;
    return (uint32_t)((all.random >> 32) * n >> 32);
}

static fibre_t *now(void)
{
    return (fibre_t *)(uintptr_t)emulated_now;
}

/* --- carriers -------------------------------------------------------------------------------- */

static carrier_t *carrier_of(const fibre_t *f)
{
    return f->block->carrier;
}

static void hand_to(carrier_t *c, fibre_t *f)
{
    c->next = f;
    sem_post(&c->go);
}

/* A fibre that has ended comes home, and from here the token is handed on: its stack is free then,
 * and may have another owner as soon as somebody else runs. */
static void carry(carrier_t *c)
{
    for (;;) {
        sem_wait(&c->go);
        if (!c->next)
            return;
        swapcontext(&c->home, &c->next->context);
        hand_to(c->heir ? carrier_of(c->heir) : &all.main, c->heir);
    }
}

static void *carrier_main(void *arg)
{
    carry(arg);
    return NULL;
}

static carrier_t *take_carrier(void)
{
    carrier_t *c = all.carriers;
    pthread_t thread;

    if (c) {
        all.carriers = c->free;
        return c;
    }
    c = must(calloc(1, sizeof(*c)));
    if (sem_init(&c->go, 0, 0) || pthread_create(&thread, NULL, carrier_main, c) ||
        pthread_detach(thread))
        die("no thread");
    return c;
}

static void give_carrier(carrier_t *c)
{
    if (c == &all.main)
        return;
    c->free = all.carriers;
    all.carriers = c;
}

/* --- who runs -------------------------------------------------------------------------------- */

static void can_run(fibre_t *f)
{
    if (all.nrunnable == all.room) {
        all.room = all.room ? 2 * all.room : 256;
        all.runnable = must(realloc(all.runnable, all.room * sizeof(fibre_t *)));
    }
    f->index = all.nrunnable;
    all.runnable[all.nrunnable++] = f;
}

static void can_not_run(fibre_t *f)
{
    fibre_t *last = all.runnable[--all.nrunnable];

    all.runnable[f->index] = last;
    last->index = f->index;
}

static bool sleeps(const fibre_t *f)
{
    return all.step < f->sleeps_until || all.step < f->run->sleeps_until;
}

/* Any of those that are awake; rather one of this carrier, which is a hundred times cheaper. */
static fibre_t *pick(void)
{
    const carrier_t *here = now() ? carrier_of(now()) : NULL;
    uint32_t tries = below(8) ? 8 : 0, from;

    if (!all.nrunnable)
        die("nobody can run: threads of a block wait at different barriers");
    for (uint32_t i = 0; i < tries; i++) {
        fibre_t *f = all.runnable[below(all.nrunnable)];
        if (!sleeps(f) && carrier_of(f) == here)
            return f;
    }
    from = below(all.nrunnable);
    for (uint32_t i = 0; i < all.nrunnable; i++) {
        fibre_t *f = all.runnable[(from + i) % all.nrunnable];
        if (!sleeps(f))
            return f;
    }
    return all.runnable[from];
}

static void go_to(fibre_t *next)
{
    fibre_t *me = now();
    carrier_t *c = carrier_of(me);

    if (next == me)
        return;
    emulated_now = &next->place;
    if (carrier_of(next) != c) {
        hand_to(carrier_of(next), next);
        sem_wait(&c->go);
        next = c->next;
    }
    if (next != me)
        swapcontext(&me->context, &next->context);
}

/* Now and then a thread or a whole rank is late by far, else the protocol would only ever be slow.
 */
static void fall_asleep(fibre_t *f)
{
    if (!below(512))
        f->sleeps_until = all.step + below(NAP);
    if (!below(16384))
        f->run->sleeps_until = all.step + below(4 * NAP);
}

void emulated_yield(void)
{
    all.step++;
    if (all.step == all.e->steps)
        *all.e->abort = 1;
    if (all.step > 4 * all.e->steps)
        die("kernels do not end after an abort");
    fall_asleep(now());
    go_to(pick());
}

/* --- stores ---------------------------------------------------------------------------------- */

static void land(fibre_t *f, int i)
{
    store_t s = f->stores[i];

    memcpy(s.p, &s.v, s.bytes);
    memmove(&f->stores[i], &f->stores[i + 1], (size_t)(--f->nstores - i) * sizeof(s));
}

/* Two stores to one place stay in order. */
static bool first_there(const fibre_t *f, int i)
{
    const store_t *s = &f->stores[i];

    for (const store_t *t = f->stores; t < s; t++)
        if (t->p < s->p + s->bytes && s->p < t->p + t->bytes)
            return false;
    return true;
}

static void maybe_land(fibre_t *f)
{
    if (!f->nstores || below(4))
        return;
    int i = (int)below((uint32_t)f->nstores);
    land(f, first_there(f, i) ? i : 0);
}

static void land_all(fibre_t *f)
{
    while (f->nstores)
        land(f, 0);
}

static void land_late(uint32_t i)
{
    store_t s = all.late[i];

    memcpy(s.p, &s.v, s.bytes);
    all.late[i] = all.late[--all.nlate];
}

/* A barrier makes visible to the block what was stored. That all others see it, too, a release
 * behind the barrier has to see to, and here the barrier does it, or nobody. */
static void meet_stores(fibre_t *f)
{
    if (all.e->fault != EMULATED_UNORDERED) {
        land_all(f);
        return;
    }
    for (; f->nstores; f->nstores--) {
        if (all.nlate == all.late_room) {
            all.late_room = all.late_room ? 2 * all.late_room : 256;
            all.late = must(realloc(all.late, all.late_room * sizeof(store_t)));
        }
        all.late[all.nlate++] = f->stores[f->nstores - 1];
    }
}

static void at_an_access(uint32_t one_in)
{
    maybe_land(now());
    if (all.nlate && !below(16))
        land_late(below(all.nlate));
    if (!below(one_in))
        emulated_yield();
}

uint64_t emulated_load(const void *p, unsigned int bytes)
{
    const char *from = p;
    char v[8] = {0};

    at_an_access(4);
    memcpy(v, from, bytes);
    for (const store_t *s = now()->stores; s < now()->stores + now()->nstores; s++)
        for (unsigned int i = 0; i < s->bytes; i++)
            if (s->p + i >= from && s->p + i < from + bytes)
                v[s->p + i - from] = ((const char *)&s->v)[i];
    uint64_t word;
    memcpy(&word, v, sizeof(word));
    return word;
}

static void add_store(char *p, uint64_t v, unsigned int bytes)
{
    fibre_t *f = now();

    if (f->nstores == STORES)
        land(f, 0);
    f->stores[f->nstores++] = (store_t){p, v, bytes};
}

void emulated_store(void *p, uint64_t v, unsigned int bytes)
{
    if (bytes == 8 && all.e->fault == EMULATED_TORN) {
        add_store(p, v & 0xffffffff, 4);
        add_store((char *)p + 4, v >> 32, 4);
    } else {
        add_store(p, v, bytes);
    }
    at_an_access(4);
}

bool emulated_torn(void)
{
    return all.e->fault == EMULATED_TORN;
}

void emulated_release(void)
{
    if (all.e->fault != EMULATED_UNORDERED)
        land_all(now());
    at_an_access(4);
}

/* --- barriers -------------------------------------------------------------------------------- */

static void let_go(struct meeting *m)
{
    for (fibre_t *f = m->waiting; f; f = f->next) {
        f->said = m->yes;
        can_run(f);
    }
    m->came = 0;
    m->yes = false;
    m->waiting = NULL;
}

bool emulated_meet(uint32_t barrier, uint32_t threads, bool yes)
{
    fibre_t *f = now();
    struct meeting *m = &f->block->meeting[barrier];

    if (barrier >= BARRIERS)
        die("no such barrier");
    meet_stores(f);
    m->yes |= yes;
    if (++m->came < threads) {
        can_not_run(f);
        f->next = m->waiting;
        m->waiting = f;
        go_to(pick());
        return f->said;
    }
    f->said = m->yes;
    let_go(m);
    emulated_yield();
    return f->said;
}

/* --- launches -------------------------------------------------------------------------------- */

static void next_launch(run_t *r);

/* The last one of a launch begins the next one. Its own stack is free when that is done. */
static void end(void)
{
    fibre_t *f = now(), *next = NULL;
    carrier_t *here = carrier_of(f);
    run_t *r = f->run;

    land_all(f);
    can_not_run(f);
    emulated_now = NULL;
    if (!--r->left)
        next_launch(r);
    f->next = all.fibres;
    all.fibres = f;
    if (all.nrunnable)
        emulated_now = &(next = pick())->place;
    if (next && carrier_of(next) == here)
        setcontext(&next->context);
    here->heir = next;
    setcontext(&here->home);
}

static void begin(void)
{
    const emulated_launch_t *l = &now()->run->stream.launches[now()->run->launch];

    l->kernel(l->args);
    end();
}

static fibre_t *take_fibre(void)
{
    fibre_t *f = all.fibres;
    char *stack;

    if (f) {
        all.fibres = f->next;
        stack = f->stack;
    } else {
        f = must(malloc(sizeof(*f)));
        stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
        must(stack == MAP_FAILED ? NULL : stack);
    }
    memset(f, 0, sizeof(*f));
    f->stack = stack;
    return f;
}

/* Apart: getcontext() may return twice, as far as the compiler knows, and warns for all it is
 * inlined into. */
static __attribute__((noinline)) void fresh_context(ucontext_t *c)
{
    if (getcontext(c))
        die("no context");
}

static void start_fibre(run_t *r, block_t *b, emulated_place_t place)
{
    fibre_t *f = take_fibre();

    f->place = place;
    f->run = r;
    f->block = b;
    fresh_context(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, begin, 0);
    can_run(f);
}

static void start_block(run_t *r, uint32_t number)
{
    const emulated_launch_t *l = &r->stream.launches[r->launch];
    emulated_place_t place = {.block.x = number, .threads.x = l->threads, .blocks.x = l->blocks};

    r->blocks[number].carrier = all.e->shared ? take_carrier() : &all.main;
    for (; place.thread.x < l->threads; place.thread.x++)
        start_fibre(r, &r->blocks[number], place);
}

static void next_launch(run_t *r)
{
    for (uint32_t b = 0; r->launch >= 0 && b < r->stream.launches[r->launch].blocks; b++)
        give_carrier(r->blocks[b].carrier);
    free(r->blocks);
    r->blocks = NULL;
    while (all.nlate)
        land_late(0);
    if (++r->launch == r->stream.n)
        return;
    const emulated_launch_t *l = &r->stream.launches[r->launch];
    r->blocks = must(calloc(l->blocks, sizeof(*r->blocks)));
    r->left = l->blocks * l->threads;
    for (uint32_t b = 0; b < l->blocks; b++)
        start_block(r, b);
}

bool emulate(const emulation_t *e)
{
    static bool ready;

    if (!ready && sem_init(&all.main.go, 0, 0))
        die("no semaphore");
    ready = true;
    all.e = e;
    all.step = 0;
    all.random = e->seed * 0x9e3779b97f4a7c15ull + 1;
    emulated_now = NULL;
    for (int i = 0; i < e->nstreams; i++) {
        all.runs[i] = (run_t){.stream = e->stream[i], .launch = -1};
        next_launch(&all.runs[i]);
    }
    if (!all.nrunnable)
        return true;
    fibre_t *first = pick();
    emulated_now = &first->place;
    hand_to(carrier_of(first), first);
    carry(&all.main);
    return all.step < e->steps;
}
