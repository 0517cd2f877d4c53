/* sim/fabric.c - see fabric.h */
#include "runtime/sim/fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NVLINKS_OF_A_GPU 18 /* the most that any GPU has so far */

typedef struct maker {
    pipc__fabric_t *f;
    const pipc__topo_t *topo;
    const pipc__costs_t *costs;
    int *link_of;                 /* [topo->nobjs]: the link above an object, or PIPC__UNKNOWN */
    int gpu[PIPC__RANKS_MAX];     /* object, or PIPC__UNKNOWN */
    int numa[PIPC__RANKS_MAX];    /* node of the host memory near a rank; 0 when unknown */
    bool placed[PIPC__RANKS_MAX]; /* it is known */
    int *host;                    /* [nodes]: the link that is a node's memory */
    int *socket;                  /* [nodes * nodes] */
    int *nvlink;                  /* [nranks * nranks], or of a rank [r * nranks + r] */
    int nodes;
    bool no_memory;
} maker_t;

/* ---- arrays that grow ------------------------------------------------------------------------ */

/* Room for one more element; it has room up to the next power of two. */
static bool grow(maker_t *m, void **array, int n, size_t size)
{
    void *more;

    if (m->no_memory || (n & (n - 1)))
        return !m->no_memory;
    more = realloc(*array, (n ? 2 * (size_t)n : 1) * size);
    m->no_memory = !more;
    if (more)
        *array = more;
    return !m->no_memory;
}

static int add_resource(maker_t *m, int link, int way, double rate, bool crowds)
{
    pipc__fabric_t *f = m->f;
    void *array = f->resources;

    if (!grow(m, &array, f->nresources, sizeof(*f->resources)))
        return 0;
    f->resources = array;
    f->resources[f->nresources] = (pipc__sim_resource_t){rate, link, way, crowds};
    return f->nresources++;
}

/* A link without its resources; the text is its name. */
static int add_link(maker_t *m, pipc__sim_link_kind_t kind, const char *what, const char *name)
{
    pipc__fabric_t *f = m->f;
    void *array = f->links;

    if (!grow(m, &array, f->nlinks, sizeof(*f->links)))
        return 0;
    f->links = array;
    pipc__sim_link_t *l = &f->links[f->nlinks];
    memset(l, 0, sizeof(*l));
    l->kind = kind;
    l->speed_mts = l->width = PIPC__UNKNOWN;
    snprintf(l->name, sizeof(l->name), "%s%s", what, name);
    return f->nlinks++;
}

static void add_ways(maker_t *m, int link, double rate, double duplex, bool crowds)
{
    static const double part[] = {1, 1, 2};

    for (int way = PIPC__TO_ROOT; way <= PIPC__BOTH_WAYS && !m->no_memory; way++) {
        double r = rate * part[way] * (way == PIPC__BOTH_WAYS ? duplex : 1);
        int index = add_resource(m, link, way, r, crowds && way != PIPC__BOTH_WAYS);
        m->f->links[link].resource[way] = index;
    }
}

static int add_single(maker_t *m, pipc__sim_link_kind_t kind, const char *what, int number,
                      double rate)
{
    char name[16];

    snprintf(name, sizeof(name), "%d", number);
    int link = add_link(m, kind, what, name);
    int index = add_resource(m, link, PIPC__NO_WAY, rate, false);
    if (!m->no_memory)
        m->f->links[link].resource[0] = index;
    return link;
}

static void add_hop(maker_t *m, pipc__sim_path_t *path, int resource, double weight)
{
    pipc__fabric_t *f = m->f;
    void *array = f->hops;

    if (!grow(m, &array, f->nhops, sizeof(*f->hops)))
        return;
    f->hops = array;
    f->hops[f->nhops++] = (pipc__hop_t){resource, 1, weight};
    path->nhops++;
}

/* A direction of a link, and with it both together. */
static void cross(maker_t *m, pipc__sim_path_t *path, int link, int way, double weight)
{
    if (m->no_memory)
        return;
    const pipc__sim_link_t *l = &m->f->links[link];
    int single = l->resource[way], both = l->resource[PIPC__BOTH_WAYS];

    add_hop(m, path, single, weight);
    add_hop(m, path, both, weight);
}

/* ---- PCIe links ------------------------------------------------------------------------------ */

/* Has @obj a link above it? A root port has not: the link is that of what hangs on it. */
static bool has_link(const pipc__topo_t *t, int obj)
{
    const pipc__topo_obj_t *o = &t->objs[obj];

    if (o->kind == PIPC__TOPO_MACHINE || o->kind == PIPC__TOPO_HOST_BRIDGE || o->parent < 0)
        return false;
    return o->kind != PIPC__TOPO_BRIDGE ||
           (o->parent > 0 && t->objs[o->parent].kind != PIPC__TOPO_HOST_BRIDGE);
}

static int less_known(int a, int b)
{
    return a <= 0 ? b : b <= 0 ? a : a < b ? a : b;
}

/* The width is what was negotiated, since a lost lane is lost. The speed is what both ends can do,
 * since an idle link trains down and comes back with the traffic. */
static void add_pcie_link(maker_t *m, int obj)
{
    const pipc__topo_obj_t *o = &m->topo->objs[obj], *up = &m->topo->objs[o->parent];
    bool port = up->kind == PIPC__TOPO_BRIDGE;
    bool gpu = o->kind == PIPC__TOPO_GPU;
    int width = o->link.width > 0 ? o->link.width
                                  : less_known(o->link.max_width, port ? up->link.max_width : 0);
    int speed = less_known(o->link.max_speed_mts, port ? up->link.max_speed_mts : 0);
    bool assumed = width <= 0 || speed <= 0;

    width = width > 0 ? width : (int)m->costs->width;
    speed = speed > 0 ? speed : (int)(m->costs->speed_gts * 1000);
    int link = add_link(m, gpu ? PIPC__SIM_GPU_LINK : PIPC__SIM_UPLINK,
                        gpu                            ? "link of GPU "
                        : o->kind == PIPC__TOPO_SWITCH ? "uplink of switch "
                                                       : "uplink of bridge ",
                        o->name);
    add_ways(m, link, pipc__pcie_rate(m->costs, speed, width), m->costs->duplex,
             o->kind == PIPC__TOPO_SWITCH || up->kind == PIPC__TOPO_SWITCH);
    if (m->no_memory)
        return;
    m->f->links[link].speed_mts = speed;
    m->f->links[link].width = width;
    m->f->links[link].assumed = assumed;
    m->link_of[obj] = link;
}

static void add_pcie_links(maker_t *m)
{
    for (int r = 0; r < m->f->nranks; r++)
        for (int o = m->gpu[r]; o >= 0; o = m->topo->objs[o].parent)
            if (m->link_of[o] < 0 && has_link(m->topo, o) && !m->no_memory)
                add_pcie_link(m, o);
}

/* ---- host memory, sockets, NVLinks, ranks -----------------------------------------------------
 */

static void add_nodes(maker_t *m)
{
    char name[48];

    for (int r = 0; r < m->f->nranks; r++)
        if (m->host[m->numa[r]] < 0)
            m->host[m->numa[r]] =
                add_single(m, PIPC__SIM_HOST_MEMORY, "memory of NUMA node ",
                           m->topo->nnumas ? m->topo->numas[m->numa[r]].os_index : 0,
                           1e9 * m->costs->host_gbps);
    for (int a = 0; a < m->nodes; a++)
        for (int b = a + 1; b < m->nodes; b++)
            if (m->host[a] >= 0 && m->host[b] >= 0) {
                snprintf(name, sizeof(name), "%d and %d", m->topo->numas[a].os_index,
                         m->topo->numas[b].os_index);
                int link = add_link(m, PIPC__SIM_SOCKET, "socket link between NUMA nodes ", name);
                add_ways(m, link, 1e9 * m->costs->socket_gbps, 1, false);
                m->socket[a * m->nodes + b] = m->socket[b * m->nodes + a] = link;
            }
}

static int nvlinks(const maker_t *m, int a, int b)
{
    if (m->gpu[a] < 0 || m->gpu[b] < 0 || m->gpu[a] == m->gpu[b])
        return 0;
    int n = pipc__topo_nvlinks(m->topo, m->gpu[a], m->gpu[b]);
    return n > 0 ? n : 0;
}

/* A count tells links between two GPUs; through NVSwitches all pairs have all of them. More in sum
 * than a GPU can have are the same links counted again. */
static void add_nvlinks(maker_t *m)
{
    int n = m->f->nranks;

    for (int a = 0; a < n; a++) {
        int most = 0, sum = 0;
        for (int b = 0; b < n; b++) {
            sum += nvlinks(m, a, b);
            most = nvlinks(m, a, b) > most ? nvlinks(m, a, b) : most;
        }
        if (sum <= NVLINKS_OF_A_GPU)
            continue;
        m->nvlink[a * n + a] =
            add_link(m, PIPC__SIM_NVLINK, "NVLinks of GPU ", m->topo->objs[m->gpu[a]].name);
        add_ways(m, m->nvlink[a * n + a], 1e9 * m->costs->nvlink_gbps * most,
                 m->costs->nvlink_duplex, false);
    }
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            if (!nvlinks(m, a, b) || m->nvlink[a * n + a] >= 0 || m->nvlink[b * n + b] >= 0)
                continue;
            char name[2 * PIPC__NAME_MAX + 8];
            snprintf(name, sizeof(name), "%s and %s", m->topo->objs[m->gpu[a]].name,
                     m->topo->objs[m->gpu[b]].name);
            m->nvlink[a * n + b] = m->nvlink[b * n + a] =
                add_link(m, PIPC__SIM_NVLINK, "NVLinks between ", name);
            add_ways(m, m->nvlink[a * n + b], 1e9 * m->costs->nvlink_gbps * nvlinks(m, a, b),
                     m->costs->nvlink_duplex, false);
        }
}

static void add_rank(maker_t *m, int r)
{
    pipc__fabric_t *f = m->f;
    int link = m->host[m->numa[r]];

    for (int q = 0; q < r && m->gpu[r] >= 0; q++)
        if (m->gpu[q] == m->gpu[r])
            f->memory[r] = f->memory[q]; /* ranks that share a GPU share its memory */
    if (m->gpu[r] >= 0 && f->memory[r] < 0)
        link =
            add_single(m, PIPC__SIM_RANK_MEMORY, "memory of rank ", r, 1e9 * f->exec.memory_gbps);
    if (f->memory[r] < 0 && !m->no_memory)
        f->memory[r] = f->links[link].resource[0];
    link = add_single(m, PIPC__SIM_ENGINE, m->gpu[r] < 0 ? "core of rank " : "blocks of rank ", r,
                      f->exec.engines);
    if (!m->no_memory)
        f->engine[r] = f->links[link].resource[0];
}

/* ---- paths ------------------------------------------------------------------------------------
 */

static int common(const pipc__topo_t *t, int a, int b)
{
    while (a != b) { /* a parent stands before its children: step up from the later one */
        if (a > b)
            a = t->objs[a].parent;
        else
            b = t->objs[b].parent;
    }
    return a;
}

/* The links from rank @r's GPU up to @top, which is not crossed itself. */
static void climb(maker_t *m, pipc__sim_path_t *path, int r, int top, int way, double weight)
{
    for (int o = m->gpu[r]; o > top; o = m->topo->objs[o].parent)
        if (m->link_of[o] >= 0)
            cross(m, path, m->link_of[o], way, weight);
}

/* From rank @r's node to rank @q's. A node that is not known is taken for the same. */
static void cross_socket(maker_t *m, pipc__sim_path_t *path, int r, int q)
{
    int a = m->numa[r], b = m->numa[q];

    if (a == b || !m->placed[r] || !m->placed[q])
        return;
    cross(m, path, m->socket[a * m->nodes + b], a < b ? PIPC__TO_ROOT : PIPC__FROM_ROOT, 1);
    path->usec += m->costs->socket_usec;
}

static bool push_nvlink(maker_t *m, pipc__sim_path_t *path, int a, int b)
{
    int n = m->f->nranks, from = m->nvlink[a * n + a], to = m->nvlink[b * n + b];

    if (from >= 0 && to >= 0 && nvlinks(m, a, b)) {
        cross(m, path, from, PIPC__TO_ROOT, 1);
        cross(m, path, to, PIPC__FROM_ROOT, 1);
        return true;
    }
    if (m->nvlink[a * n + b] < 0)
        return false;
    cross(m, path, m->nvlink[a * n + b], a < b ? PIPC__TO_ROOT : PIPC__FROM_ROOT, 1);
    return true;
}

/* P2P that turns at a host bridge takes more of every link on its way (costs->root_p2p): some root
 * complexes cut it into packets of one cache line. */
static void make_push(maker_t *m, int a, int b)
{
    pipc__sim_path_t *path = &m->f->push[a][b];

    path->first = m->f->nhops;
    if (m->gpu[a] < 0 || m->gpu[b] < 0) {
        cross_socket(m, path, a, b);
        return;
    }
    if (m->gpu[a] == m->gpu[b] || push_nvlink(m, path, a, b))
        return;
    int top = common(m->topo, m->gpu[a], m->gpu[b]);
    bool root = m->topo->objs[top].kind == PIPC__TOPO_HOST_BRIDGE ||
                m->topo->objs[top].kind == PIPC__TOPO_MACHINE;
    double weight = root ? 1 / m->costs->root_p2p : 1;
    path->usec = root ? m->costs->root_usec : 0;
    climb(m, path, a, top, PIPC__TO_ROOT, weight);
    if (root)
        cross_socket(m, path, a, b);
    climb(m, path, b, top, PIPC__FROM_ROOT, weight);
}

static void make_host_paths(maker_t *m, int a)
{
    pipc__fabric_t *f = m->f;

    for (int b = 0; b < f->nranks; b++) {
        pipc__sim_path_t *path = &f->to_host[a][b];
        path->first = f->nhops;
        climb(m, path, a, 0, PIPC__TO_ROOT, 1);
        cross_socket(m, path, a, b);
        if (!m->no_memory)
            add_hop(m, path, f->links[m->host[m->numa[b]]].resource[0], 1);
    }
    f->from_host[a].first = f->nhops;
    if (!m->no_memory)
        add_hop(m, &f->from_host[a], f->links[m->host[m->numa[a]]].resource[0], 1);
    climb(m, &f->from_host[a], a, 0, PIPC__FROM_ROOT, 1);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static int *unknowns(maker_t *m, int n)
{
    int *v = malloc((size_t)n * sizeof(*v));

    m->no_memory |= !v;
    for (int i = 0; v && i < n; i++)
        v[i] = PIPC__UNKNOWN;
    return v;
}

static void build(maker_t *m, const pipc__binding_t *binding)
{
    pipc__fabric_t *f = m->f;
    int n = f->nranks;

    m->nodes = m->topo->nnumas > 0 ? m->topo->nnumas : 1;
    m->link_of = unknowns(m, m->topo->nobjs);
    m->host = unknowns(m, m->nodes);
    m->socket = unknowns(m, m->nodes * m->nodes);
    m->nvlink = unknowns(m, n * n);
    for (int r = 0; r < n; r++) {
        m->gpu[r] = f->profile == PIPC__PROFILE_CPU ? PIPC__UNKNOWN : binding->rank[r].gpu;
        m->placed[r] = binding->rank[r].numa >= 0;
        m->numa[r] = m->placed[r] ? binding->rank[r].numa : 0;
        f->memory[r] = PIPC__UNKNOWN;
    }
    if (m->no_memory)
        return;
    add_pcie_links(m);
    if (!m->no_memory)
        add_nodes(m);
    if (!m->no_memory)
        add_nvlinks(m);
    for (int r = 0; r < n && !m->no_memory; r++)
        add_rank(m, r);
    for (int a = 0; a < n && !m->no_memory; a++) {
        for (int b = 0; b < n; b++)
            make_push(m, a, b);
        make_host_paths(m, a);
    }
}

pipc_status_t pipc__fabric_make(pipc__fabric_t **fabric, const pipc__topo_t *topo,
                                const pipc__binding_t *binding, const pipc__costs_t *costs,
                                pipc__profile_t profile, pipc__error_t *err)
{
    maker_t m = {.topo = topo, .costs = costs};

    *fabric = NULL;
    if (binding->nranks < 1 || binding->nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "links for %d ranks: 1 to %d are possible",
                          binding->nranks, PIPC__RANKS_MAX);
    m.f = calloc(1, sizeof(*m.f));
    if (!m.f)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for links");
    m.f->nranks = binding->nranks;
    m.f->profile = profile;
    m.f->exec = costs->exec[profile];
    m.f->crowd = costs->crowd;
    m.f->crowd_least = costs->crowd_least;
    build(&m, binding);
    free(m.link_of);
    free(m.host);
    free(m.socket);
    free(m.nvlink);
    if (m.no_memory) {
        pipc__fabric_free(m.f);
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for links");
    }
    *fabric = m.f;
    return PIPC_OK;
}

void pipc__fabric_free(pipc__fabric_t *f)
{
    int saved = errno;

    if (!f)
        return;
    free(f->links);
    free(f->resources);
    free(f->hops);
    free(f);
    errno = saved;
}

pipc__profile_t pipc__fabric_profile(const pipc__topo_t *topo, const pipc__binding_t *binding)
{
    bool nvlink = binding->nranks > 1;

    for (int a = 0; a < binding->nranks; a++) {
        if (binding->rank[a].gpu < 0)
            return PIPC__PROFILE_CPU;
        for (int b = 0; b < a; b++)
            nvlink &= pipc__topo_nvlinks(topo, binding->rank[a].gpu, binding->rank[b].gpu) > 0;
    }
    return nvlink ? PIPC__PROFILE_NVLINK : PIPC__PROFILE_P2P;
}

const char *pipc__sim_way(const pipc__fabric_t *f, int resource)
{
    static const char *const pcie[] = {"to root", "from root", "both ways", ""};
    static const char *const pair[] = {"forth", "back", "both ways", ""};
    const pipc__sim_resource_t *r = &f->resources[resource];
    pipc__sim_link_kind_t kind = f->links[r->link].kind;

    return kind == PIPC__SIM_SOCKET || kind == PIPC__SIM_NVLINK ? pair[r->way] : pcie[r->way];
}
