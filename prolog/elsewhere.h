/* prolog/elsewhere.h - which ports of an excerpt are known to lead to no GPU. Pure.
 *
 * Where all of a machine is listed, most ports lead to disks, NICs and empty slots: their power
 * saving, errors and ACS are no matter of GPUs. But an excerpt may leave out what is below a port,
 * so only what is seen counts: a device below it that is no GPU, or a list of the whole machine
 * that has come past its bus.
 */
#ifndef PIPC_PROLOG_ELSEWHERE_H
#define PIPC_PROLOG_ELSEWHERE_H

#include <stdbool.h>

#include "runtime/topo/topo.h"

typedef enum pipc__listed_as {
    PIPC__LISTED_MAYBE, /* a GPU, what is beside one, or of a kind that is not told */
    PIPC__LISTED_OTHER, /* a device of another kind */
    PIPC__LISTED_PORT,
    PIPC__LISTED_HOST /* a host bridge: lspci begins with it, when asked for all */
} pipc__listed_as_t;

typedef struct pipc__listed {
    pipc__pci_addr_t addr;
    int parent;    /* index of the port above it, or -1; ways up end */
    int secondary; /* of a port: the bus below it, or -1 */
    pipc__listed_as_t as;
} pipc__listed_t;

/* Set elsewhere[i], of @n, for each port that is known to lead to no GPU. PIPC_ERR_NOMEM is all
 * that can go wrong. */
pipc_status_t pipc__elsewhere(const pipc__listed_t *list, int n, bool *elsewhere,
                              pipc__error_t *err);

#endif
