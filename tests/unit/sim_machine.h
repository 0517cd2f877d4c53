/* tests/unit/sim_machine.h - for tests of the simulator: a machine with ranks, and plans simulated
 * on it
 */
#ifndef TESTS_UNIT_SIM_MACHINE_H
#define TESTS_UNIT_SIM_MACHINE_H

#include "runtime/sim/simulate.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define NEAR(a, b, part)                                                                           \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (a_ < b_ * (1 - (part)) || a_ > b_ * (1 + (part)))                                      \
            fail_msg("%s:%d: %g is not %g", __FILE__, __LINE__, a_, b_);                           \
    } while (0)

typedef struct machine {
    pipc__topo_t *topo;
    pipc__binding_t binding;
    pipc__shape_t shape;
    pipc__costs_t costs;
    pipc__fabric_t *fabric;
} machine_t;

/* No latency, links that nothing takes anything from, and memories and engines that never limit. */
void ideal(pipc__costs_t *c);

/* @tree is synthetic; @nranks 0: one a GPU; @host: no rank reaches another's memory. Where
 * something of it can't be had, the test fails. */
void put_on(machine_t *m, const char *tree, int nranks, const pipc__costs_t *costs, bool host);
void take_off(machine_t *m);

/* An index in fabric->links; the test fails where none has the name. */
int link_named(const machine_t *m, const char *name);

/* NULL where there is no such plan for the machine. */
pipc__plan_t *plan_for(const machine_t *m, pipc__plan_kind_t kind);

/* @count elements of 4 bytes; @every: each round, none taken for what another took. */
pipc__sim_result_t run(const machine_t *m, const pipc__plan_t *plan, size_t count, bool every);
double usec_of(const machine_t *m, const pipc__plan_t *plan, size_t count);

#endif
