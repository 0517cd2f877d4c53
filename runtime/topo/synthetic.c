/* topo/synthetic.c - a tree from a one-line description; the grammar is in topo.h
 *
 * A recursive descent parser that adds objects as it reads. A repeated group is parsed N times from
 * the same place. Every group adds an object or is a NUMA node, both are bounded, and so is the
 * depth: no text, however written, takes long.
 */
#include "runtime/topo/build.h"

#include <ctype.h>
#include <string.h>

#define CORES_DEFAULT 8
#define REPEAT_MAX 1024
#define OBJS_MAX 4096
#define NUMAS_MAX 256
#define CORES_MAX 8192
#define NESTED_MAX 8 /* groups in groups */

typedef struct parser {
    const char *text, *p;
    pipc__topo_t *topo;
    pipc__error_t *err;
    int domain, bus; /* next free bus */
    int root, ports; /* root bus of this top-level group; root ports on it so far */
    int gpus;        /* minors so far */
    int cpus;        /* logical CPUs so far */
    bool cores_said; /* in this top-level group */
    int depth;
} parser_t;

static pipc_status_t group(parser_t *ps, int parent);

static pipc_status_t wrong(parser_t *ps, const char *at, const char *what)
{
    return pipc__fail(ps->err, PIPC_ERR_INVALID, "synthetic topology \"%.100s\": character %d: %s",
                      ps->text, (int)(at - ps->text) + 1, what);
}

static pipc_status_t no_memory(parser_t *ps)
{
    return pipc__fail(ps->err, PIPC_ERR_NOMEM, "synthetic topology: out of memory");
}

static void skip_blanks(parser_t *ps)
{
    while (isspace((unsigned char)*ps->p))
        ps->p++;
}

/* Step over @word if it stands here. */
static bool take(parser_t *ps, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(ps);
    if (strncmp(ps->p, word, n))
        return false;
    ps->p += n;
    return true;
}

/* A number, 1 when there is none; more than REPEAT_MAX is REPEAT_MAX + 1, for the caller to refuse.
 */
static int number(parser_t *ps)
{
    int n = 0;

    skip_blanks(ps);
    if (!isdigit((unsigned char)*ps->p))
        return 1;
    for (; isdigit((unsigned char)*ps->p); ps->p++)
        n = n > REPEAT_MAX ? n : n * 10 + (*ps->p - '0');
    return n > REPEAT_MAX ? REPEAT_MAX + 1 : n;
}

/* Add an object at function 0 of device @device, bus @bus. */
static pipc_status_t add(parser_t *ps, int parent, pipc__topo_kind_t kind, int bus, int device,
                         int function, int *index)
{
    if (bus > 255 || ps->topo->nobjs >= OBJS_MAX)
        return wrong(ps, ps->p, "too many devices; a NUMA node's 256 buses hold about 200");
    *index = pipc__topo_add(ps->topo, parent, kind);
    if (*index < 0)
        return no_memory(ps);
    pipc__topo_obj_t *o = &ps->topo->objs[*index];
    pipc__topo_set_addr(o, (pipc__pci_addr_t){ps->domain, bus, device, function});
    o->numa = ps->topo->nnumas - 1;
    return PIPC_OK;
}

/* Everything that hangs on a host bridge has a root port of its own, as in a real machine: without
 * it two devices of one host bridge would look nearer to each other than two below a switch. */
static pipc_status_t add_below(parser_t *ps, int parent, pipc__topo_kind_t kind, int *index)
{
    if (ps->topo->objs[parent].kind == PIPC__TOPO_HOST_BRIDGE) {
        int n = ps->ports++;
        if (n >= 31 * 8)
            return wrong(ps, ps->p, "too many devices; a host bridge has 248 root ports");
        pipc_status_t st = add(ps, parent, PIPC__TOPO_BRIDGE, ps->root, 1 + n / 8, n % 8, &parent);
        if (st)
            return st;
    }
    return add(ps, parent, kind, ps->bus++, 0, 0, index);
}

static pipc_status_t add_devices(parser_t *ps, int parent, pipc__topo_kind_t kind, int n)
{
    for (int i = 0, index; i < n; i++) {
        pipc_status_t st = add_below(ps, parent, kind, &index);
        if (st)
            return st;
        if (kind == PIPC__TOPO_GPU)
            ps->topo->objs[index].minor = ps->gpus++;
        else
            ps->topo->objs[index].rdma = true;
    }
    return PIPC_OK;
}

static pipc_status_t add_cores(parser_t *ps, int n)
{
    ps->cores_said = true;
    ps->topo->numas[ps->topo->nnumas - 1].memory_only &= n == 0;
    if (ps->cpus + n > CORES_MAX)
        return wrong(ps, ps->p, "too many cores; 8192 are the limit");
    for (int i = 0; i < n; i++, ps->cpus++) {
        hwloc_bitmap_t core = pipc__topo_add_core(ps->topo);
        if (!core || hwloc_bitmap_set(core, (unsigned int)ps->cpus) ||
            hwloc_bitmap_set(ps->topo->numas[ps->topo->nnumas - 1].cpus, (unsigned int)ps->cpus))
            return no_memory(ps);
    }
    return PIPC_OK;
}

static pipc_status_t item(parser_t *ps, int parent)
{
    const char *start;
    int n;

    skip_blanks(ps);
    start = ps->p;
    n = number(ps);
    skip_blanks(ps);
    if (*ps->p == '[' || *ps->p == 'x') {
        ps->p = start;
        return group(ps, parent);
    }
    if (n > REPEAT_MAX)
        return wrong(ps, start, "the number is too large; 1024 is the limit");
    if (take(ps, "core"))
        return add_cores(ps, n);
    if (n == 0)
        return wrong(ps, start, "0 of a thing; leave it out");
    if (take(ps, "gpu"))
        return add_devices(ps, parent, PIPC__TOPO_GPU, n);
    if (take(ps, "nic"))
        return add_devices(ps, parent, PIPC__TOPO_NIC, n);
    return wrong(ps, ps->p, "expected [N]gpu, [N]nic, [N]core or [N x][sw:...]");
}

static pipc_status_t items(parser_t *ps, int parent)
{
    do {
        pipc_status_t st = item(ps, parent);
        if (st)
            return st;
    } while (take(ps, "+"));
    return take(ps, "]") ? PIPC_OK : wrong(ps, ps->p, "expected + or ]");
}

/* A top-level group: a NUMA node with its host bridge. Bus numbers start at a multiple of 8, so
 * that the addresses of one group stay when another grows by a device or two. */
static pipc_status_t start_numa(parser_t *ps, int *parent)
{
    if (ps->topo->nnumas >= NUMAS_MAX)
        return wrong(ps, ps->p, "too many NUMA nodes; 256 are the limit");
    if (!pipc__topo_add_numa(ps->topo, ps->topo->nnumas))
        return no_memory(ps);
    ps->topo->numas[ps->topo->nnumas - 1].memory_only = true; /* until cores come */
    ps->bus = (ps->bus + 7) & ~7;
    if (ps->bus > 255) {
        ps->domain++;
        ps->bus = 0;
    }
    ps->root = ps->bus++;
    ps->ports = 0;
    ps->cores_said = false;
    return add(ps, 0, PIPC__TOPO_HOST_BRIDGE, ps->root, PIPC__UNKNOWN, PIPC__UNKNOWN, parent);
}

/* What stands between "[" and "]", once. */
static pipc_status_t group_once(parser_t *ps, int parent)
{
    const char *start = ps->p;
    bool top = parent == 0, sw = take(ps, "sw:");
    pipc_status_t st = PIPC_OK;

    if (!sw && !take(ps, "numa:") && isalpha((unsigned char)*ps->p) && strchr(ps->p, ':') &&
        strcspn(ps->p, ":") < strcspn(ps->p, "+[]"))
        return wrong(ps, start, "unknown kind of group; use sw: or numa:");
    if (!top && !sw)
        return wrong(ps, start, "a group inside a group is a switch; write [sw:...]");
    if (top)
        st = start_numa(ps, &parent);
    if (!st && sw) {
        st = add_below(ps, parent, PIPC__TOPO_SWITCH, &parent);
        ps->bus++; /* the bus between the upstream port and the downstream ports */
    }
    if (!st)
        st = items(ps, parent);
    if (!st && top && !ps->cores_said)
        st = add_cores(ps, CORES_DEFAULT);
    return st;
}

static pipc_status_t group(parser_t *ps, int parent)
{
    const char *start, *body;
    int n;

    skip_blanks(ps);
    start = ps->p;
    n = number(ps);
    if (n < 1 || n > REPEAT_MAX)
        return wrong(ps, start, "a group can be repeated 1 to 1024 times");
    if (ps->p > start && !take(ps, "x"))
        return wrong(ps, ps->p, "expected x after the number of groups");
    if (!take(ps, "["))
        return wrong(ps, ps->p, "expected [");
    if (++ps->depth > NESTED_MAX)
        return wrong(ps, start, "groups are nested too deep; 8 is the limit");
    body = ps->p;
    for (int i = 0; i < n; i++) {
        ps->p = body;
        pipc_status_t st = group_once(ps, parent);
        if (st)
            return st;
    }
    ps->depth--;
    return PIPC_OK;
}

pipc_status_t pipc__topo_synthetic(pipc__topo_t **topo, const char *text, pipc__error_t *err)
{
    parser_t ps = {.text = text ? text : "", .err = err};
    pipc_status_t st = pipc__topo_new(topo, "synthetic", err);

    if (st)
        return st;
    ps.p = ps.text;
    ps.topo = *topo;
    do
        st = group(&ps, 0);
    while (!st && take(&ps, "+"));
    skip_blanks(&ps);
    if (!st && *ps.p)
        st = wrong(&ps, ps.p, "expected + or the end");
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
