/* sim/share.c - see share.h */
#include "runtime/sim/share.h"

#include <math.h>
#include <stdlib.h>

bool pipc__share_room(pipc__share_room_t *room, const pipc__fabric_t *f)
{
    size_t n = (size_t)f->nresources;

    /* A port of a switch loses a part of its rate for every flow more than one. */
    for (int i = 0; i <= PIPC__FLOWS_MAX; i++)
        room->crowd[i] = i < 2 ? 1 : fmax(f->crowd_least, pow(f->crowd, i - 1));
    room->left = calloc(n, sizeof(double));
    room->weight = calloc(n, sizeof(double));
    room->flows = calloc(n, sizeof(int));
    room->used = calloc(n, sizeof(int));
    return room->left && room->weight && room->flows && room->used;
}

void pipc__share_release(pipc__share_room_t *room)
{
    free(room->left);
    free(room->weight);
    free(room->flows);
    free(room->used);
}

/* Which resources are used, by how many flows, and how fast they fill; returns how many. */
static int count_uses(const pipc__fabric_t *f, pipc__flow_t *const flows[], int n,
                      pipc__share_room_t *room)
{
    int nused = 0;

    for (int i = 0; i < n; i++)
        for (int h = 0; h < flows[i]->nhops; h++) {
            int r = flows[i]->hops[h].resource;
            if (!room->flows[r]++)
                room->used[nused++] = r;
            room->weight[r] += flows[i]->hops[h].weight;
        }
    for (int u = 0; u < nused; u++) {
        int r = room->used[u];
        room->left[r] =
            f->resources[r].rate * (f->resources[r].crowds ? room->crowd[room->flows[r]] : 1);
        room->flows[r] = 0; /* for the next time */
    }
    return nused;
}

/* The flow stays at @rate: what it does not take of its resources any more is for the others. */
static void settle(pipc__flow_t *flow, double rate, pipc__share_room_t *room)
{
    flow->rate = rate;
    for (int h = 0; h < flow->nhops; h++) {
        int r = flow->hops[h].resource;
        room->weight[r] -= flow->hops[h].weight;
        room->left[r] -= flow->hops[h].weight * rate;
    }
}

/* The rate at which the first resource is full or the first flow can't go on. */
static double next_stop(pipc__flow_t *const open[], int nopen, int nused,
                        const pipc__share_room_t *room)
{
    double stop = INFINITY;

    for (int u = 0; u < nused; u++) {
        int r = room->used[u];
        if (room->weight[r] > 1e-12)
            stop = fmin(stop, room->left[r] / room->weight[r]);
    }
    for (int i = 0; i < nopen; i++)
        stop = fmin(stop, open[i]->most);
    return fmax(stop, 1); /* rounding must not stop a flow for ever */
}

static bool is_full(const pipc__flow_t *flow, double rate, const pipc__share_room_t *room)
{
    for (int h = 0; h < flow->nhops; h++) {
        int r = flow->hops[h].resource;
        if (room->left[r] <= room->weight[r] * rate * (1 + 1e-9))
            return true;
    }
    return flow->most <= rate * (1 + 1e-9);
}

void pipc__share(const pipc__fabric_t *f, pipc__flow_t *const flows[], int n,
                 pipc__share_room_t *room)
{
    pipc__flow_t *open[PIPC__FLOWS_MAX], *full[PIPC__FLOWS_MAX];
    int nopen = n, nused = count_uses(f, flows, n, room);

    for (int i = 0; i < n; i++)
        open[i] = flows[i];
    while (nopen) {
        double rate = next_stop(open, nopen, nused, room);
        int kept = 0, nfull = 0;
        for (int i = 0; i < nopen;
             i++) /* all are judged before any settles: order must not count */
            if (is_full(open[i], rate, room))
                full[nfull++] = open[i];
            else
                open[kept++] = open[i];
        if (!nfull) /* rounding: nothing is full, though something should be */
            full[nfull++] = open[--kept];
        for (int i = 0; i < nfull; i++)
            settle(full[i], rate, room);
        nopen = kept;
    }
    for (int u = 0; u < nused; u++)
        room->weight[room->used[u]] = 0;
}
