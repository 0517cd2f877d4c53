/* tests/fuzz/health_kept.c - what root, or a job's owner, has left in files: rings and their
 * records, looks, reports of jobs, the accepted P2P matrix; and whose a record of the kernel's log
 * is. The first byte says which.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/check_time.h"
#include "prolog/diary.h"
#include "prolog/job.h"
#include "prolog/kernel_log.h"
#include "prolog/looks.h"
#include "prolog/p2p_matrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere;
static char whole[PIPC__RING_TEXT_MAX];

/* A record that is read is one that can be written, and is the same when it is read again. */
static bool take(void *arg, const char *text)
{
    pipc__change_t c, again;
    char line[400];

    if (strlen(text) >= sizeof(whole))
        abort();
    if (!pipc__change_parse(text, &c))
        return true;
    pipc__change_format(&c, whole);
    if (!pipc__change_parse(whole, &again) || again.ms != c.ms || again.kind != c.kind ||
        again.from != c.from || again.to != c.to)
        abort();
    if (fputs(pipc__change_line(&c, line, sizeof(line)), nowhere) < 0)
        abort();
    return pipc__changes_add(arg, &c);
}

static void sum_up(pipc__changes_t *changes)
{
    pipc__dips_list_t dips;

    if (pipc__dips(changes, &dips))
        pipc__dips_print(&dips, nowhere);
    pipc__dips_free(&dips);
    pipc__changes_free(changes);
}

/* Lines as records: no input finds the checksums of a ring. */
static void records(char *text)
{
    pipc__changes_t changes = {.n = 0};
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strlen(line) < PIPC__RING_TEXT_MAX && changes.n < 500)
            take(&changes, line);
    sum_up(&changes);
}

static void ring(const char *bytes, size_t n)
{
    pipc__changes_t changes = {.n = 0};

    pipc__ring_records(bytes, n, take, &changes);
    sum_up(&changes);
}

static void compare(const pipc__counters_t *before, const pipc__counters_t *after)
{
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t out = {NULL, 0, 0, PIPC__OK};
    pipc__fact_t fact = {.name = "a", .gpu = true, .parent = -1};
    const pipc__facts_t facts = {.dev = &fact, .n = 1};
    pipc__deltas_t deltas;

    if (pipc__deltas(before, after, &deltas, NULL) == PIPC_OK)
        pipc__judge_deltas(&facts, &limits, &deltas, &out, NULL);
    pipc__findings_free(&out);
    pipc__deltas_free(&deltas);
}

static void looks(const char *text, size_t n)
{
    pipc__looks_t l;

    if (!pipc__looks_parse(text, n, "/", &l))
        return;
    for (int i = 0; i < l.n; i++)
        compare(&l.look[0], &l.look[i]);
    pipc__looks_free(&l);
}

static void report(const char *text, size_t n)
{
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

    if (json)
        pipc__job_print(json, nowhere);
    json_decref(json);
}

static void matrix(const char *text, size_t n)
{
    pipc__p2p_matrix_t m;

    if (pipc__p2p_matrix_parse("x", text, n, &m, NULL) != PIPC_OK)
        return;
    for (int i = 0; i < m.n; i++)
        if (!m.gpu[i][0] || m.state[i][i][0] || pipc__p2p_matrix_row(&m, m.gpu[i]) < 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    if (size < 1)
        return 0;
    char *text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (*data % 6) {
    case 0:
        ring(text, size - 1);
        break;
    case 1:
        records(text);
        break;
    case 2:
        looks(text, size - 1);
        break;
    case 3:
        matrix(text, size - 1);
        break;
    case 4:
        pipc__kernel_is_own(text);
        break;
    default:
        report(text, size - 1);
        break;
    }
    free(text);
    return 0;
}
