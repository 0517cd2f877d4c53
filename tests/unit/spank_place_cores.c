/* tests/unit/spank_place_cores.c - the cores of a task, and where its memory is to come from */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spank/cpulist.h"
#include "tests/unit/place_case.h"

static void cores_only_ever_get_fewer(void **state)
{
    static const struct {
        const char *what, *step_list, *task_list;
        int rank, nranks;
        bool shared, near;
        unsigned long granted, cores;
    } cases[] = {
        {"shared out", "0,1,2,3", "0,1,2,3", 1, 4, true, true, 0xffff, 0x000c},
        {"the task's own are cut, not shared out", "0,1,2,3", "0,1,2,3", 1, 4, false, true, 0x00f0,
         0x00f0},
        {"... to those near", "0,1,2,3", "0,1,2,3", 1, 4, false, true, 0xfff0, 0x00f0},
        {"none near: as granted", "0,1,2,3", "0,1,2,3", 1, 4, false, false, 0xf000, 0xf000},
        {"nothing known of the cores", "0,1,2,3", "0,1,2,3", 1, 4, true, false, 0, 0},
        {"one task keeps all", "0,1,4,5", "0,1,4,5", 0, 1, true, true, 0xffff, 0xffff},
        {"one task, one GPU", "4", "4", 0, 1, true, true, 0xffff, 0xff00},
        {"own list: shared out among peers by Slurm's rule", "0,1,2,3", "1", 1, 4, true, true,
         0xffff, 0x000c},
        {"own list of two", "0,1,2,3,4,5,6,7", "2,3", 1, 4, true, true, 0xffff, 0x00f0},
        {"own list that no rule explains: all near", "0,1,2,3", "3", 0, 2, true, true, 0xffff,
         0x00ff},
        {"own GPUs on both nodes: the cores near either", "0,4,1,5", "0,4", 0, 2, true, true,
         0xffff, 0xffff},
        {"... none near: as granted", "0,4,1,5", "0,4", 0, 2, true, false, 0xf0000, 0xf0000},
        {"no GPU", NULL, NULL, 0, 2, true, false, 0xffff, 0xffff},
    };
    pipc__topo_t *topo = tree(EIGHT);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_case c = {.rank = cases[i].rank,
                               .nranks = cases[i].nranks,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = cases[i].step_list,
                               .task_list = cases[i].task_list};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.cpus_shared = cases[i].shared;
        in.cpus.word[0] = cases[i].granted;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (out.cpus.word[0] != cases[i].cores || out.near != cases[i].near ||
            out.narrowed != (cases[i].cores != cases[i].granted))
            fail_msg("%s: cores %lx, near %d", cases[i].what, out.cpus.word[0], out.near);
    }
    pipc__topo_free(topo);
}

static void cpu_lists_as_slurm_writes_them(void **state)
{
    static const struct {
        const char *list;
        int nranks;
        const char *sets; /* as hwloc lists; NULL: unknown */
    } cases[] = {
        {"mask_cpu:0x1,0x2", 2, "0 1"},
        {"mask_cpu:0x00F0,f", 2, "4-7 0-3"},
        {"threads,mask_cpu:0x8000000000000001", 1, "0,63"},
        {"mask_cpu:0x10000000000000000", 1, "64"},
        {"mask_cpu:0x1,0x2", 3, "0 1 0"}, /* gone through again */
        {"mask_cpu:0x1,0x2,0x4", 2, "0 1"},
        {"map_cpu:8,0", 2, "8 0"},
        {"map_cpu:8191", 1, "8191"},
        {"", 2, NULL},
        {"0x1,0x2", 2, NULL},
        {"rank", 2, NULL},
        {"mask_cpu:", 1, NULL},
        {"mask_cpu:0x", 1, NULL},
        {"mask_cpu:0x0,0x1", 2, NULL}, /* no CPU at all */
        {"mask_cpu:0x1,,0x2", 3, NULL},
        {"mask_cpu:0x1,", 2, NULL},
        {"mask_cpu:0x1g", 1, NULL},
        {"mask_cpu:-1", 1, NULL},
        {"map_cpu:8192", 1, NULL},
        {"map_cpu:99999999999", 1, NULL},
        {"map_cpu:0*2", 1, NULL},
        {"map_cpu:1,x", 2, NULL},
        {"mask_ldom:0x1", 1, NULL},
        {"mask_cpu:0x1", 65, NULL}, /* more than can be bound */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static pipc__place_in_t in;
        pipc__cpu_sets_t sets;
        char text[256] = "";
        in.nranks = cases[i].nranks;
        in.step_cpus.word[1] = 1;
        snprintf(in.cpu_list, sizeof(in.cpu_list), "%s", cases[i].list);
        assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
        for (int r = 0; r < sets.nranks; r++) {
            size_t used = strlen(text);
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", r ? " " : "");
            hwloc_bitmap_list_snprintf(text + used, sizeof(text) - used, sets.rank[r]);
        }
        if (strcmp(text, cases[i].sets ? cases[i].sets : ""))
            fail_msg("\"%s\": %s", cases[i].list, text);
        assert_int_equal(hwloc_bitmap_first(sets.step), 64);
        pipc__cpu_sets_free(&sets);
        assert_int_equal(sets.nranks, 0);
    }
}

static void endless_cpu_masks_are_unknown(void **state)
{
    static pipc__place_in_t in;
    pipc__cpu_sets_t sets;

    (void)state;
    in.nranks = 1;
    memset(in.cpu_list, 'f', sizeof(in.cpu_list) - 1);
    memcpy(in.cpu_list, "mask_cpu:", strlen("mask_cpu:"));
    assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
    assert_int_equal(sets.nranks, 0);
    assert_null(sets.step); /* an empty mask is none that a process can have */
    pipc__cpu_sets_free(&sets);
    in.cpu_list[strlen("mask_cpu:") + PIPC__CPUS_MAX / 4] = '\0'; /* the longest */
    assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
    assert_int_equal(sets.nranks, 1);
    assert_int_equal(hwloc_bitmap_weight(sets.rank[0]), PIPC__CPUS_MAX);
    pipc__cpu_sets_free(&sets);
}

/* All tasks come to one binding, whatever each knows of itself alone. */
static void tasks_agree_whatever_their_own_mask_is(void **state)
{
    pipc__topo_t *topo = tree(EIGHT);
    uint64_t seen = 0;

    (void)state;
    for (int r = 0; r < 4; r++) {
        struct place_case c = {.rank = r,
                               .nranks = 4,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = "0,1,2,3,4,5,6,7",
                               .task_list = "0,1,2,3,4,5,6,7"};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.step_cpus.word[0] = 0xff00; /* the second node's */
        in.cpus.word[0] = 1ul << (r % 2 ? 0 : 8);
        in.cpus_shared = r == 3;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        assert_string_equal(out.list, "4,5,6,7,0,1,2,3");
        seen |= (uint64_t)1 << atoi(out.minor);
    }
    assert_int_equal(seen, 0xf0);
    pipc__topo_free(topo);
}

/* As firmware that tells no NUMA nodes. */
static void forget_numa(pipc__topo_t *topo)
{
    for (int i = 0; i < topo->nobjs; i++)
        topo->objs[i].numa = PIPC__UNKNOWN;
}

/* Who has no core near, who tells of it, and where memory is to come from. */
static void far_cores_and_memory(void **state)
{
    static const struct {
        const char *what, *step_list, *task_list;
        int rank, nranks;
        bool shared, keep_cpus;
        unsigned long granted;
        int far, mem_node;
    } cases[] = {
        {"all near", "0,1,4,5", "0,1,4,5", 0, 4, true, false, 0xffff, 0, 0},
        {"the first counts for all", "0,1,4,5", "0,1,4,5", 0, 4, true, false, 0x00ff, 2, 0},
        {"the others for themselves", "0,1,4,5", "0,1,4,5", 3, 4, true, false, 0x00ff, 1, -1},
        {"own cores", "0,1,4,5", "0,1,4,5", 0, 4, false, false, 0xff00, 1, -1},
        {"the user's own wish", "0,1,4,5", "0,1,4,5", 0, 4, true, true, 0x00ff, 0, 0},
        {"one task, two nodes", "0,4", "0,4", 0, 1, true, false, 0xffff, 0, -1},
        {"one task, two GPUs of a node", "4,5", "4,5", 0, 1, true, false, 0xffff, 0, 1},
        {"one task, two GPUs, none near", "4,5", "4,5", 0, 1, true, false, 0x00ff, 1, -1},
        {"own list of two nodes", "0,4,1,5", "0,4", 0, 2, true, false, 0xffff, 0, -1},
        {"no GPU", NULL, NULL, 0, 2, true, false, 0xffff, 0, -1},
        {"a node that is not known", "6,7", "6,7", 0, 1, true, false, 0xffff, 0, -1},
        {"... of one of many tasks", "6,7", "6,7", 0, 2, true, false, 0xffff, 0, -1},
    };
    pipc__topo_t *topo = tree(EIGHT);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_case c = {.rank = cases[i].rank,
                               .nranks = cases[i].nranks,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = cases[i].step_list,
                               .task_list = cases[i].task_list};
        pipc__place_in_t in;
        pipc__place_out_t out;
        if (strstr(cases[i].what, "not known"))
            forget_numa(topo);
        fill(&c, &in);
        in.cpus.word[0] = cases[i].granted;
        in.cpus_shared = cases[i].shared;
        in.keep_cpus = cases[i].keep_cpus;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (out.far != cases[i].far || out.mem_node != cases[i].mem_node)
            fail_msg("%s: %d far, memory of %d", cases[i].what, out.far, out.mem_node);
    }
    pipc__topo_free(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_only_ever_get_fewer),
        cmocka_unit_test(cpu_lists_as_slurm_writes_them),
        cmocka_unit_test(endless_cpu_masks_are_unknown),
        cmocka_unit_test(tasks_agree_whatever_their_own_mask_is),
        cmocka_unit_test(far_cores_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
