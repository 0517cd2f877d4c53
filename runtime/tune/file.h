/* tune/file.h - a table as text, one line a row, and what it was measured on.
 *
 *     table 1                                    the version of this form, before all else
 *     topology 9f3a1c0d5e7b2468                  pipc__table_key_t
 *     gpu NVIDIA H200
 *     gpus 0000:03:00.0 0000:04:00.0             of each rank; none for ranks on CPUs
 *     driver 580.159.04
 *     nccl 2.28.9
 *     build 0.1.0
 *     up-to 65536 eager one-shot/ll/8 graph one-shot/ll    # anything behind a # is for people
 *     up-to max eager nccl graph two-shot//32
 *     time 65536 eager one-shot/ll/8 3.61 3.80 200         what was measured: median and tail, us,
 *     time 65536 eager nccl:ring-ll 11.70 12.10 200        and of how many samples
 *
 * A choice is ALGO[/PROTO[/BLOCKS]]; what is left out is simple and the default. Pure: no files.
 */
#ifndef PIPC_TUNE_FILE_H
#define PIPC_TUNE_FILE_H

#include <stdio.h>

#include "runtime/base/error.h"
#include "runtime/tune/table.h"

#define PIPC__TABLE_VERSION 1
#define PIPC__TABLE_BYTES_MAX ((size_t)4 << 20) /* of a file */
#define PIPC__BLOCKS_MAX 1024                   /* of a choice */
#define PIPC__TABLE_GPUS (16 * 16)              /* bytes of all GPUs' addresses */
#define PIPC__CHOICE_TEXT 48                    /* bytes of a choice as text, its end included */

/* What a table is good for. Texts are "" where unknown or absent. */
typedef struct pipc__table_key {
    uint64_t topology; /* how the ranks stand, who reaches whom, how wide their links are */
    char gpu[64];      /* "NVIDIA H200"; "cpu AMD EPYC 7B13" */
    char driver[32];
    char nccl[16];  /* "2.28.9"; "" when there was none to compare with */
    char build[16]; /* the package's version */
    /* PCI addresses in rank order, separated by blanks. The topology says all that matters of them;
     * they are for NCCL's tuner plugin, which has no ranks to ask for it, and are not compared. */
    char gpus[PIPC__TABLE_GPUS];
} pipc__table_key_t;

/* A candidate's time for messages of one size. */
typedef struct pipc__table_time {
    size_t bytes;
    bool in_graph;
    pipc__choice_t choice;
    char variant[24];   /* of NCCL: "" its own choice, else what it was told, "ring-ll" */
    double median_usec; /* of the slowest rank, as the next one */
    double tail_usec;   /* pipc__table_tail() of the samples are no slower */
    int samples;
} pipc__table_time_t;

typedef struct pipc__table_file {
    pipc__table_key_t key;
    pipc__table_t table;
    pipc__table_time_t *times; /* [ntimes]; NULL where they were not asked for */
    int ntimes;
} pipc__table_file_t;

/* Parse text[len] (no 0 inside), which is called @name in errors: "NAME:LINE: what; remedy". With
 * @want_times false, time lines are read over. On failure nothing has to be released; else the
 * caller does it with pipc__table_file_free(). PIPC_ERR_INVALID, NOMEM. */
pipc_status_t pipc__table_parse(pipc__table_file_t *file, const char *text, size_t len,
                                const char *name, bool want_times, pipc__error_t *err);

/* Write @file in that form, times included; @note (NULL: none) is called for what follows a row. */
void pipc__table_write(const pipc__table_file_t *file, FILE *out,
                       void (*note)(const pipc__table_file_t *file, int row, FILE *out));

void pipc__table_file_free(pipc__table_file_t *file); /* keeps errno */

/* "one-shot/ll/8" in a buffer of the caller's; returns it. */
const char *pipc__choice_text(pipc__choice_t choice, char buf[PIPC__CHOICE_TEXT]);
/* The opposite; false for what is no choice. */
bool pipc__choice_parse(pipc__choice_t *choice, const char *text);

/* The part of @samples that a tail covers, in per cent: 99 of 100 samples or more, else 90. Of
 * fewer than 100 samples p99 is the greatest one, which tells of the machine's hiccups and no more.
 */
static inline int pipc__table_tail(int samples)
{
    return samples >= 100 ? 99 : 90;
}

/* In what @here differs from @there, the table's: "driver 570.1 there, 580.2 here", in buf[cap];
 * NULL when the table is good here. NCCL is compared only where both are known. */
const char *pipc__table_key_differs(const pipc__table_key_t *there, const pipc__table_key_t *here,
                                    char *buf, size_t cap);

#endif
