/* tests/unit/sim.c - the simulator: costs, links of known trees, exact bytes, times that can be
 * computed by hand, and its agreement with the checker
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "runtime/plan/traffic.h"
#include "runtime/sim/simulate.h"
#include "runtime/sim/share.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a machine with ranks -------------------------------------------------------------------- */

typedef struct machine {
    pipc__topo_t *topo;
    pipc__binding_t binding;
    pipc__shape_t shape;
    pipc__costs_t costs;
    pipc__fabric_t *fabric;
} machine_t;

/* No latency, links that nothing takes anything from, and memories and engines that never limit. */
static void ideal(pipc__costs_t *c)
{
    pipc__costs_default(c);
    c->overhead_bytes = 0;
    c->credit = c->duplex = c->crowd = c->crowd_least = c->root_p2p = 1;
    c->root_usec = c->socket_usec = 0;
    c->host_gbps = 1e6;
    for (int p = 0; p < PIPC__PROFILES; p++) {
        pipc__exec_costs_t *e = &c->exec[p];
        e->call_usec = e->op_usec = e->step_usec = e->local_usec = 0;
        e->memory_gbps = e->copy_gbps.value[0] = e->reduce_gbps.value[0] = 1e6;
        e->copy_gbps.n = e->reduce_gbps.n = 1;
    }
}

static void put_on(machine_t *m, const char *tree, int nranks, const pipc__costs_t *costs,
                   bool host)
{
    static char text[PIPC__RANKS_MAX][PIPC__WAY_TEXT];
    const char *ways[PIPC__RANKS_MAX];
    pipc__error_t err = {PIPC_OK, ""};
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH};

    memset(m, 0, sizeof(*m));
    m->costs = *costs;
    if (pipc__topo_synthetic(&m->topo, tree, &err))
        fail_msg("%s", err.text);
    req.ngpus = pipc__topo_list(m->topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    req.nranks = nranks ? nranks : req.ngpus;
    if (pipc__bind(m->topo, &req, &m->binding, &err))
        fail_msg("%s: %s", tree, err.text);
    for (int r = 0; r < req.nranks; r++) {
        text[r][0] = '\0';
        if (m->binding.rank[r].gpu >= 0)
            pipc__bind_way_text(m->topo, m->binding.rank[r].gpu, text[r], sizeof(text[r]));
        ways[r] = text[r];
    }
    if (pipc__shape_from_ways(&m->shape, ways, req.nranks, &err))
        fail_msg("%s: %s", tree, err.text);
    pipc__profile_t profile = pipc__fabric_profile(m->topo, &m->binding);
    for (int r = 0; host && r < req.nranks; r++)
        m->shape.reach[r] = (uint16_t)(1u << r);
    if (pipc__fabric_make(&m->fabric, m->topo, &m->binding, &m->costs,
                          host ? PIPC__PROFILE_HOST : profile, &err))
        fail_msg("%s: %s", tree, err.text);
}

static void take_off(machine_t *m)
{
    pipc__fabric_free(m->fabric);
    pipc__topo_free(m->topo);
}

static int link_named(const machine_t *m, const char *name)
{
    for (int i = 0; i < m->fabric->nlinks; i++)
        if (!strcmp(m->fabric->links[i].name, name))
            return i;
    fail_msg("no link is named %s", name);
    return -1;
}

static pipc__plan_t *plan_for(const machine_t *m, pipc__plan_kind_t kind)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__plan_t *plan = NULL;
    pipc_status_t st = pipc__plan_make_for(&plan, kind, PIPC__ALLREDUCE, &m->shape, &err);

    if (st && st != PIPC_ERR_UNSUPPORTED)
        fail_msg("%s: %s", pipc__plan_name(kind), err.text);
    return plan;
}

static pipc__sim_result_t run(const machine_t *m, const pipc__plan_t *plan, size_t count,
                              bool every)
{
    pipc__error_t err = {PIPC_OK, ""};
    size_t staging = count > 8 << 20 ? 8 << 20 : PIPC__SIM_STAGING; /* more rounds */
    pipc__sim_call_t call = {plan, count, 4, staging, every, NULL};
    pipc__sim_result_t result;

    if (pipc__simulate(&result, m->fabric, &call, &err))
        fail_msg("%s", err.text);
    return result;
}

static double usec_of(const machine_t *m, const pipc__plan_t *plan, size_t count)
{
    pipc__sim_result_t r = run(m, plan, count, false);

    pipc__sim_release(&r);
    return r.usec;
}

#define NEAR(a, b, part)                                                                           \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (a_ < b_ * (1 - (part)) || a_ > b_ * (1 + (part)))                                      \
            fail_msg("%s:%d: %g is not %g", __FILE__, __LINE__, a_, b_);                           \
    } while (0)

static uint32_t seed;

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static char *shipped(void)
{
    const char *top = getenv("PIPC_SRCDIR");
    char path[4096];
    char *text = calloc(1, 65536);

    snprintf(path, sizeof(path), "%s/etc/links.conf", top ? top : ".");
    FILE *f = fopen(path, "r");
    if (!f || !text)
        fail_msg("%s can't be read", path);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

/* The shipped file names every key in its section, as a comment with the built-in value. */
static void the_file_has_all_defaults(void **state)
{
    char *text = shipped(), *save = NULL, section[32] = "", line[512];
    size_t found = 0, keys = 0;

    (void)state;
    while (pipc__cost_keys[keys].key)
        keys++;
    for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
        sscanf(p, "[%31[^]]", section);
        if (p[0] != '#' || p[1] == ' ' || !p[1])
            continue;
        size_t before = found;
        for (const pipc__cost_key_t *k = pipc__cost_keys; k->key; k++) {
            snprintf(line, sizeof(line), "#%s = %s", k->key, k->def);
            found += !strcmp(k->section, section) && !strcmp(line, p);
        }
        if (found != before + 1)
            fail_msg("[%s] \"%s\" is no key with its default", section, p);
    }
    assert_int_equal(found, keys);
    free(text);
}

/* With the comment signs taken off the keys it says what is built in. */
static void the_file_uncommented_changes_nothing(void **state)
{
    char *text = shipped();
    pipc__error_t err = {PIPC_OK, ""};
    pipc__costs_t built_in, read;

    (void)state;
    char *to = text;
    for (const char *p = text; *p; p++)
        if (*p != '#' || p[1] < 'a' || p[1] > 'z' || (p > text && p[-1] != '\n'))
            *to++ = *p;
    *to = '\0';
    pipc__costs_default(&built_in);
    if (pipc__costs_parse(&read, text, "links.conf", &err))
        fail_msg("%s", err.text);
    assert_memory_equal(&read, &built_in, sizeof(read));
    free(text);
}

static void wrong_files_are_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[link]\nwide = 8\n", "f:2: there is no key \"wide\" in section \"link\""},
        {"width = 8\n", "f:1: there is no key \"width\" in section \"\""},
        {"[nvlink]\nwidth = 8\n", "f:2: there is no key \"width\" in section \"nvlink\""},
        {"[link]\nwidth = 0\n", "f:2: width: wrong value \"0\"; use a number from 1 to 32"},
        {"[link]\nwidth = x16\n", "f:2: width: wrong value \"x16\""},
        {"[link]\nwidth = 16 lanes\n", "f:2: width: wrong value"},
        {"[link]\nwidth =\n", "f:2: width: wrong value \"\""},
        {"[link]\nwidth = nan\n", "f:2: width: wrong value"},
        {"[link]\nwidth = 1e999\n", "f:2: width: wrong value"},
        {"[link]\nwidth = -1\n", "f:2: width: wrong value"},
        {"[link]\nwidth = 8\n\nwidth = 8\n", "f:4: width of [link] stands there twice"},
        {"[link\nwidth = 8\n", "f:1: neither"},
        {"[link]\nwidth\n", "f:2: neither"},
        {"[cpu]\ncopy_gbps = 1K:5 1K:6\n", "f:2: copy_gbps: wrong value"},
        {"[cpu]\ncopy_gbps = 1K:5 2K\n", "or sizes with numbers"},
        {"[cpu]\ncopy_gbps = 1Q:5\n", "f:2: copy_gbps: wrong value"},
        {"[cpu]\ncopy_gbps = 0:5\n", "f:2: copy_gbps: wrong value"},
        {"[cpu]\ncopy_gbps = 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:1 12:1 13:1\n",
         "wrong value"},
    };
    pipc__costs_t costs, built_in;

    (void)state;
    pipc__costs_default(&built_in);
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__error_t err = {PIPC_OK, ""};
        assert_int_equal(pipc__costs_parse(&costs, cases[i].text, "f", &err), PIPC_ERR_INVALID);
        if (!strstr(err.text, cases[i].error))
            fail_msg("\"%s\" gives \"%s\"", cases[i].text, err.text);
        assert_memory_equal(&costs, &built_in, sizeof(costs));
    }
}

static void files_that_are_none(void **state)
{
    pipc__costs_t costs;
    pipc__error_t err;
    char path[] = "/tmp/pipc-links-XXXXXX", text[300] = "[link]\n#";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");

    (void)state;
    assert_int_equal(pipc__costs_read(&costs, "/nowhere/links.conf", &err), PIPC_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "/nowhere/links.conf: No such file"));
    assert_int_equal(pipc__costs_read(&costs, "/tmp", &err), PIPC_ERR_SYSTEM);
    memset(text + 8, '-', 250);
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fflush(f) == 0);
    assert_int_equal(pipc__costs_read(&costs, path, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, ":2: longer than"));
    assert_int_equal(fwrite("\0", 1, 1, f), 1);
    fclose(f);
    assert_int_equal(pipc__costs_read(&costs, path, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "not a text"));
    remove(path);
}

static void curves(void **state)
{
    pipc__costs_t c;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    assert_int_equal(pipc__costs_parse(&c, "[cpu]\ncopy_gbps = 1K:10 4K:20 1M:4\n", "f", &err),
                     PIPC_OK);
    const pipc__curve_t *k = &c.exec[PIPC__PROFILE_CPU].copy_gbps;
    NEAR(pipc__curve_at(k, 1), 10, 1e-9);
    NEAR(pipc__curve_at(k, 2048), 15, 1e-9); /* half way on the logarithm */
    NEAR(pipc__curve_at(k, 4096), 20, 1e-9);
    NEAR(pipc__curve_at(k, 65536), 12, 1e-9);
    NEAR(pipc__curve_at(k, 1e12), 4, 1e-9);
}

static void pcie_rates(void **state)
{
    pipc__costs_t c;

    (void)state;
    pipc__costs_default(&c);
    c.credit = 1;
    NEAR(pipc__pcie_rate(&c, 8000, 16), 15.754e9 * 256 / 282, 1e-4);
    NEAR(pipc__pcie_rate(&c, 32000, 8), 31.508e9 * 256 / 282, 1e-4);
    NEAR(pipc__pcie_rate(&c, 5000, 4), 2e9 * 256 / 282, 1e-9); /* 8b/10b */
}

/* ---- links and paths ------------------------------------------------------------------------- */

/* The links that a push crosses, "A/B/C" by what stands behind the last blank of their names, with
 * '^' for to root and 'v' for from root. */
static const char *path_text(const machine_t *m, const pipc__sim_path_t *p, char *text)
{
    text[0] = '\0';
    for (int i = 0; i < p->nhops; i++) {
        const pipc__sim_resource_t *r =
            &m->fabric->resources[m->fabric->hops[p->first + i].resource];
        const char *name = strrchr(m->fabric->links[r->link].name, ' ') + 1;
        if (r->way == PIPC__BOTH_WAYS)
            continue;
        sprintf(text + strlen(text), "%s%s%s", *text ? "/" : "", name,
                r->way == PIPC__TO_ROOT     ? "^"
                : r->way == PIPC__FROM_ROOT ? "v"
                                            : "");
    }
    return text;
}

static void paths(void **state)
{
    static const struct {
        const char *tree;
        int from, to;
        bool host;
        const char *path;
    } cases[] = {
        {"[sw:2gpu]", 0, 1, false, "0000:03:00.0^/0000:04:00.0v"},
        {"[sw:2gpu]", 1, 0, false, "0000:04:00.0^/0000:03:00.0v"},
        {"[2gpu]", 0, 1, false, "0000:01:00.0^/0000:02:00.0v"},
        {"2x[sw:1gpu+1nic]", 0, 1, false,
         "0000:03:00.0^/0000:01:00.0^/1^/0000:0b:00.0v/0000:09:00.0v"},
        {"[2x[sw:2gpu]]", 0, 2, false, "0000:03:00.0^/0000:01:00.0^/0000:07:00.0v/0000:05:00.0v"},
        {"[sw:2x[sw:2gpu]]", 0, 2, false,
         "0000:05:00.0^/0000:03:00.0^/0000:09:00.0v/0000:07:00.0v"},
        {"2x[sw:1gpu+1nic]", 0, 1, true, "0000:03:00.0^/0000:01:00.0^/1^/1"},
        {"[sw:2gpu]", 0, 1, true, "0000:03:00.0^/0000:01:00.0^/0"},
    };
    pipc__costs_t costs;
    char text[512];

    (void)state;
    ideal(&costs);
    for (size_t i = 0; i < COUNT(cases); i++) {
        machine_t m;
        put_on(&m, cases[i].tree, 0, &costs, false);
        int a = cases[i].from, b = cases[i].to;
        path_text(&m, cases[i].host ? &m.fabric->to_host[a][b] : &m.fabric->push[a][b], text);
        if (strcmp(text, cases[i].path) != 0)
            fail_msg("%s, %d to %d: %s, not %s", cases[i].tree, a, b, text, cases[i].path);
        take_off(&m);
    }
}

/* What a link has is what its topology says: lanes as negotiated, the speed of the slower end; what
 * it does not say is assumed, and marked so. */
static void rates_of_links(void **state)
{
    pipc__costs_t costs;
    machine_t m;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    ideal(&costs);
    put_on(&m, "[2gpu]", 0, &costs, false);
    assert_true(m.fabric->links[link_named(&m, "link of GPU 0000:01:00.0")].assumed);
    int gpu = m.binding.rank[0].gpu;
    m.topo->objs[gpu].link = (pipc__link_t){8, 16, 2500, 32000};
    m.topo->objs[m.topo->objs[gpu].parent].link = (pipc__link_t){8, 16, 2500, 16000};
    pipc__fabric_free(m.fabric);
    assert_int_equal(
        pipc__fabric_make(&m.fabric, m.topo, &m.binding, &costs, PIPC__PROFILE_P2P, &err), PIPC_OK);
    const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, "link of GPU 0000:01:00.0")];
    assert_false(l->assumed);
    assert_int_equal(l->width, 8);
    assert_int_equal(l->speed_mts, 16000);
    NEAR(m.fabric->resources[l->resource[0]].rate, 15.754e9, 1e-4);
    assert_true(m.fabric->links[link_named(&m, "link of GPU 0000:02:00.0")].assumed);
    take_off(&m);
}

/* A NUMA node that is not known is taken for the same: no socket between is made up. */
static void nodes_not_known(void **state)
{
    pipc__costs_t costs;
    machine_t m;
    pipc__error_t err = {PIPC_OK, ""};
    char text[512];

    (void)state;
    ideal(&costs);
    put_on(&m, "2x[1gpu]", 0, &costs, false);
    m.binding.rank[0].numa = PIPC__UNKNOWN;
    pipc__fabric_free(m.fabric);
    assert_int_equal(
        pipc__fabric_make(&m.fabric, m.topo, &m.binding, &costs, PIPC__PROFILE_P2P, &err), PIPC_OK);
    assert_string_equal(path_text(&m, &m.fabric->push[0][1], text), "0000:01:00.0^/0000:09:00.0v");
    take_off(&m);
}

static pipc__topo_t *with_nvlinks(const char *tree, int links)
{
    pipc__topo_t *t;
    pipc__error_t err;
    int gpus[PIPC__RANKS_MAX];

    assert_int_equal(pipc__topo_synthetic(&t, tree, &err), PIPC_OK);
    int n = pipc__topo_list(t, PIPC__TOPO_GPU, gpus, PIPC__RANKS_MAX);
    /* Topologies of other sources have them; a synthetic line does not, so they are set here. */
    t->nvlinks = calloc((size_t)(n * n), sizeof(int));
    for (int i = 0; i < n * n; i++)
        t->nvlinks[i] = i / n == i % n ? PIPC__UNKNOWN : links;
    return t;
}

/* Two GPUs: links between them. Eight with 18 each: through switches, a rate a GPU. Four with 4
 * each: between pairs. */
static void nvlinks(void **state)
{
    static const struct {
        const char *tree;
        int links;
        const char *name;
        double gbps;
    } cases[] = {
        {"[2gpu]", 18, "NVLinks between 0000:01:00.0 and 0000:02:00.0", 18 * 20.5},
        {"2x[sw:4gpu]", 18, "NVLinks of GPU 0000:03:00.0", 18 * 20.5},
        {"[4gpu]", 4, "NVLinks between 0000:01:00.0 and 0000:02:00.0", 4 * 20.5},
    };
    pipc__costs_t costs;

    (void)state;
    ideal(&costs);
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__error_t err = {PIPC_OK, ""};
        machine_t m = {.topo = with_nvlinks(cases[i].tree, cases[i].links)};
        pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH};
        req.nranks = req.ngpus = pipc__topo_list(m.topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
        assert_int_equal(pipc__bind(m.topo, &req, &m.binding, &err), PIPC_OK);
        assert_int_equal(pipc__fabric_profile(m.topo, &m.binding), PIPC__PROFILE_NVLINK);
        assert_int_equal(
            pipc__fabric_make(&m.fabric, m.topo, &m.binding, &costs, PIPC__PROFILE_NVLINK, &err),
            PIPC_OK);
        const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, cases[i].name)];
        NEAR(m.fabric->resources[l->resource[0]].rate, 1e9 * cases[i].gbps, 1e-9);
        for (int h = 0; h < m.fabric->push[0][1].nhops; h++) {
            int r = m.fabric->hops[m.fabric->push[0][1].first + h].resource;
            assert_int_equal(m.fabric->links[m.fabric->resources[r].link].kind, PIPC__SIM_NVLINK);
        }
        take_off(&m);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* S is 16 MB; every expected figure is in S, and exact. */
static void bytes_over_links(void **state)
{
    static const struct {
        const char *tree;
        pipc__plan_kind_t kind;
        const char *link;
        double up, down;
    } cases[] = {
        {"2x[sw:4gpu]", PIPC__ISLAND, "uplink of switch 0000:01:00.0", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "uplink of switch 0000:09:00.0", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "socket link between NUMA nodes 0 and 1", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "uplink of switch 0000:01:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "socket link between NUMA nodes 0 and 1", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "link of GPU 0000:05:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__TWO_SHOT, "uplink of switch 0000:01:00.0", 4, 4},
        {"2x[sw:4gpu]", PIPC__TWO_SHOT, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__PERMUTED, "socket link between NUMA nodes 0 and 1", 4, 4},
        {"2x[sw:4gpu]", PIPC__ONE_SHOT, "uplink of switch 0000:01:00.0", 16, 16},
        {"2x[sw:4gpu]", PIPC__ONE_SHOT, "link of GPU 0000:03:00.0", 7, 7},
        {"[sw:8gpu]", PIPC__RING, "uplink of switch 0000:01:00.0", 0, 0},
        {"[sw:8gpu]", PIPC__TWO_SHOT, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:2gpu]", PIPC__ISLAND, "uplink of switch 0000:01:00.0", 1, 1},
        {"2x[sw:2gpu]", PIPC__ISLAND, "link of GPU 0000:03:00.0", 1.5, 1.5},
    };
    const size_t bytes = 16 << 20;
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t i = 0; i < COUNT(cases); i++) {
        machine_t m;
        put_on(&m, cases[i].tree, 0, &costs, false);
        pipc__plan_t *plan = plan_for(&m, cases[i].kind);
        pipc__sim_result_t r = run(&m, plan, bytes / 4, false);
        const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, cases[i].link)];
        double up = (double)r.load[l->resource[0]].bytes / (double)bytes;
        double down = (double)r.load[l->resource[1]].bytes / (double)bytes;
        if (up != cases[i].up || down != cases[i].down)
            fail_msg("%s, %s, %s: %g and %g S", cases[i].tree, plan->name, cases[i].link, up, down);
        pipc__sim_release(&r);
        pipc__plan_free(plan);
        take_off(&m);
    }
}

/* In host memory every byte is written once and read once; nothing goes from switch to switch but
 * through it. */
static void bytes_through_the_host(void **state)
{
    const size_t bytes = 1 << 20;
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    pipc__costs_default(&costs);
    put_on(&m, "[sw:4gpu]", 0, &costs, true);
    pipc__plan_t *plan = plan_for(&m, PIPC__TWO_SHOT);
    pipc__sim_result_t r = run(&m, plan, bytes / 4, false);
    const pipc__sim_link_t *up = &m.fabric->links[link_named(&m, "uplink of switch 0000:01:00.0")];
    const pipc__sim_link_t *mem = &m.fabric->links[link_named(&m, "memory of NUMA node 0")];
    assert_int_equal(r.load[up->resource[0]].bytes, 6 * bytes); /* 4 ranks send 2 * 3/4 S each */
    assert_int_equal(r.load[up->resource[1]].bytes, 6 * bytes);
    assert_int_equal(r.load[mem->resource[0]].bytes, 12 * bytes);
    pipc__sim_release(&r);
    pipc__plan_free(plan);
    take_off(&m);
}

/* The generators' own count of what each rank sends and gets is what crosses its link. */
static void bytes_as_the_plans_count(void **state)
{
    static const char *const some[] = {"2x[sw:4gpu]", "[sw:5gpu]+[sw:3gpu]", "2x[2x[sw:2gpu]]",
                                       "[sw:3gpu]+[1gpu]", "16x[1gpu]"};
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(some); t++) {
        machine_t m;
        put_on(&m, some[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            size_t count = (size_t)plan->nchunks * 4096; /* equal chunks, one round */
            pipc__sim_result_t r = run(&m, plan, count, false);
            pipc__traffic_t traffic;
            pipc__plan_traffic(&traffic, plan, &m.shape, 4.0 * (double)count);
            for (int q = 0; q < plan->nranks; q++) {
                char name[80];
                snprintf(name, sizeof(name), "link of GPU %s",
                         m.topo->objs[m.binding.rank[q].gpu].name);
                const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, name)];
                NEAR((double)r.load[l->resource[0]].bytes, traffic.sent[q], 1e-9);
                NEAR((double)r.load[l->resource[1]].bytes, traffic.received[q], 1e-9);
            }
            pipc__sim_release(&r);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
}

/* ---- times by hand ----------------------------------------------------------------------------
 */

typedef struct copy {
    int from, to;
} copy_t;

/* A plan in which each rank copies its input to slots of others, as listed, one after the other and
 * without any flag. It is no right all-reduce, and the simulator does not mind. */
static pipc__plan_t *copies(int nranks, const copy_t *list, int n, int nstages)
{
    pipc__plan_t *p = calloc(1, sizeof(*p));

    strcpy(p->name, "copies");
    p->nranks = nranks;
    p->nchunks = p->nflags = 1;
    p->nslots = PIPC__RANKS_MAX;
    p->nstages = nstages;
    for (int i = 0; i < n; i++) {
        int stage = nstages > 1 ? i % nstages : 0;
        pipc__program_t *prog = &p->program[list[i].from][stage];
        if (!prog->ops)
            prog->ops = calloc((size_t)n, sizeof(pipc__op_t));
        prog->ops[prog->nops++] =
            (pipc__op_t){.kind = PIPC__COPY,
                         .nsrc = 1,
                         .dst = {PIPC__SLOT, (uint8_t)list[i].to, (uint16_t)list[i].from},
                         .src = {{PIPC__INPUT, (uint8_t)list[i].from, 0}}};
    }
    return p;
}

/* How long copies of 1 MB take on links of 16 GB/s a direction, in times of one copy. */
static void times_by_hand(void **state)
{
    static const struct {
        const char *what, *tree;
        copy_t list[4];
        int n, nstages;
        double duplex, crowd, p2p, times;
    } cases[] = {
        {"one", "[sw:4gpu]", {{0, 1}}, 1, 1, 1, 1, 1, 1},
        {"one after the other", "[sw:4gpu]", {{0, 1}, {0, 2}}, 2, 1, 1, 1, 1, 2},
        {"two share the way out", "[sw:4gpu]", {{0, 1}, {0, 2}}, 2, 2, 1, 1, 1, 2},
        {"two share the way in", "[sw:4gpu]", {{0, 2}, {1, 2}}, 2, 1, 1, 1, 1, 2},
        {"opposite ways don't", "[sw:4gpu]", {{0, 1}, {1, 0}}, 2, 1, 1, 1, 1, 1},
        {"but for the duplex", "[sw:4gpu]", {{0, 1}, {1, 0}}, 2, 1, 0.8, 1, 1, 1.25},
        {"strangers don't", "[sw:4gpu]", {{0, 1}, {2, 3}}, 2, 1, 1, 1, 1, 1},
        {"a crowd", "[sw:4gpu]", {{0, 2}, {1, 2}}, 2, 1, 1, 0.5, 1, 4},
        {"max-min: the third takes what is left",
         "[sw:4gpu]",
         {{0, 1}, {0, 2}, {3, 2}},
         3,
         2,
         1,
         1,
         1,
         2},
        {"root ports", "[2gpu]", {{0, 1}}, 1, 1, 1, 1, 0.5, 2},
        {"below a switch not", "[sw:2gpu]", {{0, 1}}, 1, 1, 1, 1, 0.5, 1},
        {"an uplink is shared", "2x[sw:2gpu]", {{0, 2}, {1, 3}}, 2, 1, 1, 1, 1, 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__costs_t costs;
        machine_t m;
        ideal(&costs);
        costs.speed_gts = 8.125; /* 16.25 GB/s, 16 of them data */
        costs.socket_gbps = 1e5;
        costs.duplex = cases[i].duplex;
        costs.crowd = costs.crowd_least = cases[i].crowd;
        costs.root_p2p = cases[i].p2p;
        put_on(&m, cases[i].tree, 0, &costs, false);
        pipc__plan_t *plan = copies(m.binding.nranks, cases[i].list, cases[i].n, cases[i].nstages);
        double one = (1 << 20) / 16e9 * 1e6, usec = usec_of(&m, plan, (1 << 20) / 4);
        if (usec < one * cases[i].times * 0.999 || usec > one * cases[i].times * 1.001)
            fail_msg("%s: %g us, not %g times %g", cases[i].what, usec, cases[i].times, one);
        pipc__plan_free(plan);
        take_off(&m);
    }
}

/* Latencies of the ring by hand: a call, then 2 (n - 1) steps, of each rank 1 + 3 (n - 1) ops in a
 * row that begin something, but the last n - 1 copies of all but the last step overlap with others'
 * steps. For n = 2: push, wait, sum, push, wait, copy. */
static void latencies_by_hand(void **state)
{
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    ideal(&costs);
    costs.exec[PIPC__PROFILE_P2P].call_usec = 1000;
    costs.exec[PIPC__PROFILE_P2P].op_usec = 10;
    costs.exec[PIPC__PROFILE_P2P].step_usec = 100;
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__RING);
    NEAR(usec_of(&m, plan, 64), 1000 + 2 * 100 + 4 * 10, 1e-3);
    assert_true(usec_of(&m, plan, 0) == 1000); /* nothing to move: no round */
    pipc__plan_free(plan);
    plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, 64), 1000 + 100 + 2 * 10, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
    costs.root_usec = 7;
    costs.socket_usec = 5;
    put_on(&m, "2x[1gpu]", 0, &costs, false);
    plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, 64), 1000 + 112 + 2 * 10, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
}

/* A copy by an engine, a sum of two sources by its speed of reading, a memory that both use. */
static void engines_by_hand(void **state)
{
    pipc__costs_t costs;
    machine_t m;
    const double bytes = 1 << 20;

    (void)state;
    ideal(&costs);
    costs.speed_gts = 256;
    costs.width = 32;
    pipc__exec_costs_t *e = &costs.exec[PIPC__PROFILE_P2P];
    e->copy_gbps.value[0] = 4;
    e->reduce_gbps.value[0] = 2;
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, (1 << 20) / 4), bytes / 4e3 + 2 * bytes / 2e3, 1e-3);
    take_off(&m);
    e->copy_gbps.value[0] = e->reduce_gbps.value[0] = 1e6;
    e->memory_gbps =
        1; /* copies read one's own and write the other's; a sum reads two, writes one */
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    NEAR(usec_of(&m, plan, (1 << 20) / 4), 2 * bytes / 1e3 + 3 * bytes / 1e3, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
    /* Two stages at full speed, or one at a time. */
    static const copy_t list[] = {{0, 1}, {0, 1}};
    e->memory_gbps = 1e6;
    e->copy_gbps.value[0] = 1;
    plan = copies(2, list, 2, 2);
    for (int engines = 1; engines <= 2; engines++) {
        e->engines = engines;
        put_on(&m, "[sw:2gpu]", 0, &costs, false);
        NEAR(usec_of(&m, plan, (1 << 20) / 4), 2 * bytes / 1e3 / engines, 1e-3);
        take_off(&m);
    }
    pipc__plan_free(plan);
}

/* Rounds of two halves that use different things: in step they take one after the other, and with all
 * drift there is only the first round in which nothing overlaps. */
static void drift_by_hand(void **state)
{
    const double half = (1 << 20) / 16e9 * 1e6; /* of a round of 1 MB: the link's, and the sum's */
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    ideal(&costs);
    costs.speed_gts = 8.125;
    pipc__exec_costs_t *e = &costs.exec[PIPC__PROFILE_P2P];
    e->reduce_gbps.value[0] = 32;
    for (int rounds = 1; rounds <= 64; rounds *= 4)
        for (int drift = 0; drift <= 2; drift++) {
            pipc__sim_result_t r;
            pipc__error_t err;
            e->drift = drift / 2.0;
            put_on(&m, "[sw:2gpu]", 0, &costs, false);
            pipc__plan_t *plan = plan_for(&m, PIPC__ONE_SHOT);
            pipc__sim_call_t call = {plan, ((size_t)rounds << 20) / 4, 4, 4 << 20, false, NULL};
            assert_int_equal(pipc__simulate(&r, m.fabric, &call, &err), PIPC_OK);
            assert_int_equal(r.rounds, rounds);
            NEAR(r.usec, half * (2 * rounds - e->drift * (rounds - 1)), 1e-2);
            pipc__sim_release(&r);
            pipc__plan_free(plan);
            take_off(&m);
        }
}

/* ---- properties -------------------------------------------------------------------------------
 */

static const char *const trees[] = {
    "[sw:8gpu]",   "2x[sw:4gpu]", "[sw:5gpu]+[sw:3gpu]", "2x[2x[sw:2gpu]]", "[sw:2x[sw:4gpu]]",
    "4x[sw:2gpu]", "[8gpu]",      "[3gpu]+[sw:4gpu]",    "2x[sw:8gpu]",     "[sw:3gpu]+[1gpu]",
    "16x[1gpu]",
};

static const size_t counts[] = {0, 1, 7, 4097, (1 << 20) + 3};

/* Every plan, tree, size and number of ranks ends, in a time that makes sense, and bytes that leave
 * arrive: over the links of GPUs, as many go up as come down. In host memory they may be read
 * twice. */
static void all_plans_end(void **state)
{
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(trees); t++)
        for (int n = 1; n <= PIPC__RANKS_MAX; n++) {
            machine_t m;
            bool host = n % 5 == 4;
            put_on(&m, trees[t], n, &costs, host);
            for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
                pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
                for (size_t c = 0; plan && c < COUNT(counts); c++) {
                    pipc__sim_result_t r = run(&m, plan, counts[c], false);
                    uint64_t up = 0, down = 0;
                    for (int i = 0; i < m.fabric->nlinks; i++) {
                        const pipc__sim_link_t *l = &m.fabric->links[i];
                        if (l->kind != PIPC__SIM_GPU_LINK)
                            continue;
                        up += r.load[l->resource[0]].bytes;
                        down += r.load[l->resource[1]].bytes;
                    }
                    assert_true(host ? up <= down : up == down);
                    assert_true(r.usec > 0 && r.usec < 1e9);
                    for (int i = 0; i < m.fabric->nresources; i++)
                        assert_true(r.load[i].busy <= 1 + 1e-6);
                    pipc__sim_release(&r);
                }
                pipc__plan_free(plan);
            }
            take_off(&m);
        }
}

/* The same of trees that nobody thought of: groups of groups, 1 to 16 GPUs. */
static int draw_group(char *text, int depth, int gpus)
{
    int used = 0, parts = 1 + draw(3);

    strcat(text, "[sw:");
    for (int i = 0; i < parts && used < gpus; i++) {
        strcat(text, i ? "+" : "");
        if (depth < 2 && draw(3) == 0)
            used += draw_group(text, depth + 1, gpus - used);
        else {
            int n = 1 + draw(gpus - used < 4 ? gpus - used : 4);
            sprintf(text + strlen(text), "%dgpu", n);
            used += n;
        }
    }
    strcat(text, "]");
    return used;
}

static void random_trees(void **state)
{
    pipc__costs_t costs;

    (void)state;
    seed = 42;
    pipc__costs_default(&costs);
    for (int i = 0; i < 100; i++) {
        char text[1024] = "";
        machine_t m;
        for (int used = 0; used < 16 && (!used || draw(3)); strcat(text, "+"))
            used += draw_group(text, 0, 16 - used);
        text[strlen(text) - 1] = '\0';
        put_on(&m, text, 0, &costs, i % 4 == 3);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            pipc__sim_result_t r = run(&m, plan, (1 << 20) + 3, false);
            assert_true(r.usec > 0 && r.usec < 1e7);
            for (int j = 0; j < m.fabric->nresources; j++)
                assert_true(r.load[j].busy <= 1 + 1e-6);
            pipc__sim_release(&r);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
}

/* Faster links never make a plan slower. (Max-min sharing alone does not promise it; these do.) */
static void faster_links_help(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(trees); t++) {
        double last[PIPC__PLAN_KINDS_LOCAL] = {0};
        for (int speed = 8; speed <= 64; speed *= 2) {
            pipc__costs_t costs;
            machine_t m;
            pipc__costs_default(&costs);
            costs.speed_gts = speed;
            costs.socket_gbps = 2.0 * speed;
            put_on(&m, trees[t], 0, &costs, false);
            for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
                pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
                double usec = plan ? usec_of(&m, plan, 4 << 20) : 0;
                if (last[k] > 0 && usec > last[k] * 1.001)
                    fail_msg("%s, %s: %g us at %d GT/s, %g below it", trees[t], plan->name, usec,
                             speed, last[k]);
                last[k] = usec;
                pipc__plan_free(plan);
            }
            take_off(&m);
        }
    }
}

/* What is left out when rounds repeat is what they would have taken. */
static void repeated_rounds(void **state)
{
    pipc__costs_t costs;
    int left_out = 0;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(trees); t++) {
        machine_t m;
        put_on(&m, trees[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            pipc__sim_result_t some = run(&m, plan, 25 << 20, false);
            pipc__sim_result_t all = run(&m, plan, 25 << 20, true);
            left_out += some.simulated < all.simulated;
            assert_int_equal(all.simulated, all.rounds);
            NEAR(some.usec, all.usec, 0.01);
            pipc__sim_release(&some);
            pipc__sim_release(&all);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
    assert_true(left_out > 10);
}

/* The hierarchy pays where the links between switches are the limit, and is predicted to. */
static void the_choice_at_16_mb(void **state)
{
    static const char *const limited[] = {"2x[sw:4gpu]", "2x[sw:2gpu]", "2x[sw:8gpu]",
                                          "2x[sw:3gpu]"};
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(limited); t++) {
        machine_t m;
        double usec[PIPC__PLAN_KINDS_LOCAL] = {0};
        put_on(&m, limited[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            usec[k] = plan ? usec_of(&m, plan, 4 << 20) : 1e9;
            if (k != PIPC__ISLAND && usec[PIPC__ISLAND] > 0 && usec[k] < usec[PIPC__ISLAND])
                fail_msg("%s: %s before island", limited[t], plan->name);
            pipc__plan_free(plan);
        }
        assert_true(usec[PIPC__ISLAND] < usec[PIPC__RING]);
        assert_true(usec[PIPC__ISLAND] < usec[PIPC__TWO_SHOT]);
        take_off(&m);
    }
}

/* ---- agreement with the checker ----------------------------------------------------------------
 */

/* Move an op of some program elsewhere in it; false when it has but one. */
static bool disturb(pipc__plan_t *p)
{
    pipc__program_t *prog = &p->program[draw(p->nranks)][draw(p->nstages)];

    if (prog->nops < 2)
        return false;
    int from = draw(prog->nops), to = draw(prog->nops);
    pipc__op_t op = prog->ops[from];
    memmove(prog->ops + from, prog->ops + from + 1, (size_t)(prog->nops - from - 1) * sizeof(op));
    memmove(prog->ops + to + 1, prog->ops + to, (size_t)(prog->nops - 1 - to) * sizeof(op));
    prog->ops[to] = op;
    return true;
}

/* Steps in another order: where the checker finds that somebody waits for ever, so does the
 * simulator, and nowhere else. */
static void deadlocks_agree(void **state)
{
    pipc__costs_t costs;
    int stuck = 0, right = 0;

    (void)state;
    seed = 4711;
    pipc__costs_default(&costs);
    for (int i = 0; i < 2000; i++) {
        machine_t m;
        pipc__error_t err = {PIPC_OK, ""}, why = {PIPC_OK, ""};
        put_on(&m, trees[i % 4], 2 + i % 4, &costs, false);
        int kind = i / 4 % PIPC__PLAN_KINDS_LOCAL;
        pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)kind);
        if (plan && disturb(plan)) {
            const pipc__check_call_t one = {plan, 3, 1, false};
            pipc__sim_call_t call = {plan, 3000, 4, (size_t)plan->nslots * 8192, true, NULL};
            pipc__sim_result_t r;
            bool refused = pipc__plan_check(&one, 1, PIPC__BUFFERS, &err);
            bool waits = refused && strstr(err.text, "deadlock");
            bool ended = !pipc__simulate(&r, m.fabric, &call, &why);
            /* What else the checker refuses may end or not: it stops at the first fault. */
            if ((!refused && !ended) || (waits && ended))
                fail_msg("%s: checker: %s; simulator: %s", plan->name, refused ? err.text : "right",
                         ended ? "ends" : why.text);
            if (!ended)
                assert_true(strstr(why.text, "waits for ever") || strstr(why.text, plan->name));
            stuck += waits;
            right += !refused;
            pipc__sim_release(&r);
        }
        pipc__plan_free(plan);
        take_off(&m);
    }
    assert_true(stuck > 50 && right > 50); /* both were seen */
}

static void wrong_calls_are_refused(void **state)
{
    pipc__costs_t costs;
    machine_t m, other;
    pipc__error_t err;
    pipc__sim_result_t r;

    (void)state;
    pipc__costs_default(&costs);
    put_on(&m, "[sw:4gpu]", 0, &costs, false);
    put_on(&other, "[sw:3gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__RING);
    pipc__sim_call_t call = {plan, 100, 4, 4096, false, NULL};
    assert_int_equal(pipc__simulate(&r, m.fabric, &call, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "staging of 4096 bytes is too small"));
    call.staging_bytes = PIPC__SIM_STAGING;
    assert_int_equal(pipc__simulate(&r, other.fabric, &call, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "for 4 ranks, the links are for 3"));
    pipc__plan_free(plan);
    take_off(&m);
    take_off(&other);
}

/* ---- no memory --------------------------------------------------------------------------------
 */

static long left = -1; /* allocations until one fails; -1: none does */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* The first allocation fails, then the second, ...: each time the answer is that there is no
 * memory, and nothing is left behind (the sanitizer build looks). */
static void no_memory(void **state)
{
    pipc__costs_t costs;
    machine_t m;
    int runs = 0;
    pipc_status_t st = PIPC_ERR_NOMEM;

    (void)state;
    pipc__costs_default(&costs);
    put_on(&m, "2x[sw:2gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__ISLAND);
    pipc__sim_call_t call = {plan, 100000, 4, PIPC__SIM_STAGING, false, NULL};
    for (; st == PIPC_ERR_NOMEM; runs++) {
        pipc__fabric_t *f;
        pipc__sim_result_t r = {0};
        pipc__error_t err = {PIPC_OK, ""};
        left = runs;
        st = pipc__fabric_make(&f, m.topo, &m.binding, &costs, PIPC__PROFILE_P2P, &err);
        if (!st)
            st = pipc__simulate(&r, f, &call, &err);
        left = -1;
        assert_true(st == PIPC_OK || (st == PIPC_ERR_NOMEM && strstr(err.text, "memory")));
        pipc__sim_release(&r);
        pipc__fabric_free(f);
    }
    assert_int_equal(st, PIPC_OK);
    assert_true(runs > 20);
    pipc__plan_free(plan);
    take_off(&m);
}

/* What each flow gets when several things are full. */
static void shares(void **state)
{
    pipc__sim_resource_t res[] = {{.rate = 10e9}, {.rate = 6e9}, {.rate = 100e9}};
    const pipc__fabric_t f = {.resources = res, .nresources = 3, .crowd = 1, .crowd_least = 1};
    const pipc__hop_t both[] = {{0, 1, 1}, {1, 1, 1}}, first[] = {{0, 1, 1}}, twice[] = {{1, 1, 2}};
    pipc__flow_t a = {both, 2, 1e12, 0}, b = {first, 1, 1e12, 0}, c = {twice, 1, 1e12, 0};
    pipc__flow_t d = {first, 1, 1e9, 0};
    pipc__flow_t *flows[] = {&a, &b, &c, &d};
    pipc__share_room_t room;

    (void)state;
    assert_true(pipc__share_room(&room, &f));
    pipc__share(&f, flows, 4, &room);
    NEAR(d.rate, 1e9, 1e-6); /* its own limit */
    NEAR(a.rate, 2e9, 1e-6); /* with c: x + 2x = 6 */
    NEAR(c.rate, 2e9, 1e-6);
    NEAR(b.rate, 7e9, 1e-6);              /* what is left */
    pipc__share(&f, flows + 1, 1, &room); /* and nothing is left over from the last time */
    NEAR(b.rate, 10e9, 1e-6);
    pipc__share_release(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_has_all_defaults),
        cmocka_unit_test(the_file_uncommented_changes_nothing),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(curves),
        cmocka_unit_test(pcie_rates),
        cmocka_unit_test(paths),
        cmocka_unit_test(rates_of_links),
        cmocka_unit_test(nodes_not_known),
        cmocka_unit_test(nvlinks),
        cmocka_unit_test(bytes_over_links),
        cmocka_unit_test(bytes_through_the_host),
        cmocka_unit_test(bytes_as_the_plans_count),
        cmocka_unit_test(times_by_hand),
        cmocka_unit_test(latencies_by_hand),
        cmocka_unit_test(engines_by_hand),
        cmocka_unit_test(drift_by_hand),
        cmocka_unit_test(shares),
        cmocka_unit_test(all_plans_end),
        cmocka_unit_test(random_trees),
        cmocka_unit_test(faster_links_help),
        cmocka_unit_test(repeated_rounds),
        cmocka_unit_test(the_choice_at_16_mb),
        cmocka_unit_test(deadlocks_agree),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
