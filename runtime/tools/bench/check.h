/* tools/bench/check.h - are the values right?
 */
#ifndef PIPC_BENCH_CHECK_H
#define PIPC_BENCH_CHECK_H

#include "runtime/tools/bench/burst.h"

/* Elements of the results of @who, pcie-ipc in one of its own ways, that are wrong, over all ranks:
 * against exact sums, and with random data against rank 0's bits. Collective. */
pipc_status_t bench_check(bench_t *b, const bench_message_t *m, int who, uint64_t *wrong,
                          pipc__error_t *err);

/* Are @variant's results right, so that its time may be compared? Against exact sums; true without
 * a look where the peer need not round as we do (averages of floats), and for messages above 64 MB,
 * which would take longer to check than to time. Collective: the same on every rank. */
pipc_status_t bench_check_peer(bench_t *b, const bench_message_t *m, int variant, bool *right,
                               pipc__error_t *err);

#endif
