/* tests/unit/sim_links.c - what the simulator goes by: the file of costs, links of known trees and
 * the paths over them; what it refuses, and where there is no memory
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sim_machine.h"

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

/* ---- what is refused ------------------------------------------------------------------------- */

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

/* ---- no memory ------------------------------------------------------------------------------- */

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
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
