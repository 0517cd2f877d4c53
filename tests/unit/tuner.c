/* tests/unit/tuner.c - NCCL's tuner plugin: what it tells, which tables it believes, and the
 * library itself, driven by each of NCCL's three interfaces
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "config.h"
#include "runtime/nccl/tuner/abi.h"
#include "runtime/nccl/tuner/rules.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define T(bytes, mode, who, median, tail)                                                          \
    "time " #bytes " " #mode " " who " " #median " " #tail " 100\n"
#define ROWS "up-to max eager nccl graph nccl\n"

/* --- what is told ------------------------------------------------------------------------------
 */

static void the_rule(void **state)
{
    static const struct {
        const char *times;
        size_t bytes;
        bool graph;
        const char *told; /* ALGO PROTO, or "" */
    } cases[] = {
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9), 8, false, "1 0"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9), 1, false, "1 0"},
        /* nothing is known of what is larger, nor of graphs */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9), 9, false, ""},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9), 8, true, ""},
        /* 3 %, and a tail no worse */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 9.8, 9), 8, false, ""},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 9.7, 9.7), 8, false, "1 0"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 12), 8, false, ""},
        /* without NCCL's own choice there is nothing to beat */
        {T(8, eager, "nccl:ring-ll", 8, 9), 8, false, ""},
        /* the best one of them, by NCCL's numbers */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9)
             T(8, eager, "nccl:ring-simple", 7, 8),
         8, false, "1 2"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll128", 7, 8), 8, false, "1 1"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:tree", 7, 8), 8, false, "0 -1"},
        /* what NCCL can't be told here, and what is not NCCL's */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:symmetric", 7, 8), 8, false, ""},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "ring", 7, 8), 8, false, ""},
        /* the sizes beside need not win, but be level */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(16, eager, "nccl", 10, 11)
             T(16, eager, "nccl:ring-ll", 10.3, 11),
         8, false, "1 0"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(16, eager, "nccl", 10, 11)
             T(16, eager, "nccl:ring-ll", 10.4, 11),
         8, false, ""},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 12, 13)
             T(16, eager, "nccl", 10, 11) T(16, eager, "nccl:ring-ll", 8, 9),
         16, false, ""},
        /* between two sizes what holds at the larger one */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(16, eager, "nccl", 10, 11)
             T(16, eager, "nccl:ring-ll", 10, 11),
         9, false, ""},
        /* no loss in the other mode: NCCL does not tell all graphs from eager calls */
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(8, graph, "nccl", 5, 6)
             T(8, graph, "nccl:ring-ll", 5.1, 6),
         8, false, ""},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(8, graph, "nccl", 5, 6)
             T(8, graph, "nccl:ring-ll", 5, 6),
         8, false, "1 0"},
        {T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9) T(8, graph, "nccl", 5, 6)
             T(8, graph, "nccl:ring-ll", 4, 5),
         8, true, "1 0"},
        {"", 8, false, ""},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        char text[1024], got[32] = "";
        pipc__table_file_t f;
        pipc__error_t err;
        pipc__told_t told;
        snprintf(text, sizeof(text), "table 1\n" ROWS "%s", cases[i].times);
        assert_int_equal(pipc__table_parse(&f, text, strlen(text), "t", true, &err), PIPC_OK);
        if (pipc__told(&told, f.times, f.ntimes, cases[i].bytes, cases[i].graph))
            snprintf(got, sizeof(got), "%d %d", told.algo, told.proto);
        if (strcmp(got, cases[i].told))
            fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].told);
        pipc__table_file_free(&f);
    }
}

/* --- what is seen ------------------------------------------------------------------------------
 */

static char root[] = "/tmp/pipc-unit-XXXXXX";
static const char *visible, *order, *table, *config;

static const char *lookup(const char *name)
{
    return !strcmp(name, "CUDA_VISIBLE_DEVICES") ? visible
           : !strcmp(name, "CUDA_DEVICE_ORDER")  ? order
           : !strcmp(name, "PCIE_IPC_TABLE")     ? table
           : !strcmp(name, "XDG_CONFIG_HOME")    ? config
                                                 : NULL;
}

static void put(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *path, const char *fmt, ...)
{
    char whole[512];
    va_list ap;

    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

/* Three GPUs whose minors run against their addresses; the middle one may be another model. */
static void make_machine(const char *middle)
{
    put("proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue\n");
    for (int i = 0; i < 3; i++) {
        char path[96];
        snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/0000:%02X:00.0/information", 10 + i);
        put(path,
            "Model: \t\t %s\nIRQ:   \t\t 90\nGPU UUID: \t GPU-%d1a2b3c4\nDevice Minor: \t %d\n",
            i == 1 ? middle : "NVIDIA H200", i, 2 - i);
        snprintf(path, sizeof(path), "dev/nvidia%d", i);
        put(path, "%s", "");
    }
}

static int make_root(void **state)
{
    (void)state;
    return !mkdtemp(root);
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

#define ALL "0000:0a:00.0 0000:0b:00.0 0000:0c:00.0"

static void which_gpus_a_process_sees(void **state)
{
    static const struct {
        const char *visible, *order, *gone; /* gone: a device file */
        int n;
        const char *gpus;
    } cases[] = {
        {NULL, NULL, NULL, 3, ALL},
        {"0,1,2", NULL, NULL, 3, ALL},
        {"2,0,1", NULL, NULL, 3, "0000:0c:00.0 0000:0a:00.0 0000:0b:00.0"},
        {"0,2", "PCI_BUS_ID", NULL, 2, "0000:0a:00.0 0000:0c:00.0"},
        {"0,2", "FASTEST_FIRST", NULL, -1, ""}, /* which two only CUDA knows */
        {"0,2", NULL, NULL, -1, ""},
        {"GPU-11,GPU-2", NULL, NULL, 2, "0000:0b:00.0 0000:0c:00.0"},
        {"GPU-", NULL, NULL, -1, ""}, /* three begin so */
        {"GPU-7", NULL, NULL, -1, ""},
        {"MIG-1", NULL, NULL, -1, ""},
        {"0,9", "PCI_BUS_ID", NULL, -1, ""},
        {"moon", NULL, NULL, -1, ""},
        {"", NULL, NULL, 0, ""},
        {NULL, NULL, "dev/nvidia1", 2, "0000:0a:00.0 0000:0c:00.0"}, /* a device cgroup */
        {"0,1", NULL, "dev/nvidia1", 2, "0000:0a:00.0 0000:0c:00.0"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        static pipc__seen_t seen;
        char got[256] = "", path[96];
        make_machine("NVIDIA H200");
        snprintf(path, sizeof(path), "%s/%s", root, cases[i].gone ? cases[i].gone : "none");
        unlink(path);
        visible = cases[i].visible, order = cases[i].order;
        pipc__seen_read(&seen, "2.28.9", lookup, root);
        for (int g = 0; g < seen.ngpus; g++)
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", g ? " " : "",
                     seen.bdf[g]);
        if (seen.ngpus != cases[i].n || strcmp(got, cases[i].gpus))
            fail_msg("case %zu: %d GPUs: %s", i, seen.ngpus, got);
        assert_string_equal(seen.key.gpu, "NVIDIA H200");
        assert_string_equal(seen.key.driver, "580.159.04");
    }
    visible = order = NULL;
}

static void what_a_table_was_measured_on(void **state)
{
    static const struct {
        const char *middle, *gpu, *driver, *nccl, *build, *gpus;
        bool fits;
    } cases[] = {
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION, ALL, true},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION,
         "0000:0c:00.0 0000:0a:00.0 0000:0b:00.0", true},
        {"NVIDIA H100", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION, ALL, false},
        {"NVIDIA H200", "NVIDIA H100", "580.159.04", "2.28.9", PACKAGE_VERSION, ALL, false},
        {"NVIDIA H200", "NVIDIA H200", "570.1", "2.28.9", PACKAGE_VERSION, ALL, false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.27.3", PACKAGE_VERSION, ALL, false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "", PACKAGE_VERSION, ALL, false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", "0.0.1", ALL, false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION,
         "0000:0a:00.0 0000:0b:00.0", false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION,
         "0000:0a:00.0 0000:0b:00.0 0000:0d:00.0", false},
        {"NVIDIA H200", "NVIDIA H200", "580.159.04", "2.28.9", PACKAGE_VERSION, "", false},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        static pipc__seen_t seen;
        pipc__table_key_t key = {.topology = 7};
        make_machine(cases[i].middle);
        pipc__seen_read(&seen, "2.28.9", lookup, root);
        snprintf(key.gpu, sizeof(key.gpu), "%s", cases[i].gpu);
        snprintf(key.driver, sizeof(key.driver), "%s", cases[i].driver);
        snprintf(key.nccl, sizeof(key.nccl), "%s", cases[i].nccl);
        snprintf(key.build, sizeof(key.build), "%s", cases[i].build);
        snprintf(key.gpus, sizeof(key.gpus), "%s", cases[i].gpus);
        if (pipc__seen_fits(&seen, &key) != cases[i].fits)
            fail_msg("case %zu", i);
        seen.key.nccl[0] = '\0'; /* an NCCL that does not say */
        assert_false(pipc__seen_fits(&seen, &key));
    }
}

/* --- files -------------------------------------------------------------------------------------
 */

static void put_table(const char *path, const char *gpus, const char *times)
{
    put(path,
        "table 1\ntopology 1\ngpu NVIDIA H200\n%s%s\ndriver 580.159.04\nnccl 2.28.9\nbuild "
        "%s\n" ROWS "%s",
        *gpus ? "gpus " : "# none ", gpus, PACKAGE_VERSION, times);
}

#define LL T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:ring-ll", 8, 9)
#define LL_LONG LL T(16, eager, "nccl", 10, 11) T(16, eager, "nccl:ring-ll", 8, 9)
#define TREE T(8, eager, "nccl", 10, 11) T(8, eager, "nccl:tree", 8, 9)
#define FOLDER "config/pcie-ipc/tables/"

static const char *answer(size_t nranks, size_t bytes)
{
    static pipc__seen_t seen;
    static pipc__rules_t rules;
    static char text[32];

    pipc__seen_read(&seen, "2.28.9", lookup, root);
    pipc__rules_find(&rules, &seen, nranks, lookup);
    const pipc__told_t *told = pipc__rules_look(&rules, bytes, false);
    snprintf(text, sizeof(text), told ? "%d %d" : "", told ? told->algo : 0,
             told ? told->proto : 0);
    return text;
}

static void which_tables_are_believed(void **state)
{
    static char folder[64], path[128];

    (void)state;
    make_machine("NVIDIA H200");
    snprintf(folder, sizeof(folder), "%s/config", root);
    config = folder;
    assert_string_equal(answer(3, 8), "");
    put_table(FOLDER "0000000000000001.table", ALL, LL_LONG);
    assert_string_equal(answer(3, 8), "1 0");
    assert_string_equal(answer(2, 8), ""); /* which two of three? */
    assert_string_equal(answer(4, 8), "");
    visible = "0";
    assert_string_equal(answer(3, 8), ""); /* a process that sees its own GPU alone */
    visible = NULL;
    /* A second one, of other GPUs, says nothing here. */
    put_table(FOLDER "0000000000000002.table", "0000:0a:00.0 0000:0b:00.0", TREE);
    assert_string_equal(answer(3, 8), "1 0");
    /* Of these GPUs, it must say the same; its sizes end at 8. */
    put_table(FOLDER "0000000000000003.table", ALL, LL);
    assert_string_equal(answer(3, 8), "1 0");
    assert_string_equal(answer(3, 16), "");
    put_table(FOLDER "0000000000000003.table", ALL, TREE);
    assert_string_equal(answer(3, 8), "");
    put(FOLDER "0000000000000003.table", "moon\n");
    assert_string_equal(answer(3, 16), "1 0");
    /* The named one is used, of whatever GPUs; not for other numbers of ranks. */
    put_table("named", "0000:01:00.0 0000:02:00.0 0000:03:00.0", TREE);
    snprintf(path, sizeof(path), "%s/named", root);
    table = path;
    assert_string_equal(answer(3, 8), "0 -1");
    assert_string_equal(answer(2, 8), "");
    put_table("named", "", TREE);
    assert_string_equal(answer(3, 8), "");
    table = "none";
    assert_string_equal(answer(3, 8), "");
    table = "/nowhere";
    assert_string_equal(answer(3, 8), "");
    table = NULL;
}

/* --- the library -------------------------------------------------------------------------------
 */

static char plugin[512], fake[512];

static void the_version_of_who_calls(void **state)
{
    char version[16];

    (void)state;
    void *lib = dlopen(fake, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    pipc__seen_nccl(dlsym(lib, "ncclAllReduce"), version);
    assert_string_equal(version, "2.28.9");
    pipc__seen_nccl((const void *)&plugin, version);
    assert_string_equal(version, "");
    pipc__seen_nccl(NULL, version);
    assert_string_equal(version, "");
    dlclose(lib);
}

static int logged;

static void note(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
    (void)flags, (void)file, (void)line, (void)fmt;
    assert_int_equal(level, TUNER_LOG_INFO);
    logged++;
}

typedef struct face {
    const char *symbol;
    int version;
} face_t;

static const face_t faces[] = {
    {"ncclTunerPlugin_v4", 4}, {"ncclTunerPlugin_v5", 5}, {"ncclTunerPlugin_v6", 6}};

/* What stands at each place of the three structures, as NCCL would read it. */
typedef struct calls {
    tuner_get_t get;
    int (*end)(void *);
    void *context;
} calls_t;

static void begin(void *lib, const face_t *f, size_t nranks, size_t nnodes, calls_t *c)
{
    void *symbol = dlsym(lib, f->symbol), *context = &logged; /* has to be written */
    int rc;

    assert_non_null(symbol);
    if (f->version == 4) {
        tuner_v4_t *t = symbol;
        rc = t->init(nranks, nnodes, note, &context);
        *c = (calls_t){t->get, t->destroy, context};
        assert_string_equal(t->name, "pcie-ipc");
    } else if (f->version == 5) {
        tuner_v5_t *t = symbol;
        rc = t->init(&context, 17, nranks, nnodes, note, NULL, NULL);
        *c = (calls_t){t->get, t->finalize, context};
    } else {
        tuner_v6_t *t = symbol;
        rc = t->init(&context, 17, nranks, nnodes, note, NULL, NULL);
        *c = (calls_t){t->get, t->finalize, context};
        assert_true(!t->chunk);
    }
    assert_int_equal(rc, 0);
    assert_true(context != &logged);
}

#define ALGOS 7
#define PROTOS 3
#define NO TUNER_NOT_AVAILABLE

static void the_library_forces_one_entry_and_touches_no_other(void **state)
{
    static const struct {
        const char *times;
        int collective;
        size_t bytes, nranks, nnodes;
        int ops, registered;
        int algo, proto;               /* the entry that becomes 0; -1: none does */
        int absent_algo, absent_proto; /* one that NCCL has not; -1: all are there */
    } cases[] = {
        {LL, TUNER_ALLREDUCE, 8, 3, 1, 1, 0, 1, 0, -1, -1},
        {LL, TUNER_ALLREDUCE, 8, 3, 1, 1, 0, -1, -1, 1, 0},
        {LL, TUNER_ALLREDUCE, 9, 3, 1, 1, 0, -1, -1, -1, -1},
        {LL, TUNER_ALLREDUCE, 8, 3, 1, 2, 0, -1, -1, -1, -1},
        {LL, TUNER_ALLREDUCE, 8, 3, 1, 1, 1, -1, -1, -1, -1}, /* graphs were not measured */
        {LL, TUNER_ALLREDUCE, 8, 3, 2, 1, 0, -1, -1, -1, -1},
        {LL, TUNER_ALLREDUCE, 8, 4, 1, 1, 0, -1, -1, -1, -1},
        {LL, 2, 8, 3, 1, 1, 0, -1, -1, -1, -1}, /* AllGather */
        {TREE, TUNER_ALLREDUCE, 8, 3, 1, 1, 0, 0, 0, -1, -1},
        {TREE, TUNER_ALLREDUCE, 8, 3, 1, 1, 0, 0, 1, 0, 0}, /* the next cheapest */
    };
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/library", root);
    setenv("PCIE_IPC_TABLE", path, 1);
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    for (size_t i = 0; i < LEN(cases); i++)
        for (size_t f = 0; f < LEN(faces); f++) {
            float costs[ALGOS][PROTOS], before[ALGOS][PROTOS];
            int nchannels = 77;
            calls_t c;
            put_table("library", ALL, cases[i].times);
            begin(lib, &faces[f], cases[i].nranks, cases[i].nnodes, &c);
            for (int a = 0; a < ALGOS; a++)
                for (int p = 0; p < PROTOS; p++)
                    costs[a][p] = (float)(100 + 10 * a + p);
            if (cases[i].absent_algo >= 0)
                costs[cases[i].absent_algo][cases[i].absent_proto] = NO;
            memcpy(before, costs, sizeof(costs));
            assert_int_equal(c.get(c.context, cases[i].collective, cases[i].bytes, cases[i].ops,
                                   (float **)(void *)costs, ALGOS, PROTOS, cases[i].registered,
                                   &nchannels),
                             0);
            if (cases[i].algo >= 0)
                before[cases[i].algo][cases[i].proto] = 0;
            if (memcmp(before, costs, sizeof(costs)))
                fail_msg("case %zu, %s", i, faces[f].symbol);
            assert_int_equal(nchannels, 77);
            assert_int_equal(c.end(c.context), 0);
        }
    assert_true(logged > 0);
    dlclose(lib);
    unsetenv("PCIE_IPC_TABLE");
}

/* No table, and an NCCL with fewer algorithms than the table speaks of. */
static void the_library_does_nothing_without_a_table(void **state)
{
    float costs[1][1] = {{5}};
    char path[128];
    calls_t c;

    (void)state;
    snprintf(path, sizeof(path), "%s/library", root);
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    for (size_t f = 0; f < LEN(faces); f++)
        for (int there = 0; there < 2; there++) {
            setenv("PCIE_IPC_TABLE", there ? path : "none", 1);
            put_table("library", ALL, LL);
            logged = 0;
            begin(lib, &faces[f], 3, 1, &c);
            assert_int_equal(logged, there);
            assert_int_equal(
                c.get(c.context, TUNER_ALLREDUCE, 8, 1, (float **)(void *)costs, 1, 1, 0, NULL), 0);
            assert_true(costs[0][0] == 5);
            assert_int_equal(c.end(c.context), 0);
        }
    dlclose(lib);
    unsetenv("PCIE_IPC_TABLE");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule),
        cmocka_unit_test(which_gpus_a_process_sees),
        cmocka_unit_test(what_a_table_was_measured_on),
        cmocka_unit_test(which_tables_are_believed),
        cmocka_unit_test(the_version_of_who_calls),
        cmocka_unit_test(the_library_forces_one_entry_and_touches_no_other),
        cmocka_unit_test(the_library_does_nothing_without_a_table),
    };
    const char *build = getenv("PIPC_BUILDDIR");

    (void)argc, (void)argv;
    snprintf(plugin, sizeof(plugin), "%s/.libs/libnccl-tuner-pcie-ipc.so", build ? build : ".");
    snprintf(fake, sizeof(fake), "%s/tests/unit/.libs/bench_nccl_fake.so", build ? build : ".");
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
