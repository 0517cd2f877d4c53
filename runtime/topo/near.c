/* topo/near.c - for people: what is near each GPU, and how each pair of devices is connected
 *
 *   near gpu0: NUMA 0, CPUs 0-15; nics mlx5_0
 *           gpu0  gpu1  mlx5_0
 *   gpu0    X     PIX   PIX
 */
#include "runtime/topo/relation.h"

#include <stdlib.h>
#include <string.h>

#define NICS_MAX 16 /* shown a GPU */

static void print_nics_near(const pipc__topo_t *topo, int gpu, FILE *out)
{
    int nics[NICS_MAX], n = pipc__topo_nics_near(topo, gpu, nics, NICS_MAX);
    char name[PIPC__NAME_MAX];

    for (int i = 0; i < n && i < NICS_MAX; i++) {
        pipc__topo_short_name(topo, nics[i], name);
        fprintf(out, "%s%s", i == 0 ? "; nics " : " ", name);
    }
    if (n > NICS_MAX)
        fprintf(out, " and %d more", n - NICS_MAX);
}

bool pipc__topo_print_near(const pipc__topo_t *topo, FILE *out)
{
    char name[PIPC__NAME_MAX], *cpus = NULL;

    for (int i = 0; i < topo->nobjs; i++) {
        int numa = pipc__topo_numa_of(topo, i);
        if (topo->objs[i].kind != PIPC__TOPO_GPU)
            continue;
        pipc__topo_short_name(topo, i, name);
        fprintf(out, "near %s: ", name);
        if (numa < 0) {
            fprintf(out, "NUMA node not known");
        } else if (hwloc_bitmap_iszero(topo->numas[numa].cpus)) {
            fprintf(out, "NUMA %d, CPUs not known", topo->numas[numa].os_index);
        } else {
            if (hwloc_bitmap_list_asprintf(&cpus, topo->numas[numa].cpus) < 0)
                return false;
            fprintf(out, "NUMA %d, CPUs %s", topo->numas[numa].os_index, cpus);
            free(cpus);
        }
        print_nics_near(topo, i, out);
        fputc('\n', out);
    }
    return true;
}

/* GPUs, then NICs; how many there are, at most @cap of them in out[]. */
static int list_devices(const pipc__topo_t *topo, int *out, int cap)
{
    int n = pipc__topo_list(topo, PIPC__TOPO_GPU, out, cap), used = n < cap ? n : cap;

    return n + pipc__topo_list(topo, PIPC__TOPO_NIC, out + used, cap - used);
}

static void print_legend(const bool used[PIPC__RELATIONS], bool nvlink, FILE *out)
{
    if (nvlink)
        fprintf(out, "  NV#   that many NVLinks\n");
    for (int r = PIPC__REL_PIX; r < PIPC__RELATIONS; r++)
        if (used[r])
            fprintf(out, "  %-5s %s\n", pipc__relation_name((pipc__relation_t)r),
                    pipc__relation_words((pipc__relation_t)r));
}

/* A cell and the blanks up to the next one; none at the end of a line. */
static void print_cell(const char *text, int width, bool last, FILE *out)
{
    if (last)
        fprintf(out, "%s\n", text);
    else
        fprintf(out, "%-*s  ", width, text);
}

void pipc__topo_print_matrix(const pipc__topo_t *topo, FILE *out)
{
    int dev[PIPC__MATRIX_MAX], width[PIPC__MATRIX_MAX], head = 0;
    int n = list_devices(topo, dev, PIPC__MATRIX_MAX);
    char name[PIPC__NAME_MAX], pair[16];
    bool used[PIPC__RELATIONS] = {false}, nvlink = false;

    if (n > PIPC__MATRIX_MAX)
        fprintf(out, "no matrix of more than %d devices; see --json\n", PIPC__MATRIX_MAX);
    if (n < 2 || n > PIPC__MATRIX_MAX)
        return;
    for (int i = 0; i < n; i++) {
        pipc__topo_short_name(topo, dev[i], name);
        width[i] = strlen(name) < 4 ? 4 : (int)strlen(name);
        head = width[i] > head ? width[i] : head;
    }
    print_cell("", head, false, out);
    for (int i = 0; i < n; i++) {
        pipc__topo_short_name(topo, dev[i], name);
        print_cell(name, width[i], i == n - 1, out);
    }
    for (int i = 0; i < n; i++) {
        pipc__topo_short_name(topo, dev[i], name);
        print_cell(name, head, false, out);
        for (int j = 0; j < n; j++) {
            pipc__topo_pair_name(topo, dev[i], dev[j], pair);
            print_cell(pair, width[j], j == n - 1, out);
            if (pipc__topo_nvlinks(topo, dev[i], dev[j]) > 0)
                nvlink = true;
            else
                used[pipc__topo_relation(topo, dev[i], dev[j])] = true;
        }
    }
    print_legend(used, nvlink, out);
}
