/* tools/pcie-ipc-topo.c - print which GPUs, NICs and NUMA nodes share which switch */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/topo.h"

#define NAME "pcie-ipc-topo"

enum { EXIT_UNREADABLE = 1, EXIT_USAGE = 64 };

/* Every option once: the parser and --help read this table. */
static const struct {
    const char *name, *arg, *help;
    int letter;
} table[] = {
    {"synthetic", "TEXT", "describe a machine, as in \"2x[sw:4gpu+1nic]\"", 's'},
    {"sysroot", "DIR", "read a captured machine: DIR holds sys and proc", 'r'},
    {"json", NULL, "print JSON", 'j'},
    {"help", NULL, "print this and exit", 'h'},
    {"version", NULL, "print the version and exit", 'V'},
};
#define OPTIONS (sizeof(table) / sizeof(table[0]))

typedef struct wants {
    const char *synthetic, *sysroot;
    bool json;
} wants_t;

static void print_help(void)
{
    printf(
        "Usage: " NAME " [OPTION...]\n"
        "Print which GPUs, NICs and NUMA nodes share which PCIe switch. Without --synthetic and\n"
        "--sysroot it reads this machine.\n\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[32];
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].arg ? "=" : "",
                 table[i].arg ? table[i].arg : "");
        printf("  %-18s %s\n", left, table[i].help);
    }
    printf("\nExit status: 0 printed, 1 the machine can't be read, 64 wrong usage.\n");
}

static int usage(const char *object, const char *what)
{
    fprintf(stderr, NAME ": %s: %s; see " NAME " --help\n", object, what);
    return EXIT_USAGE;
}

/* End with @status, or 1 when what was printed did not reach its reader (a full disk). */
static int finish(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, NAME ": output: could not be written; is the disk full?\n");
        return EXIT_UNREADABLE;
    }
    return status;
}

/* Parse into @w; -1 to go on, else the exit status. */
static int parse(int argc, char **argv, wants_t *w)
{
    struct option options[OPTIONS + 1];
    int c;

    memset(options, 0, sizeof(options));
    for (size_t i = 0; i < OPTIONS; i++)
        options[i] = (struct option){table[i].name, table[i].arg ? required_argument : no_argument,
                                     NULL, table[i].letter};
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        switch (c) {
        case 's':
            w->synthetic = optarg;
            break;
        case 'r':
            w->sysroot = optarg;
            break;
        case 'j':
            w->json = true;
            break;
        case 'h':
            print_help();
            return finish(EXIT_SUCCESS);
        case 'V':
            printf(NAME " " PACKAGE_VERSION "\n");
            return finish(EXIT_SUCCESS);
        case ':':
            return usage(argv[optind - 1], "needs a value");
        default:
            return usage(argv[optind - 1], "no such option, or one that takes no value");
        }
    }
    if (optind < argc)
        return usage(argv[optind], "unexpected argument");
    if (w->synthetic && w->sysroot)
        return usage("--synthetic and --sysroot", "one machine at a time");
    return -1;
}

int main(int argc, char **argv)
{
    wants_t w = {NULL, NULL, false};
    pipc__topo_t *topo = NULL;
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st;
    int status = parse(argc, argv, &w);

    if (status >= 0)
        return status;
    if (w.synthetic)
        st = pipc__topo_synthetic(&topo, w.synthetic, &err);
    else if (w.sysroot)
        st = pipc__topo_sysroot(&topo, w.sysroot, &err);
    else
        st = pipc__topo_live(&topo, &err);
    if (!st)
        st = w.json ? pipc__topo_print_json(topo, stdout, &err)
                    : pipc__topo_print(topo, stdout, &err);
    pipc__topo_free(topo);
    if (st) {
        fprintf(stderr, NAME ": %s\n", err.text);
        return w.synthetic && st == PIPC_ERR_INVALID ? EXIT_USAGE : EXIT_UNREADABLE;
    }
    return finish(EXIT_SUCCESS);
}
