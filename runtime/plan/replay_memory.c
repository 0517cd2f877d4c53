/* plan/replay_memory.c - what each byte holds, who wrote it and who read it since. See replay.h
 *
 * An access by b at time t happened before the present event of a exactly when t <= a's clock at b.
 */
#include "runtime/plan/replay_state.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

static bool grow(pipc__by_key_t *t)
{
    pipc__by_key_t more = {.n = t->n, .room = t->room ? 2 * t->room : 64};

    more.entry = calloc(more.room, sizeof(*more.entry));
    if (!more.entry)
        return false;
    for (size_t i = 0; i < t->room; i++) {
        if (!t->entry[i])
            continue;
        size_t at = pipc__hash(PIPC__HASH_INIT, t->entry[i], sizeof(uint64_t)) % more.room;
        while (more.entry[at])
            at = (at + 1) % more.room;
        more.entry[at] = t->entry[i];
    }
    free(t->entry);
    *t = more;
    return true;
}

void *pipc__by_key(pipc__by_key_t *t, uint64_t key, size_t bytes)
{
    if (2 * t->n >= t->room && !grow(t))
        return NULL;
    size_t at = pipc__hash(PIPC__HASH_INIT, &key, sizeof(key)) % t->room;
    while (t->entry[at] && *t->entry[at] != key)
        at = (at + 1) % t->room;
    if (!t->entry[at]) {
        t->entry[at] = calloc(1, bytes);
        if (!t->entry[at])
            return NULL;
        *t->entry[at] = key;
        t->n++;
    }
    return t->entry[at];
}

pipc__byte_t *pipc__replay_byte(pipc__replay_t *c, int place, int rank, uint64_t at)
{
    uint64_t key = (uint64_t)place << 60 | (uint64_t)rank << 56 | at / PIPC__REPLAY_PAGE;
    pipc__page_of_bytes_t *p = pipc__by_key(&c->pages, key, sizeof(*p));

    return p ? &p->byte[at % PIPC__REPLAY_PAGE] : NULL;
}

static void forget_reads(pipc__byte_t *b)
{
    free(b->reads);
    b->reads = NULL;
    b->nreads = 0;
}

pipc_status_t pipc__replay_fill(pipc__replay_t *c, int rank)
{
    const pipc__trace_t *t = pipc__replay_trace(c, rank);
    pipc__content_t own = {.call = (uint32_t)c->call[rank] + 1,
                           .ranks = (uint16_t)(1u << rank),
                           .expr = pipc__hash(PIPC__HASH_INIT, &rank, sizeof(rank))};

    for (own.at = 0; own.at < t->bytes; own.at++) {
        pipc__byte_t *in = pipc__replay_byte(c, PIPC__INPUT, rank, own.at);
        pipc__byte_t *out = pipc__replay_byte(c, PIPC__OUTPUT, rank, own.at);
        if (!in || !out)
            return pipc__replay_no_memory(c);
        forget_reads(in);
        forget_reads(out);
        memset(in, 0, sizeof(*in));
        memset(out, 0, sizeof(*out));
        *(t->in_place ? &out->content : &in->content) = own;
    }
    return PIPC_OK;
}

/* --- registers ------------------------------------------------------------------------------- */

/* Bytes @e->offset .. of the register, none of them with anything in it where it is new. */
static pipc__content_t *register_of(pipc__replay_t *c, const pipc__event_t *e)
{
    pipc__register_t *r = &c->actor[c->now - c->actor].reg[e->reg];
    size_t end = (size_t)e->offset + e->bytes;

    if (end > r->n) {
        pipc__content_t *more = realloc(r->byte, end * sizeof(*more));
        if (!more)
            return NULL;
        memset(more + r->n, 0, (end - r->n) * sizeof(*more));
        r->byte = more;
        r->n = end;
    }
    return r->byte + e->offset;
}

/* --- accesses -------------------------------------------------------------------------------- */

/* User buffers are their own rank's, and as long as the message. */
static pipc_status_t judge_place(const pipc__replay_t *c, const pipc__event_t *e)
{
    if (e->rank >= c->nranks)
        return pipc__replay_wrong(c, "a rank that does not exist");
    if (e->place == PIPC__SLOT || e->place == PIPC__HOST)
        return PIPC_OK;
    if (e->rank != c->now->rank)
        return pipc__replay_wrong(c, "touches another rank's user buffer");
    if (e->place == PIPC__INPUT && e->kind == PIPC__DID_WRITE)
        return pipc__replay_wrong(c, "writes to the input");
    if (e->at + e->bytes > pipc__replay_trace(c, e->rank)->bytes)
        return pipc__replay_wrong(c, "is behind the message's end");
    return PIPC_OK;
}

/* Reads that happened before this one tell nothing that this one does not. */
static bool note_read(const pipc__replay_t *c, pipc__byte_t *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->nreads; i++)
        if (!pipc__replay_loaded(c, b->reads[i]))
            b->reads[n++] = b->reads[i];
    pipc__moment_t *more = realloc(b->reads, (n + 1) * sizeof(*more));
    if (!more)
        return false;
    more[n] = pipc__replay_now(c);
    b->reads = more;
    b->nreads = n + 1;
    return true;
}

static uint32_t thread_of(const pipc__replay_t *c, pipc__moment_t m)
{
    return (m.actor - 1) % c->nthreads;
}

static int rank_of(const pipc__replay_t *c, pipc__moment_t m)
{
    return (int)((m.actor - 1) / c->nthreads);
}

static pipc_status_t read_byte(pipc__replay_t *c, const pipc__event_t *e, pipc__byte_t *b,
                               pipc__content_t *to)
{
    if (e->how == PIPC__PLAIN && !pipc__replay_before(c, b->written))
        return pipc__replay_wrong(c, "reads what thread %u of rank %d may still write",
                                  thread_of(c, b->written), rank_of(c, b->written));
    if (e->how == PIPC__PLAIN && !b->content.call)
        return pipc__replay_wrong(c, "reads a place that nothing was written to yet");
    if (b->content.call && b->content.call != (uint32_t)c->call[c->now->rank] + 1)
        return pipc__replay_wrong(c, "reads what call %u left behind", b->content.call - 1);
    *to = b->content;
    return note_read(c, b) ? PIPC_OK : pipc__replay_no_memory(c);
}

pipc_status_t pipc__replay_read(pipc__replay_t *c, const pipc__event_t *e, bool *ran)
{
    pipc_status_t st = judge_place(c, e);
    pipc__register_t *r = &c->actor[c->now - c->actor].reg[e->reg];
    const uint32_t *seen = NULL;

    if (!e->bytes)
        return PIPC_OK;
    if (!st && !e->offset && r->n)
        memset(r->byte, 0, r->n * sizeof(*r->byte));
    pipc__content_t *to = st ? NULL : register_of(c, e);
    if (!st && !to)
        return pipc__replay_no_memory(c);
    for (uint32_t i = 0; !st && i < e->bytes; i++) {
        pipc__byte_t *b = pipc__replay_byte(c, e->place, e->rank, e->at + i);
        if (!b)
            return pipc__replay_no_memory(c);
        *ran = e->how == PIPC__PLAIN || (b->came && b->flag == e->value);
        if (!*ran)
            return PIPC_OK;
        if (e->how == PIPC__RELAXED && b->came != seen) /* bytes of a word come together */
            pipc__replay_see(c, seen = b->came);
        st = read_byte(c, e, b, &to[i]);
    }
    return st;
}

/* Who wrote or read what may come after what is written now? Coherence orders two writes when
 * somebody read the first one and that happened before the second. */
static pipc_status_t judge_write(const pipc__replay_t *c, const pipc__byte_t *b)
{
    bool seen = pipc__replay_before(c, b->written);

    for (uint32_t i = 0; i < b->nreads; i++) {
        if (!pipc__replay_loaded(c, b->reads[i]))
            return pipc__replay_wrong(
                c, "writes what thread %u of rank %d may still read (reused too early)",
                thread_of(c, b->reads[i]), rank_of(c, b->reads[i]));
        seen = true;
    }
    if (!seen)
        return pipc__replay_wrong(c, "writes what thread %u of rank %d may still write",
                                  thread_of(c, b->written), rank_of(c, b->written));
    return PIPC_OK;
}

pipc_status_t pipc__replay_write(pipc__replay_t *c, const pipc__event_t *e)
{
    const pipc__content_t *from = NULL;
    pipc_status_t st = judge_place(c, e);

    if (!e->bytes)
        return PIPC_OK;
    if (!st && e->reg != PIPC__TRACE_NOTHING && !(from = register_of(c, e)))
        return pipc__replay_no_memory(c);
    for (uint32_t i = 0; !st && i < e->bytes; i++) {
        pipc__byte_t *b = pipc__replay_byte(c, e->place, e->rank, e->at + i);
        if (!b)
            return pipc__replay_no_memory(c);
        st = judge_write(c, b);
        forget_reads(b);
        memset(&b->content, 0, sizeof(b->content));
        if (from)
            b->content = from[i];
        b->written = pipc__replay_now(c);
        b->came = e->how == PIPC__RELAXED ? c->now->fenced : NULL;
        b->flag = e->value;
    }
    return st;
}

void pipc__replay_free_memory(pipc__replay_t *c)
{
    for (size_t i = 0; i < c->pages.room; i++) {
        pipc__page_of_bytes_t *p = (pipc__page_of_bytes_t *)(void *)c->pages.entry[i];
        for (int k = 0; p && k < PIPC__REPLAY_PAGE; k++)
            free(p->byte[k].reads);
        free(p);
    }
    free(c->pages.entry);
}
