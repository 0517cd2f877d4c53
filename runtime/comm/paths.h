/* comm/paths.h - by which memory each pair of ranks meets: asked for, probed, or known from before.
 */
#ifndef PIPC_COMM_PATHS_H
#define PIPC_COMM_PATHS_H

#include <pcie-ipc/comm.h>

#include "runtime/comm/request.h"
#include "runtime/exec/exec.h"
#include "runtime/plan/shape.h"
#include "runtime/xchg/record.h"

typedef struct pipc__paths {
    int n;
    bool probed; /* else as asked for, or the ranks share one memory */
    pipc__probe_t probe;
    int p2p, host; /* pairs, each direction one */
} pipc__paths_t;

/* Find the paths of the @n ranks of @recs. Collective where the executor probes: then every rank
 * calls it, with @own and @err as pipc__exec_ops_t.probe wants them. A pair out of reach is an
 * error only where path p2p was asked for; the text names the first one and what is in the way. */
pipc_status_t pipc__paths_find(pipc__paths_t *paths, pipc__exec_t *exec, const pipc__record_t *recs,
                               int rank, int n, pipc_status_t own, pipc__getenv_t lookup,
                               pipc__error_t *err);

/* Take pairs without P2P out of shape->reach. */
void pipc__paths_apply(const pipc__paths_t *paths, pipc__shape_t *shape);

/* "p2p 56 pairs, host 0" in a buffer of the caller's, which it returns. */
const char *pipc__paths_describe(const pipc__paths_t *paths, char *buf, size_t cap);

/* Why the pair @from -> @to has no P2P, with both ranks and GPUs named and what sysfs says of their
 * way (below @root). */
void pipc__paths_explain(const pipc__paths_t *paths, const pipc__record_t *recs, int from, int to,
                         const char *root, char *buf, size_t cap);

#endif
