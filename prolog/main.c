/* prolog/main.c - the checker: what pcie-ipc-health is for all verbs but prolog and epilog */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "prolog/check.h"
#include "prolog/gate.h"
#include "prolog/guard.h"
#include "prolog/links.h"
#include "prolog/output.h"
#include "prolog/prolog.h"
#include "prolog/snapshot.h"

#define NAME "pcie-ipc-health"

enum { EXIT_OK, EXIT_WARN, EXIT_DRAIN, EXIT_UNKNOWN, EXIT_USAGE = 64 };
enum { VERB_CHECK = 1, VERB_LINKS = 2, VERB_ALL = 3 };

/* Every option once: the parser, --help and the manual's test read this table. */
static const struct {
    int verbs;
    const char *name, *arg, *help;
    int letter;
} table[] = {
    {VERB_CHECK, "sysroot", "DIR", "read a captured machine: DIR holds sys and proc", 'r'},
    {VERB_CHECK, "dump", "FILE", "read the text that lspci -xxxx wrote", 'd'},
    {VERB_CHECK, "json", NULL, "print JSON", 'j'},
    {VERB_LINKS, "prolog-dir", "DIR", "the folder that Prolog=DIR/* in slurm.conf names", 'p'},
    {VERB_LINKS, "epilog-dir", "DIR", "the folder that Epilog=DIR/* in slurm.conf names", 'e'},
    {VERB_LINKS, "remove", NULL, "remove the links", 'R'},
    {VERB_ALL, "help", NULL, "print this and exit", 'h'},
    {VERB_ALL, "version", NULL, "print the version and exit", 'V'},
};
#define OPTIONS (sizeof(table) / sizeof(table[0]))

typedef struct wants {
    pipc__source_t source;
    bool json, remove;
    const char *prolog_dir, *epilog_dir;
} wants_t;

static void print_options(int verb)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[32];
        if (table[i].verbs != verb)
            continue;
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].arg ? "=" : "",
                 table[i].arg ? table[i].arg : "");
        printf("  %-18s %s\n", left, table[i].help);
    }
}

static void print_help(void)
{
    printf("Usage: " NAME " check [OPTION...]\n"
           "       " NAME " prolog | epilog\n"
           "       " NAME " install-links [OPTION...]\n"
           "Judge the PCIe links of this machine's GPUs, and keep jobs off nodes with a fault.\n\n"
           "check: look now\n");
    print_options(VERB_CHECK);
    printf("\nprolog, epilog: what Slurm runs; see install-links\n\n"
           "install-links: make " PIPC__LINK_NAME " in Slurm's folders\n");
    print_options(VERB_LINKS);
    printf("\n");
    print_options(VERB_ALL);
    printf("\nExit status of check: 0 ok or note, 1 warn, 2 drain, 3 unknown, 64 wrong usage.\n"
           "prolog: 0, or 1 to refuse the node; epilog: 0.\n\nCodes:\n");
    for (int c = 0; c < PIPC__CODES; c++)
        printf("  %s %-7s %s\n", pipc__codes[c].name, pipc__severity_name(pipc__codes[c].severity),
               pipc__codes[c].what);
}

static int usage(const char *object, const char *what)
{
    fprintf(stderr, NAME ": %s: %s; see " NAME " --help\n", object, what);
    return EXIT_USAGE;
}

/* End with @status, or another when what was printed did not reach its reader (a full disk). */
static int finish(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, NAME ": output: could not be written; is the disk full?\n");
        return EXIT_UNKNOWN;
    }
    return status;
}

static void take(wants_t *w, int letter, const char *value)
{
    switch (letter) {
    case 'r':
        w->source.sysroot = value;
        break;
    case 'd':
        w->source.dump = value;
        break;
    case 'j':
        w->json = true;
        break;
    case 'p':
        w->prolog_dir = value;
        break;
    case 'e':
        w->epilog_dir = value;
        break;
    default:
        w->remove = true;
        break;
    }
}

/* Parse the options of @verb into @w; -1 to go on, else the exit status. */
static int parse(int argc, char **argv, int verb, wants_t *w)
{
    struct option options[OPTIONS + 1];
    int n = 0, c;

    memset(options, 0, sizeof(options));
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].verbs & verb)
            options[n++] =
                (struct option){table[i].name, table[i].arg ? required_argument : no_argument, NULL,
                                table[i].letter};
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (c == 'h') {
            print_help();
            return finish(EXIT_OK);
        }
        if (c == 'V') {
            printf(NAME " " PACKAGE_VERSION "\n");
            return finish(EXIT_OK);
        }
        if (c == ':')
            return usage(argv[optind - 1], "needs a value");
        if (c == '?')
            return usage(argv[optind - 1], "no such option here, or one that takes no value");
        take(w, c, optarg);
    }
    if (optind < argc)
        return usage(argv[optind], "unexpected argument");
    return -1;
}

/* ---- verbs --------------------------------------------------------------------------------- */

static int exit_status(pipc__severity_t verdict)
{
    switch (verdict) {
    case PIPC__DRAIN:
        return EXIT_DRAIN;
    case PIPC__WARN:
        return EXIT_WARN;
    case PIPC__OK:
    case PIPC__NOTE:
        return EXIT_OK;
    default:
        return EXIT_UNKNOWN;
    }
}

static int print_json(const pipc__findings_t *findings)
{
    json_t *json = pipc__findings_to_json(findings);
    int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2));

    json_decref(json);
    printf("\n");
    return failed;
}

static int check(int argc, char **argv)
{
    wants_t w = {.source = {NULL, NULL}};
    pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    pipc__error_t err = {PIPC_OK, ""};
    int status = parse(argc, argv, VERB_CHECK, &w);

    if (status >= 0)
        return status;
    if (w.source.sysroot && w.source.dump)
        return usage("--sysroot and --dump", "one machine at a time");
    if (!w.source.sysroot)
        w.source.sysroot = "/";
    if (pipc__check(&w.source, &findings, &err)) {
        fprintf(stderr, NAME ": %s\n", err.text);
        pipc__findings_free(&findings);
        return EXIT_UNKNOWN;
    }
    status = exit_status(findings.verdict);
    if (w.json && print_json(&findings))
        status = EXIT_UNKNOWN;
    if (!w.json)
        pipc__findings_print(&findings, PIPC__OK, stdout);
    if (!w.json && findings.n == 0)
        printf("pcie-ipc: node: every link is as it should be (ok)\n");
    pipc__findings_free(&findings);
    return finish(status);
}

static int one_link(const wants_t *w, const char *folder, const char *target)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;

    if (folder)
        st = w->remove ? pipc__link_remove(folder, target, stdout, &err)
                       : pipc__link_install(folder, target, stdout, &err);
    if (st)
        fprintf(stderr, NAME ": %s\n", err.text);
    return st != PIPC_OK;
}

static int install_links(int argc, char **argv)
{
    wants_t w = {.source = {NULL, NULL}};
    int status = parse(argc, argv, VERB_LINKS, &w);

    if (status >= 0)
        return status;
    if (!w.prolog_dir && !w.epilog_dir)
        return usage("install-links", "needs --prolog-dir, --epilog-dir or both");
    status = one_link(&w, w.prolog_dir, PIPC_LIBEXEC "/prolog");
    status |= one_link(&w, w.epilog_dir, PIPC_LIBEXEC "/epilog");
    return finish(status);
}

/* Called by pipc__prolog() alone. */
static int gate(int argc, char **argv)
{
    const pipc__gate_t here = {PIPC_CONFIG, PIPC__RUN_FOLDER, 0};
    FILE *record;
    int status;

    if (argc != 2 || strlen(argv[1]) >= PIPC__NONCE_MAX ||
        !(record = fdopen(PIPC__GUARD_RECORD_FD, "w")))
        return usage("gate", "the prolog's own way in");
    umask(022);
    status = pipc__gate_run(&here, argv[1], stderr, record);
    fclose(record);
    return status;
}

int main(int argc, char **argv)
{
    wants_t nothing = {.source = {NULL, NULL}};
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "check") == 0)
        return check(argc - 1, argv + 1);
    if (strcmp(verb, "install-links") == 0)
        return install_links(argc - 1, argv + 1);
    if (strcmp(verb, "gate") == 0)
        return gate(argc - 1, argv + 1);
    if (verb[0] == '-') {
        int status = parse(2, argv, VERB_ALL, &nothing);
        return status >= 0 ? status : usage(verb, "a verb comes first");
    }
    return usage(verb[0] ? verb : "no verb", "use check, prolog, epilog or install-links");
}
