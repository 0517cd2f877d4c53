/* prolog/main.c - the checker: what pcie-ipc-health is for all verbs but prolog and epilog */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "prolog/check.h"
#include "prolog/explain.h"
#include "prolog/gate.h"
#include "prolog/guard.h"
#include "prolog/links.h"
#include "prolog/output.h"
#include "prolog/prolog.h"
#include "prolog/snapshot.h"
#include "runtime/base/cli.h"

#define NAME "pcie-ipc-health"

enum { EXIT_OK, EXIT_WARN, EXIT_DRAIN, EXIT_UNKNOWN };
enum {
    OPT_SYSROOT = 256,
    OPT_DUMP,
    OPT_TEXT,
    OPT_GPUS,
    OPT_JSON,
    OPT_PROLOG_DIR,
    OPT_EPILOG_DIR,
    OPT_REMOVE
};

static const pipc__cli_option_t check_options[] = {
    {"sysroot", "DIR", "read a captured machine: DIR holds sys and proc", OPT_SYSROOT},
    {"dump", "FILE", "read the text that lspci -xxxx wrote", OPT_DUMP},
    {"text", "FILE", "read lspci -vvv, setpci or a kernel's log, as pasted into a ticket",
     OPT_TEXT},
    {"gpus", "N", "as many GPUs should be there", OPT_GPUS},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_option_t links_options[] = {
    {"prolog-dir", "DIR", "the folder that Prolog=DIR/* in slurm.conf names", OPT_PROLOG_DIR},
    {"epilog-dir", "DIR", "the folder that Epilog=DIR/* in slurm.conf names", OPT_EPILOG_DIR},
    {"remove", NULL, "remove the links", OPT_REMOVE},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    bool json, remove;
    const char *prolog_dir, *epilog_dir;
} wants_t;

static int usage(const char *object, const char *what);

static int take_number(const char *value, int *out)
{
    char *end;
    long n = strtol(value, &end, 10);

    if (end == value || *end || n < 1 || n > 1024)
        return usage("--gpus", "a number from 1 to 1024");
    *out = (int)n;
    return PIPC__CLI_GO_ON;
}

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case OPT_SYSROOT:
        w->source.sysroot = value;
        break;
    case OPT_DUMP:
        w->source.dump = value;
        break;
    case OPT_TEXT:
        w->source.text = value;
        break;
    case OPT_GPUS:
        return take_number(value, &w->source.gpus);
    case OPT_JSON:
        w->json = true;
        break;
    case OPT_PROLOG_DIR:
        w->prolog_dir = value;
        break;
    case OPT_EPILOG_DIR:
        w->epilog_dir = value;
        break;
    default:
        w->remove = true;
        break;
    }
    return PIPC__CLI_GO_ON;
}

static void print_codes(void)
{
    for (int c = 0; c < PIPC__CODES; c++)
        printf("  %s %-7s %s\n", pipc__codes[c].name, pipc__severity_name(pipc__codes[c].severity),
               pipc__codes[c].what);
}

/* What stands before a verb, and the --help of all verbs. */
static const pipc__cli_section_t all_sections[] = {
    {"check: look now", check_options},
    {"prolog, epilog: what Slurm runs; see install-links\n\n"
     "install-links: make " PIPC__LINK_NAME " in Slurm's folders",
     links_options},
    {NULL, NULL},
};
static const pipc__cli_t all_cli = {
    .name = NAME,
    .version = PACKAGE_VERSION,
    .usage = "check [OPTION...]\n"
             "       " NAME " explain CODE\n"
             "       " NAME " prolog | epilog\n"
             "       " NAME " install-links [OPTION...]",
    .about = "Judge the PCIe links of this machine's GPUs, and keep jobs off nodes with a fault.\n",
    .sections = all_sections,
    .after = "Exit status of check: 0 ok or note, 1 warn, 2 drain, 3 unknown, 64 wrong usage.\n"
             "prolog: 0, or 1 to refuse the node; epilog: 0.\n\nCodes:\n",
    .more = print_codes,
    .output_failed = EXIT_UNKNOWN,
    .take = take,
};

static const pipc__cli_section_t check_sections[] = {{NULL, check_options}, {NULL, NULL}};
static const pipc__cli_t check_cli = {.name = NAME,
                                      .version = PACKAGE_VERSION,
                                      .sections = check_sections,
                                      .help = &all_cli,
                                      .output_failed = EXIT_UNKNOWN,
                                      .take = take};

static const pipc__cli_section_t links_sections[] = {{NULL, links_options}, {NULL, NULL}};
static const pipc__cli_t links_cli = {.name = NAME,
                                      .version = PACKAGE_VERSION,
                                      .sections = links_sections,
                                      .help = &all_cli,
                                      .output_failed = EXIT_UNKNOWN,
                                      .take = take};

static int usage(const char *object, const char *what)
{
    return pipc__cli_usage(&all_cli, object, what);
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
    wants_t w = {.source = {.gpus = 0}};
    pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    pipc__error_t err = {PIPC_OK, ""};
    int status = pipc__cli_parse(&check_cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!!w.source.sysroot + !!w.source.dump + !!w.source.text > 1)
        return usage("--sysroot, --dump and --text", "one machine at a time");
    w.source.all = true;
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
    return pipc__cli_finish(&all_cli, status);
}

static int explain(int argc, char **argv)
{
    if (argc != 2)
        return usage("explain", "needs one code, as PCI001");
    if (!pipc__explain(argv[1], stdout))
        return usage(argv[1], "there is no such code; --help lists them");
    return pipc__cli_finish(&all_cli, EXIT_OK);
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
    wants_t w = {.source = {.gpus = 0}};
    int status = pipc__cli_parse(&links_cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!w.prolog_dir && !w.epilog_dir)
        return usage("install-links", "needs --prolog-dir, --epilog-dir or both");
    status = one_link(&w, w.prolog_dir, PIPC_LIBEXEC "/prolog");
    status |= one_link(&w, w.epilog_dir, PIPC_LIBEXEC "/epilog");
    return pipc__cli_finish(&all_cli, status);
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
    wants_t nothing = {.source = {.gpus = 0}};
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "check") == 0)
        return check(argc - 1, argv + 1);
    if (strcmp(verb, "explain") == 0)
        return explain(argc - 1, argv + 1);
    if (strcmp(verb, "install-links") == 0)
        return install_links(argc - 1, argv + 1);
    if (strcmp(verb, "gate") == 0)
        return gate(argc - 1, argv + 1);
    if (verb[0] == '-') {
        int status = pipc__cli_parse(&all_cli, 2, argv, &nothing);
        return status >= 0 ? status : usage(verb, "a verb comes first");
    }
    return usage(verb[0] ? verb : "no verb", "use check, explain, prolog, epilog or install-links");
}
