/* topo/matrix_words.h - lines and words of "nvidia-smi topo -m", whatever it went through: versions
 * of nvidia-smi, terminals, mails, web pages, prefixes of launchers
 *
 *     node7: GPU0<tab> X <tab>PIX      what pdsh and srun -l put in front is a label
 *     > GPU0   X  PIX                  a quotation, or a patch
 *     | GPU0 | X | **PIX** |           a table of Markdown
 *     [4mGPU0  GPU1[0m                 codes of a terminal that lost their ESC
 *
 * Columns are parted by tabs, by two tabs, by blanks, and no cell holds a blank or is empty: words
 * are what counts. Only in the titles of the last three columns do blanks stand inside.
 */
#ifndef PIPC_TOPO_MATRIX_WORDS_H
#define PIPC_TOPO_MATRIX_WORDS_H

#include <stdbool.h>

#include "runtime/topo/matrix.h"

#define PIPC__MATRIX_WORDS_MAX (PIPC__MATRIX_MAX + 16)
#define PIPC__MATRIX_PIECE_MAX 16

typedef struct pipc__matrix_words {
    char label[PIPC__NAME_MAX];         /* what stands before every line, as "node7:"; or "" */
    char *word[PIPC__MATRIX_WORDS_MAX]; /* into the line, or into piece[] */
    int n;
    char piece[PIPC__MATRIX_WORDS_MAX][PIPC__MATRIX_PIECE_MAX]; /* words that stood in one */
    int pieces;
} pipc__matrix_words_t;

/* Join the lines of @text that a margin cut: the end of a line that goes on becomes '\r'. */
void pipc__matrix_unwrap(char *text);

/* Cut @line, which is changed and has to live as long as the words, after its label. */
void pipc__matrix_split(pipc__matrix_words_t *w, char *line);

/* "GPU12" with the word GPU. */
bool pipc__matrix_numbered(const char *word, const char *kind);

/* A word of the legend: how near, or how many NVLinks; false when it is none. */
bool pipc__matrix_relation(const char *word, pipc__near_t *near, int *nvlinks);

/* A word of "nvidia-smi topo -p2p", whose matrix has the same shape and says another thing. */
bool pipc__matrix_p2p_status(const char *word);

/* A word that can stand in a cell of either matrix. */
bool pipc__matrix_cell(const char *word);

/* The columns GPU0, GPU1, ...? If their line has a label, it is noted, and is no word any more. */
bool pipc__matrix_header(pipc__matrix_words_t *w);

#endif
