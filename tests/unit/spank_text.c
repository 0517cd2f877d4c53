/* tests/unit/spank_text.c - the option's table, plugstack arguments, and what users read */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spank/args.h"
#include "spank/options.h"
#include "spank/preload_list.h"
#include "spank/report.h"
#include "spank/wishes.h"

static void what_was_chosen_parses_back(void **state)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"", "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:warn,"
             "report:none"},
        {"bind:none", "bind:none,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:"
                      "warn,report:none"},
        {"verbose,ipc:require", "bind:switch,mem:local,nic:auto,ipc:require,path:auto,nodes:auto,nccl:auto,"
                                "tuner:auto,health:warn,report:none,verbose"},
        {"verbose:no,ipc:off", "bind:switch,mem:local,nic:auto,ipc:off,path:auto,nodes:auto,nccl:auto,tuner:"
                               "auto,health:warn,report:none"},
        {"help", "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:"
                 "warn,report:none"},
        {"off", "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:"
                "warn,report:none,off"},
        {"bind:spread,mem:none,nic:none,path:host,health:require,report:summary",
         "bind:spread,mem:none,nic:none,ipc:auto,path:host,nodes:auto,nccl:auto,tuner:auto,health:require,"
         "report:summary"},
        {"bind:map:4,5,2,3,verbose", "bind:map:4,5,2,3,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:"
                                     "auto,tuner:auto,health:warn,report:none,verbose"},
        {"report:json:/tmp/a:b,nccl:off,tuner:off",
         "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:off,tuner:off,health:warn,"
         "report:json:/tmp/a:b"},
        {"report:json:/tmp/a,report:json",
         "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:warn,"
         "report:json"},
        {"bind:map:1,0,bind:numa", "bind:numa,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,"
                                   "tuner:auto,health:warn,report:none"},
        {"nodes:split", "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:split,nccl:auto,"
                        "tuner:auto,health:warn,report:none"},
        {"nodes:split:2,off", "bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:split:2,"
                              "nccl:auto,tuner:auto,health:warn,report:none,off"},
        {"bind:numa,path:p2p", "bind:numa,mem:local,nic:auto,ipc:auto,path:p2p,nodes:auto,nccl:auto,tuner:"
                               "auto,health:warn,report:none"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__spank_options_t options = {0}, again = {0};
        char text[PIPC__MODE_MAX], cut[5];
        pipc__options_default(pipc__spank_table, &options);
        assert_int_equal(pipc__options_parse(pipc__spank_table, cases[i].text, &options, NULL), 0);
        size_t need = pipc__spank_options_write(&options, text, sizeof(text));
        assert_int_equal(need, strlen(text));
        assert_string_equal(text, cases[i].written);
        pipc__options_default(pipc__spank_table, &again);
        assert_int_equal(pipc__options_parse(pipc__spank_table, text, &again, NULL), 0);
        options.help = false;
        assert_memory_equal(&again, &options, sizeof(options));
        assert_int_equal(pipc__spank_options_write(&options, cut, sizeof(cut)), need);
        assert_string_equal(cut, "bind");
    }
}

static void a_wrong_value_names_the_right_ones(void **state)
{
    pipc__spank_options_t options = {0};
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__options_parse(pipc__spank_table, "bind:moon", &options, &err),
                     PIPC_ERR_INVALID);
    assert_string_equal(err.text,
                        "bind: unknown value \"moon\"; use one of: switch, spread, numa, none, "
                        "map:N,...");
}

static void plugstack_arguments(void **state)
{
    static const struct {
        const char *argv[3];
        const char *synthetic, *sysroot, *devdir, *complaint; /* complaint: part of it, or NULL */
    } cases[] = {
        {{NULL}, NULL, NULL, "/dev", NULL},
        {{"synthetic=2x[sw:4gpu+1nic]", "devdir=/x/dev"}, "2x[sw:4gpu+1nic]", NULL, "/x/dev", NULL},
        {{"sysroot=/cap"}, NULL, "/cap", "/dev", NULL},
        {{"devdir=/a", "devdir=/b"}, NULL, NULL, "/b", NULL},
        {{"sysroot=cap"}, NULL, NULL, "/dev", "\"sysroot=cap\" ignored"},
        {{"devdir="}, NULL, NULL, "/dev", "\"devdir=\" ignored"},
        {{"synthetic"}, NULL, NULL, "/dev", "\"synthetic\" ignored"},
        {{"synthetics=x"}, NULL, NULL, "/dev", "ignored; use synthetic=TOPOLOGY"},
        {{"", "devdir=/a"}, NULL, NULL, "/a", "\"\" ignored"},
        {{"synthetic=x", "sysroot=/cap"}, "x", "/cap", "/dev", "sysroot= ignored"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char copy[3][64], *argv[3];
        pipc__args_t args;
        int n = 0;
        for (; n < 3 && cases[i].argv[n]; n++) {
            snprintf(copy[n], sizeof(copy[n]), "%s", cases[i].argv[n]);
            argv[n] = copy[n];
        }
        pipc__args_read(n, argv, &args);
        assert_string_equal(args.synthetic ? args.synthetic : "-",
                            cases[i].synthetic ? cases[i].synthetic : "-");
        assert_string_equal(args.sysroot ? args.sysroot : "-",
                            cases[i].sysroot ? cases[i].sysroot : "-");
        assert_string_equal(args.devdir, cases[i].devdir);
        assert_string_equal(args.rundir, "/run/pcie-ipc/steps");
        assert_string_equal(args.health, "/run/pcie-ipc/health.json");
        if (cases[i].complaint)
            assert_non_null(strstr(args.complaint, cases[i].complaint));
        else
            assert_string_equal(args.complaint, "");
    }
}

static void folders_and_files_of_the_administrator(void **state)
{
    char a[] = "rundir=/var/run/%h", b[] = "health=/x.json", c[] = "health=x.json",
         *argv[] = {a, b, c};
    pipc__args_t args;

    (void)state;
    pipc__args_read(3, argv, &args);
    assert_string_equal(args.rundir, "/var/run/%h");
    assert_string_equal(args.health, "/x.json");
    assert_non_null(strstr(args.complaint, "\"health=x.json\" ignored"));
}

static void lists_of_preloaded_libraries(void **state)
{
    static const struct {
        const char *list, *with, *without; /* NULL: as it is */
    } cases[] = {
        {"", "/l/our.so", NULL},
        {"/l/our.so", NULL, ""},
        {"/l/a.so", "/l/a.so:/l/our.so", NULL},
        {"/l/a.so /l/b.so", "/l/a.so /l/b.so:/l/our.so", NULL},
        {"/l/our.so:/l/a.so", NULL, "/l/a.so"},
        {"/l/a.so:/l/our.so", NULL, "/l/a.so"},
        {"/l/a.so /l/our.so  /l/b.so", NULL, "/l/a.so:/l/b.so"},
        {" :/l/our.so: ", NULL, ""},
        /* those that only begin or end so are others */
        {"/l/our.so.1", "/l/our.so.1:/l/our.so", NULL},
        {"/x/l/our.so", "/x/l/our.so:/l/our.so", NULL},
        {"our.so", "our.so:/l/our.so", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buf[64] = "?", small[4];
        assert_int_equal(pipc__preload_with(cases[i].list, "/l/our.so", buf, sizeof(buf)),
                         cases[i].with != NULL);
        if (cases[i].with)
            assert_string_equal(buf, cases[i].with);
        assert_int_equal(pipc__preload_without(cases[i].list, "/l/our.so", buf, sizeof(buf)),
                         cases[i].without != NULL);
        if (cases[i].without)
            assert_string_equal(buf, cases[i].without);
        assert_false(pipc__preload_with(cases[i].list, "/l/our.so", small, sizeof(small)));
        assert_false(pipc__preload_without(cases[i].list, "/l/our.so", small, sizeof(small)));
    }
}

/* All options at their longest have to fit where they are written out. */
static void the_longest_mode_fits(void **state)
{
    size_t need = 1;

    (void)state;
    for (const pipc__option_t *o = pipc__spank_table; o->key; o++) {
        size_t longest = 0;
        for (const char *const *v = o->values; v && *v; v++)
            longest = strlen(*v) > longest ? strlen(*v) : longest;
        need += strlen(o->key) + 2 + longest;
        need += o->type == PIPC__OPTION_NAMED ? PIPC__OPTION_TEXT_MAX
                : o->list ? PIPC__OPTION_LIST_MAX * sizeof("63") /* a comma each */
                          : 0;
    }
    assert_true(need <= PIPC__MODE_MAX);
}

/* What is wrong with the man page @page: NULL, or the line that it lacks, or a word on the keys. */
static const char *judge_page(const char *page)
{
    static char item[256];
    size_t items = 0, keys = 0;

    for (const pipc__option_t *o = pipc__spank_table; o->key; o++, keys++) {
        size_t used = (size_t)snprintf(item, sizeof(item), ".It Cm %s", o->key);
        for (const char *const *v = o->values; v && *v; v++)
            used += (size_t)snprintf(item + used, sizeof(item) - used, " %s%s",
                                     v == o->values ? ": Ns Cm " : "| ", *v);
        snprintf(item + used, sizeof(item) - used, "\n");
        if (!strstr(page, item))
            return item;
    }
    const char *options = strstr(page, ".Sh OPTION"),
               *end = strstr(page, ".Ss The order of devices");
    if (!options || !end)
        return "no section of options";
    for (const char *at = options; (at = strstr(at, ".It Cm ")) && at < end; at++)
        items++;
    return items == keys ? NULL : "a key that there is not";
}

static char page[65536];

static void the_man_page_names_every_key_and_value(void **state)
{
    const char *top = getenv("PIPC_SRCDIR");
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/doc/spank_pcie_ipc.8", top ? top : ".");
    FILE *f = fopen(path, "r");
    if (!f)
        skip();
    page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
    fclose(f);
    if (judge_page(page))
        fail_msg("%s: %s", path, judge_page(page));
}

static void a_fault_in_the_man_page_is_seen(void **state)
{
    char *key = strstr(page, ".It Cm bind"), *value = strstr(page, "numa"), keep;

    (void)state;
    if (!key || !value)
        skip();
    keep = *key;
    *key = ' '; /* a key is lost */
    assert_non_null(judge_page(page));
    *key = keep;
    keep = *value;
    *value = 'x'; /* a value has another name */
    assert_non_null(judge_page(page));
    *value = keep;
    assert_null(judge_page(page));
    char *end = strstr(page, ".Ss The order of devices");
    memmove(end + 13, end, strlen(end) + 1);
    memcpy(end, ".It Cm moons\n", 13); /* a key too many */
    assert_string_equal(judge_page(page), "a key that there is not");
}

static void explicit_cpu_bind_among_sruns_words(void **state)
{
    static const struct {
        const char *words; /* a space for each end of a word */
        size_t command;
        bool ours;
    } cases[] = {
        {"srun -n2 true ", 1, false},
        {"srun -n2 --cpu-bind=none true ", 1, true},
        {"srun --cpu-bind none true ", 1, true},
        {"srun --cpu_bind=cores true ", 1, true},
        {"srun --cpu-b=map_cpu:1,0 true ", 1, true},
        {"srun --cpu-bind=verbose true ", 1, false},
        {"srun --cpu-bind=v,cores true ", 1, true},
        {"srun --cpu-bind=verbosely true ", 1, true},
        {"srun --cpu-freq=high --cpus-per-task=2 true ", 1, false},
        {"srun -n1 mpirun --cpu-bind=none a ", 3, false}, /* the program's */
        {"srun --cpu-bind ", 0, false},
        {"", 0, false},
        {"srun ", 5, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char words[128];
        size_t n = strlen(cases[i].words);
        strcpy(words, cases[i].words);
        for (size_t k = 0; k < n; k++)
            if (words[k] == ' ')
                words[k] = '\0';
        if (pipc__wish_cpu_words(words, n, cases[i].command) != cases[i].ours)
            fail_msg("%s", cases[i].words);
    }
}

static void explicit_memory_and_gpu_binding(void **state)
{
    static const struct {
        const char *tres;
        bool ours;
    } cases[] = {
        {"", false},
        {"gpu:none", false},
        {"gpu:per_task:1", false},
        {"gpu:map_gpu:1,0", true},
        {"gpu:mask_gpu:0x3", true},
        {"gpu:map:1,0", true}, /* Slurm 23.11 and newer */
        {"gres/gpu:mask:0x3", true},
        {"gpu:MASK_GPU:0x3", true},
        {"gpu:Map:1", true},
        {"gpu:closest", true},
        {"gpu:verbose,closest", true},
        {"gpu:VERBOSE,Closest", true},
        {"gpu:single:1", false}, /* what --ntasks-per-gpu implies */
        {"nic:map_gpu:1", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(pipc__wish_gpu(cases[i].tres), cases[i].ours);
    assert_true(pipc__wish_mem("none") && pipc__wish_mem("local"));
    assert_false(pipc__wish_mem(""));
}

static void cpus_as_ranges(void **state)
{
    static const struct {
        unsigned long low;
        const char *text;
    } cases[] = {
        {0, ""}, {1, "0"}, {0x3, "0-1"}, {0xf0, "4-7"}, {0x105, "0,2,8"}, {0xf1, "0,4-7"},
    };
    pipc__cpus_t mask;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&mask, 0, sizeof(mask));
        mask.word[0] = cases[i].low;
        pipc__report_cpus(&mask, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
    }
    memset(&mask, 0xff, sizeof(mask));
    pipc__report_cpus(&mask, text, sizeof(text));
    assert_string_equal(text, "0-8191");
    memset(&mask, 0x55, sizeof(mask)); /* every other one: more than fits */
    pipc__report_cpus(&mask, text, sizeof(text));
    assert_string_equal(text, "0,2,4,6,8,10,12,14,16,18,20...");
}

static void the_remedy_is_one_that_this_slurm_has(void **state)
{
    static const struct {
        const char *version;
        bool sharing;
    } cases[] = {
        {"22.05.8", false},  {"23.02.7", false}, {"23.11.0", true},
        {"24.05.1-2", true}, {"25.05.0", true},  {"9.11", false},
        {"", false},         {NULL, false},      {"rubbish", false},
    };
    pipc__place_out_t out = {.hidden = 3, .step_ngpus = 4};
    char text[PIPC__REPORT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(pipc__has_task_sharing(cases[i].version), cases[i].sharing);
        pipc__report_hidden(&out, cases[i].version, text);
        assert_non_null(strstr(text, "hides 3 of the step's 4 GPUs"));
        assert_non_null(strstr(text, cases[i].sharing ? "add --gres-flags=allow-task-sharing"
                                                      : "use --gpus-per-node=4 in place of"));
    }
}

static void pmix_of_this_step(void **state)
{
    static const struct {
        const char *nspace;
        bool ours;
    } cases[] = {
        {"slurm.pmix.123.4", true},
        {"slurm.pmix.123.5", false},
        {"slurm.pmix.123.44", false},
        {"slurm.pmix.", false},
        {"prte-node-77@1", true},
        {"", false},
        {NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(pipc__pmix_is_ours(cases[i].nspace, 4), cases[i].ours);
}

static void lines_of_a_task(void **state)
{
    pipc__place_in_t in = {.bind = true, .rank = 3, .nranks = 4};
    pipc__place_out_t out = {.shown = PIPC__SHOWN_SAME,
                             .ngpus = 4,
                             .step_ngpus = 4,
                             .near = true,
                             .bdf = "0000:06:00.0",
                             .minor = "3",
                             .numa = "0",
                             .sw = "0000:01:00.0",
                             .nic = "mlx5_0",
                             .source = "live"};
    char text[PIPC__REPORT_MAX];

    (void)state;
    out.cpus.word[0] = 0xc0;
    pipc__report_task(&in, &out, 11, false, text);
    assert_string_equal(text, "rank 11 (local 3): GPU 0000:06:00.0 (minor 3), switch 0000:01:00.0, "
                              "NUMA node 0, cores 6-7, NIC mlx5_0");
    out.near = false;
    pipc__report_task(&in, &out, 11, false, text);
    assert_non_null(strstr(text, "cores 6-7 (none of them near the GPU)"));
    in.bind = false;
    pipc__report_task(&in, &out, 11, true, text);
    assert_non_null(strstr(text, "cores 6-7 (bind:none), memory of node 0 preferred, NIC"));
    in.bind = in.keep_cpus = true;
    pipc__report_task(&in, &out, 11, false, text);
    assert_non_null(strstr(text, "cores 6-7 (--cpu-bind), NIC"));
    in.keep_cpus = false, in.cpus_shared = true, out.far = 2;
    pipc__report_far(&in, &out, text);
    assert_string_equal(text,
                        "2 of 4 tasks have no granted core near their GPU; they keep the cores "
                        "that Slurm granted; --gres-flags=enforce-binding asks for near ones");
    in.cpus_shared = in.bind = false, out.far = 1;
    pipc__report_far(&in, &out, text);
    assert_non_null(strstr(text, "local task 3 has no granted core near its GPU; it keeps"));

    pipc__report_node(&in, &out, "bind:none,ipc:auto", text);
    assert_string_equal(text, "bind:none,ipc:auto: 4 tasks, 4 GPUs, all tasks see the same list; "
                              "topology: live");

    out = (pipc__place_out_t){
        .shown = PIPC__SHOWN_ONE, .ngpus = 2, .step_ngpus = 2, .gpus = "0000:03:00.0 0000:04:00.0"};
    in = (pipc__place_in_t){.bind = true, .nranks = 1};
    out.cpus.word[0] = 1;
    pipc__report_task(&in, &out, 0, false, text);
    assert_string_equal(text, "rank 0 (local 0): 2 GPUs in this order: 0000:03:00.0 0000:04:00.0, "
                              "cores 0");
    out = (pipc__place_out_t){.source = "synthetic"};
    pipc__report_task(&in, &out, 0, false, text);
    assert_string_equal(text, "rank 0 (local 0): no GPU, cores not known");
    pipc__report_node(&in, &out, "x", text);
    assert_string_equal(text, "x: 1 task, no GPU granted; topology: synthetic");
}

static void long_lists_are_cut_not_overrun(void **state)
{
    pipc__place_in_t in = {.bind = true, .nranks = 1};
    pipc__place_out_t out = {.shown = PIPC__SHOWN_ONE, .ngpus = 64, .step_ngpus = 64};
    char text[PIPC__REPORT_MAX];

    (void)state;
    memset(out.gpus, 'x', sizeof(out.gpus) - 1);
    pipc__report_task(&in, &out, 0, false, text);
    assert_int_equal(strlen(text), PIPC__REPORT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_chosen_parses_back),
        cmocka_unit_test(a_wrong_value_names_the_right_ones),
        cmocka_unit_test(plugstack_arguments),
        cmocka_unit_test(folders_and_files_of_the_administrator),
        cmocka_unit_test(lists_of_preloaded_libraries),
        cmocka_unit_test(the_longest_mode_fits),
        cmocka_unit_test(the_man_page_names_every_key_and_value),
        cmocka_unit_test(a_fault_in_the_man_page_is_seen),
        cmocka_unit_test(explicit_cpu_bind_among_sruns_words),
        cmocka_unit_test(explicit_memory_and_gpu_binding),
        cmocka_unit_test(cpus_as_ranges),
        cmocka_unit_test(the_remedy_is_one_that_this_slurm_has),
        cmocka_unit_test(pmix_of_this_step),
        cmocka_unit_test(lines_of_a_task),
        cmocka_unit_test(long_lists_are_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
