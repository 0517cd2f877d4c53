/* prolog/stress/choose.c - which GPUs have traffic, and which of them reach each other */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "prolog/stress/engine.h"

static bool describe(stress_engine_t *e, int i)
{
    stress_gpu_t *g = &e->t->gpu[i];

    if (!STRESS_GPU(e, "device", DeviceGet, &e->device[i], g->number) ||
        !STRESS_GPU(e, "device", DeviceGetPCIBusId, g->bdf, sizeof(g->bdf), e->device[i]))
        return false;
    for (char *p = g->bdf; *p; p++) /* the driver writes capital letters */
        *p = (char)tolower((unsigned char)*p);
    if (e->cu.DeviceGetName(g->name, sizeof(g->name), e->device[i]))
        snprintf(g->name, sizeof(g->name), "?");
    return STRESS_GPU(e, g->bdf, PrimaryCtxRetain, &e->context[i], e->device[i]);
}

bool stress_choose_gpus(stress_engine_t *e)
{
    stress_traffic_t *t = e->t;
    const stress_wants_t *w = t->wants;
    int count = 0;

    if (!STRESS_GPU(e, "driver", DeviceGetCount, &count))
        return false;
    if (!w->ngpus && count > STRESS_GPUS_MAX) {
        pipc__fail(&t->err, PIPC_ERR_UNSUPPORTED, "%d GPUs: %d at most; choose some with --gpus",
                   count, STRESS_GPUS_MAX);
        return false;
    }
    t->ngpus = 0;
    for (int i = 0; i < (w->ngpus ? w->ngpus : count); i++) {
        t->gpu[i].number = w->ngpus ? w->gpu[i] : i;
        if (t->gpu[i].number >= count) {
            pipc__fail(&t->err, PIPC_ERR_NOT_FOUND,
                       "GPU %d: this process sees %d, numbered from 0 on as CUDA does",
                       t->gpu[i].number, count);
            return false;
        }
        if (!describe(e, i))
            return false;
        t->ngpus++;
    }
    return true;
}

/* Does each reach the other's memory? Then it is opened for both. */
static bool reach(stress_engine_t *e, int a, int b)
{
    int there = 0, back = 0;

    if (e->cu.DeviceCanAccessPeer(&there, e->device[a], e->device[b]) || !there ||
        e->cu.DeviceCanAccessPeer(&back, e->device[b], e->device[a]) || !back)
        return false;
    for (int i = 0; i < 2; i++) {
        pipc__gpu_rc_t rc = e->cu.CtxSetCurrent(e->context[i ? b : a]);
        if (!rc)
            rc = e->cu.CtxEnablePeerAccess(e->context[i ? a : b], 0);
        if (rc && rc != PIPC__GPU_PEER_ENABLED)
            return false;
    }
    return true;
}

static void add_lane(stress_engine_t *e, int x, int y)
{
    stress_done_t *d = &e->t->lane[e->t->lanes];
    int atomics = 0;

    d->x = x;
    d->y = y;
    d->nvlink = y >= 0 &&
                !e->cu.DeviceGetP2PAttribute(&atomics, PIPC__GPU_P2P_NATIVE_ATOMICS, e->device[x],
                                             e->device[y]) &&
                atomics;
    e->lane[e->t->lanes++].done = d;
}

bool stress_choose_lanes(stress_engine_t *e)
{
    stress_traffic_t *t = e->t;

    for (int x = 0; x < t->ngpus && t->wants->which != STRESS_TO_HOST; x++)
        for (int y = x + 1; y < t->ngpus; y++) {
            if (reach(e, x, y)) {
                add_lane(e, x, y);
            } else if (t->unreached++ == 0) {
                memcpy(t->a, t->gpu[x].bdf, sizeof(t->a));
                memcpy(t->b, t->gpu[y].bdf, sizeof(t->b));
            }
        }
    for (int x = 0; x < t->ngpus && t->wants->which != STRESS_PAIRS; x++)
        add_lane(e, x, STRESS_HOST);
    if (t->lanes == 0)
        pipc__fail(&t->err, PIPC_ERR_UNSUPPORTED,
                   "--pairs: no two GPUs here reach each other's memory; leave it out");
    return t->lanes > 0;
}
