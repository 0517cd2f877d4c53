/* topo/matrix_words.c - see matrix_words.h */
#include "runtime/topo/matrix_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/device.h"

bool pipc__matrix_numbered(const char *word, const char *kind)
{
    size_t n = strlen(kind);

    return strncmp(word, kind, n) == 0 && isdigit((unsigned char)word[n]) &&
           word[n + strspn(word + n, "0123456789")] == '\0';
}

bool pipc__matrix_relation(const char *word, pipc__near_t *near, int *nvlinks)
{
    static const struct {
        const char *word;
        pipc__near_t near;
    } words[] = {{"X", PIPC__NEAR_SELF},  {"PIX", PIPC__NEAR_PIX}, {"PSB", PIPC__NEAR_PIX},
                 {"PXB", PIPC__NEAR_PXB}, {"PHB", PIPC__NEAR_PHB}, {"NODE", PIPC__NEAR_NODE},
                 {"SYS", PIPC__NEAR_SYS}, {"SOC", PIPC__NEAR_SYS}, {"N/A", PIPC__NEAR_UNKNOWN}};

    *nvlinks = 0;
    *near = PIPC__NEAR_UNKNOWN;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i].word) == 0) {
            *near = words[i].near;
            return true;
        }
    if (!pipc__matrix_numbered(word, "NV") || strlen(word) > 5)
        return false;
    *nvlinks = atoi(word + 2);
    return *nvlinks > 0;
}

bool pipc__matrix_p2p_status(const char *word)
{
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* ---- what is no word ----------------------------------------------------------------------- */

/* The length of "[4m" or "[0;1m" at @p, of which a paste has lost the ESC; 0: it is none. */
static size_t code_length(const char *p)
{
    size_t n = *p == '[' ? 1 + strspn(p + 1, "0123456789;") : 0;

    return n > 1 && p[n] == 'm' ? n + 1 : 0;
}

/* Leave blanks where a terminal's codes, the borders of a table and marks of a font were. */
static void blank_marks(char *line)
{
    for (char *p = line; *p; p++) {
        size_t n = code_length(p);
        if (n > 0)
            memset(p, ' ', n);
        else if (strchr("|*`", *p))
            *p = ' ';
    }
}

/* After "> " of a quotation, "+" of a patch and the label. */
static char *text_of(const pipc__matrix_words_t *w, char *line)
{
    size_t n = strlen(w->label);

    line += strspn(line, " \t>+");
    return n > 0 && strncmp(line, w->label, n) == 0 ? line + n : line;
}

/* ---- words that stand in one, and one that stands in two ------------------------------------ */

/* The length of the relation, or of the numbered device, that a text begins with; 0: neither. */
static size_t piece_length(const char *text)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "PSB", "NODE", "SYS", "SOC"};
    static const char *const numbered[] = {"NV", "NIC", "GPU"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
        size_t n = strlen(numbered[i]), digits = 0;
        if (strncmp(text, numbered[i], n) == 0)
            digits = strspn(text + n, "0123456789");
        if (digits > 0 && n + digits < PIPC__MATRIX_PIECE_MAX)
            return n + digits;
    }
    return 0;
}

/* "NODEPXB" and "NIC8NIC9": what is copied from a terminal loses the tab that fell on its edge.
 * False when the word is not made of such. */
static bool split_glued(pipc__matrix_words_t *w, const char *word)
{
    size_t n;
    const char *p = word;

    while ((n = piece_length(p)) > 0)
        p += n;
    if (*p || p == word)
        return false;
    for (p = word; *p && w->n < PIPC__MATRIX_WORDS_MAX && w->pieces < PIPC__MATRIX_WORDS_MAX;
         p += n) {
        n = piece_length(p);
        snprintf(w->piece[w->pieces], PIPC__MATRIX_PIECE_MAX, "%.*s", (int)n, p);
        w->word[w->n++] = w->piece[w->pieces++];
    }
    return true;
}

/* "0-31, 64-95", as people write lists: @word belongs to the one before it. */
static bool join_list(const pipc__matrix_words_t *w, const char *word)
{
    char *last = w->n > 0 ? w->word[w->n - 1] : NULL;
    size_t n = last ? strlen(last) : 0;

    if (n == 0 || last[n - 1] != ',' || !isdigit((unsigned char)*word))
        return false;
    memmove(last + n, word, strlen(word) + 1);
    return true;
}

void pipc__matrix_split(pipc__matrix_words_t *w, char *line)
{
    char *save = NULL;

    w->n = w->pieces = 0;
    blank_marks(line);
    for (char *word = strtok_r(text_of(w, line), " \t\r", &save);
         word && w->n < PIPC__MATRIX_WORDS_MAX; word = strtok_r(NULL, " \t\r", &save)) {
        pipc__make_printable(word);
        if (!split_glued(w, word) && !join_list(w, word))
            w->word[w->n++] = word;
    }
}

/* ---- columns ------------------------------------------------------------------------------- */

bool pipc__matrix_cell(const char *word)
{
    pipc__near_t near;
    int nvlinks;

    return pipc__matrix_relation(word, &near, &nvlinks) || pipc__matrix_p2p_status(word);
}

/* A row has a cell as its second word; columns do not. */
static bool columns_from(const pipc__matrix_words_t *w, int first)
{
    return w->n > first && pipc__matrix_numbered(w->word[first], "GPU") &&
           (w->n == first + 1 || !pipc__matrix_cell(w->word[first + 1]));
}

bool pipc__matrix_header(pipc__matrix_words_t *w)
{
    size_t n = w->n > 0 ? strlen(w->word[0]) : 0;

    if (columns_from(w, 0))
        return true;
    if (n == 0 || w->label[0] || w->word[0][n - 1] != ':' || n >= sizeof(w->label) ||
        !columns_from(w, 1))
        return false;
    memcpy(w->label, w->word[0], n + 1);
    w->n--;
    memmove(w->word, w->word + 1, sizeof(w->word[0]) * (size_t)w->n);
    return true;
}
