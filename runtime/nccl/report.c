/* nccl/report.c - see report.h */
#include "runtime/nccl/report.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/nccl/ours.h"
#include "runtime/nccl/say.h"

static bool is_wanted(void)
{
    static _Atomic int state; /* 0: not asked yet */

    if (!state) {
        const char *report = secure_getenv("PCIE_IPC_REPORT");
        /* The plugin says none where no report was asked for. */
        state = pipc__is_verbose() || (report && *report && strcmp(report, "none")) ? 1 : -1;
    }
    return state > 0;
}

/* Of a call that an abort has ended it is not known any more. */
static bool is_rank_0(pipc__side_t *s)
{
    int rank = -1;

    if (!s->real->CommUserRank || !pipc__side_enter(s))
        return false;
    ncclResult_t rc = s->real->CommUserRank(s->comm, &rank);
    pipc__side_leave(s);
    return !rc && !rank;
}

/* The library is opened for it: it writes the report. */
void pipc__report_forwarded(pipc__side_t *s, const char *why, size_t count, int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

    if (!is_wanted() || type < 0 || type >= (int)sizeof(bytes) || !is_rank_0(s))
        return;
    const pipc__ours_t *ours = pipc__ours(NULL);
    if (ours)
        ours->report_nccl(why, count * bytes[type]);
}
