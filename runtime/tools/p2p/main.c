/* tools/p2p/main.c - print what every pair of this node's GPUs does: who reaches whom, whether
 * every byte comes, and how fast. See p2p.h
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cli.h"
#include "runtime/tools/p2p/p2p.h"

#define NAME "pcie-ipc-p2p"
#define BYTES_MAX ((size_t)1 << 30)

enum {
    OPT_BYTES = 'b',
    OPT_ITERS = 'n',
    OPT_GPUS = 'g',
    OPT_TIMEOUT = 't',
    OPT_IPC = 256,
    OPT_JSON
};

static const pipc__cli_option_t options[] = {
    {"bytes", "SIZE", "copies of SIZE, 16 bytes to 1G (default 1M)", OPT_BYTES},
    {"iters", "N", "copies that are timed (default 20)", OPT_ITERS},
    {"gpus", "LIST", "these alone, numbered as CUDA does: 0,2,3 (default all)", OPT_GPUS},
    {"ipc", NULL, "a process a GPU and CUDA IPC, as the runtime does", OPT_IPC},
    {"timeout", "SECONDS", "what is not done then counts as hanging (default 60)", OPT_TIMEOUT},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_section_t sections[] = {{NULL, options}, {NULL, NULL}};

static int take(void *wants, int id, const char *value);

static const pipc__cli_t cli = {
    .name = NAME,
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...]",
    .about =
        "Measure every pair of GPUs of this node: is the one's memory within the other's reach,\n"
        "does every byte that is written come, how fast are writes, reads and the copy engine,\n"
        "how long is a flag's round trip, and what is left when all pairs are busy.\n",
    .sections = sections,
    .after =
        "Exit status: 0 all pairs are good, 1 some are out of reach, 2 data of a pair came wrong\n"
        "or not at all, 3 nothing could be measured or printed, 64 wrong usage.\n",
    .output_failed = P2P_CANNOT,
    .take = take,
};

/* A whole number from @least to @most with nothing behind it; -1 else. */
static long number(const char *text, long least, long most, const char **end)
{
    char *stop;
    long v = *text >= '0' && *text <= '9' ? strtol(text, &stop, 10) : -1;

    if (v < least || v > most)
        return -1;
    *end = stop;
    return v;
}

static int take_number(const char *name, const char *value, long most, int *out)
{
    const char *end = "";
    long v = number(value, 1, most, &end);
    char what[64];

    if (v < 0 || *end) {
        snprintf(what, sizeof(what), "%.20s: a number from 1 to %ld", value, most);
        return pipc__cli_usage(&cli, name, what);
    }
    *out = (int)v;
    return PIPC__CLI_GO_ON;
}

static int take_bytes(const char *value, size_t *bytes)
{
    static const char units[] = "KMG";
    const char *end = "", *unit;
    long v = number(value, 1, (long)BYTES_MAX, &end);
    size_t n = v < 0 ? 0 : (size_t)v;

    if (*end && (unit = strchr(units, *end)) != NULL && !end[1]) {
        n <<= 10 * (unit - units + 1);
        end = "";
    }
    if (*end || n < 16 || n > BYTES_MAX || n % 16)
        return pipc__cli_usage(&cli, "--bytes", "a multiple of 16 from 16 to 1G");
    *bytes = n;
    return PIPC__CLI_GO_ON;
}

static int take_gpus(const char *value, p2p_wants_t *w)
{
    const char *end = value;

    w->ngpus = 0;
    for (const char *at = value;; at = end + 1) {
        long v = number(at, 0, 1023, &end);
        if (v < 0 || (*end && *end != ',') || w->ngpus == P2P_GPUS_MAX)
            return pipc__cli_usage(&cli, "--gpus", "up to 16 numbers with commas, as 0,2,3");
        for (int i = 0; i < w->ngpus; i++)
            if (w->gpu[i] == v)
                return pipc__cli_usage(&cli, "--gpus", "a GPU stands there twice");
        w->gpu[w->ngpus++] = (int)v;
        if (!*end)
            break;
    }
    return w->ngpus > 1 ? PIPC__CLI_GO_ON
                        : pipc__cli_usage(&cli, "--gpus", "a pair needs two GPUs");
}

static int take(void *wants, int id, const char *value)
{
    p2p_wants_t *w = wants;

    switch (id) {
    case OPT_BYTES:
        return take_bytes(value, &w->bytes);
    case OPT_ITERS:
        return take_number("--iters", value, 1000000, &w->iters);
    case OPT_TIMEOUT:
        return take_number("--timeout", value, 86400, &w->timeout_sec);
    case OPT_GPUS:
        return take_gpus(value, w);
    case OPT_IPC:
        w->ipc = true;
        return PIPC__CLI_GO_ON;
    case OPT_JSON:
        w->json = true;
        return PIPC__CLI_GO_ON;
    default:
        return pipc__cli_usage(&cli, value ? value : "?", "unexpected argument");
    }
}

/* https://no-color.org: set and not empty. */
static bool wants_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && *no);
}

#ifndef HAVE_CUDA
pipc_status_t p2p_run(p2p_shared_t **s, const p2p_wants_t *wants, pipc__error_t *err)
{
    (void)wants;
    *s = NULL;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                      "this pcie-ipc was built without CUDA; configure it with --with-cuda");
}

void p2p_release(p2p_shared_t *s)
{
    (void)s;
}
#endif

int main(int argc, char **argv)
{
    p2p_wants_t w = {.bytes = (size_t)1 << 20, .iters = 20, .timeout_sec = 60};
    pipc__error_t err = {PIPC_OK, ""};
    p2p_shared_t *s;
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (p2p_run(&s, &w, &err)) {
        fprintf(stderr, NAME ": %s\n", err.text);
        return P2P_CANNOT;
    }
    status = p2p_status(s);
    if (!w.json)
        p2p_print(s, wants_colours());
    else if (p2p_print_json(s, &err)) {
        fprintf(stderr, NAME ": %s\n", err.text);
        status = P2P_CANNOT;
    }
    fflush(stdout);
    if (!atomic_load(&s->finished))
        fprintf(stderr, NAME ": not all was measured: %s\n", s->err.text);
    p2p_release(s);
    return pipc__cli_finish(&cli, status);
}
