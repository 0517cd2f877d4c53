/* topo/matrix_wrap.c - lines that a mail or a forum cut at its margin, made whole
 *
 *     GPU0 GPU1 GPU2 GPU3 CPU       ->  one line of columns
 *     Affinity NUMA Affinity
 *     GPU0 X PIX SYS                ->  one row
 *     SYS 0-15 0
 *
 * A row begins with a device and never with a relation; the legend's lines do, but have "=" behind
 * it.
 */
#include "runtime/topo/matrix_words.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 16 /* no word that is looked for is longer */

typedef struct start { /* the first two words of a line; "" where it has no more */
    char first[WORD_MAX], second[WORD_MAX];
} start_t;

static const char *read_word(const char *line, char out[WORD_MAX])
{
    size_t n;

    line += strspn(line, " \t");
    n = strcspn(line, " \t\n");
    snprintf(out, WORD_MAX, "%.*s", n < WORD_MAX ? (int)n : 0, line);
    return line + n;
}

static start_t start_of(const char *line)
{
    start_t s = {"", ""};

    read_word(read_word(line, s.first), s.second);
    return s;
}

/* "GPU7", "NIC0", "mlx5_0": the name of a column. */
static bool is_column(const char *word)
{
    size_t n = strlen(word);

    return pipc__matrix_numbered(word, "GPU") || pipc__matrix_numbered(word, "NIC") ||
           (islower((unsigned char)word[0]) && isdigit((unsigned char)word[n - 1]));
}

static bool is_title(const start_t *s)
{
    bool affinity = strcmp(s->second, "Affinity") == 0;

    return (affinity && (strcmp(s->first, "CPU") == 0 || strcmp(s->first, "NUMA") == 0)) ||
           strcmp(s->first, "Affinity") == 0 ||
           (strcmp(s->first, "GPU") == 0 && strcmp(s->second, "NUMA") == 0);
}

/* Does the line that starts with @s go on with the one that starts with @above? */
static bool goes_on(const start_t *above, const start_t *s)
{
    bool row = pipc__matrix_cell(above->second);
    bool columns = pipc__matrix_numbered(above->first, "GPU") && !pipc__matrix_cell(above->second);

    if (row)
        return (pipc__matrix_cell(s->first) && strcmp(s->second, "=")) ||
               (isdigit((unsigned char)s->first[0]) &&
                s->first[strspn(s->first, "0123456789,-")] == '\0');
    return columns && (is_title(s) || (is_column(s->first) && !pipc__matrix_cell(s->second) &&
                                       strcmp(s->first, above->first)));
}

void pipc__matrix_unwrap(char *text)
{
    start_t above = start_of(text);

    for (char *end = text; (end = strchr(end, '\n')); end++) {
        start_t s = start_of(end + 1);
        if (goes_on(&above, &s))
            *end = '\r';
        else
            above = s;
    }
}
