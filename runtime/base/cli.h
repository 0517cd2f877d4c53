/* base/cli.h - the command line of a tool. Each option stands once, in a table that the parser,
 * --help and the manual's test read.
 *
 *     static const pipc__cli_option_t options[] = {{"json", NULL, "print JSON", OPT_JSON}, {0}};
 *     static const pipc__cli_section_t sections[] = {{NULL, options},
 *                                                    {"topology", pipc__source_options}, {0}};
 *     static const pipc__cli_t cli = {.name = "pcie-ipc-topo", .version = PACKAGE_VERSION,
 *                                     .usage = "[OPTION...]", .about = "Print ...\n",
 *                                     .sections = sections, .after = "Exit status: ...\n",
 *                                     .output_failed = 1, .take = take};
 *     int status = pipc__cli_parse(&cli, argc, argv, &wants);
 *     if (status >= 0)
 *         return status;
 *     ...
 *     return pipc__cli_finish(&cli, 0);
 *
 * For tools only: what stands here prints (libraries never do), so it is a library of its own,
 * libpipc-cli.la. Messages go to stderr as "NAME: object: what; see NAME --help".
 */
#ifndef PIPC_BASE_CLI_H
#define PIPC_BASE_CLI_H

#include <stddef.h>

enum {
    PIPC__CLI_GO_ON = -1, /* no exit status: go on */
    PIPC__CLI_ARGUMENT = 0,
    PIPC__CLI_USAGE = 64
};

typedef struct pipc__cli_option {
    const char *name; /* the long name; NULL ends a table */
    const char *arg;  /* the value's name, for --help; NULL: it takes none */
    const char *help; /* one line, no full stop */
    int id;           /* below 256 the letter of a short form too; else any number */
} pipc__cli_option_t;

/* Options with a line above them in --help. @rows NULL ends a list of sections. --help and
 * --version need no rows; the ids 'h' and 'V' are theirs. */
typedef struct pipc__cli_section {
    const char *heading; /* or NULL */
    const pipc__cli_option_t *rows;
} pipc__cli_section_t;

typedef struct pipc__cli {
    const char *name, *version;
    const char *usage;                   /* after "Usage: NAME ", without a newline */
    const char *about;                   /* what it does, with newlines */
    const pipc__cli_section_t *sections; /* what pipc__cli_parse() takes, 64 options at most */
    const char *after;                   /* the end of --help, with newlines */
    void (*more)(void);                  /* prints what comes after that; or NULL */
    const struct pipc__cli *help;        /* whose --help is shown; NULL: this one's */
    int arguments;                       /* how many words that are no option are taken at most */
    int output_failed;                   /* exit status when output could not be written */

    /* An option, or with PIPC__CLI_ARGUMENT a word that is none. Returns PIPC__CLI_GO_ON, or the
     * exit status that pipc__cli_usage() gave. @value is NULL for options that take none. */
    int (*take)(void *wants, int id, const char *value);
} pipc__cli_t;

/* Hand all options, then all other words, to take(). PIPC__CLI_GO_ON, or the exit status: 0 after
 * --help and --version, 64 after wrong usage, which is on stderr by then. */
int pipc__cli_parse(const pipc__cli_t *cli, int argc, char **argv, void *wants);

/* Say what is wrong with @object; returns PIPC__CLI_USAGE. */
int pipc__cli_usage(const pipc__cli_t *cli, const char *object, const char *what);

/* End with @status, or with output_failed when what was printed did not reach its reader (a full
 * disk). Every tool ends with this. */
int pipc__cli_finish(const pipc__cli_t *cli, int status);

#endif
