/* prolog/verb_baseline.c - learn, diff, show */
#include "config.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/output.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

enum { OPT_OUTPUT = 256, OPT_CLASS, OPT_FORCE, OPT_JSON };
enum { SAME, DIFFERS }; /* exit statuses, beside PIPC__EXIT_UNKNOWN */

const pipc__cli_option_t pipc__baseline_options[] = {
    {"output", "FILE", "learn: write it there, - is the output; otherwise " PIPC_BASELINE,
     OPT_OUTPUT},
    {"class", NULL, "learn: for each machine like this one: no serial numbers", OPT_CLASS},
    {"force", NULL, "learn: also what is sick or cannot be told", OPT_FORCE},
    {"json", NULL, "diff, show: print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    const char *action, *file, *output;
    bool class, force, json;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case PIPC__CLI_ARGUMENT:
        *(w->action ? &w->file : &w->action) = value;
        break;
    case OPT_OUTPUT:
        w->output = value;
        break;
    case OPT_CLASS:
        w->class = true;
        break;
    case OPT_FORCE:
        w->force = true;
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
    {NULL, pipc__baseline_options}, {NULL, pipc__machine_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .arguments = 2,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int print_json(json_t *json)
{
    return pipc__json_print(json, stdout) ? PIPC__EXIT_OK : PIPC__EXIT_UNKNOWN;
}

/* ---- learn --------------------------------------------------------------------------------- */

/* What would make a fault, or what nobody could see, the measure of all that comes. */
static bool forbids(const pipc__finding_t *f, const pipc__facts_t *facts)
{
    if (f->severity == PIPC__DRAIN || f->code == PIPC__CODE_NO_GPU)
        return true;
    if (f->code != PIPC__CODE_UNCONFIRMED && f->code != PIPC__CODE_NO_LINK &&
        f->code != PIPC__CODE_ASLEEP)
        return false;
    for (int i = 0; i < facts->n; i++)
        if (strcmp(facts->dev[i].name, f->object) == 0)
            return !facts->dev[i].nic && !facts->dev[i].companion;
    return true;
}

/* 0 when the machine is well enough. */
static int judge(const wants_t *w, const pipc__facts_t *facts)
{
    pipc__machine_t source = w->source;
    pipc__findings_t findings = {.n = 0};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__findings_t bad = {.n = 0};
    bool hidden = false;
    int status = 0;

    source.baseline.path = NULL; /* what it was before is not the question */
    if (pipc__check(&source, &findings, &err))
        status = pipc__verb_failed(&err);
    for (int i = 0; i < findings.n && !status; i++) {
        if (forbids(&findings.list[i], facts) && pipc__findings_add(&bad, &findings.list[i], &err))
            status = pipc__verb_failed(&err);
        hidden |= findings.list[i].code == PIPC__CODE_HIDDEN;
    }
    if (hidden)
        fprintf(stderr, PIPC__HEALTH_NAME
                ": target speeds, ACS and serial numbers cannot be read: run as root\n");
    if (!status && bad.n > 0 && !w->force) {
        pipc__findings_print(&bad, PIPC__OK, stderr);
        fprintf(stderr, PIPC__HEALTH_NAME
                ": nothing was learned from a machine that is not well; repair it, or use "
                "--force\n");
        status = PIPC__EXIT_WARN;
    }
    pipc__findings_free(&findings);
    pipc__findings_free(&bad);
    return status;
}

static void tell(void *arg, const char *object, const char *what)
{
    fprintf(arg, "%s: %s\n", object, what);
}

/* Written whole or not at all, and only if it says something else: git then shows no change where
 * there is none. */
static pipc_status_t put(const char *path, const char *text, size_t n, pipc__error_t *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PIPC__INI_PATH_MAX] = ".";
    pipc_status_t st;
    int dir;

    if (slash &&
        snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >= (int)sizeof(folder))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: the path is too long", path);
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", folder);
    st = pipc__state_write(dir, slash ? slash + 1 : path, 0644, text, n, err);
    close(dir);
    return st;
}

static char *text_of(const pipc__baseline_t *b)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return NULL;
    pipc__baseline_print(b, f);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* Say what changes in a baseline that was there; what is something else stays. */
static pipc_status_t write_over(const char *path, const pipc__baseline_t *then,
                                const pipc__baseline_t *now, pipc__error_t *err)
{
    char *old = text_of(then), *new = text_of(now);
    pipc_status_t st = PIPC_OK;

    if (!old || !new) {
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    } else if (then->there && strcmp(old, new) == 0) {
        printf("%s: is so already\n", path);
    } else {
        if (then->there)
            pipc__baseline_diff(then, now, tell, stdout);
        st = put(path, new, strlen(new), err);
        if (!st)
            printf("%s: written, %d devices\n", path, now->n);
    }
    free(old);
    free(new);
    return st;
}

static int write_file(const char *path, const pipc__baseline_t *now)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__baseline_t then;
    pipc_status_t st = pipc__baseline_read(path, PIPC__INI_ANYBODY, &then, &err);

    if (!st || st == PIPC_ERR_NOT_FOUND)
        st = write_over(path, &then, now, &err);
    else
        fprintf(stderr, PIPC__HEALTH_NAME ": %s: is there, and no baseline; move it away\n", path);
    pipc__baseline_free(&then);
    return st ? pipc__verb_failed(&err) : 0;
}

static int learn(const wants_t *w)
{
    const char *path = w->output ? w->output : PIPC_BASELINE;
    pipc__baseline_t now = {.n = 0};
    pipc__facts_t facts = {.n = 0};
    pipc__error_t err = {PIPC_OK, ""};
    int status;

    if (pipc__check_facts(&w->source, &facts, &err) ||
        pipc__baseline_learn(&facts, w->class, &now, &err))
        status = pipc__verb_failed(&err);
    else
        status = judge(w, &facts);
    if (!status && strcmp(path, "-") == 0)
        pipc__baseline_print(&now, stdout);
    else if (!status)
        status = write_file(path, &now);
    pipc__baseline_free(&now);
    pipc__facts_free(&facts);
    return status;
}

/* ---- diff, show ---------------------------------------------------------------------------- */

static int read_file(const wants_t *w, pipc__baseline_t *out)
{
    const char *path = w->file ? w->file : PIPC_BASELINE;
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__baseline_read(path, w->file ? PIPC__INI_ANYBODY : 0, out, &err))
        return pipc__verb_failed(&err);
    if (out->there)
        return 0;
    pipc__fail(&err, PIPC_ERR_NOT_FOUND, "%s: is not there; \"baseline learn\" makes it", path);
    return pipc__verb_failed(&err);
}

static void tell_json(void *arg, const char *object, const char *what)
{
    json_array_append_new(arg, json_pack("{s:s, s:s}", "object", object, "what", what));
}

static int diff(const wants_t *w)
{
    pipc__baseline_t then, now = {.n = 0};
    pipc__facts_t facts = {.n = 0};
    pipc__error_t err = {PIPC_OK, ""};
    int status = read_file(w, &then), n = 0;
    json_t *list = json_array();

    if (!status && (pipc__check_facts(&w->source, &facts, &err) ||
                    pipc__baseline_learn(&facts, false, &now, &err)))
        status = pipc__verb_failed(&err);
    if (!status)
        n = pipc__baseline_diff(&then, &now, w->json ? tell_json : tell,
                                w->json ? (void *)list : (void *)stdout);
    if (!status && w->json)
        status = print_json(json_pack("{s:i, s:O}", "schema", PIPC__SCHEMA, "differences", list));
    json_decref(list);
    pipc__baseline_free(&then);
    pipc__baseline_free(&now);
    pipc__facts_free(&facts);
    return status ? status : n > 0 ? DIFFERS : SAME;
}

static json_t *entry_to_json(const pipc__baseline_entry_t *e)
{
    char value[PIPC__BASELINE_VALUE_MAX];
    json_t *json = json_pack("{s:s}", "address", e->name);

    for (const pipc__baseline_key_t *k = pipc__baseline_keys; json && k->key; k++)
        if (pipc__baseline_value(e, k->key, value))
            json_object_set_new(json, k->key, json_string(value));
    return json;
}

static json_t *to_json(const pipc__baseline_t *b)
{
    json_t *list = json_array();

    for (int i = 0; i < b->n; i++)
        json_array_append_new(list, entry_to_json(&b->list[i]));
    return json_pack("{s:i, s:b, s:s, s:o}", "schema", PIPC__SCHEMA, "class", b->class, "bios",
                     b->bios, "devices", list);
}

static void print_entry(const pipc__baseline_entry_t *e)
{
    static const char *const keys[] = {"kind", "device", "width",  "max_speed",
                                       "slot", "path",   "serial", "uuid"};
    static const int widths[] = {4, 9, 3, 8, 4, 0, 0, 0};
    char value[PIPC__BASELINE_VALUE_MAX], text[PIPC__BASELINE_VALUE_MAX + 2];

    printf("%s", e->name);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        bool known = pipc__baseline_value(e, keys[i], value);
        snprintf(text, sizeof(text), "%s%s", known && strcmp(keys[i], "width") == 0 ? "x" : "",
                 known ? value : "-");
        if (known || widths[i])
            printf(" %-*s", widths[i], text);
    }
    printf("\n");
}

static int show(const wants_t *w)
{
    pipc__baseline_t b;
    int status = read_file(w, &b);

    if (!status && w->json)
        status = print_json(to_json(&b));
    else if (!status)
        printf("%s, BIOS %s: %d devices\n", b.class ? "a class of machines" : "one machine",
               b.bios[0] ? b.bios : "not known", b.n);
    for (int i = 0; i < b.n && !status && !w->json; i++)
        print_entry(&b.list[i]);
    pipc__baseline_free(&b);
    return status;
}

int pipc__verb_baseline(int argc, char **argv)
{
    wants_t w = {.action = NULL};
    int status = pipc__cli_parse(&cli, argc, argv, &w);
    const char *action = w.action ? w.action : "";
    bool learns = strcmp(action, "learn") == 0;

    if (status >= 0 || (status = pipc__machine_ready(&w.source)) >= 0)
        return status;
    if (!learns && strcmp(action, "diff") != 0 && strcmp(action, "show") != 0)
        return pipc__verb_usage("baseline", "needs learn, diff or show");
    if (learns && w.file)
        return pipc__verb_usage(w.file, "learn writes to --output=FILE");
    if (!learns && (w.output || w.class || w.force))
        return pipc__verb_usage("--output, --class and --force", "for learn");
    if (learns && w.json)
        return pipc__verb_usage("--json", "for diff and show");
    status = learns ? learn(&w) : strcmp(action, "diff") == 0 ? diff(&w) : show(&w);
    return pipc__cli_finish(&cli, status);
}
