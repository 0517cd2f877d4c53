/* prolog/verb_links.c - install-links: what makes Slurm run prolog and epilog */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>

#include "prolog/links.h"
#include "prolog/verbs.h"

enum { OPT_PROLOG_DIR = 256, OPT_EPILOG_DIR, OPT_REMOVE };

const pipc__cli_option_t pipc__links_options[] = {
    {"prolog-dir", "DIR", "the folder that Prolog=DIR/* in slurm.conf names", OPT_PROLOG_DIR},
    {"epilog-dir", "DIR", "the folder that Epilog=DIR/* in slurm.conf names", OPT_EPILOG_DIR},
    {"remove", NULL, "remove the links", OPT_REMOVE},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    bool remove;
    const char *prolog_dir, *epilog_dir;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    if (id == OPT_PROLOG_DIR)
        w->prolog_dir = value;
    else if (id == OPT_EPILOG_DIR)
        w->epilog_dir = value;
    else
        w->remove = true;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__links_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int one_link(const wants_t *w, const char *folder, const char *target)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;

    if (folder)
        st = w->remove ? pipc__link_remove(folder, target, stdout, &err)
                       : pipc__link_install(folder, target, stdout, &err);
    if (st)
        fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", err.text);
    return st != PIPC_OK;
}

int pipc__verb_links(int argc, char **argv)
{
    wants_t w = {.remove = false};
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!w.prolog_dir && !w.epilog_dir)
        return pipc__verb_usage("install-links", "needs --prolog-dir, --epilog-dir or both");
    status = one_link(&w, w.prolog_dir, PIPC_LIBEXEC "/prolog");
    status |= one_link(&w, w.epilog_dir, PIPC_LIBEXEC "/epilog");
    return pipc__cli_finish(&cli, status);
}
