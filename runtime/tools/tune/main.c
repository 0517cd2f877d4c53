/* tools/tune/main.c - pcie-ipc-tune: measure what these ranks can do, write the table. See tune.h
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/cli.h"
#include "runtime/base/log.h"
#include "runtime/tools/bench/fold.h"
#include "runtime/tools/tune/tune.h"

enum {
    OPT_BACKEND = 256,
    OPT_TIME,
    OPT_PATH,
    OPT_SMS,
    OPT_NO_GRAPHS,
    OPT_NO_NCCL,
    OPT_SITE,
    OPT_SHOW
};

static const pipc__cli_option_t rows[] = {
    {"minbytes", "SIZE", "smallest message, with K, M or G (default 1K)", 'b'},
    {"maxbytes", "SIZE", "largest message (default 256M)", 'e'},
    {"rounds", "N", "samples of each candidate at each size (default 40)", 'n'},
    {"time", "SECONDS", "about so long in all: fewer samples of what takes long (default 150)",
     OPT_TIME},
    {"check", "0|1", "check the results of every plan up to 4 MB (default 1)", 'c'},
    {"backend", "NAME", "cpu, cuda or auto: cuda where there is a GPU (default auto)", OPT_BACKEND},
    {"path", "NAME", "p2p, host or auto: memory by which ranks reach each other (default auto)",
     OPT_PATH},
    {"sms", "N|max", "multiprocessors that own plans may use, as PCIE_IPC_SMS", OPT_SMS},
    {"no-graphs", NULL, "eager calls only; graphs get the same choices", OPT_NO_GRAPHS},
    {"no-nccl", NULL, "compare own plans with each other only", OPT_NO_NCCL},
    {"output", "FILE", "write the table to FILE, not to where the library looks for it", 'o'},
    {"site", NULL, "write it to the site's folder, for all users", OPT_SITE},
    {"show", NULL, "explain each row of FILE, or of every table that is found; measures nothing",
     OPT_SHOW},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_section_t sections[] = {{NULL, rows}, {NULL, NULL}};

static int take(void *wants, int id, const char *value);

static const pipc__cli_t cli = {
    .name = "pcie-ipc-tune",
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...] | --show [FILE]",
    .about =
        "Measure every way of doing AllReduce here, NCCL's too, and write the table by which\n"
        "libpcie-ipc chooses. Start it as the job will run: srun --mpi=pmix -n8 pcie-ipc-tune\n",
    .sections = sections,
    .after = "Exit status: 0 all right, 1 a wrong value, 2 a call failed, 64 wrong usage.\n",
    .arguments = 1,
    .output_failed = 2,
    .take = take,
};

/* --- options --------------------------------------------------------------------------------- */

static bool parse_size(const char *text, size_t *out)
{
    static const char units[] = "KMG";
    char *end;

    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;

    if (errno || !isdigit((unsigned char)*text) || end[unit != NULL])
        return false;
    *out = (size_t)v << shift;
    return *out && *out >> shift == v;
}

static bool parse_int(const char *text, int least, int *out)
{
    char *end;

    errno = 0;
    long v = strtol(text, &end, 10);
    *out = (int)v;
    return !errno && end != text && !*end && v >= least && v <= 100000;
}

static int parse_name(const char *option, const char *text, const char *const names[3], int *out)
{
    char what[160];

    for (*out = 0; *out < 3; ++*out)
        if (!strcmp(text, names[*out]))
            return PIPC__CLI_GO_ON;
    snprintf(what, sizeof(what), "\"%.60s\" is not one of %s, %s, %s", text, names[0], names[1],
             names[2]);
    return pipc__cli_usage(&cli, option, what);
}

static int take(void *wants, int id, const char *value)
{
    static const char *const backends[] = {"auto", "cpu", "cuda"};
    static const char *const paths[] = {"auto", "p2p", "host"};
    tune_t *t = wants;
    int n = 0, status = PIPC__CLI_GO_ON;

    switch (id) {
    case PIPC__CLI_ARGUMENT:
        t->file = value;
        return status;
    case 'b':
        return parse_size(value, &t->min_bytes) ? status
                                                : pipc__cli_usage(&cli, "-b", "is no size");
    case 'e':
        return parse_size(value, &t->max_bytes) ? status
                                                : pipc__cli_usage(&cli, "-e", "is no size");
    case 'n':
        return parse_int(value, 1, &t->rounds)
                   ? status
                   : pipc__cli_usage(&cli, "-n", "is no positive number");
    case 'c':
        if (!parse_int(value, 0, &n) || n > 1)
            return pipc__cli_usage(&cli, "-c", "is neither 0 nor 1");
        t->check = n;
        return status;
    case OPT_TIME:
        return parse_int(value, 1, &t->time_sec)
                   ? status
                   : pipc__cli_usage(&cli, "--time", "is no positive number");
    case OPT_BACKEND:
        status = parse_name("--backend", value, backends, &n);
        t->bench.options.backend = (pipc_backend_t)n;
        return status;
    case OPT_PATH:
        status = parse_name("--path", value, paths, &n);
        t->bench.options.path = (pipc_path_t)n;
        return status;
    case OPT_SMS:
        t->bench.options.sms = value;
        return status;
    case OPT_NO_GRAPHS:
        t->graphs = false;
        return status;
    case OPT_NO_NCCL:
        t->nccl_why_not = "--no-nccl";
        return status;
    case 'o':
        t->output = value;
        return status;
    case OPT_SITE:
        t->site = true;
        return status;
    case OPT_SHOW:
        t->show = true;
        return status;
    }
    return pipc__cli_usage(&cli, "option", "unknown");
}

static int judge(const tune_t *t)
{
    if (t->file && !t->show)
        return pipc__cli_usage(&cli, t->file, "only --show takes a file; -o names one to write");
    if (t->output && t->site)
        return pipc__cli_usage(&cli, "--site", "does not go with -o");
    if (t->show)
        return PIPC__CLI_GO_ON;
    if (!tune_size(t, 0))
        return pipc__cli_usage(&cli, "-e", "there is no size of 8 bytes or more from -b to it");
    if (tune_size(t, PIPC__TABLE_ROWS - 1))
        return pipc__cli_usage(&cli, "-b", "too many sizes for a table; begin with a larger one");
    return PIPC__CLI_GO_ON;
}

/* --- --show ---------------------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    return secure_getenv(name);
}

/* Explain one file; *arg becomes the exit status. Goes on after a wrong one. */
static int show_one(const char *path, void *arg)
{
    pipc__table_file_t file;
    pipc__error_t err;

    if (pipc__tables_read(&file, path, true, &err)) {
        fprintf(stderr, "pcie-ipc-tune: %s\n", err.text);
        *(int *)arg = 2;
        return 0;
    }
    printf("# %s\n", path);
    tune_show(&file, stdout);
    pipc__table_file_free(&file);
    return 0;
}

static int show(const tune_t *t)
{
    const char *named = environment("PCIE_IPC_TABLE");
    int status = 0;

    if (t->file || (named && *named && strcmp(named, "none")))
        show_one(t->file ? t->file : named, &status);
    else if (!tune_each_table(environment, show_one, &status))
        printf("# no table: the shipped one is used\n");
    return pipc__cli_finish(&cli, status);
}

/* --- set-up ---------------------------------------------------------------------------------- */

static void log_line(void *arg, pipc__log_level_t level, const char *line)
{
    (void)arg;
    if (level <= (pipc__log_is_verbose() ? PIPC__LOG_INFO : PIPC__LOG_WARN))
        fprintf(stderr, "pcie-ipc-tune: %s\n", line);
}

/* Plans are set by hand later: no file may say which ones are made, and none need NCCL. */
static pipc_status_t open_comm(bench_t *b, pipc__error_t *err)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;

    config.backend = b->device.stream ? PIPC_BACKEND_CUDA : PIPC_BACKEND_CPU;
    config.path = b->options.path;
    config.plan = "auto";
    setenv("PCIE_IPC_TABLE", "none", 1);
    if (b->options.sms)
        setenv("PCIE_IPC_SMS", b->options.sms, 1);
    pipc_status_t st = pipc_comm_create(&b->comm, &config);
    return st ? pipc__fail(err, st, "%s", pipc_last_error())
              : bench_fold_open(b->comm, &b->device, err);
}

static pipc_status_t open_buffers(bench_t *b, pipc__error_t *err)
{
    size_t bytes = b->options.max_bytes;

    b->host = malloc(bytes);
    if (!b->host)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %zu bytes; use a smaller -e", bytes);
    b->send = b->device.alloc(bytes, err);
    b->recv = b->send ? b->device.alloc(bytes, err) : NULL;
    return b->recv ? PIPC_OK : err->status;
}

/* What NCCL does of its own accord is measured: with what an earlier table tells it through our
 * tuner plugin, which srun --pcie-ipc sets, no variant would ever win again, and the next table
 * would tell it nothing. A tuner of the user's is a part of his NCCL. */
static void leave_out_tuner(void)
{
    const char *tuner = environment("NCCL_TUNER_PLUGIN");

    if (tuner && strstr(tuner, "libnccl-tuner-pcie-ipc.so"))
        setenv("NCCL_TUNER_PLUGIN", "none", 1);
}

/* NCCL in all its variants, where there is NCCL. It is opened as the benchmark's peer is, and its
 * first variant is what the library would call: NCCL's own choice. */
static void open_nccl(tune_t *t)
{
    static char why[PIPC__ERROR_MAX];
    const char *path = environment("PCIE_IPC_NCCL");
    static char spec[PIPC__TABLE_PATH];
    bench_t *b = &t->bench;
    pipc__error_t err;

    if (!b->device.stream)
        t->nccl_why_not = "ranks on CPUs";
    if (*t->nccl_why_not)
        return;
    snprintf(spec, sizeof(spec), path && *path ? "best:%s" : "best", path);
    leave_out_tuner();
    b->options.peer = &bench_peer_nccl;
    if (b->options.peer->parse(spec)) {
        b->options.peer->start();
        if (!b->options.peer->open(b->comm, &b->device, b->options.max_bytes, &err))
            return;
        snprintf(why, sizeof(why), "%s", err.text);
    } else {
        snprintf(why, sizeof(why), "PCIE_IPC_NCCL is no path of a library");
    }
    b->options.peer = NULL;
    t->nccl_why_not = why;
}

static pipc_status_t open_all(tune_t *t, pipc__error_t *err)
{
    bench_t *b = &t->bench;
    pipc_status_t st = bench_open_device(&b->device, b->options.backend, false, err);

    if (!st)
        st = open_comm(b, err);
    if (!st)
        st = tune_judge_nodes(t, err);
    if (!st)
        st = tune_try(t, err);
    if (!st)
        st = open_buffers(b, err);
    if (!st)
        st = tune_prepare(t, err);
    if (st)
        return st;
    b->progress = !b->comm->rank && isatty(STDERR_FILENO);
    open_nccl(t);
    return PIPC_OK;
}

static void close_all(tune_t *t)
{
    bench_t *b = &t->bench;

    if (b->options.peer)
        b->options.peer->close();
    b->device.release(b->send);
    b->device.release(b->recv);
    free(b->host);
    free(t->times);
    bench_fold_close();
    pipc_comm_destroy(b->comm);
    if (b->device.close)
        b->device.close();
}

/* --- the work -------------------------------------------------------------------------------- */

/* Rank 0 writes the file and shows it. The first rank of each other node writes it, too, of the
 * same times: folders may be the node's own, and a file that some nodes lack would keep later jobs
 * from running. */
static pipc_status_t finish(tune_t *t, pipc__error_t *err)
{
    char path[PIPC__TABLE_PATH];
    struct stat about;
    int status = 0;

    if (t->bench.comm->local_rank)
        return PIPC_OK;
    pipc_status_t st = tune_store(t, path, err);
    if (st || t->bench.comm->rank)
        return st;
    if (*t->nccl_why_not)
        printf("# without NCCL: %s\n", t->nccl_why_not);
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) /* a pipe is not read back */
        show_one(path, &status);
    return PIPC_OK;
}

int main(int argc, char **argv)
{
    tune_t t = {.min_bytes = 1 << 10,
                .max_bytes = 256 << 20,
                .rounds = 40,
                .time_sec = 150,
                .check = true,
                .graphs = true,
                .nccl_why_not = "",
                .bench.options = {.warmup = 2}};
    pipc__error_t err = {PIPC_OK, ""};
    int status = pipc__cli_parse(&cli, argc, argv, &t);

    if (status == PIPC__CLI_GO_ON)
        status = judge(&t);
    if (status >= 0)
        return status;
    if (t.show)
        return show(&t);
    t.bench.options.max_bytes = t.max_bytes;
    pipc__log_set(log_line, NULL);
    pipc_status_t st = open_all(&t, &err);
    if (!st)
        st = tune_measure(&t, &err);
    if (!st)
        st = finish(&t, &err);
    if (st) { /* the others may wait for this rank: only its end tells them, so no exit handler
                 either */
        fprintf(stderr, "pcie-ipc-tune: %s\n", err.text);
        fflush(NULL);
        _Exit(st == PIPC_ERR_INTERNAL ? 1 : 2);
    }
    close_all(&t);
    return pipc__cli_finish(&cli, 0);
}
