/* tools/topo/difference.c - --compare: read the two machines, print what changed */
#include "runtime/tools/topo/topo_tool.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/compare.h"
#include "runtime/topo/json.h"

enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

static void print_change(const pipc__change_t *c, FILE *out)
{
    fputs(c->device, out);
    if (c->peer[0])
        fprintf(out, " - %s", c->peer);
    if (c->uuid[0])
        fprintf(out, " (%s)", c->uuid);
    fprintf(out, ": %s", pipc__change_words(c->kind));
    if (c->kind != PIPC__CHANGE_GONE && c->kind != PIPC__CHANGE_NEW)
        fprintf(out, ": %s -> %s", c->was, c->now);
    fputc('\n', out);
}

static json_t *make_change(const pipc__change_t *c)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "change", pipc__change_name(c->kind),
                     "device", c->device, "uuid", pipc__json_text(c->uuid), "peer",
                     pipc__json_text(c->peer), "was", pipc__json_text(c->was), "now",
                     pipc__json_text(c->now));
}

static pipc_status_t print_json(const char *a, const char *b, const pipc__change_t *list, int n,
                                FILE *out, pipc__error_t *err)
{
    json_t *changes = json_array();

    for (int i = 0; i < n && changes; i++) {
        if (json_array_append_new(changes, make_change(&list[i]))) {
            json_decref(changes);
            changes = NULL;
        }
    }
    return pipc__json_print(
        json_pack("{s:s, s:s, s:b, s:o}", "a", a, "b", b, "same", n == 0, "changes", changes), out,
        err);
}

/* "nccl-xml:FILE" names the kind of source by its option. Without such a prefix, as a file is
 * called that has one in its name, what the file holds tells. */
static bool take_prefix(const pipc__cli_t *cli, pipc__source_t *source, const char *word)
{
    for (const pipc__cli_option_t *row = pipc__source_options; row->name; row++) {
        size_t n = strlen(row->name);
        if (!strncmp(word, row->name, n) && word[n] == ':' && word[n + 1])
            return pipc__source_take(cli, source, row->id, word + n + 1) == PIPC__CLI_GO_ON;
    }
    return false;
}

static pipc_status_t load(const pipc__cli_t *cli, const char *word, pipc__topo_t **topo,
                          pipc__error_t *err)
{
    pipc__source_t source = {.kind = PIPC__SOURCE_LIVE};
    pipc_status_t st = PIPC_OK;

    *topo = NULL;
    if (!take_prefix(cli, &source, word))
        st = pipc__source_guess(&source, word, err);
    return st ? st : topo_load(&source, topo, err);
}

static int compare(const topo_wants_t *w, const pipc__topo_t *a, const pipc__topo_t *b,
                   pipc__error_t *err)
{
    const char *name_b = w->compare_with ? w->compare_with : w->source.text;
    pipc__change_t *list;
    int n;
    pipc_status_t st = pipc__topo_compare(a, b, &list, &n, err);

    if (st)
        return EXIT_TROUBLE;
    if (w->json)
        st = print_json(w->compare, name_b ? name_b : "live", list, n, stdout, err);
    for (int i = 0; i < n && !w->json; i++)
        print_change(&list[i], stdout);
    if (n == 0 && !w->json)
        printf("no change\n");
    free(list);
    return st ? EXIT_TROUBLE : n ? EXIT_DIFFERENT : EXIT_SAME;
}

int topo_difference(const pipc__cli_t *cli, const topo_wants_t *w)
{
    pipc__topo_t *a = NULL, *b = NULL;
    pipc__error_t err = {PIPC_OK, ""};
    int status = EXIT_TROUBLE;
    pipc_status_t st = load(cli, w->compare, &a, &err);

    if (!st)
        st = w->compare_with ? load(cli, w->compare_with, &b, &err)
                             : topo_load(&w->source, &b, &err);
    if (!st)
        status = compare(w, a, b, &err);
    pipc__topo_free(a);
    pipc__topo_free(b);
    if (err.status)
        fprintf(stderr, "%s: %s\n", cli->name, err.text);
    return status;
}
