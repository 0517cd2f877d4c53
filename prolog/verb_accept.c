/* prolog/verb_accept.c - accept: an administrator tells the breaker that a finding is right */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prolog/breaker.h"
#include "prolog/conditions.h"
#include "prolog/snapshot.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

const pipc__cli_option_t pipc__accept_options[] = {{NULL, NULL, NULL, 0}};

static int take(void *wants, int id, const char *value)
{
    (void)id;
    *(const char **)wants = value;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__accept_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .arguments = 1,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int failed(const char *why)
{
    fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", why);
    return 1;
}

/* Prologs learn in the same book: their lock is held. */
static pipc_status_t accept_in_book(const pipc__config_t *config, const char *code, int *n,
                                    pipc__error_t *err)
{
    const pipc__gate_t *here = &pipc__gate_here;
    char now[PIPC__CONDITIONS_MAX];
    pipc__run_t run;
    int dir = -1;
    json_t *book = NULL;
    pipc_status_t st = pipc__run_open(&run, here->run, here->owner, -1, err);

    if (!st)
        st = pipc__state_open(here->state, here->owner, &dir, err);
    if (!st && !(book = pipc__breaker_read(dir, here->owner, err)))
        st = err->status;
    pipc__conditions(config->sysroot, here->limits, here->baseline, now);
    *n = st ? 0 : pipc__breaker_accept(book, now, code);
    if (*n > 0)
        st = pipc__breaker_write(dir, book, err);
    json_decref(book);
    if (dir >= 0)
        close(dir);
    pipc__run_close(&run);
    return st;
}

/* A look before, so that there is a page; and one after, which prologs then find. */
int pipc__verb_accept(int argc, char **argv)
{
    const char *code = NULL;
    int known = -1;
    pipc__exam_t exam = {.all = true, .fresh = true};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    int n = 0, status = pipc__cli_parse(&cli, argc, argv, &code);

    if (status >= 0)
        return status;
    if (code && (known = pipc__verb_code(code)) < 0)
        return PIPC__CLI_USAGE;
    code = code ? pipc__codes[known].name : NULL; /* as the book has it */
    for (int look = 0; look < 2; look++) {
        pipc__exam_config(&pipc__gate_here, &config, stderr);
        if (pipc__examine(&pipc__gate_here, &config, &exam, stderr))
            return failed("out of memory");
        if (look == 0)
            pipc__findings_free(&exam.findings);
        if (look == 0 && accept_in_book(&config, code, &n, &err))
            return failed(err.text);
    }
    printf("accepted: %d\n", n);
    pipc__exam_print(&exam.findings, stdout);
    pipc__findings_free(&exam.findings);
    return pipc__cli_finish(&cli, PIPC__EXIT_OK);
}
