/* plan/shape.c - see shape.h
 *
 * A way is cut into keys, the NUMA node and each switch, and a key is the way up to there:
 *
 *     numa0/0000:00/0000:01:00.0/0000:03:00.0
 *     |---|                                      key 0
 *     |------------------------|                 key 1
 *     |-------------------------------------|    key 2
 *
 * Two ranks share key k when the text up to its end is the same. So groups of key k + 1 lie inside
 * those of key k, whatever the ways say. The tempting way, comparing the names alone, would put two
 * switches together that two machines' worth of sources happened to call alike.
 */
#include "runtime/plan/shape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX (PIPC__WAY_TEXT / 2)

typedef struct keys {
    const char *way;
    int n;
    size_t end[KEYS_MAX]; /* key k is way[0] .. way[end[k] - 1] */
} keys_t;

/* For sorting: the lowest rank that shares each key with this one, in the end the rank itself. */
typedef struct place {
    uint8_t first[KEYS_MAX + 1];
} place_t;

void pipc__shape_flat(pipc__shape_t *shape, int nranks)
{
    memset(shape, 0, sizeof(*shape));
    shape->nranks = nranks;
    for (int r = 0; r < nranks; r++) {
        shape->order[r] = (uint8_t)r;
        shape->reach[r] = (uint16_t)((1u << nranks) - 1);
    }
}

int pipc__shape_groups(const pipc__shape_t *shape, int level)
{
    int most = 0;

    if (level < 0 || level >= shape->nlevels)
        return 1;
    for (int r = 0; r < shape->nranks; r++)
        if (shape->group[level][r] > most)
            most = shape->group[level][r];
    return most + 1;
}

/* --- reading a way ---------------------------------------------------------------------------- */

/* "numa" and a number, or "numa?". */
static bool is_node(const char *name, size_t len)
{
    if (len < 5 || strncmp(name, "numa", 4) != 0)
        return false;
    return strspn(name + 4, "0123456789") == len - 4 || (len == 5 && name[4] == '?');
}

static bool is_name(const char *name, size_t len)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:-";

    return (len == 1 && name[0] == '?') || (len > 0 && strspn(name, allowed) >= len);
}

/* What is wrong with @way, or NULL. */
static const char *read_keys(const char *way, keys_t *keys)
{
    size_t at = 0;

    *keys = (keys_t){.way = way};
    if (strlen(way) >= PIPC__WAY_TEXT)
        return "is too long";
    for (int depth = 0; way[0]; depth++) {
        size_t len = strcspn(way + at, "/");
        if (depth == 0 && !is_node(way, len))
            return "does not begin with a NUMA node, numaN or numa?";
        if (depth > 0 && !is_name(way + at, len))
            return "has a place without a name, or a name of other characters than A-Z a-z 0-9 . _ "
                   ": -";
        if (depth != 1 && way[at + len - 1] != '?') /* a host bridge sets nothing apart */
            keys->end[keys->n++] = at + len;
        at += len;
        if (!way[at++])
            break;
    }
    return NULL;
}

static bool share(const keys_t *a, const keys_t *b, int k)
{
    return k < a->n && k < b->n && a->end[k] == b->end[k] && !strncmp(a->way, b->way, a->end[k]);
}

/* --- groups ----------------------------------------------------------------------------------- */

static int in_tree_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(place_t));
}

/* Groups of key @k, numbered in the order in which they stand. Returns how many there are. */
static int number_groups(const place_t *places, int nranks, int k, uint8_t *group)
{
    int n = 0;

    for (int i = 0; i < nranks; i++) {
        if (i > 0 && places[i].first[k] != places[i - 1].first[k])
            n++;
        group[places[i].first[KEYS_MAX]] = (uint8_t)n;
    }
    return n + 1;
}

pipc_status_t pipc__shape_from_ways(pipc__shape_t *shape, const char *const ways[], int nranks,
                                    pipc__error_t *err)
{
    keys_t keys[PIPC__RANKS_MAX];
    place_t places[PIPC__RANKS_MAX];
    int above = 1; /* groups of the level above: those of a finer one are more */

    if (nranks < 1 || nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "a shape of %d ranks: 1 to %d are possible",
                          nranks, PIPC__RANKS_MAX);
    for (int r = 0; r < nranks; r++) {
        const char *wrong = read_keys(ways[r], &keys[r]);
        if (wrong)
            return pipc__fail(err, PIPC_ERR_INVALID, "rank %d: its way \"%.*s\" %s", r,
                              PIPC__WAY_TEXT, ways[r], wrong);
        for (int k = 0; k < KEYS_MAX; k++) {
            int q = 0;
            while (q < r && !share(&keys[q], &keys[r], k))
                q++;
            places[r].first[k] = (uint8_t)q;
        }
        places[r].first[KEYS_MAX] = (uint8_t)r;
    }
    qsort(places, (size_t)nranks, sizeof(places[0]), in_tree_order);
    pipc__shape_flat(shape, nranks);
    for (int i = 0; i < nranks; i++)
        shape->order[i] = places[i].first[KEYS_MAX];
    for (int k = 0; k < KEYS_MAX && shape->nlevels < PIPC__LEVELS_MAX; k++) {
        int n = number_groups(places, nranks, k, shape->group[shape->nlevels]);
        if (n > above && n < nranks) {
            above = n;
            shape->nlevels++;
        }
    }
    for (int l = shape->nlevels; l < PIPC__LEVELS_MAX; l++)
        memset(shape->group[l], 0, sizeof(shape->group[l])); /* equal shapes are equal bytes */
    return PIPC_OK;
}
