/* prolog/ack.c - see ack.h */
#include "prolog/ack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"
#include "runtime/base/hash.h"
#include "runtime/base/ini.h"

#define TEXT_MAX (1 << 20) /* bytes of a file */

enum { CODE, OBJECT, SEEN, REASON, KEYS };
static const char *const keys[KEYS] = {"code", "object", "seen", "reason"};

void pipc__acks_free(pipc__acks_t *acks)
{
    free(acks->list);
    memset(acks, 0, sizeof(*acks));
}

static void digest_of(const pipc__finding_t *f, char out[PIPC__DIGEST_MAX])
{
    const char *const parts[] = {pipc__codes[f->code].name, f->object, f->seen, f->event};
    uint64_t hash = PIPC__HASH_INIT;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && (i < 3 || *parts[i]); i++)
        hash = pipc__hash(hash, parts[i], strlen(parts[i]) + 1);
    snprintf(out, PIPC__DIGEST_MAX, "%016" PRIx64, hash);
}

static pipc__ack_t *find(const pipc__acks_t *acks, const char *digest)
{
    for (int i = 0; i < acks->n; i++)
        if (strcmp(acks->list[i].digest, digest) == 0)
            return &acks->list[i];
    return NULL;
}

static pipc__ack_t *append(pipc__acks_t *acks)
{
    if (acks->n == PIPC__ACKS_MAX)
        return NULL;
    if (acks->n == acks->cap) {
        int cap = acks->cap ? 2 * acks->cap : 16;
        pipc__ack_t *more = realloc(acks->list, sizeof(*more) * (size_t)cap);
        if (!more)
            return NULL;
        acks->list = more;
        acks->cap = cap;
    }
    memset(&acks->list[acks->n], 0, sizeof(*acks->list));
    return &acks->list[acks->n++];
}

bool pipc__acks_add(pipc__acks_t *acks, const pipc__finding_t *finding, const char *reason)
{
    char digest[PIPC__DIGEST_MAX];
    pipc__ack_t *a;

    digest_of(finding, digest);
    if (find(acks, digest) || !(a = append(acks)))
        return false;
    memcpy(a->digest, digest, sizeof(digest));
    a->code = finding->code;
    snprintf(a->object, sizeof(a->object), "%s", finding->object);
    pipc__ini_plain(a->seen, sizeof(a->seen), finding->seen);
    pipc__ini_plain(a->reason, sizeof(a->reason), reason);
    return true;
}

int pipc__acks_remove(pipc__acks_t *acks, pipc__code_t code, const char *object)
{
    int kept = 0, n = acks->n;

    for (int i = 0; i < n; i++)
        if (acks->list[i].code != (int)code || strcmp(acks->list[i].object, object) != 0)
            acks->list[kept++] = acks->list[i];
    acks->n = kept;
    return n - kept;
}

pipc_status_t pipc__acks_apply(const pipc__acks_t *acks, pipc__findings_t *findings,
                               pipc__error_t *err)
{
    pipc__findings_t out = {.n = 0};
    pipc_status_t st = PIPC_OK;

    if (acks->n == 0)
        return PIPC_OK;
    for (int i = 0; i < findings->n && !st; i++) {
        pipc__finding_t f = findings->list[i];
        char digest[PIPC__DIGEST_MAX];
        const pipc__ack_t *a = NULL;
        if (pipc__codes[f.code].past && f.severity > PIPC__NOTE) {
            digest_of(&f, digest);
            a = find(acks, digest);
        }
        if (a) {
            f.severity = PIPC__NOTE;
            snprintf(f.remedy, sizeof(f.remedy), "acknowledged%s%s", a->reason[0] ? ": " : "",
                     a->reason);
        }
        st = pipc__findings_add(&out, &f, err);
    }
    if (st) {
        pipc__findings_free(&out);
        return st;
    }
    pipc__findings_free(findings);
    *findings = out;
    return PIPC_OK;
}

/* ---- the file ------------------------------------------------------------------------------ */

static bool take_code(const char *value, int *out)
{
    *out = 0;
    while (*out < PIPC__CODES && strcmp(pipc__codes[*out].name, value) != 0)
        ++*out;
    return *out < PIPC__CODES && pipc__codes[*out].past;
}

static bool take_text(const char *value, char *out, size_t cap)
{
    pipc__ini_plain(out, cap, value);
    return strcmp(out, value) == 0;
}

static bool take_value(pipc__ack_t *a, int key, const char *value)
{
    switch (key) {
    case CODE:
        return take_code(value, &a->code);
    case OBJECT:
        return take_text(value, a->object, sizeof(a->object));
    case SEEN:
        return take_text(value, a->seen, sizeof(a->seen));
    default:
        return take_text(value, a->reason, sizeof(a->reason));
    }
}

static bool take(void *arg, const char *section, const char *key, const char *value, char *why,
                 size_t cap)
{
    pipc__acks_t *acks = arg;
    pipc__ack_t *a = find(acks, section);
    int k = 0;

    while (k < KEYS && strcmp(keys[k], key) != 0)
        k++;
    if (strlen(section) != PIPC__DIGEST_MAX - 1 || k == KEYS) {
        snprintf(why, cap, "there is no key \"%.40s\" in section \"%.40s\"", key, section);
        return false;
    }
    if (!a && !(a = append(acks))) {
        snprintf(why, cap, "more than %d sections", PIPC__ACKS_MAX);
        return false;
    }
    memcpy(a->digest, section, PIPC__DIGEST_MAX);
    if (a->had >> k & 1) {
        snprintf(why, cap, "%s stands there twice", keys[k]);
        return false;
    }
    a->had |= 1u << k;
    if (take_value(a, k, value))
        return true;
    snprintf(why, cap, "%s: wrong value \"%.40s\"", keys[k], value);
    return false;
}

static pipc_status_t end(const char *from, pipc__acks_t *out, pipc_status_t st, pipc__error_t *err)
{
    const unsigned int needed = 1u << CODE | 1u << OBJECT;

    for (int i = 0; i < out->n && !st; i++)
        if ((out->list[i].had & needed) != needed)
            st = pipc__fail(err, PIPC_ERR_INVALID, "%s: [%s] has no code or no object", from,
                            out->list[i].digest);
    if (st)
        pipc__acks_free(out);
    return st;
}

pipc_status_t pipc__acks_parse(const char *from, const char *text, pipc__acks_t *out,
                               pipc__error_t *err)
{
    memset(out, 0, sizeof(*out));
    return end(from, out, pipc__ini_text(from, text, take, out, err), err);
}

pipc_status_t pipc__acks_read(const char *folder, uid_t owner, pipc__acks_t *out,
                              pipc__error_t *err)
{
    char path[PIPC__INI_PATH_MAX];
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    if (snprintf(path, sizeof(path), "%s/" PIPC__ACK_NAME, folder) >= (int)sizeof(path))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: the path is too long", folder);
    st = pipc__ini_file(path, owner, TEXT_MAX, take, out, err);
    return end(path, out, st == PIPC_ERR_NOT_FOUND ? PIPC_OK : st, err);
}

static void print(const pipc__acks_t *acks, FILE *out)
{
    fprintf(out, "# Written by pcie-ipc-health ack; see pcie-ipc-health(8).\n");
    for (int i = 0; i < acks->n; i++) {
        const pipc__ack_t *a = &acks->list[i];
        fprintf(out, "\n[%s]\ncode = %s\nobject = %s\nseen = %s\n", a->digest,
                pipc__codes[a->code].name, a->object, a->seen);
        if (a->reason[0])
            fprintf(out, "reason = %s\n", a->reason);
    }
}

pipc_status_t pipc__acks_write(int folder, const pipc__acks_t *acks, pipc__error_t *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    pipc_status_t st = PIPC_OK;

    if (f)
        print(acks, f);
    if (!f || fclose(f))
        st = pipc__fail(err, PIPC_ERR_NOMEM, PIPC__ACK_NAME ": out of memory");
    if (!st)
        st = pipc__state_write(folder, PIPC__ACK_NAME, 0644, text, n, err);
    free(text);
    return st;
}
