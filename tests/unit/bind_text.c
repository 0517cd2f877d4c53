/* tests/unit/bind_text.c - see bind_text.h */
#include "tests/unit/bind_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

pipc__bind_request_t request(const pipc__topo_t *t, int nranks, const char *minors)
{
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH, .nranks = nranks};
    char *end;

    if (!minors) {
        req.ngpus = pipc__topo_list(t, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
        return req;
    }
    for (const char *p = minors; *p; p = end + strspn(end, " "))
        req.gpus[req.ngpus++] = pipc__topo_gpu_by_minor(t, (int)strtol(p, &end, 10));
    return req;
}

pipc__binding_t binding_of(const pipc__topo_t *t, const pipc__bind_request_t *req)
{
    pipc__binding_t b;
    pipc__error_t err = {PIPC_OK, ""};

    pipc_status_t st = pipc__bind(t, req, &b, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    return b;
}

const char *minors_text(const pipc__topo_t *t, const int *gpus, int n)
{
    static char text[512];

    text[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
                 t->objs[gpus[i]].minor);
    return text;
}

void set_cpus(pipc__topo_t *t, const char *text)
{
    char copy[256], *save = NULL;
    int node = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *set = strtok_r(copy, " ", &save); set; set = strtok_r(NULL, " ", &save), node++) {
        hwloc_bitmap_zero(t->numas[node].cpus);
        if (*set != '-')
            assert_int_equal(hwloc_bitmap_list_sscanf(t->numas[node].cpus, set), 0);
    }
    assert_int_equal(node, t->nnumas);
}

hwloc_bitmap_t one_set(const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
    return set;
}

int rank_sets(const char *text, hwloc_const_bitmap_t *sets)
{
    char copy[256], *save = NULL;
    int n = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *set = strtok_r(copy, " ", &save); set; set = strtok_r(NULL, " ", &save))
        sets[n++] = one_set(set);
    return n;
}

void free_sets(hwloc_const_bitmap_t *sets, int n)
{
    for (int i = 0; i < n; i++)
        hwloc_bitmap_free((hwloc_bitmap_t)(uintptr_t)sets[i]);
}

int numbers(const char *text, int *out)
{
    char *end;
    int n = 0;

    for (const char *p = text; *p; p = end + strspn(end, " "))
        out[n++] = (int)strtol(p, &end, 10);
    return n;
}

const char *cores_text(const pipc__topo_t *t, const pipc__binding_t *b, const char *granted,
                       bool own)
{
    static char text[1024];
    hwloc_bitmap_t mask = hwloc_bitmap_alloc(), out = hwloc_bitmap_alloc();

    text[0] = '\0';
    assert_int_equal(hwloc_bitmap_list_sscanf(mask, granted), 0);
    for (int r = 0; r < b->nranks; r++) {
        bool near;
        char one[64];
        assert_int_equal(
            (own ? pipc__bind_own_cores : pipc__bind_cores)(t, b, r, mask, out, &near, NULL),
            PIPC_OK);
        assert_false(hwloc_bitmap_iszero(out));
        hwloc_bitmap_list_snprintf(one, sizeof(one), out);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", r ? " " : "", one,
                 near ? "" : "*");
    }
    hwloc_bitmap_free(mask);
    hwloc_bitmap_free(out);
    return text;
}

static uint32_t seed = 1;

int roll(int sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 16) % (unsigned int)sides);
}

void random_machine(char *text, size_t cap, int gpus_at_most)
{
    int left = gpus_at_most, n = 0, nodes = 1 + roll(3);

    for (int node = 0; node < nodes && left > 0; node++) {
        n += snprintf(text + n, cap - (size_t)n, "%s[core", node ? "+" : "");
        for (int part = roll(3); part >= 0 && left > 0; part--) {
            int gpus = 1 + roll(left < 4 ? left : 4);
            static const char *const shapes[] = {"+%dgpu", "+[sw:%dgpu]", "+[sw:[sw:%dgpu]+nic]",
                                                 "+[sw:2x[sw:%dgpu]]"};
            int shape = gpus * 2 <= left ? roll(4) : roll(3);
            left -= shape == 3 ? gpus * 2 : gpus;
            n += snprintf(text + n, cap - (size_t)n, shapes[shape], gpus);
        }
        n += snprintf(text + n, cap - (size_t)n, roll(4) ? "]" : "+nic]");
    }
}
