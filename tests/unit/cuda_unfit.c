/* tests/unit/cuda_unfit.c - GPUs and drivers that this build has no kernels for, told by a driver
 * without GPUs (cuda_fake.c): which code is loaded; that NCCL takes over on all ranks, with one
 * line of the log; and the error without NCCL
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/log.h"
#include "runtime/comm/comm.h"
#include "tests/unit/ranks.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, err.text);                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)
#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static char fake_nccl[4096], module_log[] = "/tmp/pipc-unfit-XXXXXX";

/* An architecture that configure was told to make machine code for, in @gencode; 0: none. */
static int told(const char *gencode)
{
    const char *text = getenv(gencode);
    const char *code = text ? strstr(text, "sm_") : NULL; /* "arch=compute_80,code=[sm_80,..." */

    return code ? atoi(code + strlen("sm_")) : 0;
}

/* --- which code ------------------------------------------------------------------------------- */

typedef struct load {
    char fake[32]; /* FAKE_CUDA */
    int maker;     /* the release of the code that is taken; 0: none */
} load_t;

static int load(ranks_t *all, int rank, void *arg)
{
    const load_t *l = arg;
    pipc__error_t err = {PIPC_OK, ""};
    pipc__segment_handle_t segment;
    uint8_t handle[PIPC__HANDLE_MAX];
    pipc__exec_place_t place;
    pipc__control_t *ctl;
    pipc__exec_t *x;

    (void)all, (void)rank;
    setenv("FAKE_CUDA", l->fake, 1);
    setenv("FAKE_CUDA_LOG", module_log, 1);
    MUST(!pipc__control_create(&ctl, &segment, &err));
    MUST(!pipc__exec_cuda.create(&x, ctl, 8 << 20, handle, &place, &err));
    MUST(!strcmp(place.gpu, "NVIDIA Fake"));
    pipc__exec_cuda.destroy(x);
    pipc__control_destroy(ctl);
    return 0;
}

/* The release in every line of the modules' log; 0: there is none, -1: they differ. */
static int loaded(void)
{
    FILE *f = fopen(module_log, "r");
    int maker = 0, line;

    while (f && fscanf(f, "%d", &line) == 1)
        maker = !maker || maker == line ? line : -1;
    if (f)
        fclose(f);
    return maker;
}

static void the_driver_decides_whose_code_is_loaded(void **state)
{
    int cuda13 = told("PIPC_CUDA_GENCODE"), cuda12 = told("PIPC_CUDA12_GENCODE");
    load_t loads[6];
    int n = 0;

    (void)state;
    if (!cuda13)
        skip(); /* PTX alone, or flags of another kind */
    snprintf(loads[n].fake, sizeof(loads[n].fake), "13000 sm_%d", cuda13);
    loads[n++].maker = 13;
    snprintf(loads[n].fake, sizeof(loads[n].fake), "13000 sm_30");
    loads[n++].maker = 0;
    snprintf(loads[n].fake, sizeof(loads[n].fake), "11080 sm_%d", cuda13);
    loads[n++].maker = 0;
    if (cuda12) {
        snprintf(loads[n].fake, sizeof(loads[n].fake), "12020 sm_%d", cuda12);
        loads[n++].maker = 12;
    }
    if (cuda12 && cuda12 < cuda13) { /* what CUDA 13 can't make code for */
        snprintf(loads[n].fake, sizeof(loads[n].fake), "13000 sm_%d", cuda12);
        loads[n++].maker = 12;
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(truncate(module_log, 0), 0);
        assert_int_equal(ranks_run(1, load, &loads[i], 20), 0);
        if (loaded() != loads[i].maker)
            fail_msg("%s: by CUDA %d", loads[i].fake, loaded());
    }
}

/* --- communicators ---------------------------------------------------------------------------- */

typedef struct scene {
    const char *fake[2]; /* FAKE_CUDA of each rank; NULL: a GPU that the build has code for */
    const char *plan, *nccl;
    pipc_path_t path;
    pipc_status_t status;
    const char *words; /* of the one warning in the log, or of the error */
} scene_t;

typedef struct meeting {
    ranks_t *all;
    int rank, warnings;
    char line[512];
} meeting_t;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return 0;
}

static void keep_line(void *arg, pipc_log_level_t level, const char *line)
{
    meeting_t *m = arg;

    if (level > PIPC_LOG_WARN)
        return;
    m->warnings++;
    snprintf(m->line, sizeof(m->line), "%s", line);
}

static void set_environment(const scene_t *s, int rank)
{
    char fits[32];

    snprintf(fits, sizeof(fits), "13000 sm_%d", told("PIPC_CUDA_GENCODE"));
    setenv("FAKE_CUDA", s->fake[rank] ? s->fake[rank] : fits, 1);
    setenv("PCIE_IPC_NCCL", s->nccl ? s->nccl : fake_nccl, 1);
    setenv("PCIE_IPC_TABLE", "none", 1);
}

/* One line in all, on whichever rank. */
static int one_line(const meeting_t *m, const scene_t *s)
{
    struct told {
        int lines, right;
    } mine = {m->warnings, m->warnings && strstr(m->line, s->words)}, all[2];

    ranks_gather(m->all, m->rank, &mine, sizeof(mine), all);
    return all[0].lines + all[1].lines == 1 && all[0].right + all[1].right == 1;
}

/* A call goes to NCCL, or to the executor, and fails. */
static int use(pipc_comm_t *comm, bool by_executor)
{
    pipc_comm_stats_t stats = PIPC_COMM_STATS_INIT;
    float in[3] = {1, 2, 3}, out[3] = {0};
    int by_nccl = 0;

    if (by_executor)
        return pipc_allreduce(comm, in, out, 3, PIPC_F32, PIPC_SUM, NULL) ? 0 : 4;
    if (pipc_allreduce(comm, in, out, 3, PIPC_F32, PIPC_SUM, NULL) || memcmp(in, out, sizeof(in)))
        return 2; /* the fake NCCL sums over one rank */
    pipc_comm_stats(comm, &stats);
    for (int k = 0; k < COUNT(stats.plan); k++)
        by_nccl +=
            stats.plan[k].name && !strcmp(stats.plan[k].name, "nccl") && stats.plan[k].calls == 1;
    return by_nccl == 1 && stats.calls == 1 ? 0 : 3;
}

static int create(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    meeting_t m = {.all = all, .rank = rank};
    pipc_callbacks_t calls = {sizeof(calls), rank, 2, allgather, &m};
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc__error_t err = {PIPC_OK, ""};
    pipc_comm_t *comm;

    set_environment(s, rank);
    pipc_set_log(keep_line, &m);
    config.backend = PIPC_BACKEND_CUDA;
    config.staging_bytes = 8 << 20;
    config.plan = s->plan;
    config.path = s->path;
    config.callbacks = &calls;
    pipc_status_t st = pipc__comm_create(&comm, &config, &pipc__xchg_auto, &err);
    MUST(st == s->status);
    if (st) {
        MUST(!comm && strstr(err.text, s->words));
        return 0;
    }
    MUST(one_line(&m, s));
    bool own = strstr(s->words, "go through host memory") || strstr(s->words, "MIG");
    int bad = use(comm, own);
    MUST(!bad);
    MUST(!pipc_comm_destroy(comm) || own);
    return 0;
}

static void nccl_does_it_all_or_the_error_says_why_not(void **state)
{
    static const char none[] = "13000 sm_30", old[] = "11080 sm_90";
    static const scene_t scenes[] = {
        {{none, none}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "no kernels for NVIDIA Fake (sm_30)"},
        {{none, NULL}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "GPUs before sm_70 can have none"},
        {{NULL, none}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "rank 1"},
        {{NULL, none}, NULL, NULL, PIPC_PATH_HOST, PIPC_OK, "rank 1"},
        {{none, none}, "nccl", NULL, PIPC_PATH_AUTO, PIPC_OK, "NCCL does it all"},
        {{old, old}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "driver (CUDA 11.8) is too old"},
        {{NULL, old}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "update it to CUDA"},
        {{none, NULL}, NULL, "/nowhere.so", PIPC_PATH_AUTO, PIPC_ERR_UNSUPPORTED, "no kernels for"},
        {{none, NULL}, NULL, "/nowhere.so", PIPC_PATH_AUTO, PIPC_ERR_UNSUPPORTED, "/nowhere.so"},
        {{NULL, old}, NULL, "/nowhere.so", PIPC_PATH_AUTO, PIPC_ERR_UNSUPPORTED, "too old"},
        {{none, NULL}, "ring", NULL, PIPC_PATH_AUTO, PIPC_ERR_UNSUPPORTED, "no kernels for"},
        {{none, none}, NULL, NULL, PIPC_PATH_P2P, PIPC_ERR_UNSUPPORTED, "no kernels for"},
    };

    (void)state;
    if (!told("PIPC_CUDA_GENCODE"))
        skip();
    for (int i = 0; i < COUNT(scenes); i++) {
        scene_t s = scenes[i];
        if (ranks_run(2, create, &s, 20))
            fail_msg("scene %d", i);
    }
}

/* Where both ranks have kernels, NCCL is not asked: the call is the executor's, and the fake driver
 * launches nothing. */
static void gpus_that_fit_are_not_given_to_nccl(void **state)
{
    static const scene_t fits = {.status = PIPC_OK, .words = "go through host memory"};

    (void)state;
    if (!told("PIPC_CUDA_GENCODE"))
        skip();
    scene_t s = fits;
    assert_int_equal(ranks_run(2, create, &s, 20), 0);
}

/* A part of a GPU goes through host memory, with whomever, though its handles open; a probe would
 * launch kernels and fail. */
static void parts_of_gpus_go_through_host_memory(void **state)
{
    char part[40];
    scene_t scenes[] = {
        {{part, part},
         NULL,
         NULL,
         PIPC_PATH_AUTO,
         PIPC_OK,
         "2 of 2 pairs of GPUs go through host memory"},
        {{NULL, part}, NULL, NULL, PIPC_PATH_AUTO, PIPC_OK, "MIG instances have no peer access"},
        {{part, NULL}, NULL, NULL, PIPC_PATH_P2P, PIPC_ERR_UNREACHABLE, "MIG instances have no"},
    };

    (void)state;
    if (!told("PIPC_CUDA_GENCODE"))
        skip();
    snprintf(part, sizeof(part), "13000 sm_%d MIG", told("PIPC_CUDA_GENCODE"));
    for (int i = 0; i < COUNT(scenes); i++)
        if (ranks_run(2, create, &scenes[i], 20))
            fail_msg("scene %d", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_decides_whose_code_is_loaded),
        cmocka_unit_test(nccl_does_it_all_or_the_error_says_why_not),
        cmocka_unit_test(gpus_that_fit_are_not_given_to_nccl),
        cmocka_unit_test(parts_of_gpus_go_through_host_memory),
    };
    const char *folder = getenv("PIPC_BUILDDIR");
    char fake_cuda[4096];
    int fd = mkstemp(module_log);

    folder = folder ? folder : ".";
    snprintf(fake_nccl, sizeof(fake_nccl), "%s/tests/unit/.libs/nccl_fake.so", folder);
    snprintf(fake_cuda, sizeof(fake_cuda), "%s/tests/unit/.libs/libcuda.so.1", folder);
    /* By its soname it is what dlopen("libcuda.so.1") gives from now on. */
    if (fd < 0 || !dlopen(fake_cuda, RTLD_NOW)) {
        fprintf(stderr, "# %s\n", dlerror());
        return 1;
    }
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(module_log);
    return failed;
}
