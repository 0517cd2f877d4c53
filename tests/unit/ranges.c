/* tests/unit/ranges.c - NVTX ranges, as a profiler gets them: ranges_profiler.c, which NVTX itself
 * opens here. Without a profiler nothing is opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/ranges.h"
#include "tests/unit/mallocs.h"
#include "tests/unit/ranges_profiler.h"
#include "tests/unit/ranks.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define COUNT 1000
#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, pipc_last_error());           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static char profiler[4096];

/* What the profiler has recorded in this process; NULL: it is not there. */
static const ranges_record_t *recorded(void)
{
    void *lib = dlopen(profiler, RTLD_LAZY | RTLD_NOLOAD);
    ranges_record_fn_t ask = lib ? (ranges_record_fn_t)dlsym(lib, "ranges_record") : NULL;

    return ask ? ask() : NULL;
}

static int count_library(struct dl_phdr_info *info, size_t bytes, void *n)
{
    (void)info, (void)bytes;
    ++*(int *)n;
    return 0;
}

static int libraries(void)
{
    int n = 0;

    dl_iterate_phdr(count_library, &n);
    return n;
}

/* --- ranks ----------------------------------------------------------------------------------- */

typedef struct place {
    ranks_t *all;
    int rank;
} place_t;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const place_t *p = ctx;

    ranks_gather(p->all, p->rank, mine, bytes, all);
    return 0;
}

static pipc_comm_t *create(ranks_t *all, int rank)
{
    place_t p = {all, rank};
    pipc_callbacks_t calls = {sizeof(calls), rank, ranks_size(all), allgather, &p};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm = NULL;

    c.backend = PIPC_BACKEND_CPU;
    c.callbacks = &calls;
    pipc_comm_create(&comm, &c);
    return comm;
}

static pipc_status_t allreduce(pipc_comm_t *comm, size_t count)
{
    static float x[COUNT], y[COUNT];

    return pipc_allreduce(comm, x, y, count, PIPC_F32, PIPC_SUM, NULL);
}

static bool call(pipc_comm_t *comm, size_t count)
{
    return allreduce(comm, count) == PIPC_OK;
}

/* The last range recorded is of @text and @bytes, has ended, and had none around it. */
static bool last_is(const ranges_record_t *r, const char *text, uint64_t bytes)
{
    int i = r->ranges - 1;

    return i >= 0 && !strcmp(r->range[i].text, text) && r->range[i].has_payload == (bytes > 0) &&
           r->range[i].bytes == bytes && !r->range[i].depth && !r->open;
}

/* --- tests ----------------------------------------------------------------------------------- */

static int plans(ranks_t *all, int rank, void *arg)
{
    const bool *strings = arg;
    pipc_comm_t *comm = create(all, rank);
    const ranges_record_t *r = recorded();
    pipc__error_t err;
    char text[64];
    int made = 0;

    MUST(comm && r && r->domains == 1 && !strcmp(r->domain, "pcie-ipc"));
    MUST(r->ranges == 1 && last_is(r, "pipc_comm_create", 0));
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        if (pipc__comm_prepare(comm, &one, &err))
            continue;
        made++;
        snprintf(text, sizeof(text), "AllReduce %s", pipc__algo_name(k));
        MUST(call(comm, COUNT) && last_is(r, text, 4 * COUNT));
        MUST(call(comm, 1) && last_is(r, text, 4));
        MUST(r->range[r->ranges - 1].registered == *strings);
    }
    MUST(made > 2 && r->ranges == 1 + 2 * made);
    MUST(r->strings == (*strings ? PIPC__RANGES : 0)); /* none by a call */
    pipc_comm_destroy(comm);
    return 0;
}

static void a_call_is_a_range_by_its_plan_with_its_bytes(void **state)
{
    bool yes = true, no = false;

    (void)state;
    assert_int_equal(ranks_run(2, plans, &yes, 60), 0);
    setenv("RANGES_PROFILER", "no-strings", 1); /* texts, then */
    assert_int_equal(ranks_run(2, plans, &no, 60), 0);
}

static int names(ranks_t *all, int rank, void *arg)
{
    static const struct {
        pipc__choice_t choice;
        const char *text;
    } cases[] = {
        {{PIPC__ONE_SHOT, PIPC__PROTO_SIMPLE, 8}, "AllReduce one-shot"},
        {{PIPC__ONE_SHOT, PIPC__PROTO_LL, 0}, "AllReduce one-shot/ll"},
        {{PIPC__ONE_SHOT, PIPC__PROTO_PUSH, 0}, "AllReduce one-shot/push"},
        {{PIPC__ONE_SHOT, PIPC__PROTO_CE, 0}, "AllReduce one-shot/ce"},
        {{PIPC__RING, PIPC__PROTO_SIMPLE, 0}, "AllReduce ring"},
        {{PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, "AllReduce nccl"},
    };

    (void)all, (void)rank, (void)arg;
    pipc__ranges_open();
    const ranges_record_t *r = recorded();
    MUST(r);
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__range_begin(pipc__range_of_call(cases[i].choice), i + 1);
        MUST(r->open == 1);
        pipc__range_end();
        MUST(last_is(r, cases[i].text, i + 1));
    }
    return 0;
}

/* GPUs have more than the calls above. */
static void a_name_has_the_protocol(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, names, NULL, 20), 0);
}

static int nothing_done(ranks_t *all, int rank, void *arg)
{
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    (void)arg;
    c.sms = -7;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_INVALID);
    const ranges_record_t *r = recorded();
    MUST(r && r->ranges == 1 && last_is(r, "pipc_comm_create", 0));
    MUST((comm = create(all, rank)) && r->ranges == 2 && !r->open);
    MUST(call(comm, 0) && r->ranges == 2);
    MUST(!call(NULL, 1) && r->ranges == 2);
    comm->leaves = true;
    comm->table = pipc__table_fixed(PIPC__ALGO_NCCL);
    MUST(allreduce(comm, 1) == PIPC_LEFT && r->ranges == 2);
    pipc_comm_destroy(comm);
    return 0;
}

static void a_creation_that_fails_ends_its_range_and_no_work_is_none(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, nothing_done, NULL, 20), 0);
}

static int allocations(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm = create(all, rank);

    (void)arg;
    MUST(comm && call(comm, COUNT)); /* the first one may bind symbols */
    mallocs_begin();
    bool good = call(comm, COUNT);
    mallocs_t n = mallocs_end();
    MUST(good && recorded() && recorded()->ranges == 3);
    MUST(!n.own && !n.others);
    pipc_comm_destroy(comm);
    return 0;
}

static void a_call_allocates_nothing_with_a_profiler_either(void **state)
{
    (void)state;
    if (!mallocs_work()) /* a sanitizer's; not skip(), which TAP counts as a failure */
        return;
    assert_int_equal(ranks_run(2, allocations, NULL, 20), 0);
}

static int opened(ranks_t *all, int rank, void *more)
{
    int before = libraries();
    pipc_comm_t *comm = create(all, rank);

    MUST(comm && call(comm, COUNT));
    MUST(libraries() == before + *(const int *)more);
    pipc_comm_destroy(comm);
    return 0;
}

static void nothing_is_opened_without_one(void **state)
{
    int none = 0, one = 1;

    (void)state;
    assert_int_equal(ranks_run(2, opened, &one, 20), 0); /* the control */
    unsetenv("NVTX_INJECTION64_PATH");
    assert_int_equal(ranks_run(2, opened, &none, 20), 0);
}

static void a_profiler_that_does_not_work_is_none(void **state)
{
    int none = 0, one = 1;

    (void)state;
    setenv("RANGES_PROFILER", "refuse", 1);
    assert_int_equal(ranks_run(2, opened, &none, 20), 0);
    setenv("RANGES_PROFILER", "no-domains", 1); /* it aborts if it gets a range of none */
    assert_int_equal(ranks_run(2, opened, &one, 20), 0);
    setenv("NVTX_INJECTION64_PATH", "/nowhere/profiler.so", 1);
    assert_int_equal(ranks_run(2, opened, &none, 20), 0);
}

/* --- more rights than the caller's ----------------------------------------------------------- */

/* This program again, with "alone": 0 if a profiler is there. */
static int alone(void)
{
    pipc__ranges_open();
    return recorded() ? 0 : 3;
}

/* What @copy, run by @user, ends with. */
static int run_as(const char *copy, uid_t user)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        if (!setuid(user))
            execl(copy, copy, "alone", profiler, (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void copy_this_program(const char *to)
{
    static char block[1 << 16];
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    ssize_t n;

    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, block, sizeof(block))) > 0)
        assert_int_equal(write(out, block, (size_t)n), n);
    assert_int_equal(n, 0);
    close(in);
    close(out);
}

/* The variable is the caller's, the rights are not. The control runs as the same user, by itself.
 */
static void a_set_uid_program_opens_none(void **state)
{
    const uid_t nobody = 65534;
    char dir[] = "/tmp/pipc-ranges-XXXXXX", copy[64];
    struct statvfs fs;

    (void)state;
    if (geteuid() || statvfs("/tmp", &fs) || fs.f_flag & (ST_NOSUID | ST_NOEXEC))
        skip();
    assert_non_null(mkdtemp(dir));
    snprintf(copy, sizeof(copy), "%s/ranges", dir);
    copy_this_program(copy);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chown(copy, nobody, 0), 0);
    assert_int_equal(chmod(copy, 0755), 0);
    int by_itself = run_as(copy, nobody);
    assert_int_equal(chmod(copy, 04755), 0);
    int set_uid = run_as(copy, 0);
    unlink(copy);
    rmdir(dir);
    if (by_itself == 3)
        skip(); /* a build folder that nobody may read */
    assert_int_equal(by_itself, 0);
    assert_int_equal(set_uid, 3);
}

static int profiled(void **state)
{
    (void)state;
    unsetenv("RANGES_PROFILER");
    return setenv("NVTX_INJECTION64_PATH", profiler, 1);
}

#define TEST(f) cmocka_unit_test_setup(f, profiled)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_a_range_by_its_plan_with_its_bytes),
        TEST(a_name_has_the_protocol),
        TEST(a_creation_that_fails_ends_its_range_and_no_work_is_none),
        TEST(a_call_allocates_nothing_with_a_profiler_either),
        TEST(nothing_is_opened_without_one),
        TEST(a_profiler_that_does_not_work_is_none),
        TEST(a_set_uid_program_opens_none),
    };
    const char *folder = getenv("PIPC_BUILDDIR");

    if (argc == 3 && !strcmp(argv[1], "alone")) {
        snprintf(profiler, sizeof(profiler), "%s", argv[2]);
        _exit(alone()); /* a sanitizer could not look for leaks where the caller may not look */
    }
    snprintf(profiler, sizeof(profiler), "%s/tests/unit/.libs/ranges_profiler.so",
             folder ? folder : ".");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
