/* prolog/stress/traffic.c - see traffic.h; lane.h says what a lane does, memory.h what it has
 *
 * Each way of a lane has a stream, and a step of one way waits for the last step of the other: the
 * token that it copies came by that. Several steps are enqueued ahead, so that no link waits for
 * this thread. Once a second a lane is let run out and a part of its tokens is compared here, which
 * takes it a few milliseconds; the others go on.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/stress/engine.h"

#define LOOK_EVERY_MS 1000
#define REST_NS 50000

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static const char *name_of(const stress_engine_t *e, const stress_way_t *l, int side)
{
    return e->t->gpu[side && l->done->y >= 0 ? l->done->y : l->done->x].bdf;
}

static uint64_t seed_of(const stress_engine_t *e, const stress_way_t *l, int token)
{
    return (uint64_t)(2 * (l - e->lane) + token + 1);
}

/* ---- one lane ------------------------------------------------------------------------------ */

static bool put_token(stress_engine_t *e, stress_way_t *l, int token, size_t at, size_t n)
{
    int side = l->state.side[token];
    stress_memory_t *m = &l->memory[side][l->state.at[token]];
    uint64_t seed = seed_of(e, l, token);

    if (m->host) {
        stress_pattern_fill((char *)m->host + at, seed, at, n);
        return true;
    }
    stress_pattern_fill(e->scratch.host, seed, at, n);
    return STRESS_GPU(e, name_of(e, l, side), CtxSetCurrent, l->context[side]) &&
           STRESS_GPU(e, name_of(e, l, side), MemcpyHtoDAsync, m->device + at, e->scratch.host, n,
                      l->stream[side]) &&
           STRESS_GPU(e, name_of(e, l, side), StreamSynchronize, l->stream[side]);
}

/* Where its streams and memory are: the GPU of that side, or for the host's the lane's only one. */
static bool open_side(stress_engine_t *e, stress_way_t *l, int side)
{
    int g = side == 0 || l->done->y == STRESS_HOST ? l->done->x : l->done->y;
    bool host = side == 1 && l->done->y == STRESS_HOST;
    const char *name = e->t->gpu[g].bdf;

    l->context[side] = e->context[g];
    if (!STRESS_GPU(e, name, CtxSetCurrent, l->context[side]) ||
        !STRESS_GPU(e, name, StreamCreate, &l->stream[side], PIPC__GPU_STREAM_NON_BLOCKING))
        return false;
    for (int i = 0; i < STRESS_AHEAD; i++)
        if (!STRESS_GPU(e, name, EventCreate, &l->event[side][i], PIPC__GPU_EVENT_NO_TIMING))
            return false;
    for (int b = 0; b < STRESS_BUFFERS; b++)
        if (stress_memory_open(&l->memory[side][b], &e->cu, name, host, e->t->wants->bytes,
                               &e->t->err))
            return false;
    return true;
}

static bool open_lane(stress_engine_t *e, stress_way_t *l)
{
    size_t part = e->t->wants->bytes / STRESS_PARTS;

    l->state = stress_lane_start();
    for (int side = 0; side < 2; side++)
        if (!open_side(e, l, side))
            return false;
    for (int token = 0; token < STRESS_TOKENS; token++)
        for (int p = 0; p < STRESS_PARTS; p++)
            if (!put_token(e, l, token, part * (size_t)p, part))
                return false;
    l->look_ms = now_ms() + LOOK_EVERY_MS * (l - e->lane + 1) / e->t->lanes;
    return true;
}

static bool copy(stress_engine_t *e, stress_way_t *l, const stress_move_t *m,
                 pipc__gpu_stream_t stream)
{
    int from_side = 1 - m->to_side;
    const stress_memory_t *from = &l->memory[from_side][m->from];
    const stress_memory_t *to = &l->memory[m->to_side][m->to];
    const char *name = name_of(e, l, from_side);
    size_t n = e->t->wants->bytes;

    if (from->host)
        return STRESS_GPU(e, name, MemcpyHtoDAsync, to->device, from->host, n, stream);
    if (to->host)
        return STRESS_GPU(e, name, MemcpyDtoHAsync, to->host, from->device, n, stream);
    return STRESS_GPU(e, name, MemcpyDtoDAsync, to->device, from->device, n, stream);
}

/* Enqueue a step. */
static bool begin_step(stress_engine_t *e, stress_way_t *l)
{
    int slot = (int)(l->begun % STRESS_AHEAD),
        before = (int)((l->begun + STRESS_AHEAD - 1) % STRESS_AHEAD);
    stress_move_t move[STRESS_TOKENS];

    stress_lane_next(&l->state, move);
    for (int t = 0; t < STRESS_TOKENS; t++) {
        int from = 1 - move[t].to_side;
        if (!STRESS_GPU(e, name_of(e, l, from), CtxSetCurrent, l->context[from]) ||
            (l->begun > 0 && !STRESS_GPU(e, name_of(e, l, from), StreamWaitEvent, l->stream[from],
                                         l->event[1 - from][before], 0)) ||
            !copy(e, l, &move[t], l->stream[from]))
            return false;
    }
    for (int side = 0; side < 2; side++)
        if (!STRESS_GPU(e, name_of(e, l, side), CtxSetCurrent, l->context[side]) ||
            !STRESS_GPU(e, name_of(e, l, side), EventRecord, l->event[side][slot], l->stream[side]))
            return false;
    l->begun++;
    return true;
}

/* Count the steps that are through. */
static bool end_steps(stress_engine_t *e, stress_way_t *l)
{
    while (l->ended < l->begun) {
        int slot = (int)(l->ended % STRESS_AHEAD);
        for (int side = 0; side < 2; side++) {
            pipc__gpu_rc_t rc = e->cu.EventQuery(l->event[side][slot]);
            if (rc == PIPC__GPU_NOT_READY)
                return true;
            if (pipc__gpu_check(&e->cu, rc, name_of(e, l, side), "copy", &e->t->err))
                return false;
        }
        l->ended++;
        atomic_fetch_add(&l->done->copies, 1);
        atomic_fetch_add(&e->t->beat, 1);
    }
    return true;
}

/* ---- what was copied ----------------------------------------------------------------------- */

/* Compare one part of a token, where it is now; put it right if it is wrong, so that what comes
 * later is told from it. */
static bool look_at(stress_engine_t *e, stress_way_t *l, int token, int p)
{
    size_t n = e->t->wants->bytes / STRESS_PARTS, at = n * (size_t)p;
    int side = l->state.side[token];
    const stress_memory_t *m = &l->memory[side][l->state.at[token]];
    const void *bytes = e->scratch.host;
    const char *name = name_of(e, l, side);

    if (m->host)
        bytes = (const char *)m->host + at;
    else if (!STRESS_GPU(e, name, CtxSetCurrent, l->context[side]) ||
             !STRESS_GPU(e, name, MemcpyDtoHAsync, e->scratch.host, m->device + at, n,
                         l->stream[side]) ||
             !STRESS_GPU(e, name, StreamSynchronize, l->stream[side]))
        return false;
    stress_wrong_t wrong = stress_pattern_compare(bytes, seed_of(e, l, token), at, n);
    atomic_fetch_add(&l->done->verified, n);
    atomic_fetch_add(&e->t->beat, 1);
    if (wrong.bytes == 0)
        return true;
    if (atomic_load(&l->done->wrong) == 0)
        l->done->first_wrong = wrong;
    atomic_fetch_add(&l->done->wrong, wrong.bytes);
    return put_token(e, l, token, at, n);
}

static bool look_at_all(stress_engine_t *e)
{
    for (int i = 0; i < e->t->lanes; i++)
        for (int token = 0; token < STRESS_TOKENS; token++)
            for (int p = 0; p < STRESS_PARTS; p++)
                if (!look_at(e, &e->lane[i], token, p))
                    return false;
    return true;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* One round over a lane; whether it still has work. */
static bool serve(stress_engine_t *e, stress_way_t *l, bool stop, bool *busy)
{
    bool due = now_ms() >= l->look_ms;

    if (!end_steps(e, l))
        return false;
    if (due && !stop && l->ended == l->begun) {
        for (int token = 0; token < STRESS_TOKENS; token++)
            if (!look_at(e, l, token, l->part))
                return false;
        l->part = (l->part + 1) % STRESS_PARTS;
        l->look_ms = now_ms() + LOOK_EVERY_MS;
        due = false;
    }
    while (!stop && !due && l->begun - l->ended < STRESS_AHEAD)
        if (!begin_step(e, l))
            return false;
    *busy = *busy || l->ended < l->begun;
    return true;
}

static bool copy_all(stress_engine_t *e)
{
    const struct timespec rest = {0, REST_NS};
    bool busy = true;

    while (busy) {
        bool stop = atomic_load(&e->t->stop);
        busy = !stop;
        for (int i = 0; i < e->t->lanes; i++)
            if (!serve(e, &e->lane[i], stop, &busy))
                return false;
        atomic_store(&e->t->ready, true);
        nanosleep(&rest, NULL);
    }
    return look_at_all(e);
}

static bool open_all(stress_engine_t *e, const char *library)
{
    if (pipc__gpu_driver_open(library, &e->cu, &e->t->err))
        return false;
    e->cu.DriverGetVersion(&e->t->driver_version);
    if (!stress_choose_gpus(e) || !stress_choose_lanes(e) ||
        !STRESS_GPU(e, e->t->gpu[0].bdf, CtxSetCurrent, e->context[0]) ||
        stress_memory_open(&e->scratch, &e->cu, e->t->gpu[0].bdf, true,
                           e->t->wants->bytes / STRESS_PARTS, &e->t->err))
        return false;
    for (int i = 0; i < e->t->lanes; i++) {
        if (!open_lane(e, &e->lane[i]))
            return false;
        atomic_fetch_add(&e->t->beat, 1);
    }
    return true;
}

/* After a failure what it takes is the process's end: a driver that failed may hang here. */
static void close_all(stress_engine_t *e)
{
    for (int i = 0; i < e->t->lanes; i++) {
        stress_way_t *l = &e->lane[i];
        for (int side = 0; side < 2; side++) {
            e->cu.CtxSetCurrent(l->context[side]);
            for (int b = 0; b < STRESS_BUFFERS; b++)
                stress_memory_close(&l->memory[side][b], &e->cu);
            for (int k = 0; k < STRESS_AHEAD; k++)
                e->cu.EventDestroy(l->event[side][k]);
            e->cu.StreamDestroy(l->stream[side]);
        }
    }
    stress_memory_close(&e->scratch, &e->cu);
    for (int i = 0; i < e->t->ngpus; i++)
        e->cu.PrimaryCtxRelease(e->device[i]);
}

void stress_traffic_run(stress_traffic_t *t, const char *library)
{
    stress_engine_t *e = calloc(1, sizeof(*e));

    if (!e) {
        pipc__fail(&t->err, PIPC_ERR_NOMEM, "out of memory");
    } else {
        e->t = t;
        if (open_all(e, library) && copy_all(e))
            close_all(e);
        free(e);
    }
    atomic_store(&t->ended, true);
}
