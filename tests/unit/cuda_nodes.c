/* tests/unit/cuda_nodes.c - communicators of GPUs over several nodes, with a driver that has none
 * (cuda_fake.c) and an NCCL that answers as told (nccl_fake.c): made on all nodes or none, calls
 * in the order of plan and engine, losses and aborts told both ways, ends
 *
 * Nodes are ranks of one host that are taken as such (PCIE_IPC_NODES).
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

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
#define RANKS 4

static char fake_nccl[4096], log_name[] = "/tmp/pipc-nodes-XXXXXX";

typedef struct scene {
    int ranks;
    const char *split, *plan;
    const char *unfit; /* ranks whose GPU has no kernels: "0", "13" */
    const char *nccl;  /* FAKE_NCCL; a path: the library */
    pipc_status_t status;
    const char *words;      /* of the error */
    const char *did[RANKS]; /* from its creation to its end, with one call: see read_log() */
} scene_t;

static int architecture(void)
{
    const char *text = getenv("PIPC_CUDA_GENCODE");
    const char *code = text ? strstr(text, "sm_") : NULL;

    return code ? atoi(code + strlen("sm_")) : 0;
}

/* --- the log ---------------------------------------------------------------------------------- */

static void log_file(int rank, char *path, size_t cap)
{
    snprintf(path, cap, "%s.%d", log_name, rank);
}

/* What this rank has done, a letter each: launches, and NCCL's all-reduces (N) and all else. */
static void read_log(int rank, char *did, size_t cap)
{
    static const struct {
        const char *word;
        char letter;
    } words[] = {{"launch", 'L'}, {"allreduce", 'N'}, {"init", 'I'},
                 {"abort", 'A'},  {"finalize", 'F'},  {"destroy", 'D'}};
    char path[64], line[64];
    size_t n = 0;

    log_file(rank, path, sizeof(path));
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        for (int i = 0; i < COUNT(words); i++)
            if (strstr(line, words[i].word) && n + 1 < cap)
                did[n++] = words[i].letter;
    did[n] = '\0';
    if (f)
        fclose(f);
}

static void clear_logs(void)
{
    char path[64];

    for (int r = 0; r < RANKS; r++) {
        log_file(r, path, sizeof(path));
        unlink(path);
    }
}

/* --- a rank ----------------------------------------------------------------------------------- */

typedef struct meeting {
    ranks_t *all;
    int rank;
} meeting_t;

/* ranks_gather() takes 1 KB at a time. */
static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;
    char part[RANKS * 1024];

    for (size_t at = 0; at < bytes; at += 1024) {
        size_t n = bytes - at < 1024 ? bytes - at : 1024;
        ranks_gather(m->all, m->rank, (const char *)mine + at, n, part);
        for (int r = 0; r < ranks_size(m->all); r++)
            memcpy((char *)all + (size_t)r * bytes + at, part + (size_t)r * n, n);
    }
    return 0;
}

static void set_environment(const scene_t *s, int rank)
{
    char fits[32], path[64];
    bool unfit = s->unfit && strchr(s->unfit, '0' + rank);
    bool library = s->nccl && *s->nccl == '/';

    log_file(rank, path, sizeof(path));
    snprintf(fits, sizeof(fits), "13000 sm_%d", unfit ? 30 : architecture());
    setenv("FAKE_CUDA", fits, 1);
    setenv("FAKE_CUDA_LAUNCHES", path, 1);
    setenv("FAKE_NCCL_LOG", path, 1);
    setenv("FAKE_NCCL", s->nccl && !library ? s->nccl : "", 1);
    setenv("PCIE_IPC_NCCL", library ? s->nccl : fake_nccl, 1);
    setenv("PCIE_IPC_TABLE", "none", 1);
    setenv("PCIE_IPC_NODES", s->split, 1);
}

static pipc_status_t make(const scene_t *s, meeting_t *m, pipc_comm_t **comm, pipc__error_t *err)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, s->ranks, allgather, m};
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;

    set_environment(s, m->rank);
    config.backend = PIPC_BACKEND_CUDA;
    config.staging_bytes = 8 << 20;
    config.plan = s->plan;
    config.path = PIPC_PATH_HOST; /* the fake driver reaches no peer */
    config.callbacks = &calls;
    return pipc__comm_create(comm, &config, &pipc__xchg_auto, err);
}

/* --- made on all nodes or none ---------------------------------------------------------------- */

static int create(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    meeting_t m = {all, rank};
    pipc__error_t err = {PIPC_OK, ""};
    float x[700] = {1, 2, 3};
    pipc_comm_t *comm;
    char did[256];

    pipc_status_t st = make(s, &m, &comm, &err);
    MUST(st == s->status);
    if (st) {
        MUST(!comm && strstr(err.text, s->words));
        return 0;
    }
    MUST(!pipc_allreduce(comm, x, x, COUNT(x), PIPC_F32, PIPC_AVG, NULL));
    MUST(!pipc_comm_destroy(comm));
    read_log(rank, did, sizeof(did));
    if (strcmp(did, s->did[rank]) != 0)
        fprintf(stderr, "# rank %d did %s and not %s\n", rank, did, s->did[rank]);
    return strcmp(did, s->did[rank]) != 0;
}

static void all_nodes_get_it_or_none(void **state)
{
    static const scene_t scenes[] = {
        /* the shipped table: NCCL, over all ranks */
        {2, "split", NULL, NULL, NULL, PIPC_OK, NULL, {"INFD", "INFD"}},
        {4, "split:2", NULL, NULL, NULL, PIPC_OK, NULL, {"INFD", "INFD", "INFD", "INFD"}},
        /* a half, a job, a half; 700 floats are one chunk, and the job of one rail */
        {2, "split", "nodes", NULL, NULL, PIPC_OK, NULL, {"ILNLFD", "ILNLFD"}},
        {4,
         "split:2",
         "nodes",
         NULL,
         "slow",
         PIPC_OK,
         NULL,
         {"ILNLFD", "ILLFD", "ILNLFD", "ILLFD"}},
        {4,
         "split:2",
         "nodes-one",
         NULL,
         "call-slow",
         PIPC_OK,
         NULL,
         {"ILNLFD", "ILLFD", "ILNLFD", "ILLFD"}},
        {3, "split:2", "nodes", NULL, NULL, PIPC_OK, NULL, {"ILNLFD", "LL", "ILNLFD"}},
        /* every plan over nodes has its rails joined */
        {2, "split", "nodes-lean", NULL, NULL, PIPC_OK, NULL, {"ILNLFD", "ILNLFD"}},
        /* one GPU on one node that has no kernels: it is NCCL on all */
        {4, "split:2", NULL, "3", NULL, PIPC_OK, NULL, {"INFD", "INFD", "INFD", "INFD"}},
        {3, "split:2", "nodes", "2", NULL, PIPC_ERR_UNSUPPORTED, "no kernels for", {0}},
        /* and what NCCL may lack or refuse */
        {2, "split", "nodes", NULL, "/nowhere.so", PIPC_ERR_NOT_FOUND, "/nowhere.so", {0}},
        {3, "split:2", NULL, NULL, "/nowhere.so", PIPC_ERR_NOT_FOUND, "/nowhere.so", {0}},
        {2, "split", "nodes", NULL, "no-id", PIPC_ERR_CUDA, "ncclGetUniqueId", {0}},
        {2, "split", "nodes", NULL, "rank-1:init-fails", PIPC_ERR_CUDA, "rail to rank 0 on", {0}},
        {4, "split:2", NULL, NULL, "rank-3:init-fails", PIPC_ERR_CUDA, "ncclCommInitRank", {0}},
        {2, "split", "one-shot", NULL, NULL, PIPC_ERR_UNSUPPORTED, "node", {0}},
    };

    (void)state;
    for (int i = 0; i < COUNT(scenes); i++) {
        scene_t s = scenes[i];
        clear_logs();
        if (ranks_run(s.ranks, create, &s, 20))
            fail_msg("scene %d", i);
    }
}

/* --- losses ----------------------------------------------------------------------------------- */

static pipc_status_t wait_for_error(pipc_comm_t *comm)
{
    const struct timespec msec = {0, 1000000};
    pipc_status_t async = PIPC_OK;

    while (!pipc_comm_async_error(comm, &async) && !async)
        nanosleep(&msec, NULL);
    return async;
}

static void wait_for_abort(int rank)
{
    const struct timespec msec = {0, 1000000};
    char did[256] = "";

    while (!strchr(did, 'A')) {
        nanosleep(&msec, NULL);
        read_log(rank, did, sizeof(did));
    }
}

/* What NCCL says of another node on rank 0, both ranks of its node hear; and its communicator is
 * aborted, though no call is made. Rank 1 is on no rail. */
static int lose(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    meeting_t m = {all, rank};
    pipc__error_t err = {PIPC_OK, ""};
    float x[3] = {1, 2, 3};
    pipc_comm_t *comm;

    MUST(!make(s, &m, &comm, &err));
    if (rank)
        MUST(!pipc_allreduce(comm, x, x, 3, PIPC_F32, PIPC_SUM, NULL));
    ranks_gather(all, rank, NULL, 0, NULL);
    if (!rank) /* from its first call on NCCL says so */
        MUST(!pipc_allreduce(comm, x, x, 3, PIPC_F32, PIPC_SUM, NULL));
    if (rank < 2) {
        MUST(wait_for_error(comm) == PIPC_ERR_PEER_LOST);
        snprintf(err.text, sizeof(err.text), "%s", comm->error.text);
        MUST(strstr(comm->error.text, s->words));
        MUST(pipc_allreduce(comm, x, x, 3, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_PEER_LOST);
    }
    if (!rank)
        wait_for_abort(0);
    ranks_gather(all, rank, NULL, 0, NULL);
    MUST(rank == 2 || pipc_comm_destroy(comm));
    return 0;
}

static void what_nccl_says_of_a_node_its_ranks_hear(void **state)
{
    static const scene_t scenes[] = {
        {3, "split:2", "nodes", NULL, "rank-0:async", PIPC_OK, "rail to rank 2 on", {0}},
        {3, "split:2", "nccl", NULL, "rank-0:async", PIPC_OK, "a rank on ", {0}},
    };

    (void)state;
    for (int i = 0; i < COUNT(scenes); i++) {
        scene_t s = scenes[i];
        clear_logs();
        if (ranks_run(s.ranks, lose, &s, 20))
            fail_msg("scene %d", i);
    }
}

/* An abort of ours ends NCCL's communicator on every rank of the node, that of a rank beside it,
 * too; also one that is in a call of NCCL's which never ends. */
static int give_up(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    meeting_t m = {all, rank};
    pipc__error_t err = {PIPC_OK, ""};
    float x[3] = {1, 2, 3};
    pipc_comm_t *comm;

    MUST(!make(s, &m, &comm, &err));
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 1)
        MUST(!pipc_comm_abort(comm));
    if (!rank && strstr(s->nccl, "never"))
        MUST(pipc_allreduce(comm, x, x, 3, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_ABORTED);
    if (!rank) {
        wait_for_abort(0);
        MUST(wait_for_error(comm) == PIPC_ERR_ABORTED);
        snprintf(err.text, sizeof(err.text), "%s", comm->error.text);
        MUST(strstr(comm->error.text, "rank 1"));
    }
    ranks_gather(all, rank, NULL, 0, NULL);
    MUST(rank == 2 || pipc_comm_destroy(comm));
    return 0;
}

static void an_abort_ends_nccl(void **state)
{
    static const scene_t scenes[] = {
        {3, "split:2", "nodes", NULL, "", PIPC_OK, NULL, {0}},
        {3, "split:2", "nodes", NULL, "rank-0:call-never", PIPC_OK, NULL, {0}},
        {3, "split:2", "nccl", NULL, "rank-0:call-never", PIPC_OK, NULL, {0}},
    };

    (void)state;
    for (int i = 0; i < COUNT(scenes); i++) {
        scene_t s = scenes[i];
        clear_logs();
        if (ranks_run(s.ranks, give_up, &s, 20))
            fail_msg("scene %d", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_get_it_or_none),
        cmocka_unit_test(what_nccl_says_of_a_node_its_ranks_hear),
        cmocka_unit_test(an_abort_ends_nccl),
    };
    const char *folder = getenv("PIPC_BUILDDIR");
    char fake_cuda[4096];
    int fd = mkstemp(log_name);

    if (!architecture()) {
        printf("1..0 # SKIP this build has no machine code for a GPU that can be named\n");
        return 0;
    }
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
    clear_logs();
    unlink(log_name);
    return failed;
}
