/* base/cli.c - see cli.h */
#include "runtime/base/cli.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 64

static const pipc__cli_option_t always[] = {{"help", NULL, "print this and exit", 'h'},
                                            {"version", NULL, "print the version and exit", 'V'},
                                            {NULL, NULL, NULL, 0}};

typedef struct forms {
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 8]; /* starts with ":", so that getopt tells a missing value */
    int n;
} forms_t;

static void add_forms(forms_t *f, const pipc__cli_option_t *rows, bool letters)
{
    for (; rows->name && f->n < OPTIONS_MAX; rows++) {
        f->longs[f->n++] = (struct option){rows->name, rows->arg ? required_argument : no_argument,
                                           NULL, rows->id};
        if (letters && rows->id < 256)
            sprintf(f->shorts + strlen(f->shorts), "%c%s", rows->id, rows->arg ? ":" : "");
    }
}

/* Has the tool short forms? If not, --help and --version have none either. */
static bool has_letters(const pipc__cli_t *cli)
{
    for (const pipc__cli_section_t *s = cli->sections; s->rows; s++)
        for (const pipc__cli_option_t *row = s->rows; row->name; row++)
            if (row->id < 256)
                return true;
    return false;
}

/* ---- --help -------------------------------------------------------------------------------- */

static int form(const pipc__cli_option_t *row, bool letters, char out[64])
{
    char letter[8] = "";

    if (letters)
        snprintf(letter, sizeof(letter), row->id < 256 ? "-%c, " : "    ", row->id);
    return snprintf(out, 64, "%s--%s%s%s", letter, row->name, row->arg ? "=" : "",
                    row->arg ? row->arg : "");
}

static void print_rows(const pipc__cli_option_t *rows, bool letters, int width)
{
    char left[64];

    for (; rows->name; rows++) {
        form(rows, letters, left);
        printf("  %-*s  %s\n", width, left, rows->help);
    }
}

static void print_help(const pipc__cli_t *cli)
{
    bool letters = has_letters(cli);
    char left[64];
    int width = 0;

    for (const pipc__cli_section_t *s = cli->sections; s->rows; s++)
        for (const pipc__cli_option_t *row = s->rows; row->name; row++)
            if (form(row, letters, left) > width)
                width = form(row, letters, left);
    printf("Usage: %s %s\n%s", cli->name, cli->usage, cli->about);
    for (const pipc__cli_section_t *s = cli->sections; s->rows; s++) {
        printf("\n%s%s", s->heading ? s->heading : "", s->heading ? "\n" : "");
        print_rows(s->rows, letters, width);
    }
    printf("\n");
    print_rows(always, letters, width);
    printf("\n%s", cli->after);
    if (cli->more)
        cli->more();
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* What getopt calls wrong: of a cluster of letters the one, else the word that it just stepped
 * over. */
static int refuse(const pipc__cli_t *cli, const forms_t *f, int c, char **argv)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_letter = optopt > 0 && optopt < 256;

    if (c == ':')
        return pipc__cli_usage(cli,
                               is_letter && argv[optind - 1][1] != '-' ? letter : argv[optind - 1],
                               "needs a value");
    if (is_letter && !strchr(f->shorts, optopt))
        return pipc__cli_usage(cli, letter, "no such option");
    return pipc__cli_usage(cli, argv[optind - 1], "no such option, or one that takes no value");
}

static int take_arguments(const pipc__cli_t *cli, int argc, char **argv, void *wants)
{
    int status = PIPC__CLI_GO_ON;

    for (int n = 0; optind < argc && status < 0; n++, optind++) {
        if (n >= cli->arguments)
            return pipc__cli_usage(cli, argv[optind], "unexpected argument");
        status = cli->take(wants, PIPC__CLI_ARGUMENT, argv[optind]);
    }
    return status;
}

int pipc__cli_parse(const pipc__cli_t *cli, int argc, char **argv, void *wants)
{
    forms_t f = {.shorts = ":"};
    bool letters = has_letters(cli);
    int c, status;

    for (const pipc__cli_section_t *s = cli->sections; s->rows; s++)
        add_forms(&f, s->rows, letters);
    add_forms(&f, always, letters);
    opterr = 0;
    optind = 0; /* glibc: start anew, so that a test can parse twice */
    while ((c = getopt_long(argc, argv, f.shorts, f.longs, NULL)) != -1) {
        switch (c) {
        case 'h':
            print_help(cli->help ? cli->help : cli);
            return pipc__cli_finish(cli, 0);
        case 'V':
            printf("%s %s\n", cli->name, cli->version);
            return pipc__cli_finish(cli, 0);
        case ':':
        case '?':
            return refuse(cli, &f, c, argv);
        default:
            status = cli->take(wants, c, optarg);
            if (status >= 0)
                return status;
        }
    }
    return take_arguments(cli, argc, argv, wants);
}

int pipc__cli_usage(const pipc__cli_t *cli, const char *object, const char *what)
{
    fprintf(stderr, "%s: %s: %s; see %s --help\n", cli->name, object, what, cli->name);
    return PIPC__CLI_USAGE;
}

int pipc__cli_finish(const pipc__cli_t *cli, int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "%s: output: could not be written; is the disk full?\n", cli->name);
        return cli->output_failed;
    }
    return status;
}
