/* comm/report.h - what a process's AllReduce calls came to, told when it ends: PCIE_IPC_REPORT,
 * which srun --pcie-ipc=report:summary and report:json[:FILE] set; summary also with verbose.
 *
 * One for the whole process, of the communicators in which it is rank 0: of several ranks that did
 * the same one speaks. A hook that leaves calls to the program's own NCCL tells of them by
 * pipc_report_nccl() (<pcie-ipc/comm.h>).
 */
#ifndef PIPC_COMM_REPORT_H
#define PIPC_COMM_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime/comm/request.h"
#include "runtime/tune/file.h"

#define PIPC__REPORT_CLASSES 11 /* up to 1 KB, 4 KB, ... 256 MB, and above */
#define PIPC__REPORT_WHYS 16    /* reasons; those that find no room become one */

typedef struct pipc__report_sum {
    _Atomic uint64_t calls, bytes;
} pipc__report_sum_t;

typedef struct pipc__report {
    pipc__report_sum_t own[PIPC__REPORT_CLASSES][PIPC__PLAN_KINDS][PIPC__PROTOS];
    pipc__report_sum_t nccl[PIPC__REPORT_CLASSES][PIPC__REPORT_WHYS];
    const char *_Atomic why[PIPC__REPORT_WHYS]; /* static texts; NULL: free */
} pipc__report_t;

/* Where it goes. */
typedef struct pipc__report_wish {
    enum { PIPC__REPORT_NONE, PIPC__REPORT_SUMMARY, PIPC__REPORT_JSON } how;
    char file[512];   /* of JSON */
    char unknown[64]; /* a text that asks for nothing there is; "" */
} pipc__report_wish_t;

/* What the environment asks for: PCIE_IPC_REPORT, PCIE_IPC_VERBOSE; PCIE_IPC_TASK names the file
 * where the user has not. Unknown texts are none, and kept to be told. */
void pipc__report_parse(pipc__report_wish_t *wish, pipc__getenv_t lookup);

/* The class of a message; the greatest one of a class, 0 for the last one. */
int pipc__report_class(size_t bytes);
size_t pipc__report_bytes(int class);

/* Count a call. Two atomic additions; any thread. */
void pipc__report_own(pipc__report_t *report, int algo, pipc__proto_t proto, size_t bytes);
void pipc__report_nccl(pipc__report_t *report, const char *why, size_t bytes);

/* What @calls of @bytes in all, done by @algo and @proto, took less than by NCCL, from times[n],
 * us; negative: more. False: not measured. */
bool pipc__report_saved(const pipc__table_time_t *times, int n, int algo, pipc__proto_t proto,
                        uint64_t calls, uint64_t bytes, double *usec);

/* Write it, as lines for people or as one line of JSON. @table: what it was estimated from, with
 * its times in it; NULL: nothing. False, and nothing is written, when there were no calls. */
bool pipc__report_write(const pipc__report_t *report, bool json, const char *host,
                        const char *table, const pipc__table_time_t *times, int n, FILE *out);

/* --- of this process ---------------------------------------------------------------------------
 */

/* Is one wanted? Asks the environment at the first call, and from then on a report is written when
 * the process ends. */
bool pipc__report_begin(void);

/* A communicator goes by the table in the file @from: savings are estimated from its times. With
 * more than one file, from none. */
void pipc__report_table(const char *from);

/* The report to count in. */
pipc__report_t *pipc__report_here(void);

#endif
