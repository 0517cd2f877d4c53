/* tools/p2p/report.c - what was measured, for people and for programs. See p2p.h */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "runtime/exec/path_hint.h"
#include "runtime/tools/p2p/p2p.h"
#include "runtime/tools/topo/nvml.h"
#include "runtime/topo/json.h"
#include "runtime/topo/relation.h"

#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

/* --- the machine --------------------------------------------------------------------------------
 */

/* This machine's tree, or NULL: then relations are not known, and the rest is as good. */
static pipc__topo_t *load_tree(void)
{
    pipc__topo_t *topo = NULL;
    pipc__error_t err;

    if (!pipc__topo_live(&topo, &err))
        topo_nvml_read(topo, PIPC__ASK_NVML, PIPC__ASK_NVML_MSEC);
    return topo;
}

static void relation_of(const pipc__topo_t *topo, const p2p_gpu_t *a, const p2p_gpu_t *b,
                        char out[16])
{
    pipc__pci_addr_t x, y;
    int i = PIPC__UNKNOWN, j = PIPC__UNKNOWN;

    snprintf(out, 16, "?");
    if (topo && pipc__pci_parse(a->bdf, &x) && pipc__pci_parse(b->bdf, &y)) {
        i = pipc__topo_by_addr(topo, x);
        j = pipc__topo_by_addr(topo, y);
    }
    if (i >= 0 && j >= 0)
        pipc__topo_pair_name(topo, i, j, out);
}

/* What is known to be in the way, where something is. */
static const char *hint_of(const p2p_shared_t *s, int from, int to, char *buf, size_t cap)
{
    pipc__path_state_t state = s->pair[from][to].state;
    pipc__path_facts_t facts;

    buf[0] = '\0';
    if (state != PIPC__PATH_WRONG && state != PIPC__PATH_TIMED_OUT && state != PIPC__PATH_REFUSED)
        return buf;
    pipc__path_facts(&facts, s->gpu[from].bdf, s->gpu[to].bdf, NULL);
    return pipc__path_hint(&facts, buf, cap);
}

/* --- text ---------------------------------------------------------------------------------------
 */

static const char *colour_of(pipc__path_state_t state)
{
    return state == PIPC__PATH_GOOD                                     ? GREEN
           : state == PIPC__PATH_WRONG || state == PIPC__PATH_TIMED_OUT ? RED
                                                                        : YELLOW;
}

static void put(const char *text, int width, const char *colour)
{
    printf(" %s%*s%s", colour, width, text, *colour ? PLAIN : "");
}

static void put_number(double value, int width, int digits)
{
    if (value > 0)
        printf(" %*.*f", width, digits, value);
    else
        printf(" %*s", width, "-");
}

static void print_matrix(const p2p_shared_t *s, bool colours)
{
    char cell[24];

    printf("\n# write bandwidth, GB/s: a row writes to a column\n%9s", "");
    for (int b = 0; b < s->n; b++) {
        snprintf(cell, sizeof(cell), "gpu%d", s->gpu[b].device);
        printf(" %9s", cell);
    }
    for (int a = 0; a < s->n; a++) {
        snprintf(cell, sizeof(cell), "gpu%d", s->gpu[a].device);
        printf("\n%9s", cell);
        for (int b = 0; b < s->n; b++) {
            const p2p_pair_t *p = &s->pair[a][b];
            if (p->state == PIPC__PATH_GOOD)
                snprintf(cell, sizeof(cell), "%.1f", p->write_gbps);
            else
                snprintf(cell, sizeof(cell), "%s", a == b ? "x" : pipc__path_word(p->state));
            put(cell, 9, colours && a != b ? colour_of(p->state) : "");
        }
    }
    printf("\n");
}

static void print_pair(const p2p_shared_t *s, const pipc__topo_t *topo, int a, int b, bool colours)
{
    const p2p_pair_t *p = &s->pair[a][b];
    char relation[16], hint[128];

    relation_of(topo, &s->gpu[a], &s->gpu[b], relation);
    printf("%6d %4d %9s", s->gpu[a].device, s->gpu[b].device, relation);
    put(pipc__path_word(p->state), 10, colours ? colour_of(p->state) : "");
    put_number(p->write_gbps, 8, 1);
    put_number(p->read_gbps, 8, 1);
    put_number(p->copy_gbps, 8, 1);
    put_number(p->latency_usec, 8, 2);
    put_number(p->together_gbps, 8, 1);
    if (p->state != PIPC__PATH_GOOD) {
        hint_of(s, a, b, hint, sizeof(hint));
        printf("  %s%s%s%s%s", pipc__path_meaning(p->state), *hint ? " (" : "", hint,
               *hint ? ")" : "", p->together_bad ? ", with all pairs busy; alone it did" : "");
        if (p->wrong)
            printf("; %llu of %zu packs of 16 bytes differ, the first is %llu", p->wrong,
                   s->wants.bytes / 16, p->first);
    }
    printf("\n");
}

void p2p_print(const p2p_shared_t *s, bool colours)
{
    pipc__topo_t *topo = load_tree();

    printf("# pcie-ipc-p2p %s  %d GPUs  %zu bytes  %d iterations  %s\n", PACKAGE_VERSION, s->n,
           s->wants.bytes, s->wants.iters,
           s->wants.ipc ? "a process a GPU, CUDA IPC" : "one process, peer access");
    for (int g = 0; g < s->n; g++)
        printf("#  gpu%-3d %s  %s  %s\n", s->gpu[g].device, s->gpu[g].bdf, s->gpu[g].name,
               s->gpu[g].uuid);
    print_matrix(s, colours);
    printf("\n# %4s %4s %9s %10s %8s %8s %8s %8s %8s\n", "from", "to", "relation", "state", "write",
           "read", "copy", "latency", "together");
    printf("# %4s %4s %9s %10s %8s %8s %8s %8s %8s\n", "", "", "", "", "(GB/s)", "(GB/s)", "(GB/s)",
           "(us)", "(GB/s)");
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++)
            if (a != b)
                print_pair(s, topo, a, b, colours);
    pipc__topo_free(topo);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */

/* null where nothing was measured. */
static json_t *number(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *pair_json(const p2p_shared_t *s, const pipc__topo_t *topo, int a, int b)
{
    const p2p_pair_t *p = &s->pair[a][b];
    char relation[16], hint[128];

    relation_of(topo, &s->gpu[a], &s->gpu[b], relation);
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:I}", "from",
                     s->gpu[a].device, "to", s->gpu[b].device, "relation", relation, "state",
                     pipc__path_word(p->state), "meaning", pipc__path_meaning(p->state), "hint",
                     hint_of(s, a, b, hint, sizeof(hint)), "together_bad", p->together_bad,
                     "write_gbps", number(p->write_gbps), "read_gbps", number(p->read_gbps),
                     "copy_gbps", number(p->copy_gbps), "latency_usec", number(p->latency_usec),
                     "together_gbps", number(p->together_gbps), "wrong_packs",
                     (json_int_t)p->wrong);
}

pipc_status_t p2p_print_json(const p2p_shared_t *s, pipc__error_t *err)
{
    pipc__topo_t *topo = load_tree();
    json_t *gpus = json_array(), *pairs = json_array();

    for (int g = 0; g < s->n; g++)
        json_array_append_new(gpus, json_pack("{s:i, s:s, s:s, s:s}", "gpu", s->gpu[g].device,
                                              "bdf", s->gpu[g].bdf, "uuid", s->gpu[g].uuid, "name",
                                              s->gpu[g].name));
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++)
            if (a != b)
                json_array_append_new(pairs, pair_json(s, topo, a, b));
    pipc__topo_free(topo);
    json_t *all =
        json_pack("{s:s, s:I, s:i, s:b, s:b, s:o, s:o}", "version", PACKAGE_VERSION, "bytes",
                  (json_int_t)s->wants.bytes, "iterations", s->wants.iters, "ipc", s->wants.ipc,
                  "finished", (int)(atomic_load(&s->finished) != 0), "gpus", gpus, "pairs", pairs);
    return pipc__json_print(all, stdout, err);
}

/* --- exit status --------------------------------------------------------------------------------
 */

int p2p_status(const p2p_shared_t *s)
{
    bool broken = false, out = false;

    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++) {
            pipc__path_state_t state = s->pair[a][b].state;
            broken |= a != b && (state == PIPC__PATH_WRONG || state == PIPC__PATH_TIMED_OUT);
            out |= a != b && state != PIPC__PATH_GOOD;
        }
    if (broken)
        return P2P_SOME_BROKEN;
    return !atomic_load(&s->finished) ? P2P_CANNOT : out ? P2P_SOME_OUT : P2P_ALL_GOOD;
}
