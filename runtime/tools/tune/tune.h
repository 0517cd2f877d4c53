/* tools/tune/tune.h - pcie-ipc-tune: measure what this node, or these nodes, can do, write the
 * table.
 *
 *     candidates.c   what is compared
 *     measure.c      its times, in turns
 *     show.c         a table explained
 *     store.c        where tables lie
 */
#ifndef PIPC_TUNE_TOOL_H
#define PIPC_TUNE_TOOL_H

#include "runtime/comm/tables.h"
#include "runtime/tools/bench/burst.h"
#include "runtime/tune/admit.h"

#define TUNE_CANDIDATES_MAX 96

typedef struct tune_candidate {
    pipc__choice_t choice;
    int who;             /* BENCH_OWN, or a variant of NCCL */
    const char *variant; /* of NCCL, "" for its own choice; "" for own */
} tune_candidate_t;

typedef struct tune {
    bench_t bench; /* buffers, device, communicator, as pcie-ipc-bench has them */
    size_t min_bytes, max_bytes;
    int rounds;
    int time_sec; /* about so long in all, by fewer rounds of what takes long */
    bool check, graphs, site;
    const char *output; /* file; NULL: where the runtime looks for it */
    bool show;
    const char *file;            /* that --show explains; NULL: all that are found */
    const char *nccl_why_not;    /* "": NCCL is among the candidates */
    bool plan[PIPC__PLAN_KINDS]; /* those that this machine can run */
    double began_usec;           /* of CLOCK_MONOTONIC, where time_sec counts from */
    pipc__table_time_t *times;
    int ntimes, room;
} tune_t;

/* Fill list[] with what can be done with messages of @bytes and is not hopeless by what was
 * measured of smaller ones; returns how many. The same on all ranks. */
int tune_candidates(const tune_t *t, size_t bytes, bool in_graph,
                    tune_candidate_t list[TUNE_CANDIDATES_MAX]);

/* Prepare every plan that this machine can run: t->plan[]. Collective. */
pipc_status_t tune_prepare(tune_t *t, pipc__error_t *err);

/* Measure all sizes, eager and in graphs: t->times. Collective. PIPC_ERR_INTERNAL for a candidate
 * whose results are wrong. */
pipc_status_t tune_measure(tune_t *t, pipc__error_t *err);

/* Size @i of those that are measured: powers of two and the midpoints between them from min_bytes
 * to max_bytes; 0 behind the last one. */
size_t tune_size(const tune_t *t, int i);

/* May the table go where the runtime looks for it? PIPC_ERR_MISMATCH where nodes differ in what a
 * table is believed by. Collective. */
pipc_status_t tune_judge_nodes(const tune_t *t, pipc__error_t *err);

/* Can the table be written? Asked before the measurement, which takes minutes, by the ranks that
 * write it. Makes its folder, but for -o: a name that is mistyped shall not become one. */
pipc_status_t tune_try(const tune_t *t, pipc__error_t *err);

/* Make the table of t->times and write it; path[] gets where to. Of several nodes for one rank of
 * each. */
pipc_status_t tune_store(const tune_t *t, char path[PIPC__TABLE_PATH], pipc__error_t *err);

/* What --show without a file explains: the tables of the user's and the site's folder, by way of
 * each(path, arg), which returns 0 to go on. Returns how many there were. */
int tune_each_table(pipc__getenv_t lookup, int (*each)(const char *path, void *arg), void *arg);

/* Explain every size: what was compared, what was chosen and why. */
void tune_show(const pipc__table_file_t *file, FILE *out);

/* The end of a row's line in the file: what it won by. */
void tune_note(const pipc__table_file_t *file, int row, FILE *out);

#endif
