/* prolog/p2p_matrix.c - see p2p_matrix.h */
#include "prolog/p2p_matrix.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prolog/state.h"

/* ---- the JSON ------------------------------------------------------------------------------ */

/* @number[i] is what the file calls the GPU of row i. */
static bool take_gpus(const json_t *gpus, pipc__p2p_matrix_t *out, json_int_t *number)
{
    size_t n = json_array_size(gpus);

    if (n < 1 || n > PIPC__P2P_MATRIX_GPUS)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *gpu = json_array_get(gpus, i);
        const json_t *id = json_object_get(gpu, "gpu");
        const char *bdf = json_string_value(json_object_get(gpu, "bdf"));
        if (!json_is_integer(id) || !bdf || !*bdf || strlen(bdf) >= PIPC__FACT_NAME_MAX)
            return false;
        strcpy(out->gpu[i], bdf);
        number[i] = json_integer_value(id);
    }
    out->n = (int)n;
    return true;
}

static int row_of(const json_t *pair, const char *key, const json_int_t *number, int n)
{
    const json_t *id = json_object_get(pair, key);

    for (int i = 0; json_is_integer(id) && i < n; i++)
        if (number[i] == json_integer_value(id))
            return i;
    return -1;
}

static bool take_pairs(const json_t *pairs, const json_int_t *number, pipc__p2p_matrix_t *out)
{
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        const char *state = json_string_value(json_object_get(pair, "state"));
        int a = row_of(pair, "from", number, out->n), b = row_of(pair, "to", number, out->n);
        if (a < 0 || b < 0 || a == b || !state || !*state || strlen(state) >= PIPC__P2P_MATRIX_WORD)
            return false;
        strcpy(out->state[a][b], state);
    }
    for (int a = 0; a < out->n; a++)
        for (int b = 0; b < out->n; b++)
            if (a != b && !out->state[a][b][0])
                return false;
    return true;
}

pipc_status_t pipc__p2p_matrix_parse(const char *from, const char *text, size_t n,
                                     pipc__p2p_matrix_t *out, pipc__error_t *err)
{
    json_int_t number[PIPC__P2P_MATRIX_GPUS];
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

    memset(out, 0, sizeof(*out));
    out->there = json_is_true(json_object_get(json, "finished")) &&
                 take_gpus(json_object_get(json, "gpus"), out, number) &&
                 take_pairs(json_object_get(json, "pairs"), number, out);
    json_decref(json);
    if (out->there)
        return PIPC_OK;
    memset(out, 0, sizeof(*out));
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "%s: no whole matrix; \"pcie-ipc-p2p --json\" writes one", from);
}

/* ---- the files ----------------------------------------------------------------------------- */

pipc_status_t pipc__p2p_matrix_accepted(const char *folder, uid_t owner, pipc__p2p_matrix_t *out,
                                        pipc__error_t *err)
{
    char *text = NULL;
    struct stat about = {.st_mtime = 0};
    size_t n = 0;
    int dir;
    pipc_status_t st = pipc__state_find(folder, owner, &dir, err);

    memset(out, 0, sizeof(*out));
    if (st)
        return st;
    st =
        pipc__state_read(dir, PIPC__P2P_MATRIX_FILE, owner, PIPC__P2P_MATRIX_BYTES, &text, &n, err);
    if (!st)
        st = pipc__p2p_matrix_parse(PIPC__P2P_MATRIX_FILE, text, n, out, err);
    if (!st && fstatat(dir, PIPC__P2P_MATRIX_FILE, &about, AT_SYMLINK_NOFOLLOW) == 0)
        out->time = about.st_mtime;
    free(text);
    close(dir);
    return st;
}

pipc_status_t pipc__p2p_matrix_read(const char *path, pipc__p2p_matrix_t *out, pipc__error_t *err)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(PIPC__P2P_MATRIX_BYTES) : NULL;
    struct stat about;
    pipc_status_t st = PIPC_OK;

    memset(out, 0, sizeof(*out));
    if (!f)
        return pipc__fail_errno(err, "%s: cannot be read", path);
    if (!text)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    else
        st =
            pipc__p2p_matrix_parse(path, text, fread(text, 1, PIPC__P2P_MATRIX_BYTES, f), out, err);
    if (!st && fstat(fileno(f), &about) == 0)
        out->time = about.st_mtime;
    free(text);
    fclose(f);
    return st;
}

int pipc__p2p_matrix_row(const pipc__p2p_matrix_t *m, const char *gpu)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->gpu[i], gpu) == 0)
            return i;
    return -1;
}
