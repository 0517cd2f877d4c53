/* prolog/verb_checklist.c - the list before production */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "prolog/checklist_facts.h"
#include "prolog/output.h"
#include "prolog/start.h"
#include "prolog/state.h"
#include "prolog/verbs.h"
#include "runtime/base/ask.h"

enum { OPT_BASELINE = 256, OPT_P2P, OPT_PROLOG_DIR, OPT_EPILOG_DIR, OPT_STATE, OPT_JSON };

#define PROLOG_DIR "/etc/slurm/prolog.d"
#define EPILOG_DIR "/etc/slurm/epilog.d"

const pipc__cli_option_t pipc__checklist_options[] = {
    {"baseline", "FILE", "the baseline; otherwise " PIPC_BASELINE, OPT_BASELINE},
    {"p2p", "FILE", "what pcie-ipc-p2p --json says now, to compare; otherwise NVML", OPT_P2P},
    {"prolog-dir", "DIR", "where the prolog's link is; otherwise " PROLOG_DIR, OPT_PROLOG_DIR},
    {"epilog-dir", "DIR", "where the epilog's link is; otherwise " EPILOG_DIR, OPT_EPILOG_DIR},
    {"state", "DIR", "what was kept; otherwise " PIPC__STATE_FOLDER, OPT_STATE},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    pipc__checklist_place_t place;
    bool json;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case OPT_BASELINE:
        w->source.baseline = (pipc__rule_file_t){value, PIPC__INI_ANYBODY};
        break;
    case OPT_P2P:
        w->place.p2p = value;
        break;
    case OPT_PROLOG_DIR:
        w->place.prolog_dir = value;
        break;
    case OPT_EPILOG_DIR:
        w->place.epilog_dir = value;
        break;
    case OPT_STATE:
        w->place.state = value;
        w->place.owner = geteuid();
        break;
    case OPT_JSON:
        w->json = true;
        break;
    default:
        pipc__machine_take(&w->source, id, value);
        break;
    }
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {
    {NULL, pipc__checklist_options}, {NULL, pipc__machine_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int exit_status(pipc__line_state_t worst)
{
    return worst == PIPC__LINE_YES  ? PIPC__EXIT_OK
           : worst == PIPC__LINE_NO ? PIPC__EXIT_WARN
                                    : PIPC__EXIT_UNKNOWN;
}

static pipc__line_state_t worst_of(const pipc__line_t *lines)
{
    pipc__line_state_t worst = PIPC__LINE_YES;

    for (int i = 0; i < PIPC__CHECKLIST_LINES; i++)
        worst = lines[i].state > worst ? lines[i].state : worst;
    return worst;
}

static void print(const pipc__line_t *lines)
{
    char date[32];

    for (int i = 0; i < PIPC__CHECKLIST_LINES; i++)
        printf("%-7s %s: %s: %s (%s)\n", pipc__line_state_name(lines[i].state), lines[i].item,
               lines[i].what, lines[i].evidence, pipc__date_text(lines[i].date, date));
}

static int print_json(const pipc__line_t *lines)
{
    json_t *list = json_array(), *json;

    for (int i = 0; i < PIPC__CHECKLIST_LINES; i++)
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:o}", "item", lines[i].item, "what", lines[i].what,
                      "state", pipc__line_state_name(lines[i].state), "evidence", lines[i].evidence,
                      "date", lines[i].date > 0 ? json_integer(lines[i].date) : json_null()));
    json = json_pack("{s:i, s:s, s:o}", "schema", PIPC__SCHEMA, "state",
                     pipc__line_state_name(worst_of(lines)), "lines", list);
    bool whole = json && json_array_size(list) == PIPC__CHECKLIST_LINES;
    bool printed = pipc__json_print(json, stdout);
    return whole && printed ? exit_status(worst_of(lines)) : PIPC__EXIT_UNKNOWN;
}

static int list(const wants_t *w, bool live)
{
    pipc__line_t lines[PIPC__CHECKLIST_LINES];
    pipc__checklist_facts_t facts;
    pipc__error_t err = {PIPC_OK, ""};
    int status;

    if (pipc__checklist_read(&w->source, &w->place, live, stderr, &facts, &err) ||
        pipc__checklist(&facts.readiness, lines, &err)) {
        status = pipc__verb_failed(&err);
    } else if (w->json) {
        status = print_json(lines);
    } else {
        print(lines);
        status = exit_status(worst_of(lines));
    }
    pipc__checklist_free(&facts);
    return status;
}

int pipc__verb_checklist(int argc, char **argv)
{
    wants_t w = {.place = {.prolog_dir = PROLOG_DIR,
                           .epilog_dir = EPILOG_DIR,
                           .prolog = PIPC_LIBEXEC "/prolog",
                           .epilog = PIPC_LIBEXEC "/epilog",
                           .config = {PIPC_CONFIG, 0},
                           .off = {PIPC_OFF, PIPC__START_OFF}}};
    int status = pipc__cli_parse(&cli, argc, argv, &w);
    bool live = !w.source.sysroot && !w.source.dump && !w.source.text;

    if (status >= 0 || (status = pipc__machine_ready(&w.source)) >= 0)
        return status;
    if (live) {
        w.source.nvml = PIPC__ASK_NVML;
        w.source.nvml_msec = PIPC__ASK_NVML_MSEC;
        w.place.state = w.place.state ? w.place.state : PIPC__STATE_FOLDER;
    }
    return pipc__cli_finish(&cli, list(&w, live));
}
