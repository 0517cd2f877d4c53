/* nccl/report.h - calls that stay with NCCL, for the report at the program's end. */
#ifndef PIPC_NCCL_REPORT_H
#define PIPC_NCCL_REPORT_H

#include "runtime/nccl/side.h"

/* Count a call of @side's that NCCL does, and @why (static), where a report is asked for and this
 * is rank 0 of the communicator. What the table gives to NCCL the library counts by itself. */
void pipc__report_forwarded(pipc__side_t *side, const char *why, size_t count, int type);

#endif
