/* prolog/p2p_matrix.h - what pcie-ipc-p2p --json wrote: the state of each pair of GPUs
 */
#ifndef PIPC_PROLOG_P2P_MATRIX_H
#define PIPC_PROLOG_P2P_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prolog/facts.h"

#define PIPC__P2P_MATRIX_FILE "p2p.json" /* in the state folder: the one that was accepted */
#define PIPC__P2P_MATRIX_GPUS 16         /* as many as pcie-ipc-p2p takes */
#define PIPC__P2P_MATRIX_BYTES (1 << 20)
#define PIPC__P2P_MATRIX_WORD 16

typedef struct pipc__p2p_matrix {
    bool there;
    int64_t time; /* when the file was written, UTC; 0: not known */
    int n;
    char gpu[PIPC__P2P_MATRIX_GPUS][PIPC__FACT_NAME_MAX]; /* "0000:41:00.0" */
    /* from, to: "good"; "" for a GPU itself */
    char state[PIPC__P2P_MATRIX_GPUS][PIPC__P2P_MATRIX_GPUS][PIPC__P2P_MATRIX_WORD];
} pipc__p2p_matrix_t;

/* From @n bytes of JSON; @from is their name in errors. A run that did not finish, or a pair that
 * is not told, is refused: it would be a matrix of less. */
pipc_status_t pipc__p2p_matrix_parse(const char *from, const char *text, size_t n,
                                     pipc__p2p_matrix_t *out, pipc__error_t *err);

/* The accepted one, of @owner's; PIPC_ERR_NOT_FOUND when there is none. */
pipc_status_t pipc__p2p_matrix_accepted(const char *folder, uid_t owner, pipc__p2p_matrix_t *out,
                                        pipc__error_t *err);

/* One that the caller named. */
pipc_status_t pipc__p2p_matrix_read(const char *path, pipc__p2p_matrix_t *out, pipc__error_t *err);

/* The row of a GPU, or -1. */
int pipc__p2p_matrix_row(const pipc__p2p_matrix_t *m, const char *gpu);

#endif
